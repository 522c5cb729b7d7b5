"""Formulas in which the many modes of tables are written by the levels of these.

What stands in a table is looked up where it is a number or a straight line: a part of a formula that contains, beside
the modes of one table, at most a few symbols y, and is affine in them, is a + b · (y − y₀) at every level, with numbers
a and b that are constant until a border is crossed (y₀ is the border at hand where y is what the table compares, so
that nothing cancels). With m_low and m_high it is a straight line between neighbouring levels. Everything else keeps
its modes, each by the level.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daedal.symbolic import intern_symbol, stack_symbols
from daedal.systems.switching.reader import Reader
from daedal.systems.switching.table import LEAST, Ladder, Table
from daedal.systems.switching.writer import Written

MOST_SYMBOLS = 4  # in a part that is looked up
CHUNK = 2_000_000  # numbers that are computed at once
STRAIGHT = {ca.OP_ADD, ca.OP_SUB}
SAME = {ca.OP_NEG, ca.OP_TWICE}


@dataclass(frozen=True)
class _Part:
    """A part of formulas: of which table, of which degree in which other symbols; `table` is None where of none."""

    table: int | None
    degree: int
    names: frozenset[str]
    modes: int = 0  # how often it contains one of the table
    plain: bool = True  # affine, and of one table at most


@dataclass(frozen=True, eq=False)
class Climb:
    """The ladders of a model, their tables, and what stands for the modes of their rungs."""

    ladders: tuple[Ladder, ...]
    tables: tuple[Table, ...]
    old: ca.SX
    new: ca.SX
    modes: dict[str, int]  # by their names, the table of each

    @staticmethod
    def of(reader: Reader, ladders: Sequence[Ladder]) -> "Climb":
        """The tables of some ladders, with modes that no single function has."""
        first = len(reader.functions)
        tables = tuple(ladder.make_table(k, first + 2 * k) for k, ladder in enumerate(ladders))
        names, new, modes = [], [ca.SX(0, 1)], {}
        for k, (ladder, table) in enumerate(zip(ladders, tables, strict=True)):
            own = [reader.name_mode(number) for number in ladder.numbers]
            names += own
            modes |= dict.fromkeys(own, k)
            new += [side * mode for side, mode in zip(ladder.orientations, table.write_modes(), strict=True)]
        return Climb(tuple(ladders), tables, stack_symbols(names), ca.vertcat(*new), modes)

    @property
    def inside(self) -> frozenset[int]:
        """The numbers of all functions on ladders."""
        return frozenset(number for ladder in self.ladders for number in ladder.numbers)

    @property
    def entries(self) -> int:
        """How many columns all tables have."""
        return sum(len(table.columns) for table in self.tables)

    def write(self, sx: ca.SX) -> ca.SX:
        """A formula with levels in place of modes."""
        return ca.substitute(sx, self.old, self.new) if self.ladders else sx

    def apply(self, written: Written) -> tuple["Climb", Written]:
        """The same for all that a pass has written, with tables that have the entries it looks up."""
        if not self.ladders:
            return self, written
        further, rewritten = self._look_up(written)
        return further, further.apply_modes(rewritten)

    def apply_modes(self, written: Written) -> Written:
        """All that a pass has written, with nothing looked up; what is on ladders has no function of its own there."""
        if not self.ladders:
            return written
        inside = self.inside
        functions = {number: g for number, g in written.functions.items() if number not in inside}
        parts = [written.residuals, written.observed, *functions.values(), *written.held.values()]
        residuals, observed, *rest = ca.substitute(parts, [self.old], [self.new])
        return replace(
            written,
            residuals=residuals,
            observed=observed,
            functions=dict(zip(functions, rest, strict=False)),
            held=dict(zip(written.held, rest[len(functions) :], strict=True)),
        )

    def _look_up(self, written: Written) -> tuple["Climb", Written]:
        """What is on ladders written by the entries of tables where it can be, and tables with these entries."""
        entries = _Entries(self)
        formulas = ca.vertcat(written.residuals, written.observed)
        residuals, observed = entries.rewrite(formulas, written.residuals.shape[0])
        return replace(self, tables=entries.tables), replace(written, residuals=residuals, observed=observed)


class Rewriter(ABC):
    """Formulas written again, with other words for their largest parts that are affine and of one table."""

    def __init__(self) -> None:
        self._parts: dict[int, tuple[ca.SX, ca.SX]] = {}  # as they were, which keeps their keys, and written again

    @abstractmethod
    def find_table(self, name: str) -> int | None:
        """Which table a symbol is a mode of."""

    @abstractmethod
    def write(self, sx: ca.SX, names: list[str], number: int) -> ca.SX:
        """A part that contains modes of the table of this number, and these other symbols."""

    def rewrite(self, formulas: ca.SX, count: int) -> tuple[ca.SX, ca.SX]:
        """The first so many formulas, and the others."""
        symbols = ca.symvar(formulas)
        function = ca.Function("formulas", [ca.vertcat(*symbols)], [ca.densify(formulas)])
        rows: list[ca.SX] = [ca.SX(0)] * formulas.shape[0]
        work: dict[int, tuple[ca.SX, _Part]] = {}
        for k in range(function.n_instructions()):
            code = function.instruction_id(k)
            sources, targets = function.instruction_input(k), function.instruction_output(k)
            if code == ca.OP_INPUT:
                leaf = symbols[sources[1]]
                table = self.find_table(leaf.name())
                names = frozenset() if table is not None else frozenset({leaf.name()})
                work[targets[0]] = leaf, _Part(table, len(names), names, modes=1 - len(names))
            elif code == ca.OP_OUTPUT:
                rows[targets[1]] = self._finish(*work[sources[0]])
            elif code == ca.OP_CONST:
                work[targets[0]] = ca.SX(function.instruction_constant(k)), _Part(None, 0, frozenset())
            else:
                operands = [work[source] for source in sources]
                make = ca.SX.binary if len(operands) == 2 else ca.SX.unary
                part = _join(code, [part for _, part in operands])
                values = [sx if part.plain else self._finish(sx, own) for sx, own in operands]
                work[targets[0]] = make(code, *values), part
        return ca.vertcat(ca.SX(0, 1), *rows[:count]), ca.vertcat(ca.SX(0, 1), *rows[count:])

    def _finish(self, sx: ca.SX, part: _Part) -> ca.SX:
        """A part that no larger one contains; one with few modes is as short as its entries would be."""
        if part.table is None or not part.plain or part.modes < LEAST:
            return sx
        key = sx.element_hash()
        if key not in self._parts:
            self._parts[key] = sx, self.write(sx, sorted(part.names), part.table)
        return self._parts[key][1]


class _Entries(Rewriter):
    """Formulas with parts that are looked up."""

    def __init__(self, climb: Climb) -> None:
        super().__init__()
        self._climb, self._columns = climb, [dict(table.columns) for table in climb.tables]
        named = [(k, name, column) for k, columns in enumerate(self._columns) for name, column in columns.items()]
        self._keys = {(k, column.tobytes()): name for k, name, column in named}

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables with all entries."""
        pairs = zip(self._climb.tables, self._columns, strict=True)
        return tuple(replace(table, columns=columns) for table, columns in pairs)

    def find_table(self, name: str) -> int | None:
        return self._climb.modes.get(name)

    def write(self, sx: ca.SX, names: list[str], number: int) -> ca.SX:
        ladder, table = self._climb.ladders[number], self._climb.tables[number]
        symbols = stack_symbols(names)
        modes = self._climb.old[[k for k, own in enumerate(self._climb.modes.values()) if own == number]]
        own = [name for name in names if table.argument.is_symbolic() and name == table.argument.name()]
        borders = np.concatenate([ladder.borders[:1], ladder.borders])  # one that is at hand at each level
        at = np.zeros((len(names), borders.size))
        at[[names.index(name) for name in own]] = borders
        numbers = _tabulate(sx, modes, symbols, ladder, at)
        if numbers is None:
            return sx
        low, high = (intern_symbol(name).sx for name in table.modes)
        offset = self._enter(number, borders) if own else ca.SX(0)
        result = ca.SX(0)
        for k, (here, below, above) in enumerate(numbers):
            steps = [self._enter(number, column) for column in (here, (here - below) / 2, (above - here) / 2)]
            factor = steps[0] - (1 - low) * steps[1] + (1 + high) * steps[2]
            moved = ca.SX(1) if k == 0 else symbols[k - 1] - (offset if own and names[k - 1] == own[0] else 0)
            result = result + factor * moved
        return result

    def _enter(self, table: int, column: np.ndarray) -> ca.SX:
        """A column of a table: its number where that is the same everywhere, else its symbol."""
        column = column + 0.0  # no negative zeros
        if np.all(column == column[0]):
            return ca.SX(float(column[0]))
        key = table, column.tobytes()
        if key not in self._keys:
            self._keys[key] = f"entry {table + 1}.{len(self._columns[table]) - 1}"
            self._columns[table][self._keys[key]] = column
        return intern_symbol(self._keys[key]).sx


