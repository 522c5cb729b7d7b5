"""Formulas in which the many modes of tables are written by the levels of these."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca

from daedal.symbolic import intern_symbol
from daedal.systems.switching.reader import Reader
from daedal.systems.switching.table import Ladder, Table
from daedal.systems.switching.writer import Written


@dataclass(frozen=True, eq=False)
class Climb:
    """The ladders of a model, their tables, and what stands for the modes of their rungs."""

    ladders: tuple[Ladder, ...]
    tables: tuple[Table, ...]
    old: ca.SX
    new: ca.SX

    @staticmethod
    def of(reader: Reader, ladders: Sequence[Ladder]) -> "Climb":
        """The tables of some ladders, with modes that no single function has."""
        first = len(reader.functions)
        tables = tuple(ladder.make_table(k, first + 2 * k) for k, ladder in enumerate(ladders))
        old, new = [ca.SX(0, 1)], [ca.SX(0, 1)]
        for ladder, table in zip(ladders, tables, strict=True):
            old += [intern_symbol(reader.name_mode(number)).sx for number in ladder.numbers]
            new += [side * mode for side, mode in zip(ladder.orientations, table.write_modes(), strict=True)]
        return Climb(tuple(ladders), tables, ca.vertcat(*old), ca.vertcat(*new))

    @property
    def inside(self) -> frozenset[int]:
        """The numbers of all functions on ladders."""
        return frozenset(number for ladder in self.ladders for number in ladder.numbers)

    def write(self, sx: ca.SX) -> ca.SX:
        """A formula with levels in place of modes."""
        return ca.substitute(sx, self.old, self.new) if self.ladders else sx

    def apply(self, written: Written) -> Written:
        """The same for all that a pass has written; what is on ladders has no function of its own there."""
        if not self.ladders:
            return written
        inside = self.inside
        parts = [written.residuals, written.observed, *written.functions.values(), *written.held.values()]
        residuals, observed, *rest = ca.substitute(parts, [self.old], [self.new])
        functions = dict(zip(written.functions, rest, strict=False))
        return replace(
            written,
            residuals=residuals,
            observed=observed,
            functions={number: g for number, g in functions.items() if number not in inside},
            held=dict(zip(written.held, rest[len(functions) :], strict=True)),
        )
