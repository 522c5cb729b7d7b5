"""What lanes simulate, and where they start: parameters, initial values, sensitivities, for many sets of values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import casadi as ca
import numpy as np

from daedal import disturbances, simulation, systems
from daedal.models import differentiate_parameters, evaluate_parameters
from daedal.simulation import lanes, steps
from daedal.simulation.forcing import Clock, Forcing
from daedal.simulation.steps import Directions, Point
from daedal.systems import InitialValues, Sizes, System, find_initial_values, find_places, measure_sizes

if TYPE_CHECKING:
    from daedal.simulation.lanes.noise import Sources
    from daedal.simulation.steps import Slots

KEPT = 4  # discretised disturbances
LOOKS = 8  # lanes of disturbances that tell how large these are
Delayed = Sequence[tuple[int, np.ndarray]]  # symbols of delayed values, with value and derivatives at the start


class Paths(Protocol):
    """Disturbances of a block of lanes on their grid, drawn in order."""

    def draw_rows(self, first: int, last: int) -> np.ndarray:
        """Grid points first … last − 1 as (point, value, lane); each call goes on at or before the last row drawn."""
        ...


@dataclass(frozen=True, eq=False)
class Values:
    """One set of parameter values with what follows from it."""

    given: Mapping[Any, float] | None
    rates: np.ndarray  # dp/dθ as (parameter, direction)
    column: np.ndarray  # what the program reads as parameters, without sizes
    start: InitialValues  # with disturbances at zero
    clocks: tuple[Clock, ...]  # of what is held
    sources: "Sources | None"


@dataclass(frozen=True, eq=False)
class Scenario:
    """What does not depend on the steps: the system, its known inputs, its disturbances, and the free directions."""

    system: System
    forcing: Forcing
    grid: float  # of the disturbances; 0 when they are zero
    disturbances: tuple[int, ...]  # places among the exogenous symbols
    free: tuple[str, ...]
    directions: Directions
    seed: int
    purpose: str
    delayed: Callable[[np.ndarray], Mapping[int, float]] | None = None  # parameters → delayed values at the start
    sizes: Sizes | None = None  # of X and T, once they are measured
    known_sources: dict[tuple[float, ...], "Sources"] = field(default_factory=dict)  # the last ones

    def measure(self, values: Values) -> "Scenario":
        """The same with sizes as they are at these values; those of other values are judged by them too."""
        forcing, start = self.forcing, values.start
        largest, paths = forcing.find_largest(start.exogenous), self.make_paths(values, range(LOOKS))
        if paths is not None:
            drawn = self.find_exogenous(paths.draw_rows(0, 1)[0], LOOKS)[0, list(self.disturbances)]
            largest[list(self.disturbances)] = np.max(np.abs(drawn), axis=1)
        point = [forcing.start, start.states, start.tops, self.system.parameter_vector(values.given), start.exogenous]
        return replace(self, sizes=measure_sizes(self.system, point, forcing.end - forcing.start, largest))

    def watch(self, values: Sequence[Values]) -> tuple["Scenario", tuple[Values, ...]]:
        """What pilot lanes follow: values alone, unless switches make sensitivities jump."""
        if self.slots is not None or not self.free:
            return self, tuple(values)
        plain = replace(self, free=(), directions=self.directions.none, known_sources={})
        return plain, plain.resolve_values([one.given for one in values])

    def measure_rows(self, values: Values, wanted: Sequence[str]) -> np.ndarray:
        """What wanted variables, and then their derivatives direction by direction, may become at these values."""
        point, names = self.make_point(values), list(self.system.reduction.observed)
        for states, tops in ((point.sizes.states, point.sizes.tops), (point.states, point.tops)):
            terms = self.system.matrix("observed_sizes", point.time, states, tops, point.parameters, point.exogenous)
            if np.isfinite(terms).all():
                break
        sizes = np.nan_to_num(terms.ravel()[[names.index(name) for name in wanted]], posinf=0.0)
        numbers = evaluate_parameters(self.system.model, values.given)
        return np.concatenate([sizes, *(sizes / (abs(numbers[name]) or 1.0) for name in self.free)])

    def make_parameters(self, values: Values) -> np.ndarray:
        """What the program reads as parameters."""
        assert self.sizes is not None
        return np.concatenate([values.column, self.sizes.vector])

    def resolve_values(self, given: Sequence[Mapping[Any, float] | None]) -> tuple[Values, ...]:
        """Resolve sets of parameter values; sets in which the disturbances are alike share their discretisation."""
        resolved = []
        for one in given:
            numbers = evaluate_parameters(self.system.model, one)
            rates = self._differentiate(one)
            resolved.append(self._make_values(one, numbers, rates, self._find_sources(numbers, rates)))
        return tuple(resolved)

    def _find_sources(self, numbers: Mapping[str, float], rates: np.ndarray) -> "Sources | None":
        """The discretised disturbances at these numbers, perhaps known; several threads may ask."""
        if not self.disturbances:
            return None
        key = (*(numbers[name] for name in self._noise_parameters), *rates[self._noise_rows].ravel())
        known = self.known_sources.get(key)
        if known is None:
            made = lanes.make_sources(self.system, numbers, self.grid, rates, self.directions.ways)
            known = self.known_sources.setdefault(key, made)
            for oldest in list(self.known_sources)[:-KEPT]:
                self.known_sources.pop(oldest, None)
        return known

    @cached_property
    def _noise_parameters(self) -> list[str]:
        """Parameters that the disturbances depend on, in the order of the reduction."""
        used = {
            name for noise in self.system.model.disturbances.values() for name in disturbances.list_parameters(noise)
        }
        return [name for name in self.system.reduction.parameters if name in used]

    @cached_property
    def _noise_rows(self) -> list[int]:
        return [self.system.reduction.parameters.index(name) for name in self._noise_parameters]

    def _differentiate(self, given: Mapping[Any, float] | None) -> np.ndarray:
        """dp/dθ as (parameter of the reduction, direction)."""
        return differentiate_parameters(self.system.model, self.free, given)[self._rows]

    @cached_property
    def _rows(self) -> list[int]:
        """Where the parameters of the reduction stand among those of the model."""
        order = list(self.system.model.parameters)
        return [order.index(name) for name in self.system.reduction.parameters]

    def _make_values(
        self,
        given: Mapping[Any, float] | None,
        numbers: Mapping[str, float],
        rates: np.ndarray,
        sources: "Sources | None",
    ) -> Values:
        parameters = np.array([numbers[name] for name in self.system.reduction.parameters])
        column = np.concatenate([parameters, self.directions.read(rates)])
        begin = self.forcing.start
        known = self.forcing.at(begin)
        for place, value in self.delayed(parameters).items() if self.delayed else ():
            known[place] = value
        # With numbers for all parameters no formula is evaluated again.
        start = find_initial_values(self.system, begin, numbers, known)
        clocks = simulation.read_clocks(self.system, numbers, self.forcing.end - begin) if self.slots else ()
        return Values(given, rates, column, start, clocks, sources)

    def make_point(self, values: Values) -> Point:
        """The start at these values, where pivots are chosen."""
        start, parameters = values.start, self.system.parameter_vector(values.given)
        assert self.sizes is not None
        return Point(self.forcing.start, start.states, start.tops, parameters, start.exogenous, self.sizes)

    def make_paths(self, values: Values, block: range) -> Paths | None:
        """The disturbances of a block of lanes, from the beginning."""
        if values.sources is None:
            return None
        again = bool(self.free) and not self.directions.moves_noise  # the next evaluation asks for the same
        kind = lanes.KeptPaths if again else lanes.LanePaths
        return kind(values.sources, self.seed, self.purpose, block)

    def find_exogenous(self, first_row: np.ndarray | None, lanes: int, delayed: Delayed = ()) -> np.ndarray:
        """Exogenous values at the start as (way, symbol, lane): the value, then its derivative in each direction."""
        ways = 1 + len(self.free)
        table = np.zeros((ways, len(self.system.reduction.exogenous), lanes))
        table[0] = self.forcing.at(self.forcing.start)[:, None]
        if first_row is not None and self.disturbances:
            moving = self.directions.ways
            values = first_row.reshape(moving, -1, lanes)[:, : len(self.disturbances)]
            table[:moving, list(self.disturbances)] = values
        for symbol, values in delayed:
            table[:, symbol] = values[:, None]
        return table

    def initialize(self, values: Values, first_row: np.ndarray | None, lanes: int, delayed: Delayed = ()) -> np.ndarray:
        """Initial (X, T), sensitivities and a zero, as (value, lane); by lane where disturbances enter constraints."""
        if not self._constrained:
            column = self._make_column(values, values.start, self.find_exogenous(None, 1, delayed)[:, :, 0])
            return np.repeat(column[:, None], lanes, axis=1)
        table = self.find_exogenous(first_row, lanes, delayed)
        columns = []
        for lane in range(lanes):
            at = table[:, :, lane]
            start = find_initial_values(self.system, self.forcing.start, values.given, at[0])
            columns.append(self._make_column(values, start, at))
        return np.stack(columns, axis=1)

    @cached_property
    def _constrained(self) -> bool:
        """Whether consistent values differ from lane to lane: a disturbance enters a constraint, or a T is held."""
        if not self.disturbances:
            return False
        states = len(self.system.states)
        if any(place >= states for place, _ in find_places(self.system, self.system.model.initial).values()):
            return True
        symbols = self.system.reduction.arguments[-1]
        constraints = self.system.reduction.G
        return bool(constraints.shape[0]) and ca.depends_on(
            constraints, ca.vertcat(*(symbols[i] for i in self.disturbances))
        )

    def _make_column(self, values: Values, start: InitialValues, exogenous: np.ndarray) -> np.ndarray:
        column = [start.states, start.tops]
        if self.free:
            time, at = self.forcing.start, exogenous[0]
            at = start.exogenous if self.slots else at
            rates = systems.differentiate_initial_values(
                self.system, start, time, values.given, at, values.rates, exogenous[1:].T
            )
            column.append(rates.T.ravel())
        carried = [self.slots.make_column(self.system, start)] if self.slots else []
        return np.concatenate([*column, [0.0], *carried])

    @cached_property
    def slots(self) -> "Slots | None":
        """What lanes carry where equations switch."""
        switching = self.system.reduction.switching
        return steps.Slots.of(self.system, self.directions) if switching and switching.located else None
