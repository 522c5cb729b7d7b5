"""What a switch is, and what a model with switches consists of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca

from daedal.symbolic import Expression, list_symbols, stack_symbols
from daedal.systems.switching.table import Table

NOTHING = 1e-300  # beside the size of a switching function


@dataclass(frozen=True, eq=False)
class Switch:
    """One switching function: the symbol of its mode, the text it was typed as, and what happens on g = 0.

    Attributes
    ----------
    mode
        The symbol of the side, +1 where the function is positive.
    text
        A formula as the user wrote it.
    function
        g, in terms of what the equations contain.
    jumps
        Whether equations jump there, or only their slopes.
    latched
        Whether it has two borders, one to each side.
    """

    mode: str
    text: str
    function: ca.SX
    jumps: bool
    latched: bool


@dataclass(frozen=True, eq=False)
class Known:
    """A number that is constant between known instants: the side of a switching function, or a rounded value.

    `value` is what was typed, in terms of time, inputs and earlier ones of these; `argument` crosses zero (or a whole
    number, where `rounds`) where it changes. What was `joined` of others alone changes when these do.
    """

    name: str
    value: ca.SX
    argument: ca.SX
    rounds: bool
    text: str
    joined: bool = False


@dataclass(frozen=True, eq=False)
class Bend:
    """A kink of time and inputs alone that stays as it was typed: steps must not cross where its argument does zero."""

    argument: ca.SX
    text: str


@dataclass(frozen=True, eq=False)
class Switching:
    """Equations with modes in them, and what the modes belong to."""

    residuals: ca.SX
    observed: ca.SX
    switches: tuple[Switch, ...]
    known: tuple[Known, ...]
    inner: tuple[Known, ...]  # known ones that only others are made of
    tables: tuple[Table, ...]  # which of the switches stand for many
    held: Mapping[str, ca.SX]  # what is sampled, by the symbol hold(...) that stands for it
    bent: bool  # whether kinks were left where they are
    bends: tuple[Bend, ...]  # very many kinks of inputs, which were, with the rows of the residuals that contain any
    bent_rows: tuple[int, ...]
    blend: Callable[[Sequence[int]], tuple[ca.SX, ca.SX]] = field(repr=False)  # the same for modes of any value

    @property
    def formulas(self) -> list[ca.SX]:
        """What switches and held samples follow from."""
        return [switch.function for switch in self.switches] + list(self.held.values())

    @property
    def borders(self) -> list[ca.SX]:
        """Switching functions in terms of what was typed: modes inside them, of those before, are g/|g|."""
        borders: list[ca.SX] = []
        for switch in self.switches:
            modes = stack_symbols(earlier.mode for earlier in self.switches[: len(borders)])
            sides = ca.vertcat(*(g / (ca.fabs(g) + NOTHING) for g in borders))
            borders.append(ca.substitute(switch.function, modes, sides) if borders else switch.function)
        return borders

    def restore(self, sx: ca.SX) -> ca.SX:
        """Formulas with every mode as the sign of its function, and held values as what is held."""
        meanings = {switch.mode: ca.sign(switch.function) for switch in self.switches}
        meanings |= dict(self.held)
        for table in self.tables:
            meanings |= table.restore()
        old, new = stack_symbols(meanings), ca.vertcat(*meanings.values())
        for _ in meanings:
            if not set(list_symbols(sx)).intersection(meanings):
                break
            sx = ca.substitute(sx, old, new)
        return sx

    @property
    def located(self) -> tuple[str, ...]:
        """The symbols that every trajectory has for itself: sides that are not known before, and held samples."""
        return (*(switch.mode for switch in self.switches), *self.levels, *self.held)

    @property
    def modes(self) -> tuple[str, ...]:
        """All symbols that are constant between two instants."""
        names = [switch.mode for switch in self.switches] + [known.name for known in self.known]
        return (*names, *self.levels, *self.held)

    @property
    def tracked(self) -> list[Known]:
        """All known ones, each behind those it contains."""
        return [*sorted((*self.known, *self.inner), key=lambda known: int(known.name.split()[-1]))]

    @property
    def levels(self) -> tuple[str, ...]:
        """Level and borders of each table."""
        return tuple(name for table in self.tables for name in table.symbols)


@dataclass(frozen=True)
class Words:
    """How a model names its symbols, for classes of switches and for sentences."""

    model: str
    constants: frozenset[str]
    inputs: frozenset[str]
    rename: Callable[[ca.SX], ca.SX]  # into the user's own names
    read: Callable[[Expression], ca.SX]  # what stands inside hold and hysteresis, without aliases
