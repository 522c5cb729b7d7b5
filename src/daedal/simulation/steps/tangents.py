"""Functions of a reduced system with their directional derivatives, and linear solves that differentiate implicitly.

Along a direction (dX, dT, dp, dw) the derivative of f is ∂f/∂X dX + ∂f/∂T dT + ∂f/∂p dp + ∂f/∂w dw. A solution of
A(v) x = b(v) moves with dx = A⁻¹ (db − dA x): the factors of A serve again, and are never differentiated themselves.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import casadi as ca

from daedal.systems import Reduction


@dataclass(frozen=True, eq=False)
class Moving:
    """Values of X, T, parameters and exogenous symbols at a time, and their derivatives in each direction (columns)."""

    t: ca.SX
    x: ca.SX
    top: ca.SX
    p: ca.SX
    w: ca.SX
    dx: ca.SX
    dtop: ca.SX
    dp: ca.SX
    dw: ca.SX

    @property
    def fields(self) -> tuple[ca.SX, ...]:
        """All of it, in this order."""
        return self.t, self.x, self.top, self.p, self.w, self.dx, self.dtop, self.dp, self.dw

    @property
    def directions(self) -> int:
        return self.dp.shape[1]

    def at(self, **changes: ca.SX) -> "Moving":
        """The same with other values."""
        return replace(self, **changes)


class SystemFunctions:
    """top, J, G, A, B and the shift of a reduction, as functions to be called on symbols."""

    def __init__(self, reduction: Reduction) -> None:
        self.reduction = reduction
        self._functions: dict[str, ca.Function] = {}
        self._tangents: dict[str, ca.Function] = {}
        self.expressions = {
            "top": reduction.top,
            "J": reduction.J,
            "G": reduction.G,
            "A": reduction.A,
            "B": reduction.B,
        }
        self.expressions["derivative"] = reduction.shift

    def define(self, name: str, expression: ca.SX) -> None:
        """Add a function of the same arguments."""
        self.expressions[name] = expression

    def __getitem__(self, name: str) -> ca.Function:
        if name not in self._functions:
            self._functions[name] = ca.Function(name, self.reduction.arguments, [self.expressions[name]])
        return self._functions[name]

    def evaluate(self, name: str, v: Moving) -> ca.SX:
        return self[name](v.t, v.x, v.top, v.p, v.w)

    def differentiate(self, name: str, v: Moving, *, hold_top: bool = False) -> ca.SX:
        """Directional derivatives of a vector function, one column per direction; T may be held fixed."""
        function = self._make_tangent(name)
        columns = []
        for i in range(v.directions):
            dtop = ca.SX.zeros(v.top.shape[0]) if hold_top else v.dtop[:, i]
            columns.append(function(v.t, v.x, v.top, v.p, v.w, v.dx[:, i], dtop, v.dp[:, i], v.dw[:, i]))
        rows = self.expressions[name].shape[0]
        return ca.horzcat(*columns) if columns else ca.SX(rows, 0)

    def _make_tangent(self, name: str) -> ca.Function:
        if name not in self._tangents:
            arguments = self.reduction.arguments
            moving = arguments[1:]
            along = [ca.SX.sym(f"d{i}", part.shape[0]) for i, part in enumerate(moving)]
            expression = ca.jtimes(self.expressions[name], ca.vertcat(*moving), ca.vertcat(*along))
            self._tangents[name] = ca.Function(f"{name}_tangent", [*arguments, *along], [expression])
        return self._tangents[name]


class Calls:
    """What a step does several times, as functions that are called: CasADi keeps a call as one operation.

    A function is made for symbols in place of whatever its arguments hold; numbers among them, zeros above all, stay
    where they are, so that nothing is computed with them.
    """

    def __init__(self) -> None:
        self._made: dict[object, tuple[ca.Function, list[int]]] = {}

    def call(self, name: str, make: Callable[..., list[ca.SX]], arguments: Sequence[ca.SX]) -> list[ca.SX]:
        """The results of `make`; a name stands for one function."""
        entries = ca.vertsplit(ca.vertcat(*(ca.vec(ca.densify(argument)) for argument in arguments)))
        numbers = tuple(float(entry) if entry.is_constant() else None for entry in entries)
        shapes = tuple(argument.shape for argument in arguments)
        key = (name, shapes, repr(numbers))
        if key not in self._made:
            self._made[key] = _make_function(name, make, shapes, numbers)
        function, used = self._made[key]
        results = function(ca.vertcat(*(entries[place] for place in used)))
        return list(results) if isinstance(results, tuple) else [results]


def _make_function(
    name: str, make: Callable[..., list[ca.SX]], shapes: Sequence[tuple[int, int]], numbers: Sequence[float | None]
) -> tuple[ca.Function, list[int]]:
    """A function of the entries that matter, and their places among all."""
    symbols = ca.SX.sym("entry", len(numbers))
    entries = [symbols[place] if number is None else ca.SX(number) for place, number in enumerate(numbers)]
    arguments, first = [], 0
    for rows, columns in shapes:
        part = entries[first : first + rows * columns]
        arguments.append(ca.sparsify(ca.reshape(ca.vertcat(ca.SX(0, 1), *part), rows, columns)))
        first += rows * columns
    results = [ca.densify(result) for result in make(*arguments)]
    free = {symbol.element_hash() for symbol in ca.symvar(ca.vertcat(*(ca.vec(result) for result in results)))}
    used = [place for place in range(len(numbers)) if symbols[place].element_hash() in free]
    given = ca.vertcat(ca.SX(0, 1), *(symbols[place] for place in used))
    return ca.Function(name, [given], results, {"never_inline": True}), used
