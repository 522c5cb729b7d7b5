"""Explicit Runge–Kutta methods: each stage is a row of weights of the slopes before it.

*rk4*, the classical method of order four; *rk6*, Butcher's method of order six with seven stages, for smooth systems
and tight tolerances.

References: E. Hairer, S. P. Nørsett, G. Wanner, Solving ODEs I (1993), II.1; J. C. Butcher, On Runge–Kutta processes of
high order, J. Australian Math. Soc. 4 (1964) 179–194.
"""

from dataclasses import dataclass
from typing import Any, final


@final
@dataclass(frozen=True)
class Tableau:
    """Weights of the slopes for each stage and for the step; a stage stands at the sum of its weights."""

    stages: tuple[tuple[float, ...], ...]
    step: tuple[float, ...]

    @property
    def nodes(self) -> tuple[float, ...]:
        """Where the stages stand, rising, each once."""
        return tuple(sorted({self.find_node(stage) for stage in range(len(self.stages))}))

    def list_nodes(self) -> list[float]:
        """Where each stage stands."""
        return [self.find_node(stage) for stage in range(len(self.stages))]

    def find_node(self, stage: int) -> float:
        """Where a stage stands in the step, from 0 to 1."""
        return round(sum(self.stages[stage]), 12)


RUNGE_KUTTA: dict[Any, Tableau] = {
    "rk4": Tableau(((), (1 / 2,), (0, 1 / 2), (0, 0, 1)), (1 / 6, 1 / 3, 1 / 3, 1 / 6)),
    "rk6": Tableau(
        (
            (),
            (1 / 3,),
            (0, 2 / 3),
            (1 / 12, 1 / 3, -1 / 12),
            (-1 / 16, 9 / 8, -3 / 16, -3 / 8),
            (0, 9 / 8, -3 / 8, -3 / 4, 1 / 2),
            (9 / 44, -9 / 11, 63 / 44, 18 / 11, 0, -16 / 11),
        ),
        (11 / 120, 0, 27 / 40, 27 / 40, -4 / 15, -4 / 15, 11 / 120),
    ),
}


def weigh(weights: tuple[float, ...], slopes: list[Any]) -> Any:
    """The sum of slopes that count."""
    return sum(weight * slope for weight, slope in zip(weights, slopes, strict=True) if weight)
