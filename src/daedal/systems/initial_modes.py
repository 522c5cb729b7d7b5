"""On which side of its switches a model starts, and what its samples hold.

Sides follow from consistent values, and these from the sides: both are found in turn, beginning with the positive sides
(latched ones with the negative). On a border, g = 0, the rates on both sides decide: where they point at each other the
model starts sliding, with the control that keeps it there, or leaves to the side of a control beyond ±1; where they
point the same way it is on that side; where they point apart both sides are possible, and the positive one is taken.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from daedal.errors import InitialValueError
from daedal.models import evaluate_expressions
from daedal.symbolic import Held, find_operator
from daedal.systems.initialization import InitialValues
from daedal.systems.sliding import Sliding, find_sliding
from daedal.systems.switching import Switch, Table
from daedal.systems.system import System

BORDER = 1e-11  # of its terms: a switching function as small as this is zero
ROUNDS = 24
NEWTON = 12

Find = Callable[[np.ndarray], InitialValues]  # consistent values for given inputs and modes


def settle_modes(
    system: System, time: float, values: Mapping[Any, float] | None, exogenous: np.ndarray, find: Find
) -> InitialValues:
    """Consistent values with the modes that belong to them, in `exogenous` after inputs and disturbances."""
    problem = _Start(system, time, system.parameter_vector(values), find)
    w = problem.fill_samples(problem.take_sides(exogenous.copy()))
    start, borders = problem.agree(w)
    if borders:
        return problem.leave_borders(start, borders)
    return start


@dataclass(frozen=True, eq=False)
class _Start:
    system: System
    time: float
    parameters: np.ndarray
    find: Find

    @property
    def switches(self) -> tuple[Switch, ...]:
        assert self.system.reduction.switching is not None
        return self.system.reduction.switching.switches

    @cached_property
    def places(self) -> list[int]:
        """Of the modes among the exogenous symbols."""
        names = list(self.system.reduction.exogenous)
        return [names.index(switch.mode) for switch in self.switches]

    @property
    def tables(self) -> tuple[Table, ...]:
        assert self.system.reduction.switching is not None
        return self.system.reduction.switching.tables

    @cached_property
    def levels(self) -> list[int]:
        """Of the first symbol of each table among the exogenous symbols; its others follow."""
        names = list(self.system.reduction.exogenous)
        return [names.index(table.level) for table in self.tables]

    @cached_property
    def held(self) -> dict[int, Held]:
        """What is held, by its places among the exogenous symbols."""
        assert self.system.reduction.switching is not None
        names = list(self.system.reduction.exogenous)
        meanings = {names.index(name): find_operator(name) for name in self.system.reduction.switching.held}
        return {place: meaning for place, meaning in meanings.items() if isinstance(meaning, Held)}

    def take_sides(self, w: np.ndarray) -> np.ndarray:
        """First sides: those given, +1 where none is, −1 of what is latched."""
        start = self._guess(w)
        for place, switch in zip(self.places, self.switches, strict=True):
            if w[place] == 0.0:
                w[place] = -1.0 if switch.latched else 1.0
        for _ in self.switches:
            before = w.copy()
            self._find_levels(start, w)
            g = self._evaluate("switches", start, w)
            for i, place in enumerate(self.places):
                if w[place] * g[i] < 0:
                    w[place] = np.sign(g[i])
            if np.array_equal(w, before):
                break
        for i, (place, switch) in enumerate(zip(self.places, self.switches, strict=True)):
            if switch.latched:
                w[place] = 1.0
                width = self._evaluate("switches", start, w)[i]
                w[place] = -1.0
                if width < self._evaluate("switches", start, w)[i]:
                    raise InitialValueError(
                        f"The lower threshold of '{switch.text}' in model '{self.system.model.name}' lies above the "
                        "upper one.",
                        "Exchange their values.",
                    )
                w[place] = 1.0 if self._evaluate("switches", start, w)[i] > 0 else -1.0
        return w

    def _find_levels(self, start: InitialValues, w: np.ndarray) -> None:
        """Write the levels of tables at given values, each with its two switches on their usual sides."""
        for table, place, argument in zip(
            self.tables, self.levels, self._evaluate("table_arguments", start, w), strict=True
        ):
            w[place : place + len(table.symbols)] = table.describe(table.find_level(float(argument)))
            w[[self.places[i] for i in table.places]] = 1.0, -1.0

    def _guess(self, w: np.ndarray) -> InitialValues:
        """What is held or guessed, as it is before the equations are solved: it tells most sides."""
        system, count = self.system, len(self.system.states)
        z = np.zeros(count + len(system.tops))
        for declared in (system.guessed, system.held):
            numbers = declared.formulas.evaluate(self.parameters)
            for name, number in zip(declared.formulas.expressions, numbers, strict=True):
                if name in declared.places:
                    place, sign = declared.places[name]
                    z[place] = sign * number
        return InitialValues(z[:count], z[count:], {}, (), w)

    def fill_samples(self, w: np.ndarray) -> np.ndarray:
        """What is held from the start on where nothing delays it; zero otherwise."""
        for _ in self.held:
            start = self.find(w)
            sampled = self._evaluate("samples", start, w)
            numbers = dict(zip(self.system.reduction.parameters, self.parameters.tolist(), strict=True))
            for row, (place, meaning) in enumerate(self.held.items()):
                if evaluate_expressions({"delay": meaning.delay}, numbers)["delay"] == 0.0:
                    w[place] = sampled[row]
        return w

    def agree(self, w: np.ndarray) -> tuple[InitialValues, list[int]]:
        """Values and sides that belong together, and the switches that start on their border."""
        seen: set[tuple[float, ...]] = set()
        wrong: list[int] = []
        for _ in range(ROUNDS):
            w = self.fill_samples(w)
            start = replace(self.find(w), exogenous=w.copy())
            g, size = self._evaluate("switches", start, w), self._evaluate("switch_sizes", start, w)
            if not np.isfinite(g).all():
                text = self.switches[int(np.argmin(np.isfinite(g)))].text
                raise InitialValueError(
                    f"Whether '{text}' of model '{self.system.model.name}' holds at the start cannot be told: what it "
                    "compares is not a finite number.",
                    "Start where it is defined.",
                )
            borders = [i for i in range(g.size) if abs(g[i]) <= BORDER * size[i]]
            wrong = [i for i in range(g.size) if i not in borders and w[self.places[i]] * g[i] < 0]
            if not wrong:
                return start, borders
            sides = tuple(w[[*self.places, *self.levels]])
            w = w.copy()
            for i in wrong[:1] if sides in seen else wrong:
                w[self.places[i]] *= -1.0
            if not {i for table in self.tables for i in table.places}.isdisjoint(wrong):
                self._find_levels(start, w)
            seen.add(sides)
        text = "', '".join(self.switches[i].text for i in wrong)
        raise InitialValueError(
            f"Model '{self.system.model.name}' has no side of '{text}' on which it can start: each contradicts itself.",
            "Start from another position, or give the switch a little hysteresis.",
        )

    def leave_borders(self, start: InitialValues, borders: list[int]) -> InitialValues:
        """Sides of the switches that start on their border, and which of them slide."""
        w, notes = start.exogenous.copy(), []
        sliding = find_sliding(self.system)
        able = [i for i in borders if sliding and i in sliding.places]
        stuck = np.zeros(len(sliding.places) if sliding else 0)
        for i in borders:
            rates = {}
            for side in (1.0, -1.0):
                w[self.places[i]] = side
                rates[side] = float(self._evaluate("switch_rates", self.find(w), w)[i])
            if not np.isfinite(list(rates.values())).all():
                rates = {1.0: 0.0, -1.0: 0.0}
            w[self.places[i]] = -1.0 if rates[1.0] < 0 and rates[-1.0] < 0 else 1.0
            if rates[-1.0] > 0 > rates[1.0] and i in able and sliding:
                stuck[sliding.places.index(i)] = 1.0
            elif rates[-1.0] < 0 < rates[1.0] and self.switches[i].jumps:
                notes.append(
                    f"'{self.switches[i].text}' starts on its border and may leave it on either side; the positive one "
                    "was taken"
                )
        controls = np.zeros(stuck.size)
        top = self.find(w).tops
        if sliding and stuck.any():
            top, controls = self._release(sliding, start, w, stuck)
        held = {sliding.places[k] for k in np.flatnonzero(stuck)} if sliding else set()
        for table, place in zip(self.tables, self.levels, strict=True):
            low, high = (self.places[i] for i in table.places)
            if held.isdisjoint(table.places) and not w[high] < 0 < w[low]:  # its border was left on the other side
                level = w[place] + (w[high] > 0) - (w[low] < 0)
                w[place : place + len(table.symbols)] = table.describe(level)
                w[low], w[high] = 1.0, -1.0
        return replace(start, tops=top, exogenous=w, sliding=stuck, controls=controls, remarks=(*start.remarks, *notes))

    def _release(
        self, sliding: Sliding, start: InitialValues, w: np.ndarray, stuck: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Tops and controls of what slides; what its control cannot hold leaves, `stuck` and `w` with it."""
        while True:
            z = solve_sliding(self.system, sliding, self.time, start, self.parameters, w, stuck)
            top, controls = z[: start.tops.size], z[start.tops.size :]
            beyond = np.flatnonzero((stuck > 0) & (np.abs(controls) > 1))
            if not beyond.size:
                return top, controls
            worst = beyond[np.argmax(np.abs(controls[beyond]))]
            stuck[worst] = 0.0
            w[self.places[sliding.places[worst]]] = np.sign(controls[worst])

    def _evaluate(self, name: str, start: InitialValues, w: np.ndarray) -> np.ndarray:
        return self.system.matrix(name, self.time, start.states, start.tops, self.parameters, w).ravel()


