"""Random numbers of particles: normals from a counter (`daedal.disturbances`), the same whoever is beside a run.

Run r of M lanes has the paths r M … (r + 1) M − 1 of its stream, and uniform numbers of its own to be drawn anew by: so
runs may go side by side in the same lanes, and in threads (`run_in_groups`), without another bit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TypeVar, final

import numpy as np

from daedal.disturbances import derive_seed, draw_innovations
from daedal.errors import give_up_if_stopped
from daedal.filtering.nonlinear import DiscreteModel
from daedal.filtering.particles.lanes import WeighedLanes
from daedal.jobs import count_workers, run_jobs

Run = TypeVar("Run")
FEWEST_LANES, MOST_LANES = 2_000, 30_000  # side by side: fewer are not worth a thread, more do not become cheaper
TEMPORARY = 16  # numbers of each lane that weights and densities take for a moment
NUMBERS = 500_000  # normals drawn at once, about


@final
@dataclass(frozen=True)
class Stream:
    """What the numbers are for: one experiment of a work with a seed."""

    seed: int
    purpose: str
    experiment: int = 0

    def of(self, runs: range, particles: int, discrete: DiscreteModel) -> "Draws":
        """Those of some runs, which are moved together over the grid of an experiment."""
        return Draws(self, runs, particles, discrete.experiment.grid.times.size - 1)


@final
class Draws:
    """Numbers of runs side by side, in the order of time."""

    def __init__(self, stream: Stream, runs: range, particles: int, steps: int) -> None:
        self._steps = steps  # none is drawn ahead beyond the last
        self._stream, self._paths = stream, range(runs.start * particles, runs.stop * particles)
        purpose = f"{stream.purpose}, experiment {stream.experiment}"
        self._uniform = [np.random.default_rng(derive_seed(stream.seed, purpose, run)) for run in runs]
        self._first, self._block = 0, np.zeros((0, 0, 0))  # of steps drawn ahead

    def begin(self, discrete: DiscreteModel) -> np.ndarray:
        """The state of the lanes at the start."""
        return discrete.begin_lanes(self.draw_start(discrete.start.normals))

    def draw_start(self, count: int) -> np.ndarray:
        """Normals of the start, (number, lane of all runs)."""
        return self._draw(range(1), count)[0]

    def draw_steps(self, first: int, end: int, count: int) -> np.ndarray:
        """Normals of the steps first … end − 1, (step, number, lane of all runs)."""
        give_up_if_stopped()
        if first < self._first or end > self._first + len(self._block):
            ahead = min(first + NUMBERS // max(count * len(self._paths), 1), self._steps)
            self._first, self._block = first, self._draw(range(first + 1, max(end, ahead) + 1), count)
        return self._block[first - self._first : end - self._first]

    def move(self, lanes: WeighedLanes, point: int) -> None:
        """Lanes to a grid point that they are not beyond."""
        if point > lanes.point:
            lanes.advance(point, self.draw_steps(lanes.point, point, lanes.normals))
        else:
            lanes.stay()

    def draw_place(self, run: int) -> float:
        """A uniform number, of one of the runs."""
        return float(self._uniform[run].random())

    def _draw(self, steps: range, count: int) -> np.ndarray:
        stream = self._stream
        return draw_innovations(stream.seed, stream.purpose, stream.experiment, self._paths, steps, count)


def run_in_groups(run: Callable[[range], Sequence[Run]], particles: int, count: int) -> tuple[Run, ...]:
    """So many runs of this many lanes each: side by side, in as many threads as there are processors."""
    groups = _divide_runs(particles, count, count_workers())
    if len(groups) == 1:
        return tuple(run(groups[0]))
    found: dict[range, Sequence[Run]] = {}

    def follow(group: range) -> None:
        found[group] = run(group)

    run_jobs([partial(follow, group) for group in groups], lambda _: None)
    return tuple(one for group in groups for one in found[group])


def measure_runs(discrete: DiscreteModel, particles: int, count: int, copies: int) -> float:
    """About how many bytes so many runs take at once, with so many copies of α."""
    sizes, outputs = discrete.experiment.program.sizes, len(discrete.experiment.program.outputs)
    directions = 1 + len(discrete.point.names)
    numbers = (
        2 * directions * (sizes.state + outputs) + discrete.parameters.size * directions
    )  # states and what is seen
    numbers += 2 * sizes.normals + 2 * copies * (directions - 1) + TEMPORARY
    workers = count_workers()
    groups = _divide_runs(particles, count, workers)
    together = min(workers, len(groups)) * max(len(group) for group in groups)
    return 8.0 * numbers * together * particles


def _divide_runs(particles: int, count: int, workers: int) -> list[range]:
    """Runs that go side by side."""
    least = -(-count * particles // MOST_LANES)
    number = min(max(least, min(workers, count * particles // FEWEST_LANES), 1), count)
    ends = [round(count * part / number) for part in range(number + 1)]
    return [range(first, end) for first, end in pairwise(ends)]
