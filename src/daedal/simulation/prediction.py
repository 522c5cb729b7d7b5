"""Predicted outputs of one experiment as a smooth function of parameter values.

Steps, compiled program and random numbers are chosen once, so that two calls with the same values agree to the last
digit and nearby values give nearby results (common random numbers, fixed steps): what an optimiser needs.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daedal.errors import SimulationError, counted
from daedal.simulation.ensemble_solver import Lanes, prepare
from daedal.simulation.lanes import (
    Failure,
    Run,
    collect_moments,
    keep_lanes,
    project_lanes,
    refuse_long_steps,
    simulate_single_lane,
)
from daedal.simulation.request import Request, check_memory

TOLERATED = 0.1  # share of the realizations that may fail at the start
LARGEST_GROUP = 16  # lanes whose mean is kept
COPIES = 3  # of the means of groups: as they come, and as a criterion weighs them
SERVES = 3.0  # error of the steps, in units of the tolerance, with which they still serve elsewhere


@dataclass(frozen=True, eq=False)
class Prediction:
    """The outputs at the sample times, averaged over disturbances, and how they move with the parameters.

    `mean` and `variance` (one over the realizations, zero where disturbances are) are (output, time), `slopes`
    (parameter, output, time). `groups` holds the mean and slopes of groups of realizations, (group, 1 + parameter,
    output, time), and `counts` how many are in each: what they differ by is the Monte-Carlo error. Empty without
    realizations.
    """

    mean: np.ndarray
    slopes: np.ndarray
    variance: np.ndarray
    groups: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True, eq=False)
class Predictor:
    """A prepared simulation of one experiment; `realizations` is None where disturbances are zero."""

    asked: Request
    run: Run
    solver: Lanes
    realizations: int | None
    left_out: frozenset[int] = frozenset()  # lanes that cannot be simulated even at the start

    @property
    def free(self) -> tuple[str, ...]:
        """Parameters that the slopes belong to."""
        return self.run.scenario.free

    @property
    def work(self) -> int:
        """Numbers that are advanced, each by some operations, and by one thread alone; realizations have several."""
        size = len(self.run.scenario.system.states) + len(self.run.scenario.system.tops)
        return self.run.plan.lengths.size * size * (1 + len(self.free)) * (self.realizations is None)

    def __call__(self, values: Mapping[str, float]) -> Prediction:
        """The prediction at these values; raises a DaedalError where they cannot be simulated."""
        run = self.run.at([values])
        outputs = len(run.plan.shape.wanted)
        shape = (1 + len(self.free), outputs, run.times.size)
        if self.realizations is None:
            rows = simulate_single_lane(run)[0].reshape(shape)
            return Prediction(rows[0], rows[1:], np.zeros(shape[1:]), np.zeros((0, *shape)), np.zeros(0))
        moments = collect_moments(run, self.realizations, group=_size_groups(self.realizations), without=self.left_out)
        _refuse_failures(moments.failures)
        rows = moments.mean[0].reshape(shape)
        counts = moments.group_counts[:, 0]
        groups = moments.group_means[:, 0].reshape(-1, *shape)
        return Prediction(rows[0], rows[1:], moments.variance[0], groups[counts > 0], counts[counts > 0])

    def draw(self, values: Mapping[str, float]) -> np.ndarray:
        """Outputs and slopes of each realization that counts, (1 + parameter, output, time, realization)."""
        kept, failures = keep_lanes(self.run.at([values]), self.realizations or 1)
        _refuse_failures([one for one in failures if one.lane not in self.left_out])
        drawn = kept.reshape(1 + len(self.free), -1, *kept.shape[1:])
        return np.delete(drawn, sorted(self.left_out), axis=-1) if self.left_out else drawn

    def estimate_step_error(self, values: Mapping[str, float]) -> float:
        """What halving the steps changes at these values, on a few realizations, relative to the largest values."""
        if values == self.run.values[0].given:  # at which steps were chosen
            return self.run.plan.error
        return self.run.estimate_step_error(self.run.scenario.resolve_values([values])[0])

    def leave_out_failures(self, values: Mapping[str, float]) -> "Predictor":
        """The predictor that leaves out, at all values, the realizations that fail at these."""
        if self.realizations is None:
            return self
        failures = self.run.at([values]).run(self.realizations, lambda *_: None)
        failed = {failure.lane for failure in failures}
        if len(failed) > TOLERATED * self.realizations:
            first = min(failures, key=lambda failure: failure.time)
            raise SimulationError(
                f"{len(failed)} of {self.realizations} realizations fail at the start values, the first at time "
                f"{first.time:g}: {first.reason}.",
                "Start from other values, check the size of the disturbances, or give a smaller step.",
            )
        return replace(self, left_out=frozenset(failed))

    def project(self, values: Mapping[str, float], weights: np.ndarray) -> np.ndarray:
        """Σ weights · (outputs, then slopes) of each realization that counts, as (functional, realization)."""
        shares = project_lanes(self.run.at([values]), self.realizations or 1, weights)
        return np.delete(shares, sorted(self.left_out), axis=1)

    def replan(self, values: Mapping[str, float]) -> "Predictor | None":
        """The predictor with steps chosen for these values, or None where the present ones serve as well."""
        try:
            error = self.estimate_step_error(values)
        except SimulationError:  # so long that nothing finite comes of them
            error = np.inf
        if self.solver.step is not None or error <= SERVES * self.solver.tolerance:
            return None
        scenario, wanted = self.run.scenario, self.run.plan.shape.wanted
        sampling = (self.realizations, scenario.seed, scenario.purpose)
        fresh = make_predictor(self.asked, wanted, scenario.free, values, self.solver, *sampling)
        return replace(fresh, left_out=self.left_out) if fresh.run.plan.error < error else None


def _refuse_failures(failures: Collection[Failure]) -> None:
    """Realizations that failed at values at which others did not."""
    if failures:
        first = min(failures, key=lambda failure: failure.time)
        raise SimulationError(
            f"{counted(len(failures), 'realization')} failed at these values, the first at time {first.time:g}: "
            f"{first.reason}.",
            "Choose other values, or a smaller step with Lanes(step=...).",
        )


def _size_groups(realizations: int) -> int:
    """Lanes in a group: at least four groups where there are four realizations, and a divisor of the block."""
    size = LARGEST_GROUP
    while size > 1 and realizations < 4 * size:
        size //= 2
    return size


def make_predictor(
    asked: Request,
    outputs: Sequence[str],
    free: Sequence[str],
    values: Mapping[Any, float] | None,
    solver: Lanes,
    realizations: int | None,
    seed: int,
    purpose: str,
) -> Predictor:
    """Choose steps at these values and compile."""
    realizations = realizations if asked.system.model.disturbances else None
    noisy = realizations is not None
    if noisy:
        groups = -(-realizations // _size_groups(realizations))
        needed = COPIES * groups * len(outputs) * (1 + len(free)) * asked.times.size * 8
        check_memory(asked.system, needed, "Take fewer realizations, or fewer samples (data.resample(step)).")
    options = {"values": [values], "wanted": tuple(outputs), "free": tuple(free), "seed": seed, "purpose": purpose}
    run = prepare(asked.system, asked.times, asked.forcing, solver, noisy=noisy, **options)
    refuse_long_steps(run.plan)
    return Predictor(asked, run, solver, realizations)
