"""`ensemble`: mean and variance of a model's outputs over random disturbances, without keeping the trajectories.

For M paths the mean ȳ and the sum of squares S are taken block by block and merged in order (Chan, Golub and LeVeque's
formula), so that one pair of them is held for 64 paths, and the result does not depend on threads.
Many sets of parameter values may be simulated on the same paths, and sensitivities of the mean with respect to free
parameters come with it (common random numbers make both smooth in the parameters).

Reference: T. F. Chan, G. H. Golub, R. J. LeVeque, Algorithms for computing the sample variance, Am. Stat. 37 (1983).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, final

import numpy as np

from daedal.data import FrozenMapping, frozen
from daedal.disturbances import seed_number
from daedal.errors import SimulationError, nearest
from daedal.models import key_name
from daedal.simulation.lanes import BLOCK, Failure, LaneRun, Lanes, prepare
from daedal.simulation.pilot import MEANINGLESS
from daedal.simulation.request import check_memory, checked_realizations, checked_values, request
from daedal.symbolic import Expression


@final
@dataclass(frozen=True, eq=False)
class Ensemble:
    """Moments of the outputs over realizations; arrays are (time,), or (values, time) for several sets of values.

    Attributes
    ----------
    mean, variance
        Output → moment over the realizations that did not fail.
    sensitivities
        Parameter → output → derivative of the mean.
    trajectories
        Output → the realizations kept, (realization, time), or (values, realization, time).
    error
        Estimated error of the steps, relative to the largest value of each output.
    failures
        Realizations that were left out, with time and reason.
    """

    model: str
    solver: str
    times: np.ndarray
    mean: Mapping[str, np.ndarray]
    variance: Mapping[str, np.ndarray]
    sensitivities: Mapping[str, Mapping[str, np.ndarray]]
    trajectories: Mapping[str, np.ndarray]
    realizations: int
    error: float
    failures: tuple[Failure, ...]
    seed: int
    notes: tuple[str, ...]

    def __str__(self) -> str:
        lines = [
            f"ensemble of '{self.model}': {self.realizations} realizations of {self.times.size} samples, {self.solver}",
            f"  estimated error of the steps: {self.error:.0e} of the largest values; seed {self.seed}",
        ]
        lines += [f"  {note}" for note in self.notes]
        if self.failures:
            first = min(self.failures, key=lambda failure: failure.time)
            lines.append(
                f"  {len(self.failures)} failed and were left out, the first at {first.time:g}: {first.reason}"
            )
        for name, mean in self.mean.items():
            deviation = np.sqrt(np.mean(self.variance[name]))
            lines.append(
                f"  {name}: mean from {mean.min():.6g} to {mean.max():.6g}, standard deviation {deviation:.4g}"
            )
        return "\n".join(lines)

    __repr__ = __str__


def ensemble(
    model: Any,
    times: Any,
    *,
    realizations: int,
    inputs: Mapping[Any, Any] | None = None,
    values: Mapping[Any, float] | Sequence[Mapping[Any, float]] | None = None,
    sensitivities: Sequence[Any] = (),
    keep: int = 0,
    rng: int | np.random.Generator | None = None,
    solver: Lanes | None = None,
    t0: float | None = None,
) -> Ensemble:
    """Mean and variance of the outputs over random disturbances.

    Parameters
    ----------
    model, times, inputs, t0
        As for `simulate`.
    realizations
        How many paths.
    values
        Parameter → number; or a list of such mappings, all simulated on the same paths.
    sensitivities
        Parameters with respect to which the mean is differentiated.
    keep
        How many realizations, the first ones, to keep whole.
    rng
        Seed or Generator; path m depends on nothing but the seed, this verb and m.
    solver
        `Lanes(...)`.
    """
    if not (solver is None or isinstance(solver, Lanes)):
        raise SimulationError(
            f"The solver of an ensemble must be Lanes, got {solver!r}.", "Write solver=Lanes(step=0.01)."
        )
    asked = request("ensemble", model, times, inputs, t0)
    count = checked_realizations(realizations)
    outputs = tuple(asked.system.model.outputs)
    if not outputs:
        raise SimulationError(
            f"Model '{asked.system.model.name}' has no outputs.", "Declare outputs={'name': expression}."
        )
    if isinstance(sensitivities, (str, Expression)):
        raise SimulationError(f"The sensitivities must be a list of parameters, got {sensitivities!r}.", "Write ['k'].")
    several = isinstance(values, Sequence) and not isinstance(values, (str, Mapping))
    sets = [checked_values(one) for one in values] if several and values is not None else [checked_values(values)]
    if not sets:
        raise SimulationError("The list of values of an ensemble is empty.", "Give at least one mapping.")
    free = tuple(_checked_parameter(asked.system.model, name) for name in sensitivities)
    seed = seed_number(np.random.default_rng() if rng is None else rng)
    run = prepare(
        asked.system,
        asked.times,
        asked.forcing,
        solver or Lanes(),
        values=sets,
        wanted=outputs,
        free=free,
        seed=seed,
        purpose="ensemble",
        noisy=True,
    )
    if MEANINGLESS <= run.plan.error < np.inf:
        raise SimulationError(
            f"The steps are too long: dividing them changes the results by {run.plan.error:.1g} of the largest values.",
            "Give Lanes a smaller step, or leave the step to it.",
        )
    blocks, rows = -(-count // BLOCK), 2 * run.plan.program.outputs
    check_memory(blocks * len(sets) * rows * asked.times.size * 8, "Take fewer values at a time, or fewer samples.")
    mean, variance, kept, failures = moments(run, count, _checked_keep(keep, count))
    return _result(run, outputs, free, several, (mean, variance, kept), count, failures)


def _checked_parameter(model: Any, name: Any) -> str:
    key = key_name(name)
    if key not in model.parameters:
        raise SimulationError(f"Model '{model.name}' has no parameter '{key}'.", nearest(str(key), model.parameters))
    return key


def _checked_keep(keep: Any, realizations: int) -> int:
    if not isinstance(keep, Integral) or isinstance(keep, bool) or not 0 <= int(keep) <= realizations:
        raise SimulationError(
            f"The realizations to keep must be a whole number from 0 to {realizations}, got {keep!r}.", "Write keep=10."
        )
    return int(keep)


def moments(run: LaneRun, realizations: int, keep: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[Failure]]:
    """Mean (values, output, time), sensitivities following the outputs; variance; kept; failed lanes are left out."""
    failures: list[Failure] = []
    while True:
        left_out = {(failure.value, failure.lane) for failure in failures}
        parts = _Parts(run, realizations, left_out, keep)
        found = run.run(realizations, parts)
        new = [failure for failure in found if (failure.value, failure.lane) not in left_out]
        if not new:
            for failure in failures:
                kept = parts.kept[failure.value][:, failure.lane : failure.lane + 1]
                kept[:, :, run.times >= failure.time] = np.nan
            return (*parts.merged(), parts.kept, failures)
        failures += new
        if len(failures) == realizations * len(run.values):
            first = min(failures, key=lambda failure: failure.time)
            raise SimulationError(
                f"All {realizations} realizations failed, the first at time {first.time:g}: {first.reason}.",
                "Choose a smaller step with Lanes(step=...), or look at one with simulate(..., solver=IDA()).",
            )


class _Parts:
    """Mean and sum of squares of each block, filled from several threads, merged in order at the end."""

    def __init__(self, run: LaneRun, realizations: int, left_out: set[tuple[int, int]], keep: int) -> None:
        blocks = -(-realizations // BLOCK)
        program = run.plan.program
        shape = (blocks, len(run.values), program.outputs - 1, run.times.size)
        self._mean, self._squares = np.zeros(shape), np.zeros((*shape[:2], len(program.shape.wanted), shape[3]))
        self._counts = np.zeros((blocks, len(run.values)))
        self.kept = np.full((len(run.values), len(program.shape.wanted), keep, run.times.size), np.nan)
        self._left_out = left_out

    def __call__(self, value: int, lanes: range, samples: np.ndarray, out: np.ndarray) -> None:
        block = lanes.start // BLOCK
        kept = self.kept[value][:, lanes.start : lanes.stop]
        kept[:, :, samples] = out[:, : kept.shape[0], : kept.shape[1]].transpose(1, 2, 0)
        good = np.array([(value, lane) not in self._left_out for lane in lanes])
        good_out = out if good.all() else out[:, :, good]
        self._counts[block, value] = good.sum()
        if good_out.shape[2] == 0:
            return
        wanted = self._squares.shape[2]
        with np.errstate(all="ignore"):  # a lane that is about to be found failed may hold anything
            mean = good_out.mean(axis=2)
            squares = ((good_out[:, :wanted] - mean[:, :wanted, None]) ** 2).sum(axis=2)
        self._mean[block, value][:, samples] = mean.T
        self._squares[block, value][:, samples] = squares.T

    def merged(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance; NaN for a set of values of which every lane failed."""
        mean, squares = np.zeros(self._mean.shape[1:]), np.zeros(self._squares.shape[1:])
        total = np.zeros((mean.shape[0], 1, 1))
        wanted = squares.shape[1]
        for counts, block_mean, block_squares in zip(self._counts, self._mean, self._squares, strict=True):
            count = counts[:, None, None]
            joined = np.maximum(total + count, 1.0)
            difference = np.where(count > 0, block_mean - mean, 0.0)
            squares += np.where(count > 0, block_squares, 0.0) + difference[:, :wanted] ** 2 * (total * count / joined)
            mean += difference * (count / joined)
            total = total + count
        dead = total == 0
        return np.where(dead, np.nan, mean), np.where(dead, np.nan, squares / np.maximum(total - 1.0, 1.0))


def _result(
    run: LaneRun,
    outputs: tuple[str, ...],
    free: tuple[str, ...],
    several: bool,
    found: tuple[np.ndarray, np.ndarray, np.ndarray],
    realizations: int,
    failures: list[Failure],
) -> Ensemble:
    mean, variance, kept = found

    def named(table: np.ndarray, first: int) -> FrozenMapping:
        rows = {name: table[:, first + i] if several else table[0, first + i] for i, name in enumerate(outputs)}
        return FrozenMapping({name: frozen(np.ascontiguousarray(row)) for name, row in rows.items()})

    slopes = {name: named(mean, (k + 1) * len(outputs)) for k, name in enumerate(free)}
    return Ensemble(
        model=run.lineup.system.model.name,
        solver=run.text,
        times=run.times,
        mean=named(mean, 0),
        variance=named(variance, 0),
        sensitivities=FrozenMapping(slopes),
        trajectories=named(kept, 0),
        realizations=realizations,
        error=run.plan.error,
        failures=tuple(failures),
        seed=run.lineup.seed,
        notes=run.warnings,
    )
