"""What particles predict of samples that they have not seen: so many samples ahead, or from the start on.

The lanes that a bootstrap filter has after a sample go on with fresh normals, and the weights that they had.
Predictions of samples too early to have an origin begin at the start.
"""

from collections.abc import Sequence

import numpy as np

from daedal.filtering.nonlinear import DiscreteModel
from daedal.filtering.particles.bootstrap import FEW
from daedal.filtering.particles.lanes import WeighedLanes

Moments = tuple[np.ndarray, np.ndarray]  # mean and standard deviation of the outputs, (sample time, output)


def look_ahead(
    discrete: DiscreteModel, particles: int, rng: np.random.Generator, steps: Sequence[int]
) -> tuple[Moments, dict[int, Moments]]:
    """From the start on, and so many samples ahead."""
    data, size = discrete.experiment.measurements, discrete.experiment.program.sizes.normals
    lanes = WeighedLanes(discrete, discrete.begin_lanes(rng.standard_normal((discrete.start.normals, particles))), 1)
    listed = lanes.list_samples()
    points, count = [int(data.points[mine[0]]) for mine in listed], len(listed)
    simulated = np.zeros((2, count, len(data.outputs)))
    ahead = {one: np.zeros_like(simulated) for one in steps}

    def move(moved: WeighedLanes, number: int) -> None:
        """To a sample time."""
        if points[number] > moved.point:
            moved.advance(points[number], rng.standard_normal((points[number] - moved.point, size, particles)))
        else:
            moved.stay()

    free = lanes.branch()
    for number in range(count):
        move(free, number)
        simulated[:, number] = _summarize(free)
        for one in steps:
            if number < one:
                ahead[one][:, number] = simulated[:, number]
    for number, mine in enumerate(listed):
        move(lanes, number)
        for one in mine:
            lanes.multiply(lanes.compute_density(one))
        branch = lanes.branch()
        for target in range(number + 1, min(number + max(steps, default=0), count - 1) + 1):
            move(branch, target)
            if target - number in ahead:
                ahead[target - number][:, target] = _summarize(branch)
        if lanes.effective < FEW * particles:
            lanes.draw_anew(rng)
    return (simulated[0], simulated[1]), {one: (both[0], both[1]) for one, both in ahead.items()}


def _summarize(lanes: WeighedLanes) -> Moments:
    """Mean and deviation of the outputs, (output,)."""
    mean = lanes.outputs @ lanes.weights
    return mean, np.sqrt((lanes.outputs - mean[:, None]) ** 2 @ lanes.weights)