def _join(code: int, parts: list[_Part]) -> _Part:
    """What an operation makes of its parts."""
    tables = {part.table for part in parts if part.table is not None}
    names = frozenset().union(*(part.names for part in parts))
    degrees = [part.degree for part in parts]
    if code in STRAIGHT or code in SAME:
        degree = max(degrees)
    elif code == ca.OP_MUL or (code in (ca.OP_DIV, ca.OP_IF_ELSE_ZERO) and degrees[code == ca.OP_DIV] == 0):
        degree = sum(degrees)
    else:
        degree = 0 if max(degrees) == 0 else 2
    plain = all(part.plain for part in parts) and len(tables) <= 1 and degree <= 1 and len(names) <= MOST_SYMBOLS
    if not plain:
        return _Part(None, 0, frozenset(), plain=False)
    return _Part(next(iter(tables), None), degree, names, sum(part.modes for part in parts))


def _tabulate(
    sx: ca.SX, modes: ca.SX, symbols: ca.SX, ladder: Ladder, at: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]] | None:
    """Value and slopes of a part at every level, by its own formula and by those of the levels below and above."""
    count = modes.shape[0]
    results = ca.vertcat(sx, ca.jacobian(sx, symbols).T if symbols.shape[0] else ca.SX(0, 1))
    function = ca.Function("entries", [modes, symbols], [ca.densify(results)])
    tables = []
    for shift in (0, -1, 1):
        levels = np.clip(np.arange(count + 1) + shift, 0, count)
        blocks = np.array_split(np.arange(count + 1), max(1, -(-count * (count + 1) // CHUNK)))
        numbers = []
        for block in blocks:
            sides = np.where(np.arange(count)[:, None] < levels[block], 1.0, -1.0)
            sides = sides * np.array(ladder.orientations)[:, None]
            numbers.append(function.map(block.size)(sides, at[:, block]).full())
        tables.append(np.concatenate(numbers, axis=1))
    if not all(np.isfinite(numbers).all() for numbers in tables):
        return None
    return list(zip(*tables, strict=True))
