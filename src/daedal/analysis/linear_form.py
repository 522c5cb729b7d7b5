"""The matrices of a linear model, as expressions of its parameters.

    E ż = F z + G u + J w + f,   y = H z

z are the unknowns and what makes the equations of first order: der(x) where der(der(x)) occurs, copies of inputs and
disturbances whose derivatives occur, and outputs that are more than a combination of unknowns. An output may contain a
delayed unknown, delay(x, T): a variable that stands still, and takes the value of x a time T before each sample. A
model is linear when no coefficient depends on z, u, w or time; otherwise the first term that does is named. On demand
functions of u and time alone are inputs too (`forcing_terms`, beside this file).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np

from daedal.analysis.aliases import eliminate_aliases, substitute_aliases
from daedal.analysis.equations import Equations
from daedal.analysis.forcing_terms import TIME, ForcingTerms, MixedError, split_signed
from daedal.errors import ModelError
from daedal.models import Model, evaluate_parameters
from daedal.symbolic import (
    Delayed,
    Expression,
    Held,
    Latched,
    expand,
    find_operator,
    intern_symbol,
    jet,
    list_symbols,
    name_derivative,
    stack_symbols,
    write_jacobian,
)

SIMULATE = "Simulate the model, or estimate it with OutputError() or SimulationPEM()."
NONLINEAR = (
    "Use linearize(model, at={...}) near an operating point; to fit the model as it is, leave the criterion out: "
    "OutputError() is taken, or SimulationPEM() where disturbances move the mean of an output."
)
DEEPEST = 50  # operations within each other that are looked through
MATRICES = ("E", "F", "G", "J", "f", "H")
ROUNDING = 16 * 2.0**-52  # of the terms that parameters contribute to an entry: a sum as small as this has cancelled


@dataclass(frozen=True)
class DelayedVariable:
    """A variable that holds what another was `amount` ago, by their places."""

    variable: int
    source: int
    amount: float


@dataclass(frozen=True, eq=False)
class LinearForm:
    """Names, and the entries of all matrices as functions of all parameters of the model."""

    variables: tuple[str, ...]
    equations: tuple[str, ...]
    inputs: tuple[str, ...]
    disturbances: tuple[str, ...]
    outputs: tuple[str, ...]
    parameters: tuple[str, ...]
    matrices: tuple[ca.SX, ...]  # in the order of MATRICES
    delays: tuple["DelayedVariable", ...] = ()
    forcing: tuple[ca.SX, ...] = ()  # functions of inputs and time that are the last inputs

    def at(self, model: Model, values: Mapping[Any, float] | None = None) -> dict[str, np.ndarray]:
        """Matrix by name at the values of a model's parameters; what rounding has left of a sum is zero."""
        point = self._find_point(model, values)
        entries, terms = (np.array(function(point)).ravel() for function in (self._entries, self._terms))
        entries[(np.abs(entries) <= ROUNDING * terms) & np.isfinite(terms)] = 0.0
        return {key: matrix[0] for key, matrix in self._place(entries[None]).items()}

    def along(self, model: Model, values: Mapping[Any, float] | None, rates: np.ndarray) -> dict[str, np.ndarray]:
        """Derivatives of the matrices (direction, row, column), parameters moving by `rates` (parameter, direction)."""
        order = [list(model.parameters).index(name) for name in self.parameters]
        slopes = np.array(self._slopes(self._find_point(model, values))) @ rates[order]
        return self._place(slopes.T)

    def _find_point(self, model: Model, values: Mapping[Any, float] | None) -> ca.DM:
        numbers = evaluate_parameters(model, values)
        return ca.DM([numbers[name] for name in self.parameters]) if self.parameters else ca.DM(0, 1)

    def _place(self, entries: np.ndarray) -> dict[str, np.ndarray]:
        """Matrices (direction, row, column) from their entries (direction, entry) that can be other than zero."""
        placed, begin = {}, 0
        for key, matrix in zip(MATRICES, self.matrices, strict=True):
            rows, columns = matrix.sparsity().get_triplet()
            placed[key] = np.zeros((len(entries), *matrix.shape))
            placed[key][:, rows, columns] = entries[:, begin : begin + len(rows)]
            begin += len(rows)
        return placed

    @cached_property
    def _vector(self) -> ca.SX:
        entries: list[Any] = [entry for matrix in self.matrices for entry in matrix.nonzeros()]
        return ca.vertcat(*entries) if entries else ca.SX(0, 1)

    @cached_property
    def _arguments(self) -> ca.SX:
        return stack_symbols(self.parameters)

    @cached_property
    def _entries(self) -> ca.Function:
        return ca.Function("entries", [self._arguments], [self._vector])

    @cached_property
    def _terms(self) -> ca.Function:
        """Σ |∂e/∂p| |p| of every entry e."""
        slopes = ca.jacobian(self._vector, self._arguments)
        terms = ca.mtimes(ca.fabs(slopes), ca.fabs(self._arguments))
        return ca.Function("terms", [self._arguments], [ca.densify(terms)])

    @cached_property
    def _slopes(self) -> ca.Function:
        return ca.Function("slopes", [self._arguments], [ca.densify(ca.jacobian(self._vector, self._arguments))])


