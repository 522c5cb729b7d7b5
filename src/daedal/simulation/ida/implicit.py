"""The reduced system as one implicit equation, which BDF methods solve.

With the reduced system of `daedal.systems.reduction`, y = (X, T, M) obeys the index-1 equations

    X' − S(X, T) − U² B(X, t)ᵀ M' = 0,    top(X, T, t) = 0,    G(X, t) = 0,

where M' = 0 on the exact solution: the multipliers M only absorb the redundancy of X, which they move the less the
smaller its units U are. B is frozen in the Jacobian.
"""

import casadi as ca

from daedal.symbolic import write_jacobian
from daedal.systems import SYSTEM_FUNCTIONS, Reduction


def make_residual(reduction: Reduction) -> ca.Function:
    """The left sides as a function of (t, y, y', p, w, U)."""
    return _remember(reduction, "implicit residual", _write_residual)


def make_jacobian(reduction: Reduction) -> ca.Function:
    """∂r/∂y + cj ∂r/∂y' as a function of (t, y, y', cj, p, w, U)."""
    return _remember(reduction, "implicit jacobian", _write_jacobian)


def make_terms(reduction: Reduction) -> ca.Function:
    """What each left side is a sum of, to first order: a function of (t, y, y', p, w, U)."""
    return _remember(reduction, "implicit terms", _write_terms)


def make_rise(reduction: Reduction) -> ca.Function:
    """∂top/∂X S + ∂top/∂t + ∂top/∂w w', how fast top changes while T stands still: of (t, X, T, p, w, w')."""
    return _remember(reduction, "top rise", _write_rise)


def make_motion(reduction: Reduction) -> ca.Function:
    """Switching functions, their time derivatives and the sizes of these: of (t, X, T, p, w, X', T', w')."""
    return _remember(reduction, "switch motion", _write_motion)


def make_border_slopes(reduction: Reduction) -> ca.Function:
    """∂g/∂X of the switching functions above ∂S/∂Tᵀ: of (t, X, T, p, w)."""
    return _remember(reduction, "border slopes", _write_border_slopes)


def make_border_gradient(reduction: Reduction) -> ca.Function:
    """∂g/∂(X, T) of the switching functions: of (t, X, T, p, w)."""
    return _remember(reduction, "border gradient", _write_border_gradient)


def _remember(reduction: Reduction, name: str, make) -> ca.Function:
    """Made once per structure."""
    if name not in reduction.compiled:
        reduction.compiled[name] = ca.Function(name.replace(" ", "_"), *make(reduction))
    return reduction.compiled[name]


def _write_residual(r: Reduction) -> tuple[list[ca.SX], list[ca.SX]]:
    m, slope_x, slope_t, slope_m = _make_symbols(r)
    time, _, _, p, w = r.arguments
    units = ca.SX.sym("units", r.X.shape[0])
    rows = [slope_x - r.shift - units**2 * ca.mtimes(r.B.T, slope_m), r.top, r.G]
    return [time, ca.vertcat(r.X, r.T, m), ca.vertcat(slope_x, slope_t, slope_m), p, w, units], [ca.vertcat(*rows)]


def _write_terms(r: Reduction) -> tuple[list[ca.SX], list[ca.SX]]:
    arguments, (residual,) = _write_residual(r)
    moving = ca.vertcat(*(arguments[place] for place in (0, 1, 2, 4)))
    return arguments, [ca.densify(ca.mtimes(ca.fabs(write_jacobian(residual, moving)), ca.fabs(moving)))]


def _write_jacobian(r: Reduction) -> tuple[list[ca.SX], list[ca.SX]]:
    m, *slopes = _make_symbols(r)
    time, x, top, p, w = r.arguments
    cj = ca.SX.sym("cj")
    moving = ca.vertcat(x, top)
    states = x.shape[0]
    upper = ca.horzcat(cj * ca.SX.eye(states), ca.SX(states, top.shape[0])) - write_jacobian(r.shift, moving)
    lower = write_jacobian(ca.vertcat(r.top, r.G), moving)
    units = ca.SX.sym("units", states)
    right = ca.vertcat(-cj * ca.mtimes(ca.diag(units**2), r.B.T), ca.SX(lower.shape[0], m.shape[0]))
    arguments = [time, ca.vertcat(moving, m), ca.vertcat(*slopes), cj, p, w, units]
    return arguments, [ca.horzcat(ca.vertcat(upper, lower), right)]


def _write_rise(r: Reduction) -> tuple[list[ca.SX], list[ca.SX]]:
    time, x, _, _, w = r.arguments
    slope = ca.SX.sym("dw", w.shape[0])
    return [*r.arguments, slope], [ca.jtimes(r.top, ca.vertcat(time, x, w), ca.vertcat(1, r.shift, slope))]


def _write_motion(r: Reduction) -> tuple[list[ca.SX], list[ca.SX]]:
    time, x, top, _, w = r.arguments
    slopes = [ca.SX.sym(name, v.shape[0]) for name, v in (("dx", x), ("dt", top), ("dw", w))]
    functions = SYSTEM_FUNCTIONS["switches"](r)
    gradient, moved = ca.jacobian(functions, ca.vertcat(time, x, top, w)), ca.vertcat(1, *slopes)
    sizes = ca.mtimes(ca.fabs(gradient), ca.fabs(moved))
    return [*r.arguments, *slopes], [ca.vertcat(functions, ca.mtimes(gradient, moved), sizes)]


def _write_border_gradient(r: Reduction) -> tuple[list[ca.SX], list[ca.SX]]:
    return r.arguments, [ca.jacobian(SYSTEM_FUNCTIONS["switches"](r), ca.vertcat(r.X, r.T))]


def _write_border_slopes(r: Reduction) -> tuple[list[ca.SX], list[ca.SX]]:
    slopes = ca.jacobian(SYSTEM_FUNCTIONS["switches"](r), r.X)
    return r.arguments, [ca.vertcat(slopes, ca.jacobian(r.shift, r.T).T)]


def _make_symbols(r: Reduction) -> list[ca.SX]:
    """M, X', T', M'."""
    rows = len(r.constraints)
    return [ca.SX.sym(n, k) for n, k in (("m", rows), ("dx", r.X.shape[0]), ("dt", r.T.shape[0]), ("dm", rows))]
