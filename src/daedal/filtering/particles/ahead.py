"""What particles predict of samples that they have not seen: so many samples ahead, or from the start on.

The lanes that a bootstrap filter has after a sample go on with fresh normals, and the weights that they had.
Predictions of samples too early to have an origin begin at the start.
"""

from collections.abc import Sequence

import numpy as np

from daedal.filtering.nonlinear import DiscreteModel
from daedal.filtering.particles.bootstrap import FEW
from daedal.filtering.particles.lanes import WeighedLanes
from daedal.filtering.particles.streams import Stream

Moments = tuple[np.ndarray, np.ndarray]  # mean and standard deviation of the outputs, (sample time, output)


def look_ahead(
    discrete: DiscreteModel, particles: int, stream: Stream, steps: Sequence[int]
) -> tuple[Moments, dict[int, Moments]]:
    """From the start on, and so many samples ahead."""
    data = discrete.experiment.measurements
    draws, beyond, apart = (stream.of(range(run, run + 1), particles, discrete) for run in range(3))
    lanes = WeighedLanes(discrete, draws.begin(discrete), 1, 1)
    listed = lanes.list_samples()
    points, count = [int(data.points[mine[0]]) for mine in listed], len(listed)
    simulated = np.zeros((2, count, len(data.outputs)))
    ahead = {one: np.zeros_like(simulated) for one in steps}
    farthest = max(steps, default=0)
    free = WeighedLanes(discrete, lanes.state.copy(), 1, 1)
    for number, mine in enumerate(listed):
        apart.move(free, points[number])
        simulated[:, number] = _summarize(free.outputs[:, 0], free.weights[0])
        for one in steps:
            if number < one:
                ahead[one][:, number] = simulated[:, number]
        draws.move(lanes, points[number])
        for one in mine:
            lanes.multiply(lanes.compute_density(one))
        later = points[number + 1 : number + 1 + farthest]
        if later:
            seen = lanes.foresee(later, beyond.draw_steps(lanes.point, later[-1], lanes.normals))
            for one in steps:
                if one <= len(later):
                    ahead[one][:, number + one] = _summarize(seen[one - 1, :, 0], lanes.weights[0])
        if lanes.effective[0] < FEW * particles:
            lanes.draw_anew(0, draws.draw_place(0))
    return (simulated[0], simulated[1]), {one: (both[0], both[1]) for one, both in ahead.items()}


def _summarize(outputs: np.ndarray, weights: np.ndarray) -> Moments:
    """Mean and deviation of outputs (output, lane), (output,); lanes that failed on the way do not count."""
    there = np.isfinite(outputs).all(axis=0)
    weights = np.where(there, weights, 0.0)
    whole = float(weights.sum())
    if not whole > 0.0:
        nothing = np.full(len(outputs), np.nan)
        return nothing, nothing
    outputs, weights = np.where(there, outputs, 0.0), weights / whole
    mean = outputs @ weights
    return mean, np.sqrt((outputs - mean[:, None]) ** 2 @ weights)
