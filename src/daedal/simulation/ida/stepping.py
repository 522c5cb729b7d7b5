"""SUNDIALS IDA on one stretch of time of the reduced system, with analytic sparse Jacobian.

The equations are those of `implicit` beside this file. The multipliers M and the highest derivatives T_j (d_j ≥ 1) are
kept out of the error norm; true algebraic variables stay in it. The clock starts anew with every stretch.

Reference: A. C. Hindmarsh et al., SUNDIALS, ACM TOMS 31 (2005) 363–396.
"""

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from daedal.progress import Progress
from daedal.simulation.forcing import Forcing
from daedal.simulation.ida import implicit
from daedal.simulation.ida.projection import Projection, solve
from daedal.simulation.ida.silence import ignore_warnings
from daedal.simulation.ida.stop import Stop
from daedal.symbolic import BufferedFunction
from daedal.systems import System

DENSE = 250  # unknowns up to which a dense factorisation is faster
UNWEIGHTED = 1e10  # absolute tolerance of what stays out of the error norm
STEPS = 1000  # after which the solver reports how far it is
TOO_MANY_STEPS = -1  # how it says so
ROOT = 2  # and how, that one of the watched functions is zero
STALLED = 1e-13  # of the whole time: a run that advances less in PATIENCE × STEPS steps is given up
PATIENCE = 10
KEPT = 64  # roots after which another solver takes the place of one that remembers all


