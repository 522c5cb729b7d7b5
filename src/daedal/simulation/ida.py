"""The reference solver: SUNDIALS IDA on the reduced system, with analytic sparse Jacobian.

With the reduced system of `daedal.systems.reduction`, y = (X, T, M) obeys the index-1 equations

    X' − S(X, T) − B(X, t)ᵀ M' = 0,    top(X, T, t) = 0,    G(X, t) = 0,

where M' = 0 on the exact solution: the multipliers M only absorb the redundancy of X. B is frozen in the Jacobian.
M and the highest derivatives T_j (d_j ≥ 1) are kept out of the error norm; true algebraic variables stay in it.
The solver restarts at jumps of the inputs and nowhere else; at every sample X is projected on the constraints.

Reference: A. C. Hindmarsh et al., SUNDIALS, ACM TOMS 31 (2005) 363–396.
"""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import casadi as ca
import numpy as np

from daedal.errors import SimulationError
from daedal.simulation.evaluation import BufferedFunction
from daedal.simulation.forcing import Forcing, Segment
from daedal.simulation.projection import Projection, solve
from daedal.systems import InitialValues, Reduction, System, dead_point

DENSE = 40  # unknowns up to which a dense factorisation is faster
UNWEIGHTED = 1e10  # absolute tolerance of what stays out of the error norm
STEPS = 1_000_000  # between two samples


@dataclass(frozen=True)
class Run:
    """States and tops at the samples reached, and why the run ended early, if it did."""

    states: np.ndarray
    tops: np.ndarray
    stopped: str
    remedy: str


@final
@dataclass(frozen=True)
class IDA:
    """Variable-order, variable-step BDF (SUNDIALS IDA): the reference solver.

    Parameters
    ----------
    rtol, atol
        Relative and absolute tolerance of each step.
    """

    rtol: float = 1e-8
    atol: float = 1e-10

    def __post_init__(self) -> None:
        for name in ("rtol", "atol"):
            value = getattr(self, name)
            if not (isinstance(value, (int, float)) and 0 < value < 1):
                raise SimulationError(
                    f"The {name} of IDA must lie between 0 and 1, got {value!r}.", "Write for example 1e-8."
                )

    def solve(
        self, system: System, start: InitialValues, times: np.ndarray, forcing: Forcing, parameters: np.ndarray
    ) -> Run:
        """Advance from forcing.start through all times; what was reached is returned whatever happens."""
        work = _Integration(self, system, forcing, parameters)
        try:
            work.run(start, times)
        except KeyboardInterrupt:
            work.stopped = f"The simulation was interrupted at time {work.time:g}."
            work.remedy = "What was computed until then is kept."
        return Run(np.array(work.states), np.array(work.tops), work.stopped, work.remedy)


