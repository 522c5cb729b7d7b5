"""`der` and `delay`, and the calculus behind them.

`der(x)` and `delay(x, tau)` are symbols of their own, named by their text; what they stand for is remembered here.
What a symbol means (unknown, input, parameter) is decided only by a Model, so the derivative of a formula, `der(m*v)`,
is also kept as it was typed, and `expand` applies the chain rule once the constants are known:

    d f/dt = ∂f/∂t + Σ ∂f/∂v · der(v),        d/dt delay(e, τ) = delay(d e/dt, τ).
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from math import inf
from typing import Any

import casadi as ca

from daedal.errors import ExpressionError
from daedal.symbolic.expression import Equation, Expression, as_expression
from daedal.symbolic.symbol_table import intern_symbol


@dataclass(frozen=True, eq=False)
class Derivative:
    """What `der(operand)` stands for."""

    operand: Expression


@dataclass(frozen=True, eq=False)
class Delayed:
    """What `delay(operand, amount)` stands for: the operand's value `amount` seconds ago."""

    operand: Expression
    amount: Expression


_operators: dict[str, Derivative | Delayed] = {}


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


def _intern_operator(text: str, meaning: Derivative | Delayed) -> Expression:
    _operators.setdefault(text, meaning)
    return intern_symbol(text)


def find_operator(name: str) -> Derivative | Delayed | None:
    """What the symbol of this name stands for; None for a plain symbol."""
    return _operators.get(name)


def jet(name: str) -> tuple[str, int]:
    """Plain symbol and order of a derivative: `der(der(x))` is ('x', 2); formulas and delays count as plain."""
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
    return der(intern_symbol(name)).sx


def expand(sx: ca.SX, constants: Collection[str]) -> ca.SX:
    """Apply the chain rule wherever a formula is differentiated, inside delays too; `sx` may be a vector."""
    meanings = {name: _expand_leaf(name, frozenset(constants)) for name in list_symbols(sx) if name in _operators}
    changed = {name: new for name, new in meanings.items() if not (new.is_symbolic() and new.name() == name)}
    if not changed:
        return sx
    old = stack_symbols(changed)
    return ca.substitute(sx, old, ca.vertcat(*changed.values()))


def _expand_leaf(name: str, constants: frozenset[str]) -> ca.SX:
    meaning = _operators[name]
    inner = expand(meaning.operand.sx, constants)
    if isinstance(meaning, Delayed):
        return delay(Expression(inner), meaning.amount).sx
    return _differentiate_leaf(inner.name(), constants) if inner.is_symbolic() else differentiate(inner, constants)


def rename_symbols(expression: Expression, names: Mapping[str, str]) -> Expression:
    """The expression with other names for some plain symbols, also inside derivatives and delays.

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
    operand = rename_symbols(meaning.operand, names)
    if isinstance(meaning, Delayed):
        return delay(operand, rename_symbols(meaning.amount, names)).sx.name()
    return der(operand).sx.name()
