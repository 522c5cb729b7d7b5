"""Tables: one formula e compared with many numbers c₁ < c₂ < …, as lookup tables typed with `where` do.

Of so many switches only two can change next, those of the numbers around e. A table has these two alone, and beside
them the level at which a trajectory is, how many numbers lie below e, with the numbers around it:

    g_low = e − c_q,  g_high = e − c_{q+1},       m_i = 1 for i < q,  m_low for q,  m_high for q + 1,  −1 beyond

Where one of the two has changed its side, the level moves by one, and both are on their usual sides again: above the
lower number, below the higher one. Below the first number and above the last there is no border, and g is constant.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from daedal.symbolic import intern_symbol, list_symbols

LEAST = 4  # switches that are worth a table
BEYOND = 1e90  # in place of a number, where there is none


@dataclass(frozen=True, eq=False)
class Table:
    """What a table compares.

    Attributes
    ----------
    argument
        e, in terms of what the equations contain.
    borders
        The numbers, rising.
    level
        The symbol of q.
    columns
        What else is constant until a border is crossed: its symbol, and its number at every level. The first two are
        c_q and c_{q+1}, the others what stands in the table (`entries`).
    modes
        The symbols of m_low and m_high.
    places
        Which of all switches these two are.
    """

    argument: ca.SX
    borders: np.ndarray
    level: str
    columns: Mapping[str, np.ndarray]
    modes: tuple[str, str]
    places: tuple[int, int] = (0, 0)

    @property
    def symbols(self) -> tuple[str, ...]:
        """Level, borders and entries."""
        return self.level, *self.columns

    @property
    def low(self) -> str:
        """The symbol of the lower border."""
        return next(iter(self.columns))

    @property
    def high(self) -> str:
        """The symbol of the higher border."""
        return list(self.columns)[1]

    def write_functions(self) -> tuple[ca.SX, ca.SX]:
        """g_low and g_high."""
        width = float(self.borders[-1] - self.borders[0])
        low, high = (intern_symbol(name).sx for name in (self.low, self.high))
        return (
            ca.if_else(low > -BEYOND / 2, self.argument - low, width),
            ca.if_else(high < BEYOND / 2, self.argument - high, -width),
        )

    def write_modes(self) -> list[ca.SX]:
        """The mode of each comparison e > c_i, by the level."""
        q, low, high = (intern_symbol(name).sx for name in (self.level, *self.modes))
        above = [q > i - 0.5 for i in range(self.borders.size + 2)]
        first, second, third = high + 1, low - high, 1 - low  # 0, 2 and 0 where nothing changes
        return [-1 + above[i] * first + above[i + 1] * second + above[i + 2] * third for i in range(self.borders.size)]

    def look_up(self, level: ca.SX) -> ca.SX:
        """A level with the numbers of all columns there."""
        here = [level > i - 0.5 for i in range(self.borders.size + 1)]
        numbers = []
        for column in self.columns.values():
            number = ca.SX(column[-1])
            for i in range(self.borders.size - 1, -1, -1):
                number = ca.if_else(here[i + 1], number, column[i])
            numbers.append(number)
        return ca.vertcat(level, *numbers)

    def write_level(self, argument: ca.SX) -> ca.SX:
        """How many numbers lie below e."""
        return ca.sum1(ca.SX(self.borders) < argument)

    def find_level(self, argument: float) -> int:
        """The same as a number."""
        return int(np.searchsorted(self.borders, argument))

    def describe(self, level: float) -> list[float]:
        """The numbers of the symbols at a level."""
        place = int(np.clip(level, 0, self.borders.size))
        return [float(place), *(float(column[place]) for column in self.columns.values())]

    def restore(self) -> dict[str, ca.SX]:
        """What level, borders and entries follow from."""
        numbers = self.look_up(self.write_level(self.argument))
        return dict(zip(self.symbols, ca.vertsplit(numbers), strict=True))


@dataclass(frozen=True, eq=False)
class Ladder:
    """Switching functions that are one formula less a number, up to a factor: by their numbers, these rising."""

    argument: ca.SX
    numbers: tuple[int, ...]
    borders: np.ndarray
    orientations: tuple[int, ...]  # whether functions rise with the formula

    def choose(self, wanted: frozenset[int]) -> "Ladder":
        """Those of some functions."""
        kept = [place for place, number in enumerate(self.numbers) if number in wanted]
        return replace(
            self,
            numbers=tuple(self.numbers[place] for place in kept),
            borders=self.borders[kept],
            orientations=tuple(self.orientations[place] for place in kept),
        )

    def make_table(self, number: int, first: int) -> Table:
        """Its table, the so manieth of a model; `first` is the number of its lower mode."""
        bounds = np.concatenate([[-BEYOND], self.borders, [BEYOND]])
        columns = {f"low {number + 1}": bounds[:-1], f"high {number + 1}": bounds[1:]}
        modes = (f"mode {first + 1}", f"mode {first + 2}")
        return Table(self.argument, self.borders, f"level {number + 1}", columns, modes)


def find_ladders(functions: Mapping[int, ca.SX], excluded: frozenset[int]) -> list[Ladder]:
    """Which functions compare one formula with at least `LEAST` numbers."""
    rungs: dict[Any, list[tuple[float, int, int]]] = {}
    arguments: dict[Any, ca.SX] = {}
    for number, function in functions.items():
        argument, factor, shift = split_line(function)
        if number in excluded or argument.is_constant() or not (np.isfinite(shift) and np.isfinite(factor) and factor):
            continue
        key = argument.element_hash()
        arguments.setdefault(key, argument)
        rungs.setdefault(key, []).append((-shift / factor, number, 1 if factor > 0 else -1))
    ladders = []
    for key, steps in rungs.items():
        steps.sort()
        borders = np.array([border for border, _, _ in steps])
        if len(steps) >= LEAST and np.all(np.diff(borders) > 0) and _can_be_followed(arguments[key]):
            _, numbers, orientations = zip(*steps, strict=True)
            ladders.append(Ladder(arguments[key], tuple(numbers), borders, tuple(orientations)))
    return ladders


def _can_be_followed(argument: ca.SX) -> bool:
    """What bends with time alone comes and goes within a step, and has to be looked at before."""
    names = list_symbols(argument)
    clock = intern_symbol("time").sx
    return "time" not in names or not any(ca.which_depends(argument, clock, 2, False))


def split_line(function: ca.SX) -> tuple[ca.SX, float, float]:
    """A formula as factor · e + shift, with numbers for both."""
    factor, shift = 1.0, 0.0
    while True:
        parts = [function.dep(k) for k in range(function.n_dep())]
        numbers = [float(part) if part.is_constant() else None for part in parts]
        code = function.op() if parts else None
        if code == ca.OP_NEG:
            function, factor = parts[0], -factor
        elif code == ca.OP_TWICE:
            function, factor = parts[0], 2 * factor
        elif code in (ca.OP_ADD, ca.OP_SUB) and numbers[1] is not None:
            function, shift = parts[0], shift + (factor if code == ca.OP_ADD else -factor) * numbers[1]
        elif code in (ca.OP_ADD, ca.OP_SUB) and numbers[0] is not None:
            shift += factor * numbers[0]
            function, factor = parts[1], factor if code == ca.OP_ADD else -factor
        elif code == ca.OP_MUL and None in numbers and numbers != [None, None]:
            known = 0 if numbers[0] is not None else 1
            factor *= numbers[known] or 0.0
            function = parts[1 - known]
        elif code == ca.OP_DIV and numbers[1]:
            function, factor = parts[0], factor / numbers[1]
        else:
            return function, factor, shift
