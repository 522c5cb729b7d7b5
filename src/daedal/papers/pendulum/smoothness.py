"""Figure 2: the cost (3a) over the drag with innovations that stay fixed, and with fresh ones at each value.

One data set of 10 s and M = 20 realizations, so few that the difference is plain. Roughness is the sum of squared
second differences of the cost over the 81 values of the grid; a local minimum is a value below both neighbours.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.papers.kept_pieces import refuse_interrupted
from daedal.papers.pendulum.experiment import GRID, PROGRAM, SEED, list_times, make_pendulum, make_push
from daedal.simulation import Lanes, ensemble, simulate
from daedal.systems import build

SAMPLES = 100
REALIZATIONS = 20
SOLVER = Lanes(step=0.01)  # the same at each value, so that steps add no roughness


@final
@dataclass(frozen=True, eq=False)
class Smoothness:
    """Cost (value,) at the values of the grid, with fixed and with fresh innovations."""

    fixed: np.ndarray
    fresh: np.ndarray


def compute_costs() -> Smoothness:
    """Both costs of one data set."""
    system = build(make_pendulum(PROGRAM))
    times = list_times(SAMPLES)
    common = {"inputs": {"u": make_push(PROGRAM, SAMPLES)}, "t0": 0.0, "solver": SOLVER}
    data = simulate(system, times, realizations=1, measurement_noise=True, variables=["angle"], rng=SEED, **common)
    refuse_interrupted(data)
    values = [{PROGRAM.free: float(value)} for value in GRID]
    fixed = ensemble(system, times, realizations=REALIZATIONS, values=values, rng=SEED, **common)
    fresh = [
        ensemble(system, times, realizations=REALIZATIONS, values=one, rng=SEED + number, **common).mean["angle"]
        for number, one in enumerate(values, start=1)
    ]
    return Smoothness(_compute_cost(data["angle"], fixed.mean["angle"]), _compute_cost(data["angle"], np.stack(fresh)))


def measure_roughness(cost: np.ndarray) -> float:
    """Sum of squared second differences."""
    return float(np.sum(np.diff(cost, 2) ** 2))


def count_minima(cost: np.ndarray) -> int:
    """How many values lie below both neighbours; the ends of the grid have one neighbour and do not count."""
    inner = cost[1:-1]
    return int(np.sum((inner < cost[:-2]) & (inner < cost[2:])))


def _compute_cost(data: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    return np.mean((data - predictions) ** 2, axis=1)
