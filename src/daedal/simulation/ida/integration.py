"""One trajectory through SUNDIALS IDA on the reduced system, with analytic sparse Jacobian.

The equations are those of `implicit` beside this file. The multipliers M and the highest derivatives T_j (d_j ≥ 1) are
kept out of the error norm; true algebraic variables stay in it. The solver restarts at jumps of the inputs and nowhere
else, and its clock with it; at every sample X is projected on the constraints.

Reference: A. C. Hindmarsh et al., SUNDIALS, ACM TOMS 31 (2005) 363–396.
"""

import warnings
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from daedal.progress import Progress
from daedal.simulation.forcing import Forcing
from daedal.simulation.ida import implicit
from daedal.simulation.ida.projection import Projection, solve
from daedal.simulation.ida.stop import Stop
from daedal.symbolic import BufferedFunction
from daedal.systems import InitialValues, System

DENSE = 250  # unknowns up to which a dense factorisation is faster
UNWEIGHTED = 1e10  # absolute tolerance of what stays out of the error norm
STEPS = 1000  # after which the solver reports how far it is
TOO_MANY_STEPS = -1  # how it says so
STALLED = 1e-13  # of the whole time: a run that advances less in PATIENCE × STEPS steps is given up
PATIENCE = 10


class Integration:
    """One trajectory: the mutable part of the solver."""

    def __init__(
        self,
        rtol: float,
        atol: float,
        system: System,
        forcing: Forcing,
        parameters: np.ndarray,
        progress: Progress,
    ) -> None:
        self.system, self.forcing, self.parameters, self.progress = system, forcing, parameters, progress
        self.project = Projection(system, parameters)
        self.residual = BufferedFunction(implicit.make_residual(system.reduction))
        self.jacobian = BufferedFunction(implicit.make_jacobian(system.reduction))
        self.states: list[np.ndarray] = []
        self.tops: list[np.ndarray] = []
        self.time, self.stopped, self.remedy = forcing.start, "", ""
        self.origin, self.segment = forcing.start, forcing.make_segment(forcing.start, forcing.end)
        self.solver = self._make_solver(rtol, atol)

    def run(self, start: InitialValues, times: np.ndarray) -> None:
        x, top = start.states, start.tops
        first, position = self.forcing.start, 0
        exogenous = self.forcing.at_all(times)
        for last in [*self.forcing.find_jumps(), self.forcing.end]:
            _, top = self.project(first, x, top, self.forcing.at(first))
            while position < times.size and times[position] <= first:
                self._record(times[position], x, top, exogenous[position])
                position += 1
            if last <= first:
                break
            self._restart(first, last, x, top)
            inside = times[position : position + int(np.searchsorted(times[position:], last, side="left"))]
            for time in [*inside, last]:
                x, top = self._advance(float(time), last, x, top)
                if self.stopped:
                    return
                if time < last:
                    self._record(time, x, top, exogenous[position])
                    position += 1
            first = last
            x, top = self.project(last, x, top, self.forcing.at(last))
        for sample in range(position, times.size):
            self._record(times[sample], x, top, exogenous[sample])

    def _record(self, time: float, x: np.ndarray, top: np.ndarray, exogenous: np.ndarray) -> None:
        x, top = self.project(time, x, top, exogenous)
        self.states.append(x)
        self.tops.append(top)

    def _advance(self, time: float, last: float, x: np.ndarray, top: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        enough = STALLED * (self.forcing.end - self.forcing.start)
        before, stalled = self.time, 0
        while True:
            result = self.solver.step(time - self.origin, method="normal", tstop=last - self.origin)
            reached = time if result.success else self.origin + float(result.t)
            stalled = 0 if reached - self.time > enough else stalled + 1
            self.time = reached
            self.progress(reached)
            if result.success:
                return result.y[: x.size], result.y[x.size : x.size + top.size]
            if result.status != TOO_MANY_STEPS or stalled == PATIENCE:
                self._fail(result, before, x, top)
                return x, top

    def _fail(self, result: Any, before: float, x: np.ndarray, top: np.ndarray) -> None:
        size = x.size + top.size
        last = [before, x, top, self.parameters, self.forcing.at(before)]
        point = [self.time, result.y[: x.size], result.y[x.size : size], self.parameters, self.forcing.at(self.time)]
        reason = "the steps became too short" if result.status == TOO_MANY_STEPS else result.message
        stop = Stop(self.system, point, result.yp[:size], last, self.forcing.start, reason)
        self.stopped, self.remedy = stop.explain()

    def _restart(self, first: float, last: float, x: np.ndarray, top: np.ndarray) -> None:
        self.origin, self.segment = first, self.forcing.make_segment(first, last)
        still = np.zeros(len(self.system.reduction.constraints))
        self.solver.init_step(0.0, np.r_[x, top, still], np.r_[self._find_slopes(first, x, top), still])

    def _find_slopes(self, first: float, x: np.ndarray, top: np.ndarray) -> np.ndarray:
        """(X', T') at the start of a stretch; without T' the first steps fail where algebraic variables are zero."""
        values, slopes = np.zeros((2, len(self.system.reduction.exogenous)))
        self.segment.write_values(0.0, values)
        self.segment.write_slopes(0.0, slopes)
        arguments = (first, x, top, self.parameters, values)
        rise = implicit.make_rise(self.system.reduction)(*arguments, slopes).full().ravel()
        rates = self.system.function("derivative")(*arguments).full().ravel()
        slope = solve(self.project.J, arguments, -rise)
        return np.r_[rates, slope if np.isfinite(slope).all() else np.zeros(top.size)]

    def _make_solver(self, rtol: float, atol: float) -> Any:
        from sksundae import ida

        reduction = self.system.reduction
        states, tops, rows = len(reduction.states), len(reduction.tops), len(reduction.constraints)
        free = np.where(reduction.offsets.unknowns > 0, UNWEIGHTED, atol)
        sparse = states + tops + rows > DENSE
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the sparsity only serves the given Jacobian
            return ida.IDA(
                self._make_residual_callback(),
                jacfn=self._make_jacobian_callback(sparse),
                algebraic_idx=list(range(states, states + tops)),
                rtol=rtol,
                atol=np.r_[np.full(states, atol), free, np.full(rows, UNWEIGHTED)],
                linsolver="sparse" if sparse else "dense",
                sparsity=_make_pattern(self.jacobian.sparsity) if sparse else None,
                max_num_steps=STEPS,
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
