"""`der`, `delay`, `hold` and `hysteresis`, and the calculus behind them.

`der(x)` and `delay(x, tau)` are symbols of their own, named by their text; what they stand for is remembered here.
What a symbol means (unknown, input, parameter) is decided only by a Model, so the derivative of a formula, `der(m*v)`,
is also kept as it was typed, and `expand` applies the chain rule once the constants are known:

    d f/dt = ∂f/∂t + Σ ∂f/∂v · der(v),        d/dt delay(e, τ) = delay(d e/dt, τ),

and d/dt of what is piecewise constant, `hold(e, T)` and `hysteresis(e, low, high)`, is zero.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from math import inf, isfinite
from typing import Any

import casadi as ca

from daedal.errors import ExpressionError
from daedal.symbolic.expression import Equation, Expression, as_expression, refuse_nan
from daedal.symbolic.symbol_table import intern_symbol

DEEPEST = 50  # operators within operators, such as der(der(x))
ROUNDING = 1e-12  # of a period: a delay that is longer by less was meant to be as long


@dataclass(frozen=True, eq=False)
class Derivative:
    """What `der(operand)` stands for."""

    operand: Expression

    @property
    def amounts(self) -> tuple[Expression, ...]:
        """What else it takes: nothing."""
        return ()


@dataclass(frozen=True, eq=False)
class Delayed:
    """What `delay(operand, amount)` stands for: the operand's value `amount` seconds ago."""

    operand: Expression
    amount: Expression

    @property
    def amounts(self) -> tuple[Expression, ...]:
        """What else it takes: the amount."""
        return (self.amount,)


@dataclass(frozen=True, eq=False)
class Held:
    """What `hold(operand, every, delay)` stands for: samples of the operand, each `delay` after it was taken."""

    operand: Expression
    every: Expression
    delay: Expression

    @property
    def amounts(self) -> tuple[Expression, ...]:
        """What else it takes: the period and the delay."""
        return (self.every, self.delay)


@dataclass(frozen=True, eq=False)
class Latched:
    """What `hysteresis(operand, low, high)` stands for: +1 from above `high` until below `low`, else −1."""

    operand: Expression
    low: Expression
    high: Expression

    @property
    def amounts(self) -> tuple[Expression, ...]:
        """What else it takes: the two thresholds."""
        return (self.low, self.high)


Operator = Derivative | Delayed | Held | Latched
_operators: dict[str, Operator] = {}
_depths: dict[str, int] = {}  # how many operators stand within one another, by the name of the outermost


def der(expression: Any) -> Expression:
    """The derivative with respect to time, of a symbol or of any formula; may be repeated.

    Examples
    --------
    >>> from daedal.symbolic import symbols
    >>> x, m = symbols("x m")
    >>> der(der(x)), der(m * x)
    (der(der(x)), der(m*x))
    """
    if isinstance(expression, Equation):
        raise ExpressionError(f"der takes an expression, got the equation '{expression}'.", "Differentiate each side.")
    operand = as_expression(expression, "What der differentiates")
    if operand.sx.is_constant():
        return as_expression(0.0, "der")
    return _intern_operator(f"der({operand})", Derivative(operand))


def delay(expression: Any, amount: Any) -> Expression:
    """The value of an expression `amount` seconds ago; the amount is a number or an expression of parameters.

    What was before the start is the model's `history`; an input without one had its first value. A delay that is
    estimated needs bounds: `Parameter(1.0, lower=0.1, upper=5.0)`.

    Examples
    --------
    >>> from daedal.symbolic import symbols
    >>> x, tau = symbols("x tau")
    >>> delay(x, 2 * tau)
    delay(x, 2*tau)
    """
    operand = as_expression(expression, "What delay shifts")
    shift = as_expression(amount, "The amount of a delay")
    if shift.sx.is_constant() and not 0.0 <= float(shift) < inf:
        raise ExpressionError(
            f"A delay must be finite and not negative, got {float(shift):g}.",
            "Give the time that has passed, in seconds.",
        )
    if operand.sx.is_constant() or shift.sx.is_zero():
        return operand
    return _intern_operator(f"delay({operand}, {shift})", Delayed(operand, shift))