def solve_sliding(
    system: System,
    sliding: Sliding,
    time: float,
    start: InitialValues,
    parameters: np.ndarray,
    w: np.ndarray,
    stuck: np.ndarray,
) -> np.ndarray:
    """Tops and controls of the sliding system at given states, by Newton iterations."""
    reduction = sliding.reduction
    compiled = system.reduction.compiled
    if "sliding top" not in compiled:
        compiled["sliding top"] = ca.Function("sliding_top", reduction.arguments, [reduction.top, reduction.J])
    filled = fill_exogenous(system, sliding, w, stuck)
    z = np.concatenate(
        [start.tops, w[[list(system.reduction.exogenous).index(m) for m in _list_modes(system, sliding)]]]
    )
    for _ in range(NEWTON):
        residual, jacobian = (
            part.full() for part in compiled["sliding top"](time, start.states, z, parameters, filled)
        )
        try:
            step = np.linalg.solve(jacobian, residual.ravel())
        except np.linalg.LinAlgError:
            texts = "', '".join(sliding.reduction.equations.names[-len(sliding.places) :])
            raise InitialValueError(
                f"Model '{system.model.name}' cannot start '{texts}' at once: its equations "
                "do not say which of them carries the load.",
                "Join what acts twice in one place into one.",
            ) from None
        z = z - step
        if np.all(np.abs(step) <= 1e-14 * np.abs(z)):
            break
    return z


def _list_modes(system: System, sliding: Sliding) -> list[str]:
    assert system.reduction.switching is not None
    return [system.reduction.switching.switches[place].mode for place in sliding.places]


def fill_exogenous(system: System, sliding: Sliding, w: np.ndarray, stuck: np.ndarray) -> np.ndarray:
    """The exogenous values of the sliding system: those of the plain one, and which switches slide."""
    known = dict(zip(system.reduction.exogenous, w.tolist(), strict=True)) | dict(
        zip(sliding.flags, stuck.tolist(), strict=True)
    )
    return np.array([known.get(name, 0.0) for name in sliding.reduction.exogenous])