def extract_linear_form(
    model: Model,
    verb: str,
    wanted: Mapping[str, Expression] | None = None,
    reduced: bool = False,
    forced: bool = False,
) -> LinearForm:
    """The matrices of a model, with rows of H for its outputs and for what else is `wanted`.

    A model that is not linear is refused in the name of the verb that needed it. Reduced, unknowns that only repeat
    others or their derivatives are left out, which makes the matrices of connected components a good deal smaller.
    Forced, functions of inputs and time alone count as inputs.
    """
    key = "\n".join(f"{name}: {value}" for name, value in (*model.names.items(), *model.equations.items()))
    outputs = tuple((name, str(value)) for name, value in {**model.outputs, **(wanted or {})}.items())
    try:
        return _recall(key, outputs, reduced, forced, _Source(model, {**model.outputs, **(wanted or {})}))
    except NonlinearError as error:
        raise ModelError(f"{verb} needs a linear model, but {error.sentence}", error.remedy) from None


class NonlinearError(ModelError):
    """A model that is not linear, or not with constant coefficients."""


@dataclass(frozen=True)
class _Source:
    """What the form is made from; all are alike to the cache, whose key is their text."""

    model: Model
    outputs: Mapping[str, Expression]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Source)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=64)
def _recall(_key: str, _outputs: tuple, reduced: bool, forced: bool, source: _Source) -> LinearForm:
    return _make_form(source.model, source.outputs, reduced, forced)


def is_linear(model: Model, forced: bool = False) -> bool:
    """Whether the model has matrices at all; forced, with functions of inputs and time as inputs."""
    try:
        extract_linear_form(model, "", forced=forced)
    except ModelError:
        return False
    return True


def _make_form(model: Model, outputs: Mapping[str, Expression], reduced: bool, forced: bool) -> LinearForm:
    typed = Equations.of(model)
    shown = {name: expand(value.sx, typed.constants) for name, value in outputs.items()}
    rows = dict(zip(typed.names, ca.vertsplit(typed.residuals), strict=True))
    delayed = _find_delayed(model, shown)
    forcing: dict[str, ca.SX] = {}
    if forced:
        rows, shown, forcing = _separate_forcing(model, rows, shown, typed.constants)
    refuse_nonlinear({f"equation '{name}'": sx for name, sx in rows.items()}, typed.constants)
    refuse_nonlinear({f"output '{name}'": sx for name, sx in shown.items()}, typed.constants, delayed)
    unknowns = typed.unknowns
    if reduced and not delayed:
        left, aliases = eliminate_aliases(replace(typed, residuals=ca.vertcat(*rows.values())) if forcing else typed)
        unknowns, rows = left.unknowns, dict(zip(left.names, ca.vertsplit(left.residuals), strict=True))
        shown = {name: substitute_aliases(sx, aliases) for name, sx in shown.items()}
    frame = _make_frame(model, unknowns, [*rows.values(), *shown.values()])
    rows = {name: frame.replace(sx) for name, sx in rows.items()} | frame.links
    shown = {name: frame.replace(sx) for name, sx in shown.items()}
    z, dz = list(frame.z.values()), list(frame.dz.values())
    names = list(frame.names)
    delays = []
    for leaf, (source, amount) in delayed.items():
        delays.append(DelayedVariable(len(names), names.index(source), amount))
        z, dz, names = [*z, intern_symbol(leaf).sx], [*dz, ca.SX.sym(f"rate of {leaf}")], [*names, leaf]
        rows[f"'{leaf}' between samples"] = dz[-1]
    inputs = (*model.input_names, *forcing)
    u, w = stack_symbols(inputs), stack_symbols(model.disturbance_names)
    picked, stacked = [], ca.vertcat(*z)
    leaves = set(list_symbols(stacked))
    for name, sx in shown.items():
        if _is_combination(sx, stacked, leaves):
            picked.append(sx)
            continue
        added = ca.SX.sym(name)  # an output of more than unknowns is a variable of its own
        rows[f"output '{name}'"] = added - sx
        z, dz, names = [*z, added], [*dz, ca.SX.sym(name)], [*names, f"output '{name}'"]
        picked.append(added)
    Z, dZ = ca.vertcat(*z), ca.vertcat(*dz)
    residual = ca.vertcat(*rows.values())
    everything = ca.vertcat(dZ, Z, u, w)
    matrices = (
        write_jacobian(residual, dZ),
        -write_jacobian(residual, Z),
        -ca.jacobian(residual, u),
        -ca.jacobian(residual, w),
        -ca.substitute(residual, everything, ca.SX.zeros(everything.shape[0], 1)),
        ca.jacobian(ca.vertcat(*picked), Z) if picked else ca.SX(0, len(names)),
    )
    return LinearForm(
        variables=tuple(names),
        equations=tuple(rows),
        inputs=inputs,
        disturbances=model.disturbance_names,
        outputs=tuple(outputs),
        parameters=tuple(list_symbols(ca.vertcat(*(ca.vec(matrix) for matrix in matrices)))),
        matrices=matrices,
        delays=tuple(delays),
        forcing=tuple(forcing.values()),
    )


