"""SUNDIALS IDA on one stretch of time of the reduced system, with analytic sparse Jacobian.

The equations are those of `implicit` beside this file. The multipliers M and the highest derivatives T_j (d_j ≥ 1) are
kept out of the error norm; true algebraic variables stay in it. The clock starts anew with every stretch. The solver
sees everything in the units of `units` beside this file.

Reference: A. C. Hindmarsh et al., SUNDIALS, ACM TOMS 31 (2005) 363–396.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from daedal.data import short
from daedal.progress import Progress
from daedal.simulation.forcing import Forcing
from daedal.simulation.ida import implicit, units
from daedal.simulation.ida.projection import Projection, solve
from daedal.simulation.ida.silence import ignore_warnings
from daedal.simulation.ida.stop import Stop
from daedal.symbolic import BufferedFunction
from daedal.systems import System, find_groups, measure_sizes, round_to_power

DENSE = 100  # unknowns up to which a dense factorisation is faster
UNWEIGHTED = 1e10  # absolute tolerance, in units of its size, of what stays out of the error norm
STEPS = 100  # after which the solver reports how far it is
TOO_MANY_STEPS = -1  # how it says so
ROOT = 2  # and how, that one of the watched functions is zero
STALLED = 1e-13  # of the whole time: a run that advances less in PATIENCE × STEPS steps is given up
PATIENCE = 100
MANY, SLOW = 1e-3, 1e-4  # of the whole time, for each step: when larger sizes, and looking for round-off, pay
CRAWL = 1e-3  # of the time so far: a run that advances less in STEPS steps crawls
LASTING = 3  # times: what crawls as often will not stop by itself
LOOKS = 8  # over a stretch: when inputs and functions of time are looked at for what they may do
multiply, divide = np.multiply, np.divide
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
        self._metric = np.ones(len(system.reduction.states))  # units of X, in which it moves onto the constraints
        self.project = Projection(system, parameters, self._metric)
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
        reduction = system.reduction
        known, rows = len(reduction.states) + len(reduction.tops), len(reduction.constraints)
        self.sizes = np.zeros(known)  # of X and T: the largest values so far
        self.units, self._rows = np.ones(known + rows), np.ones(known + rows)
        self._entries = np.ones(self.jacobian.result.size)  # what makes an entry of the Jacobian free of units
        self._places = np.array(self.jacobian.sparsity.get_triplet(), dtype=int)
        self._factor = 1.0  # cj of the last Jacobian
        self.calls, self.most = 0, np.inf  # of the residual, and how many there may be

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
        self._passed = int(np.searchsorted(self.forcing.soundings, first, side="right"))

    def start(self, x: np.ndarray, top: np.ndarray) -> None:
        """Integrate from the first instant of the stretch on."""
        slopes = self.find_slopes(self.origin, x, top)
        still = np.zeros(len(self.system.reduction.constraints))
        for function in (self.residual, self.jacobian):
            function.inputs[-2][self.places] = self.modes
        if self._solver is None or self.full:
            self._solver, self._count = self._make_solver(), 0
        values, rates = np.r_[x, top, still], np.r_[slopes, still]
        if not self.sizes.any():
            self._measure(values, rates)
        self.note(values[: self.sizes.size])
        if self._find_grown().any():
            self._choose_units(0.0, values, rates, self._factor)
        self._begin(0.0, values, rates)

    def advance(self, time: float, last: float, x: np.ndarray, top: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States and tops at `time`, or at a root before it.

        Nothing but the time tells how an input goes on: no step goes over all of a piece, lest it misses a pulse.
        """
        soundings = self.forcing.soundings
        while self._passed < soundings.size and soundings[self._passed] < time:
            x, top = self._advance(float(soundings[self._passed]), float(soundings[self._passed]), x, top)
            if self.stopped or self.roots.any():
                return x, top
            self._passed += 1
        stop = min(last, float(soundings[self._passed])) if self._passed < soundings.size else last
        return self._advance(time, stop, x, top)

    def _advance(self, time: float, stop: float, x: np.ndarray, top: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same, and never beyond `stop`."""
        enough = STALLED * (self.forcing.end - self.forcing.start)
        before, stalled, known = self.time, 0, x.size + top.size
        passed, crawling = before, 0
        while True:
            with self._alone():
                result = self._solver.step(time - self.origin, method="normal", tstop=stop - self.origin)
            values, rates = result.y * self.units, result.yp * self.units
            if not result.success:
                self._solve_unweighted(self.origin + float(result.t), values)
            rooted = result.status == ROOT
            reached = time if result.success and not rooted else self.origin + float(result.t)
            stalled = 0 if reached - self.time > enough else stalled + 1
            self.time = reached
            self.progress(reached)
            self.note(values[:known] if not result.success else np.where(self._weighted, values[:known], 0.0))
            if self.calls > self.most:
                self.stopped = f"The simulation was given up at time {short(reached)}."
                return x, top
            if result.success:
                self.roots = result.i_events[-1] if rooted else np.zeros(0, dtype=int)
                self._count += rooted
                return values[: x.size], values[x.size : known]
            share = (reached - passed) / (self.forcing.end - self.forcing.start)
            crawling = crawling + 1 if reached - passed < CRAWL * (reached - self.forcing.start) else 0
            passed = reached
            failed, stuck = result.status != TOO_MANY_STEPS, stalled >= PATIENCE
            slow = failed or share < SLOW * STEPS
            if (
                not stuck
                and (failed or share < MANY * STEPS)
                and self._adjust(float(result.t), values, rates, slow=slow, crawls=crawling > LASTING, failed=failed)
            ):
                continue
            if failed or stuck:
                self._fail(result.status, result.message, values[:known], rates[:known], before, x, top)
                return x, top

    def _solve_unweighted(self, time: float, values: np.ndarray) -> None:
        """Put what is not in the error norm where the equations have it.

        Nothing in the solver keeps it there: every step extrapolates what earlier ones left unsolved, up to 1e10 times
        its size. X does not feel it, but sizes and round-off must not be told from it.
        """
        states, known = len(self.system.reduction.states), self.sizes.size
        values[known:] = 0.0
        if np.isfinite(values).all() and not self._weighted.all():
            _, top = self.project(time, values[:states], values[states:known], self.fill(time))
            free = ~self._weighted[states:]
            values[states:known][free] = top[free]

    def note(self, values: np.ndarray) -> None:
        """Take values of X and T into account as sizes."""
        np.fmax(self.sizes, np.abs(values), out=self.sizes)

    def _measure(self, values: np.ndarray, rates: np.ndarray) -> None:
        """Sizes at the start: what is there, and what is reached in a short while.

        Where both are round-off, what the terms would allow is all that is known. Far along a chain next to nothing is
        reached at first: no size is below what is round-off of what the whole time would allow.
        """
        known, states = self.sizes.size, len(self.system.reduction.states)
        span, ones = self.forcing.end - self.forcing.start, np.ones(values.size)
        w = self.fill(self.origin)
        point = [self.origin, values[:states], values[states:known], self.parameters, w]
        self._metric[:] = measure_sizes(self.system, point, span, self.forcing.find_largest(w)).metric
        columns = np.r_[np.ones(known), self._find_multiplier_units(values, np.ones(known))]
        terms, full = self._look_over(values, rates), (values, rates)

        def find_possible(time: float) -> np.ndarray:
            """What the terms would allow of X and T after a time."""
            matrix = self._evaluate_jacobian(0.0, *full, 1.0 / time, ones, columns)
            return np.nan_to_num(units.spread(matrix, terms)[:known], posinf=0.0)

        possible = find_possible(units.SHORT * span)
        standing = abs(self._evaluate_jacobian(0.0, values, rates, 0.0, ones, ones))[:states, :known]
        possible_rates = np.r_[standing @ np.r_[np.abs(values[:states]), possible[states:]], np.zeros(known - states)]
        values, rates = values[:known], rates[:known].copy()
        rates[:states][np.abs(rates[:states]) <= units.ROUNDING * possible_rates[:states]] = 0.0
        lost = units.ROUNDING * possible
        duration = units.find_duration(values, rates, lost, span)
        lost = units.ROUNDING * find_possible(duration)
        near = values + duration * rates
        arguments = (self.origin + duration, near[:states], near[states:], self.parameters, self.fill(self.origin))
        further = near[:states] + duration * self.system.function("derivative")(*arguments).full().ravel()
        self.sizes[:] = np.fmax(np.abs(values), np.abs(near))
        self.sizes[:states] = np.fmax(self.sizes[:states], np.abs(further))
        hidden = (np.abs(values) <= lost) & ((rates == 0.0) | (np.abs(near) <= lost))
        natural = duration / units.SHORT
        likely = units.UNKNOWN * np.maximum(find_possible(natural), natural * possible_rates)
        self.sizes[hidden] = np.fmax(self.sizes, likely)[hidden]
        self.sizes[:] = np.fmax(self.sizes, units.LEAST * find_possible(span))
        self.sizes[~(np.isfinite(self.sizes) & (self.sizes > 0.0))] = 1.0
        self._choose_units(0.0, np.r_[values, ones[known:] * 0.0], np.r_[rates, ones[known:] * 0.0], 1.0 / span)

    def _look_over(self, values: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """What residuals become over the stretch if nothing answers, and what they are made of at its start."""
        elapsed = np.linspace(0.0, self.forcing.end - self.origin, LOOKS)
        residuals = [np.abs(self._evaluate(self.residual, t, values, rates)) for t in elapsed]
        terms = self._evaluate(BufferedFunction(implicit.make_terms(self.system.reduction)), 0.0, values, rates)
        return np.nan_to_num(np.max([*residuals, terms], axis=0), posinf=0.0)

    def _evaluate(self, function: BufferedFunction, elapsed: float, values: np.ndarray, rates: np.ndarray) -> Any:
        """A function of (t, y, y', p, w) at a point of the stretch."""
        w = np.zeros(len(self.system.reduction.exogenous))
        w[self.places] = self.modes
        self.segment.write_values(elapsed, w)
        return function(self.origin + elapsed, values, rates, self.parameters, w, self._metric).copy()

    def _evaluate_jacobian(
        self,
        elapsed: float,
        values: np.ndarray,
        rates: np.ndarray,
        factor: float,
        rows: np.ndarray,
        columns: np.ndarray,
    ) -> Any:
        """∂r/∂y + cj ∂r/∂y' in given units, dense or sparse as it is for the solver."""
        w = np.zeros(len(self.system.reduction.exogenous))
        w[self.places] = self.modes
        self.segment.write_values(elapsed, w)
        arguments = (self.origin + elapsed, values, rates, factor, self.parameters, w, self._metric)
        i, j = self._places
        with np.errstate(all="ignore"):
            entries = self.jacobian(*arguments) * columns[j] / rows[i]
        if self._is_sparse:
            from scipy.sparse import csc_matrix

            return csc_matrix((entries, (i, j)), shape=self.jacobian.shape)
        dense = np.zeros(self.jacobian.shape)
        dense[i, j] = entries
        return dense

    def _find_multiplier_units(self, values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Units in which multipliers move X by its own size."""
        states = len(self.system.reduction.states)
        arguments = (values[:states], values[states : self.sizes.size], self.parameters, self.fill(self.origin))
        B = self.system.function("directions")(self.origin, *arguments).full()
        moved = np.abs(B) * self._metric**2 / sizes[:states]
        largest = np.max(moved, axis=1, initial=0.0) if B.size else np.zeros(len(B))
        return 1.0 / round_to_power(np.where(np.isfinite(largest), largest, 0.0))

    def _choose_units(self, elapsed: float, values: np.ndarray, rates: np.ndarray, factor: float) -> None:
        """Units for the sizes that are known now."""
        known = self.sizes.size
        self.units[:known] = round_to_power(self.sizes)
        self.units[known:] = self._find_multiplier_units(values, self.units[:known])
        ones = np.ones(self.units.size)
        self._rows[:] = units.balance_rows(self._evaluate_jacobian(elapsed, values, rates, factor, ones, self.units))
        i, j = self._places
        self._entries[:] = self.units[j] / self._rows[i]

    def _begin(self, elapsed: float, values: np.ndarray, rates: np.ndarray) -> None:
        self._solver.init_step(elapsed, values / self.units, rates / self.units)

    def _adjust(
        self, elapsed: float, values: np.ndarray, rates: np.ndarray, *, slow: bool, crawls: bool, failed: bool
    ) -> bool:
        """Go on with larger sizes: of what has grown, and, where a run is slow, of what is round-off.

        Where it crawls and neither is so, constraints move what is small less than what is large.
        """
        if not (np.isfinite(values).all() and np.isfinite(rates).all()):
            return False
        grown = bool(self._find_grown().any())
        hidden = slow and self._lift_hidden(elapsed, values, rates, units.RESOLVED if failed else 1.0)
        changed = grown or hidden or (crawls and self._suit_metric())
        if changed:
            self._resume(elapsed, values, rates)
        return changed

    def _resume(self, elapsed: float, values: np.ndarray, rates: np.ndarray) -> None:
        """Go on in other units."""
        states, known, time = len(self.system.reduction.states), self.sizes.size, self.origin + elapsed
        x, top = self.project(time, values[:states], values[states:known], self.fill(time))
        values[:known], rates[:known] = np.r_[x, top], self.find_slopes(time, x, top)
        values[known:], rates[known:] = 0.0, 0.0
        self._choose_units(elapsed, values, rates, self._factor)
        self._begin(elapsed, values, rates)

    def _find_grown(self) -> np.ndarray:
        """What has grown far beyond its unit."""
        return self._weighted & (self.sizes > units.GROWN * self.units[: self.sizes.size])

    def _lift_hidden(self, elapsed: float, values: np.ndarray, rates: np.ndarray, part: float) -> bool:
        """Give that a larger size of which part of what it is allowed is round-off; whether there was any."""
        known = self.sizes.size
        matrix = self._evaluate_jacobian(elapsed, values, rates, self._factor, self._rows, self.units)
        terms = self._evaluate(BufferedFunction(implicit.make_terms(self.system.reduction)), elapsed, values, rates)
        lost = units.ROUNDING / part * self.units[:known] * units.spread(matrix, terms / self._rows)[:known]
        allowed = self.rtol * np.abs(values[:known]) + self.floors * self.units[:known]
        hidden = self._weighted & np.isfinite(lost) & (lost > allowed)
        self.sizes[hidden] = np.maximum(self.sizes, units.LIFTED * lost / self.floors)[hidden]
        return bool(hidden.any())

    def _suit_metric(self) -> bool:
        """Let constraints move each of X in proportion to how large it has become; whether that is new.

        What is much smaller than others, and moved as much, would be resolved where it passes zero in tiny steps of
        order one, whose errors add up.
        """
        before, sizes = self._metric.copy(), round_to_power(self.sizes)
        for group in find_groups(self.system.reduction.B.sparsity()):
            self._metric[group] = sizes[group] / np.max(sizes[group])
        apart = self._metric / before
        return bool(apart.max() > units.APART * apart.min())

    @property
    def floors(self) -> np.ndarray:
        """What is allowed of X and T near zero, in units of their sizes.

        T is solved for at every sample, and carries no error on: resolving it where it crosses zero would cost steps.
        """
        states, tops = len(self.system.reduction.states), len(self.system.reduction.tops)
        near = units.NEAR_ZERO * self.atol, units.NEAR_ZERO_SOLVED * max(self.rtol, self.atol)
        return np.r_[np.full(states, near[0]), np.full(tops, near[1])]

    @cached_property
    def _weighted(self) -> np.ndarray:
        """Which of X and T are in the error norm."""
        return np.r_[np.ones(len(self.system.reduction.states), bool), self.system.reduction.offsets.unknowns == 0]

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

    def _fail(
        self,
        status: int,
        message: str,
        values: np.ndarray,
        rates: np.ndarray,
        before: float,
        x: np.ndarray,
        top: np.ndarray,
    ) -> None:
        self.last = self.time, values[: x.size], values[x.size :]
        last = [before, x, top, self.parameters, self.fill(before)]
        point = [*self.last, self.parameters, self.fill(self.time)]
        reason = "the steps became too short" if status == TOO_MANY_STEPS else message
        stop = Stop(self.system, point, rates, last, self.forcing.start, reason)
        self.stopped, self.remedy = stop.explain()

    def _alone(self) -> AbstractContextManager[None]:
        if not self._is_sparse:
            return nullcontext()
        from daedal.simulation.ida.threads import factorise_alone  # large systems are few

        return factorise_alone()

    @property
    def _is_sparse(self) -> bool:
        return self.units.size > DENSE

    def _make_solver(self) -> Any:
        from sksundae import ida

        reduction = self.system.reduction
        states, tops, rows = len(reduction.states), len(reduction.tops), len(reduction.constraints)
        sparse, weighted = self._is_sparse, self._weighted
        # Its norm is the mean over all, and so the larger an error, the more of them are not in it.
        share = np.sqrt(np.sum(weighted) / (states + tops + rows))
        watched: dict[str, Any] = {}
        if self.watch is not None:
            watched = {"eventsfn": self.watch, "num_events": len(self.watch.direction)}
        with ignore_warnings():  # that the sparsity only serves the given Jacobian
            return ida.IDA(
                self._make_residual_callback(),
                jacfn=self._make_jacobian_callback(sparse),
                algebraic_idx=list(range(states, states + tops)),
                rtol=share * self.rtol,
                atol=np.r_[np.where(weighted, share * self.floors, UNWEIGHTED), np.full(rows, UNWEIGHTED)],
                linsolver="sparse" if sparse else "dense",
                sparsity=_make_pattern(self.jacobian.sparsity) if sparse else None,
                max_num_steps=STEPS,
                **watched,
            )

    def _make_residual_callback(self) -> Callable:
        run, result = self.residual.run, self.residual.result
        clock, values, slopes, parameters, exogenous, metric = self.residual.inputs
        columns, rows, chosen = self.units, self._rows, self._metric
        parameters[:] = self.parameters

        def fill_residual(t, y, yp, res):
            self.calls += 1
            clock[0] = self.origin + t
            multiply(y, columns, values)
            multiply(yp, columns, slopes)
            metric[:] = chosen
            self.segment.write_values(t, exogenous)
            run()
            divide(result, rows, res)

        return fill_residual

    def _make_jacobian_callback(self, sparse: bool) -> Callable:
        run, result, places = self.jacobian.run, self.jacobian.result, self.jacobian.places
        clock, values, slopes, factor, parameters, exogenous, metric = self.jacobian.inputs
        columns, entries, chosen = self.units, self._entries, self._metric
        parameters[:] = self.parameters

        def fill_jacobian(t, y, yp, res, cj, JJ):  # noqa: ARG001
            clock[0] = self.origin + t
            multiply(y, columns, values)
            multiply(yp, columns, slopes)
            factor[0] = self._factor = cj
            metric[:] = chosen
            self.segment.write_values(t, exogenous)
            run()
            if sparse:
                multiply(result, entries, JJ)
            else:
                JJ.reshape(-1)[places] = result * entries  # the rest of it stays zero

        return fill_jacobian


def _make_pattern(sparsity: ca.Sparsity):
    from scipy.sparse import csc_matrix

    return csc_matrix((np.ones(sparsity.nnz()), sparsity.row(), sparsity.colind()), shape=sparsity.shape)