class _Integration:
    """One run: the mutable part of the solver."""

    def __init__(self, options: IDA, system: System, forcing: Forcing, parameters: np.ndarray) -> None:
        self.options, self.system, self.forcing, self.parameters = options, system, forcing, parameters
        self.project = Projection(system, parameters)
        self.residual, self.jacobian = (BufferedFunction(f) for f in _functions(system.reduction))
        self.states: list[np.ndarray] = []
        self.tops: list[np.ndarray] = []
        self.time, self.stopped, self.remedy = forcing.start, "", ""

    def run(self, start: InitialValues, times: np.ndarray) -> None:
        x, top = start.states, start.tops
        ends = [*self.forcing.jumps(), self.forcing.end]
        first = self.forcing.start
        position = 0
        for last in ends:
            _, top = self.project(first, x, top, self.forcing.at(first))
            while position < times.size and times[position] <= first:
                self._record(times[position], x, top)
                position += 1
            if last <= first:
                break
            solver = self._solver(self.forcing.between(first, last), first, x, top)
            inside = times[position : position + int(np.searchsorted(times[position:], last, side="left"))]
            for time in [*inside, last]:
                x, top = self._advance(solver, float(time), last, x, top)
                if self.stopped:
                    return
                if time < last:
                    self._record(time, x, top)
                    position += 1
            first = last
            x, top = self.project(last, x, top, self.forcing.at(last))
        for time in times[position:]:
            self._record(time, x, top)

    def _record(self, time: float, x: np.ndarray, top: np.ndarray) -> None:
        x, top = self.project(time, x, top, self.forcing.at(time))
        self.states.append(x)
        self.tops.append(top)

    def _advance(
        self, solver: Any, time: float, last: float, x: np.ndarray, top: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        result = solver.step(time, method="normal", tstop=last)
        if not result.success:
            self._fail(result)
            return x, top
        self.time = time
        return result.y[: x.size], result.y[x.size : x.size + top.size]

    def _fail(self, result: Any) -> None:
        count = len(self.system.states)
        y = result.y
        point = [
            result.t,
            y[:count],
            y[count : count + len(self.system.tops)],
            self.parameters,
            self.forcing.at(float(result.t)),
        ]
        cause = dead_point(self.system, point) if np.isfinite(y).all() else ""
        self.time = float(result.t)
        if cause:
            self.stopped = f"The simulation stopped at time {result.t:g}, where {cause}."
            self.remedy = (
                "The model passes through a singular position; change the position, the parameters or the equations."
            )
            return
        reason = result.message.rstrip(".").replace("'max_num_steps'", "the allowed number of steps")
        fastest = self._fastest(y)
        self.stopped = f"The simulation stopped at time {result.t:g} ({reason[0].lower()}{reason[1:]}); {fastest}."
        self.remedy = "Check the equations and values there (divisions, roots, growth), or loosen rtol and atol."

    def _fastest(self, y: np.ndarray) -> str:
        names = (*self.system.states, *self.system.tops)
        values = y[: len(names)]
        if not np.isfinite(values).all():
            return f"'{names[int(np.flatnonzero(~np.isfinite(values))[0])]}' is not finite there"
        worst = int(np.argmax(np.abs(values)))
        return f"the largest value there is '{names[worst]}' = {values[worst]:.4g}"

    def _solver(self, segment: Segment, first: float, x: np.ndarray, top: np.ndarray) -> Any:
        from sksundae import ida

        reduction = self.system.reduction
        rows = len(reduction.constraints)
        size = x.size + top.size + rows
        free = reduction.offsets.unknowns > 0
        tolerance = np.r_[
            np.full(x.size, self.options.atol), np.where(free, UNWEIGHTED, self.options.atol), np.full(rows, UNWEIGHTED)
        ]
        sparse = size > DENSE
        os.environ.setdefault(
            "SUNLOGGER_ERROR_FILENAME", os.devnull
        )  # a failure is reported in the Trajectory, not on screen
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the sparsity only serves the given Jacobian
            solver = ida.IDA(
                self._residual_callback(segment),
                jacfn=self._jacobian_callback(segment, sparse),
                algebraic_idx=list(range(x.size, x.size + top.size)),
                rtol=self.options.rtol,
                atol=tolerance,
                linsolver="sparse" if sparse else "dense",
                sparsity=_pattern(self.jacobian.sparsity) if sparse else None,
                max_num_steps=STEPS,
            )
        solver.init_step(
            first, np.r_[x, top, np.zeros(rows)], np.r_[self._slopes(segment, first, x, top), np.zeros(rows)]
        )
        return solver

    def _slopes(self, segment: Segment, first: float, x: np.ndarray, top: np.ndarray) -> np.ndarray:
        """(X', T') at the start of a stretch; without T' the first steps fail where algebraic variables are zero."""
        arguments = (first, x, top, self.parameters, segment(first))
        rise = _rise(self.system.reduction)(*arguments, segment.slope(first)).full().ravel()
        rates = self.system.function("derivative")(*arguments).full().ravel()
        slope = solve(self.project.J, arguments, -rise)
        return np.r_[rates, slope if np.isfinite(slope).all() else np.zeros(top.size)]

    def _residual_callback(self, segment: Segment) -> Callable:
        evaluate, parameters = self.residual, self.parameters

        def residual(t, y, yp, res):
            res[:] = evaluate(t, y, yp, parameters, segment(t))

        return residual

    def _jacobian_callback(self, segment: Segment, sparse: bool) -> Callable:
        evaluate, parameters = self.jacobian, self.parameters

        def jacobian(t, y, yp, res, cj, JJ):  # noqa: ARG001
            if sparse:
                JJ[:] = evaluate(t, y, yp, cj, parameters, segment(t))
            else:
                JJ[:, :] = evaluate.matrix(t, y, yp, cj, parameters, segment(t))

        return jacobian


def _rise(reduction: Reduction) -> ca.Function:
    """∂top/∂X S + ∂top/∂t + ∂top/∂w w': how fast top changes while T stands still."""
    if "top rise" not in reduction.compiled:
        time, x, _, _, w = reduction.arguments
        slope = ca.SX.sym("dw", w.shape[0])
        rise = ca.jtimes(reduction.top, ca.vertcat(time, x, w), ca.vertcat(1, reduction.shift, slope))
        reduction.compiled["top rise"] = ca.Function("top_rise", [*reduction.arguments, slope], [rise])
    return reduction.compiled["top rise"]


def _pattern(sparsity: ca.Sparsity):
    from scipy.sparse import csc_matrix

    return csc_matrix((np.ones(sparsity.nnz()), sparsity.row(), sparsity.colind()), shape=sparsity.shape)


def _functions(reduction: Reduction) -> tuple[ca.Function, ca.Function]:
    """Residual of (t, y, y', p, w) and its Jacobian ∂r/∂y + cj ∂r/∂y' with B frozen; made once per structure."""
    if "ida residual" not in reduction.compiled:
        r = reduction
        rows = len(r.constraints)
        m, slope_x, slope_t, slope_m = (
            ca.SX.sym(n, k) for n, k in (("m", rows), ("dx", r.X.shape[0]), ("dt", r.T.shape[0]), ("dm", rows))
        )
        y, slope = ca.vertcat(r.X, r.T, m), ca.vertcat(slope_x, slope_t, slope_m)
        time, _, _, p, w = r.arguments
        residual = ca.vertcat(slope_x - r.shift - ca.mtimes(r.B.T, slope_m), r.top, r.G)
        cj = ca.SX.sym("cj")
        moving = ca.vertcat(r.X, r.T)
        upper = ca.horzcat(cj * ca.SX.eye(r.X.shape[0]), ca.SX(r.X.shape[0], r.T.shape[0])) - ca.jacobian(
            r.shift, moving
        )
        lower = ca.jacobian(ca.vertcat(r.top, r.G), moving)
        right = ca.vertcat(-cj * r.B.T, ca.SX(lower.shape[0], rows))
        jacobian = ca.horzcat(ca.vertcat(upper, lower), right)
        r.compiled["ida residual"] = ca.Function("ida_residual", [time, y, slope, p, w], [residual])
        r.compiled["ida jacobian"] = ca.Function("ida_jacobian", [time, y, slope, cj, p, w], [jacobian])
    return reduction.compiled["ida residual"], reduction.compiled["ida jacobian"]