def _separate_forcing(
    model: Model, rows: Mapping[str, ca.SX], shown: Mapping[str, ca.SX], constants: frozenset[str]
) -> tuple[dict[str, ca.SX], dict[str, ca.SX], dict[str, ca.SX]]:
    """Equations and outputs with symbols in place of functions of inputs and time, and these functions."""
    terms = ForcingTerms({*model.input_names, TIME}, constants, _is_linear_term)

    def separate(kind: str, name: str, sx: ca.SX) -> ca.SX:
        try:
            return terms.separate(sx)
        except MixedError:
            raise NonlinearError(
                f"{kind} '{name}' contains a parameter inside a function of inputs or time.",
                "Write it as a parameter times a function without parameters, or put the number in its place. "
                + SIMULATE,
            ) from None

    equations = {name: separate("equation", name, sx) for name, sx in rows.items()}
    outputs = {name: separate("output", name, sx) for name, sx in shown.items()}
    return equations, outputs, terms.functions


def _find_delayed(model: Model, outputs: Mapping[str, ca.SX]) -> dict[str, tuple[str, float]]:
    """Delayed unknowns in outputs, with a delay that is a number: text → unknown and delay."""
    delayed = {}
    for name in list_symbols(ca.vertcat(*outputs.values())) if outputs else ():
        meaning = find_operator(name)
        if isinstance(meaning, Delayed) and meaning.amount.sx.is_constant():
            operand = str(meaning.operand)
            if operand in model.unknown_names:
                delayed[name] = (operand, float(meaning.amount))
    return delayed


@dataclass(frozen=True, eq=False)
class _Frame:
    """A variable and its rate for each (symbol, order of derivative), and the equations that tie what was added."""

    names: tuple[str, ...]
    z: dict[tuple[str, int], ca.SX]
    dz: dict[tuple[str, int], ca.SX]
    links: dict[str, ca.SX]
    old: ca.SX
    new: ca.SX

    def replace(self, sx: ca.SX) -> ca.SX:
        """An expression of the model in these variables."""
        return ca.substitute(sx, self.old, self.new)


def _make_frame(model: Model, unknowns: tuple[str, ...], expressions: list[ca.SX]) -> _Frame:
    order: dict[str, int] = {}
    for name in list_symbols(ca.vertcat(*expressions)):
        base, k = jet(name)
        order[base] = max(k, order.get(base, 0))
    known = (*model.input_names, *model.disturbance_names)
    copied = [name for name in known if order.get(name, 0)]  # because only variables have derivatives here
    names, z, dz, links = [], {}, {}, {}
    for base in (*unknowns, *copied):
        for k in range(max(order.get(base, 0), 1)):
            names.append(f"copy of '{base}'" if base in known and k == 0 else name_derivative(base, k))
            z[base, k], dz[base, k] = ca.SX.sym(names[-1]), ca.SX.sym(f"rate of {names[-1]}")
            if k:
                links[f"derivative of '{name_derivative(base, k - 1)}'"] = dz[base, k - 1] - z[base, k]
        if base in known:
            links[f"copy of '{base}'"] = z[base, 0] - intern_symbol(base).sx
    old, new = [], []
    for base, highest in order.items():
        first = 1 if base in known else 0
        for k in range(first, highest + 1):
            if (base, k) in z or (base, k - 1) in dz:
                old.append(intern_symbol(name_derivative(base, k)).sx)
                new.append(z[base, k] if (base, k) in z else dz[base, k - 1])
    empty = ca.SX(0, 1)
    both = (ca.vertcat(*old), ca.vertcat(*new)) if old else (empty, empty)
    return _Frame(tuple(names), z, dz, links, *both)


