"""Figure 1 in full: estimates of five methods from the same E data sets, for growing numbers of samples N.

- output error: the wind is ignored, ŷ(θ) is one simulation with w = 0;
- proposed: cost (3a) of the paper, ŷ(θ) is the mean over M realizations that stay fixed;
- whitened: the same after filtering by an autoregression of its residual (`daedal.papers.pendulum.whitened_cost`).

The paper minimises on a grid. A bias below half a grid step would be invisible there, so that output error and (3a) are
minimised by Gauss–Newton on the interpolated prediction too (`daedal.papers.pendulum.interpolated_cost`).

Shorter data sets are the beginnings of the longest ones. The term Var(ŷ)/M in (3a) is left in, as in the paper; it
moves estimates by O(1/M). All data sets meet one set of M realizations, whose own error moves them together.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np

from daedal.data import Signal
from daedal.errors import SimulationError
from daedal.models import Model
from daedal.papers.kept_pieces import MakeAll, make_all_anew, refuse_interrupted
from daedal.papers.pendulum.experiment import (
    GRID,
    PRINTED,
    PROGRAM,
    SEED,
    SOLVER,
    TRANSIENT,
    TRUTH,
    Reading,
    list_times,
    make_pendulum,
    make_push,
)
from daedal.papers.pendulum.interpolated_cost import GridPredictor, InterpolatedCost, minimize_cost, search_grid
from daedal.papers.pendulum.whitened_cost import ORDER, whiten_cost
from daedal.simulation import Ensemble, ensemble, simulate

OUTPUT_ERROR = "output error, grid"
OUTPUT_ERROR_SMOOTH = "output error, Gauss–Newton"
PROPOSED = "proposed, grid"
PROPOSED_SMOOTH = "proposed, Gauss–Newton"
WHITENED = f"whitened, AR({ORDER})"
METHODS = {  # and their names in files
    OUTPUT_ERROR: "output_error_grid",
    OUTPUT_ERROR_SMOOTH: "output_error_gauss_newton",
    PROPOSED: "proposed_grid",
    PROPOSED_SMOOTH: "proposed_gauss_newton",
    WHITENED: "whitened",
}


@final
@dataclass(frozen=True)
class Size:
    """Numbers of samples N, of data sets E and of realizations M."""

    samples: tuple[int, ...]
    data_sets: int
    realizations: int

    def __str__(self) -> str:
        return f"E = {self.data_sets} data sets, M = {self.realizations} realizations"


@final
@dataclass(frozen=True)
class Summary:
    """What a box of Figure 1 shows, with the standard error of the mean and the share of estimates at a bound."""

    mean: float
    standard_error: float
    median: float
    rmse: float
    at_bounds: float


@final
@dataclass(frozen=True)
class Wind:
    """What the wind does after the transient, at the truth.

    Attributes
    ----------
    swing, shift, shaking
        In radian: standard deviation of the angle without wind, root mean square of what the wind adds to its mean,
        and standard deviation of the angle around that mean.
    error
        Largest estimated error of the steps, relative to the largest angle.
    """

    swing: float
    shift: float
    shaking: float
    error: float


@final
@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of all methods from the same data.

    Attributes
    ----------
    methods
        Name → its name in files.
    values
        (N, method) → estimates (data set,).
    interrupted
        Whether fewer data sets than wanted were finished.
    """

    reading: Reading
    size: Size
    methods: Mapping[str, str]
    values: Mapping[tuple[int, str], np.ndarray]
    wind: Wind
    interrupted: bool = False

    def summary(self, samples: int, method: str) -> Summary:
        values = self.values[samples, method]
        return Summary(
            mean=float(values.mean()),
            standard_error=float(values.std(ddof=1) / np.sqrt(len(values))),
            median=float(np.median(values)),
            rmse=float(np.sqrt(np.mean((values - TRUTH) ** 2))),
            at_bounds=float(np.mean((values <= GRID[0]) | (values >= GRID[-1]))),
        )

    def disagreement(self) -> float:
        """The largest distance of Gauss–Newton from the best value of the grid, away from the bounds, in grid steps."""
        largest = 0.0
        for on_grid, method in ((OUTPUT_ERROR, OUTPUT_ERROR_SMOOTH), (PROPOSED, PROPOSED_SMOOTH)):
            for samples in self.size.samples:
                smooth = self.values[samples, method]
                inside = (smooth > GRID[0]) & (smooth < GRID[-1])
                apart = np.abs(smooth - self.values[samples, on_grid])[inside]
                largest = max(largest, float(np.max(apart, initial=0.0)))
        return largest / float(GRID[1] - GRID[0])


