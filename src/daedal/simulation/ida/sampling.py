"""Held samples of one trajectory: when they are taken, when they arrive, and what is on its way.

hold(e, every, delay) samples e at t₀ + k · every; the sample counts from t₀ + k · every + delay on, and before the
first one arrives the value is zero. At one instant what is due arrives first, and then samples are taken, in the order
in which one held value is part of another.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from daedal.errors import SimulationError
from daedal.models import evaluate_expressions
from daedal.symbolic import Held, find_operator
from daedal.systems import System


@dataclass(eq=False)
class _Clock:
    """One held value: its period and delay, how many samples were taken and have arrived, and the last one taken."""

    every: float
    delay: float
    taken: int = 0
    arrived: int = 0
    pending: float = 0.0


class Sampler:
    """All held values of one trajectory."""

    def __init__(self, system: System, parameters: np.ndarray, start: float, end: float) -> None:
        switching = system.reduction.switching
        assert switching is not None
        numbers = dict(zip(system.reduction.parameters, parameters.tolist(), strict=True))
        self.start, self.end = start, end
        self.clocks = [_make_clock(name, numbers) for name in switching.held]

    def list_instants(self) -> np.ndarray:
        """All times after the start at which samples are taken or arrive."""
        instants = [np.zeros(0)]
        for clock in self.clocks:
            taken = self.start + clock.every * np.arange(int((self.end - self.start) / clock.every) + 2)
            instants += [taken, taken + clock.delay]
        times = np.unique(np.concatenate(instants))
        return times[(times > self.start) & (times <= self.end)]

    def deliver(self, until: float, held: np.ndarray) -> bool:
        """Write what has arrived into `held`; whether anything did."""
        due = [
            place
            for place, clock in enumerate(self.clocks)
            if clock.arrived < clock.taken and self.start + clock.arrived * clock.every + clock.delay <= until
        ]
        for place in due:
            held[place] = self.clocks[place].pending
            self.clocks[place].arrived += 1
        return bool(due)

    def take(self, until: float, held: np.ndarray, evaluate: Callable[[], np.ndarray]) -> bool:
        """Take the samples that are due; those without delay arrive at once. Whether anything changed."""
        changed = False
        for place, clock in enumerate(self.clocks):
            if self.start + clock.taken * clock.every > until:
                continue
            clock.pending = float(evaluate()[place])
            clock.taken += 1
            if clock.delay == 0.0:
                held[place] = clock.pending
                clock.arrived += 1
                changed = True
        return changed


def _make_clock(name: str, numbers: dict[str, float]) -> _Clock:
    meaning = find_operator(name)
    assert isinstance(meaning, Held)
    values = evaluate_expressions({"every": meaning.every, "delay": meaning.delay}, numbers)
    if not (values["every"] > 0.0 and 0.0 <= values["delay"] <= values["every"]):
        raise SimulationError(
            f"'{name}' needs a positive time between its samples and a delay of at most that time, got "
            f"every={values['every']:g} and delay={values['delay']:g}.",
            "Give other values to the parameters in it.",
        )
    return _Clock(values["every"], values["delay"])
