"""Held samples of one trajectory: when they are taken, when they arrive, and what is on its way.

hold(e, every, delay) samples e at t₀ + k · every; the sample counts from t₀ + k · every + delay on, and before the
first one arrives the value is zero. At one instant what is due arrives first, and then samples are taken, in the order
in which one held value is part of another.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from daedal import simulation
from daedal.simulation.forcing import Clock
from daedal.systems import System


@dataclass(eq=False)
class _Channel:
    """One held value: its clock, how many samples were taken and have arrived, and the last one taken."""

    clock: Clock
    taken: int = 0
    arrived: int = 0
    pending: float = 0.0


class Sampler:
    """All held values of one trajectory."""

    def __init__(self, system: System, parameters: np.ndarray, start: float, end: float) -> None:
        numbers = dict(zip(system.reduction.parameters, parameters.tolist(), strict=True))
        self.start, self.end = start, end
        self.channels = [_Channel(clock) for clock in simulation.read_clocks(system, numbers, end - start)]

    def list_instants(self) -> np.ndarray:
        """All times after the start, the end among them, at which samples are taken or arrive."""
        beyond = np.nextafter(self.end, np.inf)
        instants = [channel.clock.list_instants(self.start, beyond) for channel in self.channels]
        return np.unique(np.concatenate([np.zeros(0), *instants]))

    def deliver(self, until: float, held: np.ndarray) -> bool:
        """Write what has arrived into `held`; whether anything did."""
        due = [place for place, channel in enumerate(self.channels) if self._is_due(channel, until)]
        for place in due:
            held[place] = self.channels[place].pending
            self.channels[place].arrived += 1
        return bool(due)

    def _is_due(self, channel: _Channel, until: float) -> bool:
        """Whether a sample that was taken has arrived."""
        every, delay = channel.clock
        return channel.arrived < channel.taken and self.start + channel.arrived * every + delay <= until

    def take(self, until: float, held: np.ndarray, evaluate: Callable[[], np.ndarray]) -> bool:
        """Take the samples that are due; those without delay arrive at once. Whether anything changed."""
        changed = False
        for place, channel in enumerate(self.channels):
            if self.start + channel.taken * channel.clock.every > until:
                continue
            channel.pending = float(evaluate()[place])
            channel.taken += 1
            if channel.clock.delay == 0.0:
                held[place] = channel.pending
                channel.arrived += 1
                changed = True
        return changed
