"""Whether a disturbance can move the mean of an output, told from the structure of the equations alone.

Let R be the variables that the disturbances w influence. Where every equation and output on the way from w is linear
in R, with coefficients that depend on time, parameters, inputs and undisturbed variables only,

    M(t) r' + K(t) r = b(t) + B(t) w,   y = C(t) r + d(t)   ⇒   E y = y at w = 0,   because E w = 0.

With several disturbances a nonlinearity counts for those that influence one of its variables: a sum f(r₁) + r₂ counts
for w₁ alone, since w₂ only adds a term of mean zero. A product r₁ r₂ counts for both: E r₁ r₂ = E r₁ E r₂ holds only
for independent disturbances that never met on the way, and the structure does not tell that they are.

The directions of influence come from the reduced system (`daedal.systems.reduction`). A matching of top(X, T) = 0 with
T says which equation is solved for which top; all matchings have the same strongly connected components, so any will
do (Dulmage–Mendelsohn). Influence goes from what occurs in an equation to what it is solved for, and by the shift from
each derivative to the one below. What is held at the start may turn a direction round there, when an undisturbed state
has to follow a disturbed one; a matching of (G, top) = 0 with what is not held adds these.

The answer "no" is certain, but for one thing: of constrained states left open at the start, which are held at their
guess is decided numerically and may differ from the matching. The answer "yes" is not: terms that cancel, as in
(x + 1)² − x², are not seen. Linearity is read from the operations, because derivatives of sign and where vanish.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import casadi as ca

from daedal.kernels import Tape, read_tape
from daedal.models import Model, as_tuple
from daedal.symbolic import jet
from daedal.systems.reduction import Reduction
from daedal.systems.system import System

Key = str | tuple[str, ...]
Variables = frozenset[int]  # positions in (X, T, exogenous); one more stands for the outputs together
NOTHING: Variables = frozenset()

SUMS = frozenset({"add", "sub", "neg"})
STILL = {"div": 1, "if_else_zero": 0}  # the operand that must not move, divisor or condition, for linearity


@dataclass(frozen=True)
class _Occurrence:
    """The variables of an expression, and those in which it is not linear."""

    all: Variables
    nonlinear: Variables = NOTHING


@dataclass(frozen=True, eq=False)
class _Flow:
    """Equations (top, then G) and outputs, what each equation is solved for, and what each variable acts on."""

    tape: Tape
    names: tuple[str, ...]  # of X, T and exogenous
    determined: tuple[Variables, ...]
    successors: tuple[Variables, ...]
    useful: Variables  # what an output depends on

    def find_influenced(self, disturbances: Collection[str]) -> Variables:
        """What these disturbances reach, they and their derivatives included."""
        return _find_reached((i for i, name in enumerate(self.names) if jet(name)[0] in disturbances), self.successors)


def find_influenced(system: System, disturbances: Collection[str]) -> frozenset[str]:
    """The states and tops, in the user's names, that move with any of these disturbances and move an output.

    Examples
    --------
    >>> from daedal import FilteredNoise, Model, build, der, symbols
    >>> x, y, w = symbols("x y w")
    >>> equations = {"stage": der(x) == -(x**3), "plant": der(y) == x - y + w}
    >>> noise = {w: FilteredNoise(numerator=[1.0], denominator=[1.0, 1.0], grid=0.1)}
    >>> model = Model(name="m", equations=equations, unknowns=[x, y], outputs={"y": y}, disturbances=noise)
    >>> sorted(find_influenced(build(model), ["w"]))
    ['der(y)', 'y']
    """
    flow = _trace_flow(system)
    names = (*system.states, *system.tops)
    return frozenset(names[i] for i in flow.find_influenced(disturbances) & flow.useful if i < len(names))


def moves_the_mean(system: System) -> dict[Key, bool]:
    """For each disturbance, as declared, whether it may move the mean of an output; False is certain.

    Examples
    --------
    >>> from daedal import FilteredNoise, Model, build, der, symbols
    >>> x, w = symbols("x w")
    >>> noise = {w: FilteredNoise(numerator=[1.0], denominator=[1.0, 1.0], grid=0.1)}
    >>> lag = {"equations": {"lag": der(x) == w - x}, "unknowns": [x], "disturbances": noise}
    >>> moves_the_mean(build(Model(name="linear", outputs={"x": x}, **lag)))
    {'w': False}
    >>> moves_the_mean(build(Model(name="square", outputs={"power": x**2}, **lag)))
    {'w': True}
    """
    flow = _trace_flow(system)
    equations, outputs = _find_occurrences(flow.tape, flow.find_influenced(system.model.disturbance_names))
    on_the_way = [row for row, solved in zip(equations, flow.determined, strict=True) if solved & flow.useful]
    bent = NOTHING.union(*(row.nonlinear for row in (*on_the_way, *outputs)))
    return {key: bool(flow.find_influenced(as_tuple(key)) & bent) for key in system.model.disturbances}


def _trace_flow(system: System) -> _Flow:
    """Read the equations and direct them."""
    reduction = system.reduction
    tape = _make_tape(system.model, reduction)
    names = tuple(leaf.name() for part in _list_variables(reduction) for leaf in ca.vertsplit(part))
    equations, outputs = _find_occurrences(tape, frozenset(range(len(names))))
    determined = _find_determined(system, [row.all for row in equations])
    edges = {
        (i, j) for row, solved in zip(equations, determined, strict=True) for i in row.all for j in solved
    } | _list_shifts(reduction)
    edges |= {(i, len(names)) for row in outputs for i in row.all}
    successors = _list_neighbours(edges, len(names) + 1)
    predecessors = _list_neighbours({(j, i) for i, j in edges}, len(names) + 1)
    return _Flow(tape, names, determined, successors, _find_reached([len(names)], predecessors))


def _list_variables(reduction: Reduction) -> list[ca.SX]:
    _, X, T, _, exogenous = reduction.arguments
    return [X, T, exogenous]


def _make_tape(model: Model, reduction: Reduction) -> Tape:
    """(top, G) and the outputs as operations on the variables and on what nothing disturbs."""
    time, _, _, parameters, _ = reduction.arguments
    outputs = [reduction.observed[name] for name in model.outputs]
    results = [ca.vertcat(reduction.top, reduction.G), ca.vertcat(*outputs) if outputs else ca.SX(0, 1)]
    if reduction.switching is not None:
        results = [reduction.switching.restore(part) for part in results]
    arguments = [ca.vertcat(*_list_variables(reduction)), ca.vertcat(time, parameters)]
    return read_tape(ca.Function("influence", arguments, results))


def _find_occurrences(tape: Tape, among: Variables) -> list[list[_Occurrence]]:
    """For each result of the tape, which of the variables `among` occur in it, and how."""
    occurrences: list[_Occurrence] = []
    for operation, operands, _ in tape.instructions:
        if operation == "input":
            argument, row = operands
            occurrences.append(_Occurrence(frozenset({row}) & among if argument == 0 else NOTHING))
        else:
            occurrences.append(_combine(operation, [occurrences[operand] for operand in operands]))
    return [[occurrences[position] for position in positions] for positions in tape.outputs]


def _combine(operation: str, operands: Sequence[_Occurrence]) -> _Occurrence:
    """Sums keep linearity, so do products and quotients by what does not move; everything else loses it."""
    everything = NOTHING.union(*(operand.all for operand in operands))
    inherited = NOTHING.union(*(operand.nonlinear for operand in operands))
    return _Occurrence(everything, inherited if _is_linear(operation, operands) else everything)


def _is_linear(operation: str, operands: Sequence[_Occurrence]) -> bool:
    if operation == "mul":
        return not all(operand.all for operand in operands)
    if operation in STILL:
        return not operands[STILL[operation]].all
    return operation in SUMS


def _find_determined(system: System, rows: Sequence[Variables]) -> tuple[Variables, ...]:
    """What each row of (top, G) is solved for: a top, the same for a row and for its derivatives, and what it gives at
    the start."""
    reduction = system.reduction
    count, height = len(reduction.states), len(reduction.tops)
    tops = dict.fromkeys(range(count, count + height), 1)
    moving = _match(rows[:height], tops)
    moving += [moving[i] for i, _ in reduction.constraints]
    starting = _match(rows, _weigh_free_at_start(system))
    return tuple(later | first for later, first in zip(moving, starting, strict=True))


def _weigh_free_at_start(system: System) -> dict[int, int]:
    """What is not held there, with weights: tops are solved for before states, guessed states after the others."""
    count, size = len(system.states), len(system.states) + len(system.tops)
    held, guessed = ({place for place, _ in declared.places.values()} for declared in (system.held, system.guessed))
    weights = {j: 2 * size + 1 if j >= count else 1 if j in guessed else 2 for j in range(size)}
    return {j: weight for j, weight in weights.items() if j not in held}


def _match(rows: Sequence[Variables], weights: dict[int, int]) -> list[Variables]:
    """Which variable each row is solved for: a full matching of the largest weight."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    column_of = {variable: column for column, variable in enumerate(weights)}
    entries = [(row, column_of[j], weights[j]) for row, inside in enumerate(rows) for j in inside if j in weights]
    places_of_rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
    pattern = csr_array((values, (places_of_rows, columns)), shape=(len(rows), len(weights)), dtype=float)
    try:
        matched = zip(*min_weight_full_bipartite_matching(pattern, maximize=True), strict=True)
    except ValueError:
        # More is held than the equations leave open: any variable of a row may then have to follow the others.
        return [inside.intersection(weights) for inside in rows]
    variables = list(weights)
    solved = {int(row): frozenset({variables[column]}) for row, column in matched}
    return [solved.get(row, NOTHING) for row in range(len(rows))]


def _list_shifts(reduction: Reduction) -> set[tuple[int, int]]:
    """From each derivative to the one below, which is its integral."""
    position = {v: place for place, v in enumerate((*reduction.states, *reduction.tops))}
    return {(position[j, k + 1], position[j, k]) for j, k in reduction.states}


def _list_neighbours(edges: Iterable[tuple[int, int]], count: int) -> tuple[Variables, ...]:
    listed: list[set[int]] = [set() for _ in range(count)]
    for i, j in edges:
        listed[i].add(j)
    return tuple(frozenset(after) for after in listed)


def _find_reached(start: Iterable[int], successors: Sequence[Variables]) -> Variables:
    """The given positions and all that follow from them."""
    reached = set(start)
    waiting = list(reached)
    while waiting:
        new = successors[waiting.pop()] - reached
        reached |= new
        waiting.extend(new)
    return frozenset(reached)