def _is_combination(sx: ca.SX, z: ca.SX, leaves: set[str]) -> bool:
    """Whether an output is a combination of variables and nothing else."""
    if sx.is_symbolic() and sx.name() in leaves:
        return True
    jacobian = ca.jacobian(sx, z)
    rest = ca.simplify(ca.substitute(sx, z, ca.SX.zeros(*z.shape)))
    constant = rest.is_constant() and float(rest) == 0.0
    return constant and not leaves & set(list_symbols(jacobian))


def refuse_nonlinear(
    expressions: Mapping[str, ca.SX], constants: frozenset[str], allowed: Collection[str] = ()
) -> None:
    """Name the first term that is not linear in what moves, with coefficients of parameters alone.

    Delayed values are refused, but for those `allowed`; held and latched ones always.
    """
    for where, sx in expressions.items():
        for _, term in split_signed(sx):
            moving = [name for name in list_symbols(term) if name not in constants]
            jumping = [name for name in moving if isinstance(find_operator(name), (Held, Latched))]
            if jumping:
                raise NonlinearError(f"{where} contains {jumping[0]}, which changes by jumps alone.", SIMULATE)
            delayed = [name for name in moving if find_operator(jet(name)[0]) is not None and name not in allowed]
            if delayed:
                raise NonlinearError(
                    f"{where} contains {delayed[0]}, and delays have no such form.",
                    "Estimate it with OutputError(whiten=True), or replace the delay by a chain of first-order lags.",
                )
            if moving == [TIME]:
                raise NonlinearError(
                    f"{where} contains {Expression(term)}, a function of time of its own.",
                    "Make it an input and give its values with the data.",
                )
            if TIME in moving and _is_linear_term(term, [name for name in moving if name != TIME]):
                raise NonlinearError(
                    f"{where} contains {Expression(term)}, a coefficient that changes with time.", SIMULATE
                )
            if not _is_linear_term(term, moving):
                raise NonlinearError(
                    f"{where} contains {Expression(term)}, which is not linear.",
                    NONLINEAR,
                )


def _is_linear_term(term: ca.SX, moving: list[str]) -> bool:
    """Whether the slopes of a term depend on nothing that moves; sign and where have slopes of zero but jump."""
    if not moving or _find_degree(term, set(moving)) <= 1:
        return True
    point = stack_symbols(moving)
    slopes = ca.jacobian(term, point)
    if set(list_symbols(slopes)) & set(moving):
        return False
    # What is left once the linear part is taken away must vanish, or be constant.
    rest = ca.simplify(term - slopes @ point)
    return not set(list_symbols(rest)) & set(moving) or _vanishes(rest, term, moving)


def _find_degree(term: ca.SX, moving: Collection[str]) -> int:
    """0 for a term that does not move, 1 for one that is linear as it is written, 2 for all others."""
    known: dict[int, int] = {}  # of parts that occur more than once

    def find(sx: ca.SX, depth: int) -> int:
        if sx.is_constant():
            return 0
        if sx.is_symbolic():
            return int(sx.name() in moving)
        if depth == DEEPEST:
            return 2
        name = sx.element_hash()
        if name not in known:
            degrees = [find(sx.dep(k), depth + 1) for k in range(sx.n_dep())]
            known[name] = _combine_degrees(sx.op(), degrees)
        return known[name]

    return find(term, 0)


def _combine_degrees(operation: int, degrees: list[int]) -> int:
    if operation in (ca.OP_ADD, ca.OP_SUB, ca.OP_NEG, ca.OP_TWICE):
        return max(degrees)
    if operation == ca.OP_MUL or (operation == ca.OP_DIV and degrees[1] == 0):
        return min(sum(degrees), 2)
    return 2 if any(degrees) else 0


def _vanishes(rest: ca.SX, term: ca.SX, moving: list[str]) -> bool:
    """Whether what is left of a term does not move with these symbols, tried at random points."""
    others = [name for name in list_symbols(term) if name not in moving]
    function = ca.Function("rest", [stack_symbols(moving), stack_symbols(others)], [rest, term])
    generator = np.random.default_rng(0)
    fixed = generator.uniform(0.5, 1.5, len(others))
    trials = [function(generator.uniform(-2.0, 2.0, len(moving)), fixed) for _ in range(8)]
    left, whole = (np.array([float(trial[k]) for trial in trials]) for k in (0, 1))
    return bool(np.ptp(left) <= 1e-9 * np.max(np.abs(whole)))
