"""Figure 1: estimates of five methods from the same E data sets, for growing numbers of samples N.

- output error: the wind is ignored, ŷ(θ) is one simulation with w = 0;
- proposed: cost (3a) of the paper, ŷ(θ) is the mean over M realizations that stay fixed;
- whitened: the same after filtering by an autoregression of its residual (`daedal.papers.pendulum.whitened_cost`).

The paper minimises on a grid. A bias below half a grid step would be invisible there, so that output error and (3a) are
minimised by Gauss–Newton on the interpolated prediction too (`daedal.papers.pendulum.interpolated_cost`).

Shorter data sets are the beginnings of the longest ones. The term Var(ŷ)/M in (3a) is left in, as in the paper; it
moves estimates by O(1/M). All data sets meet one set of M realizations, whose own error moves them together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.data import Signal
from daedal.errors import SimulationError
from daedal.models import Model
from daedal.papers.pendulum.experiment import (
    GRID,
    SEED,
    SOLVER,
    TRANSIENT,
    TRUTH,
    Reading,
    pendulum,
    push,
    sample_times,
)
from daedal.papers.pendulum.interpolated_cost import GridPredictor, InterpolatedCost, best_on_grid, gauss_newton
from daedal.papers.pendulum.whitened_cost import ORDER, whitened_cost
from daedal.simulation import Ensemble, ensemble, simulate

OUTPUT_ERROR = "output error, grid"
OUTPUT_ERROR_SMOOTH = "output error, Gauss–Newton"
PROPOSED = "proposed, grid"
PROPOSED_SMOOTH = "proposed, Gauss–Newton"
WHITENED = f"whitened, AR({ORDER})"
METHODS = (OUTPUT_ERROR, OUTPUT_ERROR_SMOOTH, PROPOSED, PROPOSED_SMOOTH, WHITENED)


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
@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of all methods from the same data.

    Attributes
    ----------
    found
        (N, method) → estimates (data set,).
    swing, shift, shaking
        After the transient, at the truth, in radian: standard deviation of the angle without wind, root mean square
        of what the wind adds to its mean, and standard deviation of the angle around that mean.
    error
        Largest estimated error of the steps, relative to the largest angle.
    """

    reading: Reading
    size: Size
    found: Mapping[tuple[int, str], np.ndarray]
    swing: float
    shift: float
    shaking: float
    error: float

    def summary(self, samples: int, method: str) -> Summary:
        found = self.found[samples, method]
        return Summary(
            mean=float(found.mean()),
            standard_error=float(found.std(ddof=1) / np.sqrt(len(found))),
            median=float(np.median(found)),
            rmse=float(np.sqrt(np.mean((found - TRUTH) ** 2))),
            at_bounds=float(np.mean((found <= GRID[0]) | (found >= GRID[-1]))),
        )

    def disagreement(self) -> float:
        """The largest distance of Gauss–Newton from the best value of the grid, away from the bounds, in grid steps."""
        largest = 0.0
        for on_grid, method in ((OUTPUT_ERROR, OUTPUT_ERROR_SMOOTH), (PROPOSED, PROPOSED_SMOOTH)):
            for samples in self.size.samples:
                smooth = self.found[samples, method]
                inside = (smooth > GRID[0]) & (smooth < GRID[-1])
                apart = np.abs(smooth - self.found[samples, on_grid])[inside]
                largest = max(largest, float(np.max(apart, initial=0.0)))
        return largest / float(GRID[1] - GRID[0])


def estimate(reading: Reading, size: Size) -> Estimates:
    """Simulate the data sets and the predictors of one reading, and estimate from them."""
    longest = max(size.samples)
    times, inputs = sample_times(longest), {"u": push(reading, longest)}
    data = _data_sets(reading, times, inputs, size.data_sets)
    calm = _on_grid(pendulum(reading, windy=False), reading.free, times, inputs, 1)
    windy = _on_grid(pendulum(reading), reading.free, times, inputs, size.realizations)
    ignoring, proposed = _predictor(calm, reading.free), _predictor(windy, reading.free)
    found: dict[tuple[int, str], np.ndarray] = {}
    for samples in size.samples:
        after = slice(TRANSIENT, samples)
        estimates = _estimates(
            data[:, after], ignoring.between(TRANSIENT, samples), proposed.between(TRANSIENT, samples)
        )
        found |= {(samples, method): values for method, values in estimates.items()}
    true = int(np.argmin(np.abs(GRID - TRUTH)))
    quiet, mean = (run.mean["angle"][true, TRANSIENT:] for run in (calm, windy))
    return Estimates(
        reading=reading,
        size=size,
        found=found,
        swing=float(np.std(quiet)),
        shift=float(np.sqrt(np.mean((mean - quiet) ** 2))),
        shaking=float(np.sqrt(np.mean(windy.variance["angle"][true, TRANSIENT:]))),
        error=max(calm.error, windy.error),
    )


def _data_sets(reading: Reading, times: np.ndarray, inputs: Mapping[str, Signal], count: int) -> np.ndarray:
    """(data set, time), from paths that no predictor uses."""
    measured = simulate(
        pendulum(reading),
        times,
        inputs=inputs,
        realizations=count,
        measurement_noise=True,
        variables=["angle"],
        rng=SEED,
        solver=SOLVER,
        t0=0.0,
    )
    if not measured.status.ok:
        raise SimulationError(measured.status.sentence, measured.status.remedy)
    return measured["angle"]


def _on_grid(model: Model, free: str, times: np.ndarray, inputs: Mapping[str, Signal], realizations: int) -> Ensemble:
    return ensemble(
        model,
        times,
        inputs=inputs,
        realizations=realizations,
        values=[{free: float(value)} for value in GRID],
        sensitivities=[free],
        rng=SEED,
        solver=SOLVER,
        t0=0.0,
    )


def _predictor(run: Ensemble, free: str) -> GridPredictor:
    return GridPredictor.of(GRID, run.mean["angle"], run.sensitivities[free]["angle"])


def _estimates(data: np.ndarray, ignoring: GridPredictor, proposed: GridPredictor) -> dict[str, np.ndarray]:
    blind, blind_smooth = _both_ways(InterpolatedCost.of(ignoring, data))
    best, smooth = _both_ways(InterpolatedCost.of(proposed, data))
    _, whitened = _both_ways(whitened_cost(proposed, data, smooth))
    found = (blind, blind_smooth, best, smooth, whitened)
    return dict(zip(METHODS, found, strict=True))


def _both_ways(cost: InterpolatedCost) -> tuple[np.ndarray, np.ndarray]:
    """On the grid, and from there by Gauss–Newton."""
    best = best_on_grid(cost)
    return best, gauss_newton(cost, best)
