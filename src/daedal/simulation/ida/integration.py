"""One trajectory of a system without switches.

The solver restarts at jumps of the inputs and nowhere else; at every sample X is projected on the constraints.
"""

import numpy as np

from daedal.simulation.ida.stepping import Stepper
from daedal.systems import InitialValues


class Integration:
    """One trajectory: the mutable part of the solver."""

    def __init__(self, stepper: Stepper) -> None:
        self.stepper, self.forcing = stepper, stepper.forcing
        self.states: list[np.ndarray] = []
        self.tops: list[np.ndarray] = []
        self.exogenous: list[np.ndarray] = []

    def run(self, start: InitialValues, times: np.ndarray) -> None:
        """Advance through all times, as far as the solver gets."""
        x, top = start.states, start.tops
        first, position = self.forcing.start, 0
        exogenous = self.forcing.at_all(times)
        for last in [*self.forcing.find_jumps(), self.forcing.end]:
            _, top = self.stepper.project(first, x, top, self.forcing.at(first))
            while position < times.size and times[position] <= first:
                self._record(times[position], x, top, exogenous[position])
                position += 1
            if last <= first:
                break
            self.stepper.enter(first, last)
            self.stepper.start(x, top)
            inside = times[position : position + int(np.searchsorted(times[position:], last, side="left"))]
            for time in [*inside, last]:
                x, top = self.stepper.advance(float(time), last, x, top)
                if self.stepper.stopped:
                    return
                if time < last:
                    self._record(time, x, top, exogenous[position])
                    position += 1
            first = last
            x, top = self.stepper.project(last, x, top, self.forcing.at(last))
        for sample in range(position, times.size):
            self._record(times[sample], x, top, exogenous[sample])

    def _record(self, time: float, x: np.ndarray, top: np.ndarray, exogenous: np.ndarray) -> None:
        x, top = self.stepper.project(time, x, top, exogenous)
        self.states.append(x)
        self.tops.append(top)
        self.exogenous.append(exogenous)
