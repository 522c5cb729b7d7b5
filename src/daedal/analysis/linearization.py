"""`linearize`: a nonlinear model replaced by its tangent at an operating point.

    f(ż, z, u, w, θ) ≈ f* + Σ_v ∂f/∂v* (v − v*),     v: every variable and derivative in f, * at the operating point

The point is numbers; the parameters θ stay symbols in f* and in the slopes, so that the linear model can be estimated.
Values that are not given are those of a steady state (`find_steady_state`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import casadi as ca
import numpy as np

from daedal.analysis.equations import Equations
from daedal.analysis.linear_form import SIMULATE, NonlinearError, is_linear, refuse_nonlinear
from daedal.analysis.steady_state import find_steady_state
from daedal.analysis.structure import check_model
from daedal.errors import ModelError, interruptible, is_real, nearest, quoted, show, with_article
from daedal.models import Model, as_name, evaluate_expressions, evaluate_parameters
from daedal.symbolic import (
    Delayed,
    Equation,
    Expression,
    Held,
    Latched,
    delay,
    expand,
    find_operator,
    intern_symbol,
    jet,
    list_plain_symbols,
    list_symbols,
    read_expression,
    stack_symbols,
)

STEPS = (1e-6, 1e-12)  # relative distances at which a jump or a kink is looked for
JUMP = 1e-5  # relative: a change that stays as large when the distance shrinks is a jump


@interruptible
def linearize(model: Model, at: Mapping[Any, float] | None = None, values: Mapping[Any, float] | None = None) -> Model:
    """The linear model that agrees with a model near an operating point, in the same variables and parameters.

    Parameters
    ----------
    model
        A linear model comes back as it is.
    at
        Unknown, input or derivative such as "der(x)" → its value at the point. Unknowns left out are solved for as a
        steady state from the model's guess; derivatives left out and all disturbances are zero; inputs must be given.
    values
        Values of parameters, as in `with_parameters`.

    Examples
    --------
    >>> import numpy as np
    >>> from daedal import Model, der, symbols
    >>> h, q, c = symbols("h q c")
    >>> equations = {"level": der(h) == q - c * np.sqrt(h)}
    >>> tank = Model(name="tank", equations=equations, unknowns=[h], inputs=[q], parameters={c: 2.0}, guess={h: 1.0})
    >>> print(linearize(tank, at={"q": 4.0}).equations["level"])
    der(h) == q - c - c/4*h
    """
    given = _read_point(check_model("linearize", model), at)
    model = model if values is None else model.with_parameters(values)
    if is_linear(model):
        return model
    _refuse_jumping(model)
    _refuse_time(model)
    inputs = _find_used_inputs(model)
    if missing := [name for name in inputs if name not in given]:
        raise ModelError(
            f"linearize needs the value of input {quoted(missing)} at the operating point of model '{model.name}'.",
            f"Write at={{'{missing[0]}': 0.0}}.",
        )
    point = _OperatingPoint(given | find_steady_state(model, given), evaluate_parameters(model))
    equations, outputs = {}, {}
    for name, equation in model.equations.items():
        where = f"equation '{name}'"
        sides = [_linearize_expression(model, side, point, where) for side in (equation.lhs, equation.rhs)]
        equations[name] = Equation(*sides)
        leaves = {jet(leaf)[0] for side in sides for leaf in list_symbols(expand(side.sx, frozenset(model.parameters)))}
        if not leaves & set(model.unknown_names):
            raise ModelError(
                f"At the operating point, {where} of model '{model.name}' does not change with any unknown.",
                "Choose another operating point.",
            )
    for name, value in model.outputs.items():
        outputs[name] = _linearize_expression(model, value, point, f"output '{name}'")
    return replace(model, equations=equations, outputs=outputs)


@dataclass(frozen=True)
class _OperatingPoint:
    """Values of unknowns, inputs and derivatives, zero for others, and numbers of the parameters."""

    values: Mapping[str, float]
    parameters: Mapping[str, float]

    def find_values(self, names: list[str]) -> np.ndarray:
        return np.array([self._find_value(name) for name in names], dtype=float)

    def _find_value(self, name: str) -> float:
        meaning = find_operator(name)
        if isinstance(meaning, Delayed):  # at rest, what was is what is
            leaves = [leaf for leaf in list_symbols(meaning.operand.sx) if leaf not in self.parameters]
            return float(_compile(meaning.operand.sx, leaves, self.parameters)(self.find_values(leaves)))
        return self.values.get(name, 0.0)


def _read_point(model: Model, at: Any) -> dict[str, float]:
    """The operating point as the user gave it, by name."""
    if at is not None and not isinstance(at, Mapping):
        raise ModelError(
            f"The operating point must be a mapping name → number, got {show(at)}.", "Write at={'x': 0.0}."
        )
    given: dict[str, float] = {}
    for key, value in (at or {}).items():
        name = as_name(read_expression(key) if isinstance(key, str) and "(" in key else key)
        role = model.names.get(jet(name)[0])
        if role is None:
            known = [*model.unknown_names, *model.input_names]
            raise ModelError(f"Model '{model.name}' has no variable '{name}'.", nearest(str(name), known))
        if role not in ("unknown", "input"):
            raise ModelError(
                f"'{name}' is {with_article(role)} and has no place in the operating point.",
                "Disturbances are zero there." if role == "disturbance" else "Give it among values=.",
            )
        if not is_real(value) or not isfinite(value):
            raise ModelError(f"The operating point of '{name}' must be a number, got {show(value)}.", "Give a number.")
        given[name] = float(value)
    return given


def _refuse_jumping(model: Model) -> None:
    for where, parts in _list_sides(model).items():
        for part in parts:
            if name := _find_jumping(expand(part.sx, frozenset(model.parameters))):
                raise ModelError(
                    f"linearize needs slopes, but {where} contains {name}, which changes by jumps alone.", SIMULATE
                )


def _find_jumping(sx: ca.SX) -> str | None:
    """A held or latched value in an expression, or inside a delay in it."""
    for name in list_symbols(sx):
        meaning = find_operator(name)
        if isinstance(meaning, (Held, Latched)):
            return name
        if isinstance(meaning, Delayed) and (inner := _find_jumping(meaning.operand.sx)):
            return inner
    return None


def _list_sides(model: Model) -> dict[str, tuple[Expression, ...]]:
    """The expressions of each equation and output."""
    sides = {f"equation '{name}'": (e.lhs, e.rhs) for name, e in model.equations.items()}
    return sides | {f"output '{name}'": (value,) for name, value in model.outputs.items()}


def _refuse_time(model: Model) -> None:
    for where, parts in _list_sides(model).items():
        if any("time" in list_symbols(expand(part.sx, frozenset(model.parameters))) for part in parts):
            raise ModelError(
                f"linearize needs equations that do not change with time, but {where} contains time.",
                "Make that function of time an input and give its values with the data.",
            )


def _find_used_inputs(model: Model) -> list[str]:
    """Inputs that occur in equations or outputs."""
    shown = [value.sx for value in model.outputs.values()]
    plain = set(list_plain_symbols(ca.vertcat(Equations.of(model).residuals, *shown)))
    return [name for name in model.input_names if name in plain]


def _linearize_expression(model: Model, expression: Expression, point: _OperatingPoint, where: str) -> Expression:
    """An expression's tangent at the point, with parameters as symbols; a linear expression stays as it was typed."""
    constants = frozenset(model.parameters)
    sx = expand(expression.sx, constants)
    leaves = [name for name in list_symbols(sx) if name not in constants]
    delayed = [name for name in leaves if isinstance(find_operator(name), Delayed)]
    inner = {name: _linearize_delay(model, name, point, where) for name in delayed}
    try:
        refuse_nonlinear({"": sx}, constants, allowed=delayed)
    except NonlinearError:
        pass
    else:
        if all(new.sx.is_symbolic() and new.sx.name() == name for name, new in inner.items()):
            return expression
    numbers = point.find_values(leaves)
    _check_smooth(model, sx, leaves, numbers, point.parameters, where)
    old, star = stack_symbols(leaves), ca.DM(numbers)
    slopes = ca.substitute(ca.jacobian(sx, old), old, star)
    constant = ca.substitute(sx, old, star) - slopes @ star
    total = Expression(ca.simplify(constant))
    for j, name in enumerate(leaves):
        slope = slopes[0, j]
        if not slope.is_zero():
            variable = inner.get(name, intern_symbol(name))
            total = variable * Expression(slope) + total if total.sx.is_zero() else total + Expression(slope) * variable
    return total


