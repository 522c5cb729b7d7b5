"""A disturbance as a function of time with the exact law of the process, in whatever order it is asked.

On the grid the path is that of the innovations (`paths`). Inside a cell it is found by halving the cell towards the
time asked for (`bridge`), with the draw of every node fixed by its place in the tree: nothing that was asked before has
to be remembered, and asking again, in another order or from another process gives the same bits. Times are resolved to
2⁻⁵⁰ of a cell. What is kept is one block of grid states, and the state at the beginning of every block.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from daedal.disturbances.bridge import DEPTH, list_nodes, make_bridge
from daedal.disturbances.paths import DiscreteNoise, make_initial_state
from daedal.disturbances.recursion import recur
from daedal.disturbances.streams import draw_innovations, draw_node_normals
from daedal.errors import SimulationError

BLOCK = 128
EPSILON = float(np.finfo(float).eps)


@final
@dataclass(eq=False)
class ExactPath:
    """Path number `path` of a noise: `exact(t)` is w at any t ≥ 0, and those derivatives that `discrete` holds.

    Examples
    --------
    >>> from daedal.disturbances import FilteredNoise, discretize
    >>> wind = FilteredNoise(numerator=[1.0], denominator=[1.0, 0.8, 16.0])
    >>> exact = ExactPath(discretize(wind, None, 0.1, orders=(0, 1)), seed=1, purpose="example")
    >>> late, early = exact(7.123), exact(0.456)
    >>> bool((exact(7.123) == late).all()), late.shape
    (True, (2,))
    """

    discrete: DiscreteNoise
    seed: int
    purpose: str
    noise: int = 0
    path: int = 0
    _starts: list[np.ndarray] = field(default_factory=list, init=False, repr=False)
    _block: tuple[int, np.ndarray, np.ndarray] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.discrete.sensitivities:
            raise SimulationError(
                "ExactPath has no sensitivities.", "Discretize the noise without them, or use finite differences."
            )

    def __call__(self, time: float) -> np.ndarray:
        """w and derivatives, (orders·channels,), `time` seconds after the first grid point."""
        return self.discrete.matrices.rows @ self.state(time)

    def at(self, times: Sequence[float] | np.ndarray) -> np.ndarray:
        """The same at several times: (time, orders·channels)."""
        return np.array([self(float(time)) for time in times]).reshape(len(times), len(self.discrete.matrices.rows))

    def state(self, time: float) -> np.ndarray:
        """The state of the noise, (states,)."""
        if not (np.isfinite(time) and time >= 0):
            raise SimulationError(
                f"A disturbance is known from time 0 on, asked for was {time!r}.", "Start the disturbance earlier."
            )
        cell, fraction = _locate_time(time, self.discrete.step)
        states, normals = self._grid(cell // BLOCK)
        place = round(fraction * 2**DEPTH)
        left = states[cell % BLOCK]
        if place in (0, 2**DEPTH):
            return left if place == 0 else self.state((cell + 1) * self.discrete.step)
        tree = make_bridge(self.discrete.space, self.discrete.step)
        added = self.discrete.matrices.factor @ normals[cell % BLOCK]
        nodes = list_nodes(place)
        draws = draw_node_normals(self.seed, self.purpose, self.noise, self.path, cell, nodes, len(tree.entrance))
        return tree.descend(left, added, place, draws)

    def _grid(self, block: int) -> tuple[np.ndarray, np.ndarray]:
        """States at the left ends of the cells of a block, (cells, n), and the innovations over them."""
        if self._block is None or self._block[0] != block:
            if not self._starts:
                self._starts.append(make_initial_state(self.discrete, self._normals(range(1))[0]))
            for earlier in range(len(self._starts) - 1, block):
                self._starts.append(self._run(earlier)[0][-1])
            states, normals = self._run(block)
            self._block = (block, states[:-1, :, 0], normals[:, :, 0])
        return self._block[1], self._block[2]

    def _run(self, block: int) -> tuple[np.ndarray, np.ndarray]:
        start = self._starts[block]
        normals = self._normals(range(1 + block * BLOCK, 1 + (block + 1) * BLOCK))
        whole_state = replace(self.discrete.matrices, rows=np.eye(self.discrete.states))
        return np.concatenate([start[None], recur([whole_state], start, normals)[0]]), normals

    def _normals(self, steps: range) -> np.ndarray:
        paths = range(self.path, self.path + 1)
        return draw_innovations(self.seed, self.purpose, self.noise, paths, steps, self.discrete.states)


def _locate_time(time: float, step: float) -> tuple[int, float]:
    """The cell and the fraction of it; times within rounding of a grid point are on it."""
    position = time / step
    near = round(position)
    if abs(position - near) <= 4 * EPSILON * max(abs(position), 1.0):
        return near, 0.0
    cell = int(np.floor(position))
    return cell, position - cell