def estimate(reading: Reading, size: Size) -> Estimates:
    """Simulate the data sets and the predictors of one reading, and estimate from them."""
    longest = max(size.samples)
    times, inputs = list_times(longest), {"u": make_push(reading, longest)}
    data = simulate_data_sets(reading, times, inputs, size.data_sets)
    calm = simulate_grid(make_pendulum(reading, windy=False), reading.free, times, inputs, 1, GRID)
    windy = simulate_grid(make_pendulum(reading), reading.free, times, inputs, size.realizations, GRID)
    ignoring, proposed = (_make_predictor(run, reading.free) for run in (calm, windy))
    values: dict[tuple[int, str], np.ndarray] = {}
    for samples in size.samples:
        after = (TRANSIENT, samples)
        columns = _estimate_each(data[:, slice(*after)], ignoring.between(*after), proposed.between(*after))
        values |= {(samples, method): column for method, column in columns.items()}
    wind = measure_wind(calm, windy, int(np.argmin(np.abs(GRID - TRUTH))))
    return Estimates(reading, size, METHODS, values, wind)


def estimate_all(sizes: Mapping[Reading, Size], make_all: MakeAll = make_all_anew) -> dict[Reading, Estimates]:
    """Estimates of each reading."""
    tasks = [[one.name, list(size.samples), size.data_sets, size.realizations] for one, size in sizes.items()]
    lists = make_all("readings", f"{__name__}:list_estimates", tasks)
    found = {}
    for (reading, size), told in zip(sizes.items(), lists, strict=True):
        values = {(samples, method): np.array(column) for samples, method, column in told["values"]}
        found[reading] = Estimates(reading, size, METHODS, values, Wind(**told["wind"]))
    return found


def list_estimates(name: str, samples: list[int], data_sets: int, realizations: int) -> dict[str, Any]:
    """What `estimate` gives, as lists."""
    (reading,) = [one for one in (PROGRAM, PRINTED) if one.name == name]
    found = estimate(reading, Size(tuple(samples), data_sets, realizations))
    values = [[count, method, column.tolist()] for (count, method), column in found.values.items()]
    return {"values": values, "wind": asdict(found.wind)}


def measure_wind(calm: Ensemble, windy: Ensemble, place: int, skip: int = TRANSIENT) -> Wind:
    """From runs without and with wind, the truth having this place among their values; the first samples left out."""
    quiet, mean = (run.mean["angle"][place, skip:] for run in (calm, windy))
    return Wind(
        swing=float(np.std(quiet)),
        shift=float(np.sqrt(np.mean((mean - quiet) ** 2))),
        shaking=float(np.sqrt(np.mean(windy.variance["angle"][place, skip:]))),
        error=max(calm.error, windy.error),
    )


def simulate_data_sets(reading: Reading, times: np.ndarray, inputs: Mapping[str, Signal], count: int) -> np.ndarray:
    """(data set, time), from paths that no predictor uses."""
    measured = simulate(
        make_pendulum(reading),
        times,
        inputs=inputs,
        realizations=count,
        measurement_noise=True,
        variables=["angle"],
        rng=SEED,
        solver=SOLVER,
        t0=0.0,
    )
    if not refuse_interrupted(measured).status.ok:
        raise SimulationError(measured.status.sentence, measured.status.remedy)
    return measured["angle"]


def simulate_grid(
    model: Model, free: str, times: np.ndarray, inputs: Mapping[str, Signal], realizations: int, grid: np.ndarray
) -> Ensemble:
    """Means over realizations that are the same at all values."""
    run = ensemble(
        model,
        times,
        inputs=inputs,
        realizations=realizations,
        values=[{free: float(value)} for value in grid],
        sensitivities=[free],
        rng=SEED,
        solver=SOLVER,
        t0=0.0,
    )
    return refuse_interrupted(run)


def _make_predictor(run: Ensemble, free: str) -> GridPredictor:
    return GridPredictor.of(GRID, run.mean["angle"], run.sensitivities[free]["angle"])


def _estimate_each(data: np.ndarray, ignoring: GridPredictor, proposed: GridPredictor) -> dict[str, np.ndarray]:
    blind, blind_smooth = _minimize_both_ways(InterpolatedCost.of(ignoring, data))
    best, smooth = _minimize_both_ways(InterpolatedCost.of(proposed, data))
    _, whitened = _minimize_both_ways(whiten_cost(proposed, data, smooth))
    return dict(zip(METHODS, (blind, blind_smooth, best, smooth, whitened), strict=True))


def _minimize_both_ways(cost: InterpolatedCost) -> tuple[np.ndarray, np.ndarray]:
    """On the grid, and from there by Gauss–Newton."""
    best = search_grid(cost)
    return best, minimize_cost(cost, best)