def _linearize_delay(model: Model, name: str, point: _OperatingPoint, where: str) -> Expression:
    meaning = find_operator(name)
    assert isinstance(meaning, Delayed)
    operand = _linearize_expression(model, meaning.operand, point, where)
    return intern_symbol(name) if operand is meaning.operand else delay(operand, meaning.amount)


def _check_smooth(
    model: Model, sx: ca.SX, leaves: list[str], star: np.ndarray, parameters: Mapping[str, float], where: str
) -> None:
    """Refuse a point at which value or slopes are infinite, or jump from one side of it to the other."""
    both = _compile(ca.horzcat(sx, ca.jacobian(sx, stack_symbols(leaves))), leaves, parameters)
    here = both(star).full().ravel()
    shown = ", ".join(f"{name} = {value:.6g}" for name, value in zip(leaves, star, strict=True))
    if not np.isfinite(here).all():
        raise ModelError(
            f"The slopes of {where} of model '{model.name}' are not finite at the operating point ({shown}).",
            "Choose another operating point.",
        )
    direction = np.random.default_rng(0).uniform(0.5, 1.5, len(leaves)) * _find_scales(model, leaves, star, here)
    sides = [(both(star + step * direction).full(), both(star - step * direction).full()) for step in STEPS]
    with np.errstate(invalid="ignore"):  # infinite on both sides
        far, near = (np.abs(above - below).ravel() for above, below in sides)
    size = np.maximum(np.abs(here), np.abs(sides[0][0]).ravel())
    if np.any((near > 0.5 * far) & (near > JUMP * size)):
        raise ModelError(
            f"{where[0].upper()}{where[1:]} of model '{model.name}' has a kink or a jump at the operating point "
            f"({shown}), and no slope there.",
            "Choose a point on one side of it.",
        )


def _find_scales(model: Model, leaves: list[str], star: np.ndarray, here: np.ndarray) -> np.ndarray:
    """How far each variable goes: its value or its guess, or what changes the expression by its own size."""
    numbers = evaluate_expressions({**model.guess, **model.initial}, evaluate_parameters(model))
    slopes = np.abs(here[1:])
    terms = max(abs(float(here[0])), float(np.max(slopes * np.abs(star), initial=0.0)))
    scales = []
    for name, value, slope in zip(leaves, np.abs(star), slopes, strict=True):
        usual = terms / slope if slope > 0.0 and terms > 0.0 else 1.0
        scales.append(float(value) or abs(numbers.get(name, 0.0)) or usual)
    return np.array(scales)


def _compile(sx: ca.SX, leaves: list[str], parameters: Mapping[str, float]) -> ca.Function:
    """A function of the leaves, with numbers for the parameters."""
    used = [name for name in list_symbols(sx) if name in parameters]
    if used:
        sx = ca.substitute(sx, stack_symbols(used), ca.DM([parameters[name] for name in used]))
    return ca.Function("values", [stack_symbols(leaves)], [ca.densify(sx)])
