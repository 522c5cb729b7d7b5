"""Few trajectories with many directions: copies of each fill the lanes of a vector, and share its directions.

One lane costs what a whole vector of them does. With W lanes in a vector and L < W trajectories, W // L copies of each
trajectory go side by side, and each moves in a part of the directions.
"""

from dataclasses import dataclass

import numpy as np

from daedal.kernels import Layout, RepeatedScan, ScanKernel
from daedal.simulation.steps import Program


@dataclass(frozen=True, eq=False)
class Fan:
    """So many copies of every trajectory, each with its share of the directions."""

    scan: RepeatedScan
    directions: int
    copies: int

    @staticmethod
    def of(program: Program, lanes: int) -> "Fan | None":
        """How the kernel of a program is used for so few lanes; None where it is used as it is."""
        scan, directions = program.repeated, program.shape.directions.count
        copies = scan.width // lanes if scan is not None and lanes else 0
        return Fan(scan, directions, copies) if scan is not None and copies > 1 and directions > 1 else None

    @property
    def share(self) -> int:
        """Directions of a copy; where they do not divide evenly, some are zero."""
        return -(-self.directions // self.copies)

    @property
    def instructions(self) -> int:
        """Of a step."""
        common, own = self.scan.instructions
        return common + self.share * own

    def run(
        self,
        state: np.ndarray,
        parameters: np.ndarray,
        shared: np.ndarray,
        lane: np.ndarray,
        emit: np.ndarray,
        out: np.ndarray,
        begin: np.ndarray,
    ) -> None:
        """As `ScanKernel.run`."""
        states, given, _, path = self.scan.inputs
        spread, rows = self._spread(state, states), self._spread(lane, path._replace(groups=1))
        seen = np.empty((len(out), self.scan.output.count(self.share), spread.shape[-1]))
        first = begin // max(lane.shape[1], 1) * rows.shape[1]
        self._kernel.run(spread, self._spread(parameters, given), shared, rows, emit, seen, begin=first)
        self._gather(spread, state, states)
        self._gather(seen, out, self.scan.output)

    @property
    def _kernel(self) -> ScanKernel:
        return self.scan.at(self.share)

    def _spread(self, array: np.ndarray, layout: Layout) -> np.ndarray:
        """Rows (…, row, lane) for copy after copy of all lanes."""
        head, own, tail = self._part(array, layout)
        *before, rows, lanes = own.shape
        missing = self.copies * self.share * layout.own - rows
        own = np.concatenate([own, np.zeros((*before, missing, lanes))], axis=-2)
        own = own.reshape(*before, self.copies, self.share * layout.own, lanes)
        own = np.moveaxis(own, -3, -2).reshape(*before, self.share * layout.own, self.copies * lanes)
        head, tail = (np.concatenate([part] * self.copies, axis=-1) for part in (head, tail))
        return np.concatenate([head, own, tail], axis=-2)

    def _gather(self, spread: np.ndarray, array: np.ndarray, layout: Layout) -> None:
        """Write what the copies say into the rows of all lanes."""
        lanes, end = array.shape[-1], layout.head + self.share * layout.own
        head, own, tail = self._part(array, layout)
        head[:], tail[:] = spread[..., : layout.head, :lanes], spread[..., end:, :lanes]
        parts = spread[..., layout.head : end, :].reshape(*own.shape[:-2], end - layout.head, self.copies, lanes)
        parts = np.moveaxis(parts, -2, -3).reshape(*own.shape[:-2], self.copies * (end - layout.head), lanes)
        own[:] = parts[..., : own.shape[-2], :]

    def _part(self, array: np.ndarray, layout: Layout) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Head, rows of all directions, and tail, as views."""
        end = layout.head + self.directions * layout.own
        return array[..., : layout.head, :], array[..., layout.head : end, :], array[..., end:, :]