class Stepper:
    """The solver on one stretch after the other.

    `modes` are values that are constant on a stretch, at `places` among the exogenous symbols. Where `watch` is given,
    the solver stops where one of its functions is zero, and `roots` says which (0 for those that are not).
    """

    def __init__(
        self,
        rtol: float,
        atol: float,
        system: System,
        forcing: Forcing,
        parameters: np.ndarray,
        progress: Progress,
        places: list[int] | None = None,
    ) -> None:
        self.rtol, self.atol = rtol, atol
        self.system, self.forcing, self.parameters, self.progress = system, forcing, parameters, progress
        self.project = Projection(system, parameters)
        self.residual = BufferedFunction(implicit.make_residual(system.reduction))
        self.jacobian = BufferedFunction(implicit.make_jacobian(system.reduction))
        self.time, self.stopped, self.remedy = forcing.start, "", ""
        self.enter(forcing.start, forcing.end)
        self.places = places or []
        self.modes = np.zeros(len(self.places))
        self.watch: Any = None
        self.roots = np.zeros(0, dtype=int)
        self.last = forcing.start, np.zeros(0), np.zeros(0)  # time, X, T where the solver gave up
        self._solver: Any = None
        self._count = 0

    @property
    def full(self) -> bool:
        """Whether the solver remembers so many roots that copying them costs time, and should start anew."""
        return self._count >= KEPT

    def fill(self, time: float) -> np.ndarray:
        """All exogenous values at one time, right-continuous at jumps."""
        values = self.forcing.at(time)
        values[self.places] = self.modes
        return values

    def enter(self, first: float, last: float) -> None:
        """Begin a stretch without jumps, and its clock."""
        self.origin, self.segment = first, self.forcing.make_segment(first, last)

    def start(self, x: np.ndarray, top: np.ndarray) -> None:
        """Integrate from the first instant of the stretch on."""
        slopes = self.find_slopes(self.origin, x, top)
        still = np.zeros(len(self.system.reduction.constraints))
        for function in (self.residual, self.jacobian):
            function.inputs[-1][self.places] = self.modes
        if self._solver is None or self.full:
            self._solver, self._count = self._make_solver(), 0
        self._solver.init_step(0.0, np.r_[x, top, still], np.r_[slopes, still])

    def advance(self, time: float, last: float, x: np.ndarray, top: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States and tops at `time`, or at a root before it."""
        enough = STALLED * (self.forcing.end - self.forcing.start)
        before, stalled = self.time, 0
        while True:
            result = self._solver.step(time - self.origin, method="normal", tstop=last - self.origin)
            rooted = result.status == ROOT
            reached = time if result.success and not rooted else self.origin + float(result.t)
            stalled = 0 if reached - self.time > enough else stalled + 1
            self.time = reached
            self.progress(reached)
            if result.success:
                self.roots = result.i_events[-1] if rooted else np.zeros(0, dtype=int)
                self._count += rooted
                return result.y[: x.size], result.y[x.size : x.size + top.size]
            if result.status != TOO_MANY_STEPS or stalled == PATIENCE:
                self._fail(result, before, x, top)
                return x, top

    def find_slopes(self, time: float, x: np.ndarray, top: np.ndarray) -> np.ndarray:
        """(X', T') at a point of the stretch; without T' the first steps fail where algebraic variables are zero."""
        values, slopes = np.zeros(len(self.system.reduction.exogenous)), self.find_input_slopes(time)
        values[self.places] = self.modes
        self.segment.write_values(time - self.origin, values)
        arguments = (time, x, top, self.parameters, values)
        rise = implicit.make_rise(self.system.reduction)(*arguments, slopes).full().ravel()
        rates = self.system.function("derivative")(*arguments).full().ravel()
        slope = solve(self.project.J, arguments, -rise)
        return np.r_[rates, slope if np.isfinite(slope).all() else np.zeros(top.size)]

    def find_input_slopes(self, time: float) -> np.ndarray:
        """How fast the exogenous values change at a point of the stretch."""
        slopes = np.zeros(len(self.system.reduction.exogenous))
        self.segment.write_slopes(time - self.origin, slopes)
        return slopes

    def _fail(self, result: Any, before: float, x: np.ndarray, top: np.ndarray) -> None:
        size = x.size + top.size
        self.last = self.time, result.y[: x.size], result.y[x.size : size]
        last = [before, x, top, self.parameters, self.fill(before)]
        point = [self.time, result.y[: x.size], result.y[x.size : size], self.parameters, self.fill(self.time)]
        reason = "the steps became too short" if result.status == TOO_MANY_STEPS else result.message
        stop = Stop(self.system, point, result.yp[:size], last, self.forcing.start, reason)
        self.stopped, self.remedy = stop.explain()

    def _make_solver(self) -> Any:
        from sksundae import ida

        reduction = self.system.reduction
        states, tops, rows = len(reduction.states), len(reduction.tops), len(reduction.constraints)
        free = np.where(reduction.offsets.unknowns > 0, UNWEIGHTED, self.atol)
        sparse = states + tops + rows > DENSE
        watched: dict[str, Any] = {}
        if self.watch is not None:
            watched = {"eventsfn": self.watch, "num_events": len(self.watch.direction)}
        with ignore_warnings():  # that the sparsity only serves the given Jacobian
            return ida.IDA(
                self._make_residual_callback(),
                jacfn=self._make_jacobian_callback(sparse),
                algebraic_idx=list(range(states, states + tops)),
                rtol=self.rtol,
                atol=np.r_[np.full(states, self.atol), free, np.full(rows, UNWEIGHTED)],
                linsolver="sparse" if sparse else "dense",
                sparsity=_make_pattern(self.jacobian.sparsity) if sparse else None,
                max_num_steps=STEPS,
                **watched,
            )

    def _make_residual_callback(self) -> Callable:
        run, result = self.residual.run, self.residual.result
        clock, values, slopes, parameters, exogenous = self.residual.inputs
        parameters[:] = self.parameters

        def fill_residual(t, y, yp, res):
            clock[0] = self.origin + t
            values[:] = y
            slopes[:] = yp
            self.segment.write_values(t, exogenous)
            run()
            res[:] = result

        return fill_residual

    def _make_jacobian_callback(self, sparse: bool) -> Callable:
        run, result, places = self.jacobian.run, self.jacobian.result, self.jacobian.places
        clock, values, slopes, factor, parameters, exogenous = self.jacobian.inputs
        parameters[:] = self.parameters

        def fill_jacobian(t, y, yp, res, cj, JJ):  # noqa: ARG001
            clock[0] = self.origin + t
            values[:] = y
            slopes[:] = yp
            factor[0] = cj
            self.segment.write_values(t, exogenous)
            run()
            if sparse:
                JJ[:] = result
            else:
                JJ.reshape(-1)[places] = result  # the rest of it stays zero

        return fill_jacobian


def _make_pattern(sparsity: ca.Sparsity):
    from scipy.sparse import csc_matrix

    return csc_matrix((np.ones(sparsity.nnz()), sparsity.row(), sparsity.colind()), shape=sparsity.shape)
