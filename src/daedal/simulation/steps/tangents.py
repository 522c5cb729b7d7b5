"""Functions of a reduced system with their directional derivatives, and linear solves that differentiate implicitly.

Along a direction (dX, dT, dp, dw) the derivative of f is ∂f/∂X dX + ∂f/∂T dT + ∂f/∂p dp + ∂f/∂w dw. A solution of
A(v) x = b(v) moves with dx = A⁻¹ (db − dA x): the factors of A serve again, and are never differentiated themselves.
"""

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
