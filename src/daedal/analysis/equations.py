"""The residuals of a model as one CasADi vector, and which unknown occurs in which, differentiated how often."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from daedal.models import Model
from daedal.symbolic import expand, jet, list_symbols, stack_symbols


@dataclass(frozen=True, eq=False)
class Equations:
    """n residuals f_i = 0 in named unknowns, all derivatives being of plain symbols.

    `least` says up to which derivative an unknown is wanted in any case (by an alias or an output), whatever the
    residuals contain. `origins` says which typed equations an equation was combined
    from, where it was, and how often each was differentiated for that. `modes` are the constants that only hold between
    two instants: sides of switches, and held samples.
    """

    names: tuple[str, ...]
    residuals: ca.SX
    unknowns: tuple[str, ...]
    constants: frozenset[str]
    least: Mapping[str, int] = field(default_factory=dict)
    origins: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    modes: tuple[str, ...] = ()

    def find_typed_names(self, rows: Iterable[int]) -> list[str]:
        """The equations as they were typed that these rows were made from."""
        return list(self.find_typed_orders(dict.fromkeys(rows, 0)))

    def find_typed_orders(self, orders: Mapping[int, int]) -> dict[str, int]:
        """How often the typed equations are differentiated when row i is differentiated orders[i] times."""
        typed: dict[str, int] = {}
        for i, order in orders.items():
            for name, before in self.origins.get(self.names[i], {self.names[i]: 0}).items():
                typed[name] = max(order + before, typed.get(name, 0))
        return typed

    @staticmethod
    def of(model: Model) -> "Equations":
        """The equations of a model as they were typed."""
        constants = frozenset(model.parameters)
        residuals = (
            ca.vertcat(*(e.lhs.sx - e.rhs.sx for e in model.equations.values())) if model.equations else ca.SX(0, 1)
        )
        return Equations(tuple(model.equations), expand(residuals, constants), model.unknown_names, constants)


@dataclass(frozen=True)
class Incidence:
    """The signature s_ij, sparse: entry k says that unknown columns[k] occurs in equation rows[k], differentiated
    orders[k] times."""

    rows: np.ndarray
    columns: np.ndarray
    orders: np.ndarray
    least: np.ndarray
    equations: int
    unknowns: int


def find_incidence(equations: Equations) -> Incidence:
    """The signature matrix of Pryce: the highest derivative of each unknown in each equation."""
    position = {name: j for j, name in enumerate(equations.unknowns)}
    leaves = [(name, *jet(name)) for name in list_symbols(equations.residuals)]
    leaves = [(name, position[base], order) for name, base, order in leaves if base in position]
    highest: dict[tuple[int, int], int] = {}
    if leaves:
        sparsity = ca.jacobian_sparsity(equations.residuals, stack_symbols(name for name, _, _ in leaves))
        for row, column in zip(*sparsity.get_triplet(), strict=True):
            _, unknown, order = leaves[column]
            highest[row, unknown] = max(order, highest.get((row, unknown), 0))
    entries = np.array([(i, j, s) for (i, j), s in highest.items()], dtype=int).reshape(-1, 3)
    least = np.array([equations.least.get(name, 0) for name in equations.unknowns], dtype=int)
    return Incidence(*entries.T, least=least, equations=len(equations.names), unknowns=len(equations.unknowns))
