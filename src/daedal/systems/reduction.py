"""Index reduction without choosing states: the prolonged system, redundant and regular.

With the offsets c, d of the signature method (`daedal.analysis.signature`), the equations and their derivatives split:

    X = {v_j^(k), k < d_j}      what the past determines          G = {f_i^(k), k < c_i}   constraints G(X, t) = 0
    T = {v_j^(d_j)}             what is solved for                top = {f_i^(c_i)}        top(X, T, t) = 0, square in T

and X' = S(X, T) is the shift v_j^(k)' = v_j^(k+1). With J = ∂top/∂T and A = ∂G/∂X, the matrix B (rows of G × X) has
J_ij in row (i, k), column v_j^(d_j − c_i + k) and zeros elsewhere: A without the cross terms between levels. A Bᵀ is
block triangular with blocks J_r J_rᵀ, hence regular whenever J is, so that G can be kept by moving X along the rows
of B. No states are chosen, so none can become singular while J is regular.

Reference for the splitting: J. D. Pryce, BIT 41 (2001) 364–394.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from daedal import symbolic
from daedal.analysis import Alias, Equations, Offsets, make_namer, substitute_aliases
from daedal.models import ParameterFormulas
from daedal.symbolic import Delayed, Expression, differentiate, expand, list_symbols, stack_symbols

if TYPE_CHECKING:
    from daedal.systems.switching import Switching

Jet = tuple[int, int]  # position of an unknown or equation, and order of the derivative


@dataclass(frozen=True, eq=False)
class Reduction:
    """The prolonged system as CasADi expressions; parameters and inputs are symbols in them."""

    equations: Equations
    offsets: Offsets
    aliases: Mapping[str, Alias]
    observed: Mapping[str, ca.SX]  # every unknown and output in terms of X, T
    states: tuple[Jet, ...]
    tops: tuple[Jet, ...]
    constraints: tuple[Jet, ...]
    G: ca.SX
    top: ca.SX
    repairs: tuple[str, ...] = ()
    delays: Mapping[str, "DelayedValue"] = field(default_factory=dict)  # by the symbol that stands for the value
    switching: "Switching | None" = None  # what makes the equations change their form, where anything does
    compiled: dict[str, Any] = field(default_factory=dict, repr=False)  # made once, shared by all values

    @cached_property
    def X(self) -> ca.SX:
        """What the past determines, as a vector of symbols."""
        return stack_symbols([self.name_jet(v) for v in self.states])

    @cached_property
    def T(self) -> ca.SX:
        """What is solved for, as a vector of symbols."""
        return stack_symbols([self.name_jet(v) for v in self.tops])

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters, sorted: the order of the functions' fourth argument."""
        return tuple(sorted(self.equations.constants.difference(self.equations.modes)))

    @cached_property
    def exogenous(self) -> tuple[str, ...]:
        """Inputs, disturbances and the derivatives of them that occur anywhere, then the modes of switches."""
        inside = {*self._name_jets(self.states), *self._name_jets(self.tops), *self.equations.constants, "time"}
        operands = [delayed.operand for delayed in self.delays.values()]
        everything = ca.vertcat(
            self.G, self.top, *self.observed.values(), *operands, *(self.switching.formulas if self.switching else ())
        )
        return (*(name for name in list_symbols(everything) if name not in inside), *self.equations.modes)

    @cached_property
    def arguments(self) -> list[ca.SX]:
        """t, X, T, parameters, exogenous: the arguments of every function of the system."""
        return [
            symbolic.intern_symbol("time").sx,
            self.X,
            self.T,
            stack_symbols(self.parameters),
            stack_symbols(self.exogenous),
        ]

    @cached_property
    def J(self) -> ca.SX:
        """∂top/∂T."""
        return symbolic.write_jacobian(self.top, self.T)

    @cached_property
    def top_jacobian(self) -> ca.Function:
        """J as a function of the arguments."""
        return self.compiled.setdefault("top_jacobian", ca.Function("top_jacobian", self.arguments, [self.J]))

    @cached_property
    def A(self) -> ca.SX:
        """∂G/∂X."""
        return symbolic.write_jacobian(self.G, self.X)

    @cached_property
    def shift(self) -> ca.SX:
        """S(X, T): the derivative of each state is the next state or a top."""
        return stack_symbols([self.name_jet((j, k + 1)) for j, k in self.states])

    @cached_property
    def B(self) -> ca.SX:
        """The directions along which X is moved back onto G = 0."""
        c, d = self.offsets.equations, self.offsets.unknowns
        column_of = {v: position for position, v in enumerate(self.states)}
        entries: list[Any] = self.J.nonzeros()
        by_row: dict[int, list[tuple[int, Any]]] = {}
        for i, j, entry in zip(*self.J.sparsity().get_triplet(), entries, strict=True):
            by_row.setdefault(i, []).append((j, entry))
        rows, columns, values = [], [], []
        for row, (i, k) in enumerate(self.constraints):
            for j, entry in by_row.get(i, []):
                rows.append(row)
                columns.append(column_of[j, int(d[j] - c[i]) + k])
                values.append(entry)
        shape = (len(self.constraints), len(self.states))
        return ca.SX.triplet(rows, columns, ca.vertcat(*values), *shape) if rows else ca.SX(*shape)

    @cached_property
    def levels(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """Rows f_i^(c_i − k) of (G, top) and columns v_j^(d_j − k) of (X, T) for k = max c … 0."""
        c, d = self.offsets.equations, self.offsets.unknowns
        rows = np.array([*(c[i] - k for i, k in self.constraints), *np.zeros(c.size)])
        columns = np.array([d[j] - k for j, k in (*self.states, *self.tops)])
        down = range(int(c.max(initial=0)), -1, -1)
        return tuple((np.flatnonzero(rows == level), np.flatnonzero(columns == level)) for level in down)

    @cached_property
    def _positions(self) -> dict[tuple[str, int], int]:
        return {(self.equations.unknowns[j], k): place for place, (j, k) in enumerate((*self.states, *self.tops))}

    def find_place(self, name: str) -> tuple[int, int] | None:
        """Position in z = (X, T) and sign of an unknown or derivative; None where the model does not determine it."""
        base, order = symbolic.jet(name)
        alias = self.aliases[base]
        position = self._positions.get((alias.root, alias.order + order))
        return None if position is None else (position, alias.sign)

    def name_jet(self, v: Jet) -> str:
        """The symbol of a derivative of an unknown."""
        return symbolic.name_derivative(self.equations.unknowns[v[0]], v[1])

    def _name_jets(self, jets: tuple[Jet, ...]) -> list[str]:
        return [self.name_jet(v) for v in jets]

    @cached_property
    def state_names(self) -> tuple[str, ...]:
        """X in the user's own names: der(x) is vx where an alias says so."""
        return self._name_for_user(self.states)

    @cached_property
    def top_names(self) -> tuple[str, ...]:
        """T in the user's own names."""
        return self._name_for_user(self.tops)

    def _name_for_user(self, jets: tuple[Jet, ...]) -> tuple[str, ...]:
        name_jet = make_namer(self.aliases)
        return tuple(name_jet(self.equations.unknowns[j], k) for j, k in jets)

    @cached_property
    def constraint_names(self) -> tuple[str, ...]:
        """For each row of G, the equation it is or was differentiated from."""
        return tuple(self.equations.names[i] for i, _ in self.constraints)


@dataclass(frozen=True, eq=False)
class DelayedValue:
    """What a symbol delay(e, τ) stands for: e in terms of the remaining unknowns, as it was typed, and τ."""

    operand: ca.SX
    typed: Expression
    amount: Expression


def find_delayed_values(
    symbols: list[str], constants: frozenset[str], aliases: Mapping[str, Alias]
) -> dict[str, DelayedValue]:
    """The delayed values among symbols, and those inside of them."""
    delayed: dict[str, DelayedValue] = {}
    waiting = list(symbols)
    while waiting:
        name = waiting.pop(0)
        meaning = symbolic.find_operator(name)
        if isinstance(meaning, Delayed) and name not in delayed:
            operand = substitute_aliases(expand(meaning.operand.sx, constants), aliases)
            delayed[name] = DelayedValue(operand, meaning.operand, meaning.amount)
            waiting += list_symbols(operand)
    return delayed


def prolong(
    equations: Equations,
    offsets: Offsets,
    aliases: Mapping[str, Alias],
    observed: Mapping[str, ca.SX],
    repairs: tuple[str, ...] = (),
    switching: "Switching | None" = None,
) -> Reduction:
    """Differentiate equation i up to c_i times and split the result."""
    c, d = offsets.equations, offsets.unknowns
    levels = differentiate_equations(equations, c)
    constraints = tuple((i, k) for i in range(c.size) for k in range(int(c[i])))
    everything = ca.vertcat(*levels.values(), *observed.values(), *(switching.formulas if switching else ()))
    return Reduction(
        switching=switching,
        equations=equations,
        offsets=offsets,
        aliases=aliases,
        observed=observed,
        states=tuple((j, k) for j in range(d.size) for k in range(int(d[j]))),
        tops=tuple((j, int(d[j])) for j in range(d.size)),
        constraints=constraints,
        G=ca.vertcat(*(levels[v] for v in constraints)) if constraints else ca.SX(0, 1),
        top=ca.vertcat(*(levels[i, int(c[i])] for i in range(c.size))),
        repairs=repairs,
        delays=find_delayed_values(list_symbols(everything), equations.constants, aliases),
    )


def differentiate_equations(equations: Equations, times: np.ndarray) -> dict[Jet, ca.SX]:
    """f_i^(k) for k = 0 … times[i]."""
    rows = list(range(len(equations.names)))
    current = equations.residuals
    levels = {(i, 0): current[i] for i in rows}
    for k in range(1, int(times.max(initial=0)) + 1):
        keep = [position for position, i in enumerate(rows) if times[i] >= k]
        rows = [rows[position] for position in keep]
        current = differentiate(current[keep], equations.constants)
        levels |= {(i, k): current[position] for position, i in enumerate(rows)}
    return levels


@dataclass(frozen=True, eq=False)
class DeclaredStart:
    """What `initial` or `guess` says of unknowns and derivatives, as formulas of the reduction's parameters."""

    formulas: ParameterFormulas
    places: Mapping[str, tuple[int, int]]  # position in z and sign; without what the model does not determine

    @staticmethod
    def of(reduction: Reduction, expressions: Mapping[str, Expression]) -> "DeclaredStart":
        """What these expressions declare."""
        places = {name: place for name in expressions if (place := reduction.find_place(name))}
        return DeclaredStart(ParameterFormulas(expressions, reduction.parameters), places)