def hold(expression: Any, every: Any, delay: Any = 0.0) -> Expression:
    """An expression sampled every so many seconds and held in between, as digital controllers do.

    Samples are taken at the start t0, at t0 + every, t0 + 2 every, …; the one taken at t is what `hold` gives from
    t + delay on until the next arrives, and before the first arrives it is zero.

    Parameters
    ----------
    expression
        What is sampled, of unknowns, inputs and time; a constant is returned as it is.
    every
        Seconds from one sample to the next, a number or an expression of parameters.
    delay
        Seconds from a sample to its use, at most `every`, a number or an expression of parameters.

    Examples
    --------
    >>> from daedal.symbolic import symbols
    >>> x, K = symbols("x K")
    >>> K * hold(x, 0.1), hold(x, 0.1, delay=0.02)
    (K*hold(x, 0.1), hold(x, 0.1, 0.02))
    """
    operand = as_expression(expression, "What hold samples")
    period = as_expression(every, "The time between the samples of hold")
    late = as_expression(delay, "The delay of hold")
    if period.sx.is_constant() and not 0.0 < float(period) < inf:
        raise ExpressionError(
            f"The time between the samples of hold must be finite and positive, got every={float(period):g}.",
            "Give the seconds from one sample to the next.",
        )
    if late.sx.is_constant() and not 0.0 <= float(late) < inf:
        raise ExpressionError(
            f"The delay of hold must be finite and not negative, got delay={float(late):g}.",
            "Give the seconds from a sample to its use.",
        )
    if period.sx.is_constant() and late.sx.is_constant() and float(late) > float(period):
        beyond = float(late) - float(period)
        if beyond > ROUNDING * float(period):
            raise ExpressionError(
                f"The delay of hold must not be longer than the time between its samples, got {float(late):g} with "
                f"every={float(period):g}.",
                f"Hold the held value once more for each whole period, hold(hold(x, {period}, {period}), {period}, "
                "...), and delay the last one by the rest.",
            )
        late = period
    if operand.sx.is_constant():
        return operand
    end = "" if late.sx.is_zero() else f", {late}"
    return _intern_operator(f"hold({operand}, {period}{end})", Held(operand, period, late))


def hysteresis(expression: Any, low: Any, high: Any) -> Expression:
    """+1 from when an expression rises above `high` until it falls below `low`, −1 otherwise, as relays do.

    At the start it is +1 above `high`, and −1 otherwise. With `low` and `high` the same it is sign(expression − low).

    Parameters
    ----------
    expression
        What is watched.
    low, high
        Thresholds, numbers or expressions, low ≤ high.

    Examples
    --------
    >>> from daedal.symbolic import symbols
    >>> T, band = symbols("T band")
    >>> 1 - hysteresis(T - 20, -band, band)
    1 - hysteresis(T - 20, -band, band)
    """
    operand = as_expression(expression, "What hysteresis watches")
    below = as_expression(low, "The low threshold of hysteresis")
    above = as_expression(high, "The high threshold of hysteresis")
    refuse_nan(operand, "What hysteresis watches")
    for word, threshold in (("low", below), ("high", above)):
        if threshold.sx.is_constant() and not isfinite(float(threshold)):
            raise ExpressionError(
                f"The thresholds of hysteresis must be finite, got {word}={float(threshold):g}.",
                "Where there is one threshold only, write np.sign(x - threshold).",
            )
    if below.sx.is_constant() and above.sx.is_constant():
        if float(below) > float(above):
            raise ExpressionError(
                "The low threshold of hysteresis must not be above the high one, got "
                f"low={float(below):g} and high={float(above):g}.",
                "Give the value at which it falls back first: hysteresis(x, low, high).",
            )
        if operand.sx.is_constant():
            return as_expression(1.0 if float(operand) > float(above) else -1.0, "hysteresis")
        if float(below) == float(above):
            return Expression(ca.sign((operand - below).sx))
    return _intern_operator(f"hysteresis({operand}, {below}, {above})", Latched(operand, below, above))


def _apply_operator(meaning: Operator, operand: Expression, amounts: Iterable[Expression]) -> Expression:
    """The same operator of something else."""
    apply: Any = {Derivative: der, Delayed: delay, Held: hold, Latched: hysteresis}[type(meaning)]
    return apply(operand, *amounts)


def _intern_operator(text: str, meaning: Operator) -> Expression:
    if text not in _operators:
        inside = (name for part in (meaning.operand, *meaning.amounts) for name in list_symbols(part.sx))
        depth = 1 + max((_depths.get(name, 0) for name in inside), default=0)
        if depth > DEEPEST:
            kinds = ", ".join(kind.__name__ for kind in (der, delay, hold, hysteresis))
            raise ExpressionError(
                f"{kinds} stand within one another more than {DEEPEST} deep.",
                "Give what stands inside a name and an equation of its own.",
            )
        _depths[text] = depth
    _operators.setdefault(text, meaning)
    return intern_symbol(text)


def find_operator(name: str) -> Operator | None:
    """What the symbol of this name stands for; None for a plain symbol."""
    return _operators.get(name)


def jet(name: str) -> tuple[str, int]:
    """Plain symbol and order of a derivative: `der(der(x))` is ('x', 2); formulas and what is delayed, held or latched
    count as plain.
    """
    return _find_jet(name) if name in _operators else (name, 0)  # a plain name may get a meaning later


