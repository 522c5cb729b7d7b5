"""Predicted outputs of one experiment as a smooth function of parameter values.

Steps, compiled program and random numbers are chosen once, so that two calls with the same values agree to the last
digit and nearby values give nearby results (common random numbers, fixed steps): what an optimiser needs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daedal.errors import SimulationError, counted
from daedal.simulation.ensemble_solver import Lanes, prepare
from daedal.simulation.lanes import Run, collect_moments, project_lanes, refuse_long_steps, simulate_single_lane
from daedal.simulation.request import Request

TOLERATED = 0.1  # share of the realizations that may fail at the start
LARGEST_GROUP = 16  # lanes whose mean is kept
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

    def __call__(self, values: Mapping[str, float]) -> Prediction:
        """The prediction at these values; raises a DaedalError where they cannot be simulated."""
        run = self._at(values)
        outputs = len(run.plan.shape.wanted)
        shape = (1 + len(self.free), outputs, run.times.size)
        if self.realizations is None:
            rows = simulate_single_lane(run)[0].reshape(shape)
            return Prediction(rows[0], rows[1:], np.zeros(shape[1:]), np.zeros((0, *shape)), np.zeros(0))
        found = collect_moments(run, self.realizations, group=_group_size(self.realizations), without=self.left_out)
        if found.failures:
            first = min(found.failures, key=lambda failure: failure.time)
            raise SimulationError(
                f"{counted(len(found.failures), 'realization')} failed at these values, the first at time "
                f"{first.time:g}: {first.reason}.",
                "Choose other values, or a smaller step with Lanes(step=...).",
            )
        rows = found.mean[0].reshape(shape)
        counts = found.group_counts[:, 0]
        groups = found.group_means[:, 0].reshape(-1, *shape)
        return Prediction(rows[0], rows[1:], found.variance[0], groups[counts > 0], counts[counts > 0])

    def step_error(self, values: Mapping[str, float]) -> float:
        """What halving the steps changes at these values, on a few realizations, relative to the largest values."""
        return self.run.step_error(self.run.scenario.all_values([values])[0])

    def without_failures(self, values: Mapping[str, float]) -> "Predictor":
        """The predictor that leaves out, at all values, the realizations that fail at these."""
        if self.realizations is None:
            return self
        failures = self._at(values).run(self.realizations, lambda *_: None)
        failed = {failure.lane for failure in failures}
        if len(failed) > TOLERATED * self.realizations:
            first = min(failures, key=lambda failure: failure.time)
            raise SimulationError(
                f"{len(failed)} of {self.realizations} realizations fail at the start values, the first at time "
                f"{first.time:g}: {first.reason}.",
                "Start from other values, check the size of the disturbances, or give a smaller step.",
            )
        return replace(self, left_out=frozenset(failed))

    def projected(self, values: Mapping[str, float], weights: np.ndarray) -> np.ndarray:
        """Σ weights · (outputs, then slopes) of each realization that counts, as (functional, realization)."""
        found = project_lanes(self._at(values), self.realizations or 1, weights)
        return np.delete(found, sorted(self.left_out), axis=1)

    def replanned(self, values: Mapping[str, float]) -> "Predictor | None":
        """The predictor with steps chosen for these values, or None where the present ones serve as well."""
        error = self.step_error(values)
        if self.solver.step is not None or error <= SERVES * self.solver.tolerance:
            return None
        scenario, wanted = self.run.scenario, self.run.plan.shape.wanted
        sampling = (self.realizations, scenario.seed, scenario.purpose)
        fresh = predictor(self.asked, wanted, scenario.free, values, self.solver, *sampling)
        return replace(fresh, left_out=self.left_out) if fresh.run.plan.error < error else None

    def _at(self, values: Mapping[str, float]) -> Run:
        return self.run.at([values])


def _group_size(realizations: int) -> int:
    """Lanes in a group: at least four groups where there are four realizations, and a divisor of the block."""
    size = LARGEST_GROUP
    while size > 1 and realizations < 4 * size:
        size //= 2
    return size


def predictor(
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
    noisy = realizations is not None and bool(asked.system.model.disturbances)
    options = {"values": [values], "wanted": tuple(outputs), "free": tuple(free), "seed": seed, "purpose": purpose}
    run = prepare(asked.system, asked.times, asked.forcing, solver, noisy=noisy, **options)
    refuse_long_steps(run.plan)
    return Predictor(asked, run, solver, realizations if noisy else None)
