"""What a lane carries beside its state where equations switch: sides, samples, and how far it is within a step."""

from dataclasses import dataclass

import numpy as np

from daedal.simulation.steps.program import ACCEPTED, GAVE_UP, UNFINISHED, Directions
from daedal.systems import InitialValues, System, find_sliding

ROUNDS = 8  # changes of side that a lane may make within one step
RESTLESS = 1e30  # times one plus the number of a switch: what a lane leaves behind that changed side too often
RIVALS = 1e34  # the same where two switches would have to slide that must not together
UNDEFINED = 1e38  # the same where a switching function is not a finite number


@dataclass(frozen=True)
class Slots:
    """Places behind (X, T), their sensitivities and what Newton iterations left; counted from `first` on."""

    first: int
    switches: int
    slides: int
    held: int
    directions: int

    @staticmethod
    def of(system: System, directions: Directions) -> "Slots":
        """The places for a system with switches."""
        switching = system.reduction.switching
        assert switching is not None
        sliding = find_sliding(system) if switching.switches else None
        size = len(system.states) + len(system.tops)
        return Slots(
            size * (1 + directions.count) + 1,
            len(switching.switches),
            len(sliding.places) if sliding else 0,
            len(switching.held),
            directions.count,
        )

    @property
    def sizes(self) -> dict[str, int]:
        rates = self.held * self.directions
        return {
            "sides": self.switches,
            "sliding": self.slides,
            "stuck": 1,  # how many of them slide
            "fresh": self.switches,  # changed within this step
            "controls": self.slides,
            "position": 1,  # within the step, from 0 to 1
            "code": 1,  # what is left to do in the step
            "moved": self.directions,  # how the last change moves with the free directions
            "held": self.held,
            "held rates": rates,
            "waiting": self.held,  # sampled, but not yet delivered
            "waiting rates": rates,
            "grazed": 1,  # changes with hardly any slope
            "last": 1,  # the switch that changed last
        }

    @property
    def size(self) -> int:
        return sum(self.sizes.values())

    def find(self, name: str) -> slice:
        """The places of some of them, from the first on."""
        sizes = self.sizes
        before = list(sizes)[: list(sizes).index(name)]
        begin = sum(sizes[other] for other in before)
        return slice(begin, begin + sizes[name])

    def locate(self, name: str) -> int:
        """The place of a single one in the state of a lane."""
        return self.first + self.find(name).start

    def make_column(self, system: System, start: InitialValues) -> np.ndarray:
        """What a lane carries at the start."""
        switching, names = system.reduction.switching, list(system.reduction.exogenous)
        assert switching is not None
        column = np.zeros(self.size)
        column[self.find("sides")] = [start.exogenous[names.index(switch.mode)] for switch in switching.switches]
        column[self.find("held")] = [start.exogenous[names.index(name)] for name in switching.held]
        if start.sliding.size:
            column[self.find("sliding")], column[self.find("controls")] = start.sliding, start.controls
            column[self.find("stuck")] = start.sliding.sum()
        return column

    def fill_exogenous(self, system: System, column: np.ndarray, exogenous: np.ndarray) -> np.ndarray:
        """Exogenous values with the modes of a lane, whose state is given."""
        switching, names = system.reduction.switching, list(system.reduction.exogenous)
        assert switching is not None
        filled, carried = exogenous.copy(), column[self.first :]
        filled[[names.index(switch.mode) for switch in switching.switches]] = carried[self.find("sides")]
        filled[[names.index(name) for name in switching.held]] = carried[self.find("held")]
        return filled


def explain_failure(system: System, residual: float) -> str:
    """Why a lane gave up whose last observed number is this; empty where switches are not the reason."""
    scale = ACCEPTED / UNFINISHED
    switching = system.reduction.switching
    if switching is None or not np.isfinite(residual) or residual < GAVE_UP:
        return ""
    kind = max(kind for kind in (RESTLESS, RIVALS, UNDEFINED) if residual > 0.5 * kind * scale)
    number = round(residual / (kind * scale)) - 1
    text = switching.switches[min(max(number, 0), len(switching.switches) - 1)].text
    if kind == UNDEFINED:
        return "what a condition compares is not a finite number"
    if kind == RIVALS:
        return f"'{text}' and another condition that multiplies it would have to hold their borders at once"
    return f"'{text}' changes sides more than {ROUNDS} times within one step"