@cache
def _find_jet(name: str) -> tuple[str, int]:
    meaning = _operators[name]
    if isinstance(meaning, Derivative) and meaning.operand.is_symbol:
        base, order = jet(meaning.operand.sx.name())
        return base, order + 1
    return name, 0


@cache
def name_derivative(name: str, order: int) -> str:
    """The text of the order-th derivative of a symbol."""
    expression = intern_symbol(name)
    for _ in range(order):
        expression = der(expression)
    return expression.sx.name()


def list_symbols(sx: ca.SX) -> list[str]:
    """Names of the symbols of an expression or vector, in order of appearance."""
    return [leaf.name() for leaf in ca.symvar(sx)]


def list_plain_symbols(sx: ca.SX) -> list[str]:
    """Names of the plain symbols of an expression or vector, those inside of derivatives, delays and the like too.

    Examples
    --------
    >>> from daedal.symbolic import symbols
    >>> x, y, tau = symbols("x y tau")
    >>> list_plain_symbols((y * delay(der(x), tau)).sx)
    ['y', 'x', 'tau']
    """
    return list(dict.fromkeys(plain for name in list_symbols(sx) for plain in _list_plain_of(name)))


def _list_plain_of(name: str) -> list[str]:
    meaning = _operators.get(name)
    if meaning is None:
        return [name]
    return [plain for part in (meaning.operand, *meaning.amounts) for plain in list_plain_symbols(part.sx)]


def stack_symbols(names: Iterable[str]) -> ca.SX:
    """The symbols of these names as a column."""
    symbols = [intern_symbol(name).sx for name in names]
    return ca.vertcat(*symbols) if symbols else ca.SX(0, 1)


def differentiate(sx: ca.SX, constants: Collection[str]) -> ca.SX:
    """Total time derivative of a vector of expressions whose derivatives are all of plain symbols."""
    leaves = [name for name in list_symbols(sx) if name not in constants]
    if not leaves:
        return ca.SX.zeros(sx.shape[0], 1)
    seeds = stack_symbols(leaves)
    return ca.jtimes(sx, seeds, ca.vertcat(*(_differentiate_leaf(name, constants) for name in leaves)))


def _differentiate_leaf(name: str, constants: Collection[str]) -> ca.SX:
    if name == "time":
        return ca.SX(1)
    if name in constants:
        return ca.SX(0)
    meaning = _operators.get(name)
    if isinstance(meaning, Delayed):
        return delay(Expression(differentiate(meaning.operand.sx, constants)), meaning.amount).sx
    if isinstance(meaning, (Held, Latched)):
        return ca.SX(0)
    return der(intern_symbol(name)).sx


def expand(sx: ca.SX, constants: Collection[str]) -> ca.SX:
    """Apply the chain rule wherever a formula is differentiated, inside of operators too; `sx` may be a vector."""
    meanings = {name: _expand_leaf(name, frozenset(constants)) for name in list_symbols(sx) if name in _operators}
    changed = {name: new for name, new in meanings.items() if not (new.is_symbolic() and new.name() == name)}
    if not changed:
        return sx
    old = stack_symbols(changed)
    return ca.substitute(sx, old, ca.vertcat(*changed.values()))


def _expand_leaf(name: str, constants: frozenset[str]) -> ca.SX:
    meaning = _operators[name]
    inner = expand(meaning.operand.sx, constants)
    if not isinstance(meaning, Derivative):
        amounts = [Expression(expand(amount.sx, constants)) for amount in meaning.amounts]
        return _apply_operator(meaning, Expression(inner), amounts).sx
    return _differentiate_leaf(inner.name(), constants) if inner.is_symbolic() else differentiate(inner, constants)


def rename_symbols(expression: Expression, names: Mapping[str, str]) -> Expression:
    """The expression with other names for some plain symbols, also inside derivatives, delays and the like.

    Examples
    --------
    >>> from daedal.symbolic import symbol
    >>> x = symbol("x")
    >>> rename_symbols(x * der(x), {"x": "shaft.x"})
    shaft.x*der(shaft.x)
    """
    old, new = [], []
    for leaf in list_symbols(expression.sx):
        changed = _rename_leaf(leaf, names)
        if changed != leaf:
            old.append(intern_symbol(leaf).sx)
            new.append(intern_symbol(changed).sx)
    if not old:
        return expression
    return Expression(ca.substitute(expression.sx, ca.vertcat(*old), ca.vertcat(*new)))


def _rename_leaf(leaf: str, names: Mapping[str, str]) -> str:
    meaning = _operators.get(leaf)
    if meaning is None:
        return names.get(leaf, leaf)
    operand, *amounts = (rename_symbols(part, names) for part in (meaning.operand, *meaning.amounts))
    return _apply_operator(meaning, operand, amounts).sx.name()
