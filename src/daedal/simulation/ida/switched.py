"""One trajectory of a system with switches or held samples.

Modes are frozen while the solver runs. It restarts where a switch changes (`events` beside this file), where a sample
is taken or arrives (`sampling`), and at jumps of the inputs. Where switches may slide, it solves the system of
`daedal.systems.sliding`, whose controls are part of T.
"""

from dataclasses import dataclass, replace

import numpy as np

from daedal.data import Signal, short
from daedal.errors import SimulationError, quoted
from daedal.progress import Progress
from daedal.simulation.forcing import DisturbancePath, Forcing
from daedal.simulation.ida.events import Events, Point
from daedal.simulation.ida.sampling import Sampler
from daedal.simulation.ida.stepping import Stepper
from daedal.symbolic import jet
from daedal.systems import InitialValues, Sliding, System, find_sliding

ONE_INSTANT = 2e-15  # of the largest time: instants that are closer are one
IDLE = 100  # stops of the solver without advancing, after which it is given up


class SwitchedIntegration:
    """One trajectory: the mutable part of the solver."""

    def __init__(
        self,
        rtol: float,
        atol: float,
        system: System,
        forcing: Forcing,
        parameters: np.ndarray,
        progress: Progress,
    ) -> None:
        switching = system.reduction.switching
        assert switching is not None
        sliding = find_sliding(system)
        self.plain = system
        if sliding:
            system, forcing = replace(system, reduction=sliding.reduction), _extend_forcing(forcing, system, sliding)
        names = list(system.reduction.exogenous)
        flags = sliding.flags if sliding else ()
        modes = (*(switch.mode for switch in switching.switches), *switching.held, *flags, *switching.levels)
        self.forcing = forcing
        self.stepper = Stepper(rtol, atol, system, forcing, parameters, progress, [names.index(name) for name in modes])
        self.events = Events(self.stepper, switching, sliding)
        self.sampler = Sampler(system, parameters, forcing.start, forcing.end)
        self.sampled = np.zeros((0, len(names)))
        self.tolerance = ONE_INSTANT * max(abs(forcing.start), abs(forcing.end))
        self.states: list[np.ndarray] = []
        self.tops: list[np.ndarray] = []
        self.exogenous: list[np.ndarray] = []

    def run(self, start: InitialValues, times: np.ndarray) -> None:
        """Advance through all times, as far as the solver gets."""
        try:
            self._run(start, times)
        except SimulationError as error:
            self.stepper.stopped, self.stepper.remedy = error.sentence, error.remedy
        except np.linalg.LinAlgError:
            self.stepper.stopped = f"The equations are singular at time {short(self.stepper.time)}."
            self.stepper.remedy = "Change the position, the parameters or the equations."

    def _run(self, start: InitialValues, times: np.ndarray) -> None:
        first = self.forcing.start
        self.sampled = self.forcing.at_all(times)
        gaps = np.diff(np.concatenate([[first], times, [self.forcing.end]]))
        self.events.horizon = 2.0 * float(gaps.max()) or 1.0
        point: Point = (first, start.states, self._begin(start))
        for early, late in self._list_instants():
            self.stepper.enter(first, max(early, first))
            point = self._sample((first, *point[1:]))
            self._record(point, times)
            point = self._cross(point, early, times)
            if self.stepper.stopped:
                return
            first = late
        point = self._sample((first, *point[1:]))
        self._record(point, times)

    def _begin(self, start: InitialValues) -> np.ndarray:
        """Modes as they are at the start, and the tops with the controls."""
        reduction, able = self.plain.reduction, self.events.able
        modes = dict(zip(reduction.exogenous, start.exogenous.tolist(), strict=True))
        assert reduction.switching is not None
        self.events.sides[:] = [modes[switch.mode] for switch in reduction.switching.switches]
        self.events.held[:] = [modes[name] for name in reduction.switching.held]
        self.events.levels[:] = [modes[name] for name in reduction.switching.levels]
        controls = self.events.sides[list(able)]
        if start.sliding.any():
            self.events.stuck[:] = start.sliding
            controls = np.where(start.sliding > 0, start.controls, controls)
        return np.r_[start.tops, controls]

    def _list_instants(self) -> list[tuple[float, float]]:
        """Where the solver restarts whatever happens, each from its earliest to its latest cause."""
        causes = sorted([*self.forcing.find_jumps(), *self.sampler.list_instants().tolist(), self.forcing.end])
        instants: list[tuple[float, float]] = []
        for cause in causes:
            if instants and cause - instants[-1][1] <= self.tolerance:
                instants[-1] = instants[-1][0], cause
            else:
                instants.append((cause, cause))
        return instants

    def _sample(self, point: Point) -> Point:
        """What arrives and is sampled at the first instant of a stretch, and the switches that change by that."""
        until, events = point[0] + self.tolerance, self.events
        self.sampler.deliver(until, events.held)
        point = settled = events.settle(point)

        def evaluate() -> np.ndarray:
            return events.evaluate("samples", events.project(settled))

        return events.settle(point) if self.sampler.take(until, events.held, evaluate) else point

    def _cross(self, point: Point, last: float, times: np.ndarray) -> Point:
        """To the end of a stretch without jumps, from one event to the next."""
        while point[0] < last:
            self.stepper.start(*point[1:])
            point, located = self._advance(point, last, times)
            if self.stepper.stopped:
                return point
            if located is not None:
                before = self.stepper.origin
                point = self.events.polish(point, located, before, last)
                self.stepper.enter(point[0], last)
                point = self.events.settle(point, located)
                self._record(point, times)
        return point

    def _advance(self, point: Point, last: float, times: np.ndarray) -> tuple[Point, int | None]:
        """To the next change of a switch or the end of the stretch."""
        count, aim = self.events.sides.size, last
        attempts, reached = 0, point[0]
        while True:
            position = len(self.states)
            sampled = position < times.size and times[position] < aim - self.tolerance
            target = float(times[position]) if sampled else aim
            before, (_, x, top) = point, point
            x, top = self.stepper.advance(target, last, x, top)
            point = self.stepper.time, x, top
            if self.stepper.stopped:
                located = self.events.find_border_ahead(self.stepper.last)
                if located is not None:
                    point, self.stepper.stopped, self.stepper.remedy = self.stepper.last, "", ""
                return point, located
            attempts = 0 if point[0] > reached + self.tolerance else attempts + 1
            reached = max(reached, point[0])
            if attempts > IDLE:
                raise SimulationError(
                    f"The simulation does not get on at time {short(point[0])}, where "
                    f"{quoted(self.events.list_texts(np.flatnonzero(self.stepper.roots[count:])))} may change.",
                    "Look there for what oscillates ever faster or is not smooth, or loosen rtol and atol.",
                )
            roots = self.stepper.roots
            if roots[:count].any():
                return point, int(np.flatnonzero(roots[:count])[0])
            self.events.refuse_undefined(point[0])
            if roots.any():
                if point[0] > before[0] + self.tolerance and self.events.has_passed(point):
                    point, aim = before, point[0]
                    self.stepper.time = before[0]
                    self._restart(before, last)
                elif self.stepper.full:
                    self._restart(point, last)
                continue
            if sampled:
                self._record(point, times)
            elif aim < last:
                aim = last
            else:
                return point, None

    def _fill(self, time: float, times: np.ndarray) -> np.ndarray:
        """All exogenous values at the next sample, which is at this time but for round-off."""
        position = len(self.states)
        if times[position] != time:
            return self.stepper.fill(time)
        values = self.sampled[position].copy()
        values[self.stepper.places] = self.stepper.modes
        return values

    def _restart(self, point: Point, last: float) -> None:
        self.stepper.enter(point[0], last)
        self.stepper.start(*point[1:])

    def _record(self, point: Point, times: np.ndarray) -> None:
        """All samples up to this point."""
        while len(self.states) < times.size and times[len(self.states)] <= point[0] + self.tolerance:
            w = self._fill(point[0], times)
            _, x, top = self.events.project(point, w)
            self.states.append(x)
            self.tops.append(top)
            self.exogenous.append(w)


@dataclass(frozen=True)
class _MovedPath:
    """A realization of the disturbances, at other places."""

    path: DisturbancePath
    places: tuple[int, ...]

    def __call__(self, elapsed: float) -> np.ndarray:
        return self.path(elapsed)

    def differentiate(self, elapsed: float) -> np.ndarray:
        return self.path.differentiate(elapsed)


def _extend_forcing(forcing: Forcing, system: System, sliding: Sliding) -> Forcing:
    """Inputs and disturbances of the system that slides; within a piece inputs have every derivative."""
    known = dict(zip(system.reduction.exogenous, forcing.tracks, strict=True))
    names = list(sliding.reduction.exogenous)

    def find_track(name: str) -> tuple[Signal, int] | None:
        base, order = jet(name)
        signal = forcing.signals.get(base)
        if name in known or signal is None:
            return known.get(name)
        return None if signal.intersample == "zoh" else (signal, order)  # what is held stands still between its jumps

    path = forcing.path
    if path is not None:
        path = _MovedPath(path, tuple(names.index(system.reduction.exogenous[place]) for place in path.places))
    return replace(forcing, tracks=tuple(find_track(name) for name in names), path=path)
