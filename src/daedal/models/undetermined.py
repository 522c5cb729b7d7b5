"""What no equation of an assembly can determine, because of how its parts are connected.

Write s for a direction in the unknowns and J_k for the derivatives of the equations F with respect to the k-th
derivatives of the unknowns. When

    J_0 s = J_1 s = … = 0,

adding c(t) s with any function c changes nothing: the assembly is singular, whatever else is given. A circuit without
ground is such a case, with s = 1 for all its potentials; so are sources in parallel, with a current that goes around.
Only unknowns that occur with constant coefficients take part, so what is found is certain; parameters are given numbers
by chance. The null space is found by elimination that takes short rows first.
"""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

import casadi as ca
import numpy as np

from daedal.errors import ModelError, quoted
from daedal.models.model import Model
from daedal.models.port import Port
from daedal.symbolic import find_operator, intern_symbol, jet, list_plain_symbols, list_symbols, stack_symbols

CANCELLED = 1e-10  # relative size of what round-off leaves where coefficients cancel
PIVOT = 0.1  # of the largest coefficient in its row

Row = dict[str, float]
FIXING = {
    "electrical": "such as a Ground",
    "rotational": "such as a Fixed or an Inertia",
    "translational": "such as a Fixed or a Mass",
    "thermal": "such as a FixedTemperature or a HeatCapacitor",
    "fluid": "such as an Atmosphere or a Tank",
}


def refuse_undetermined(model: Model, ports: Mapping[str, Port], nodes: Sequence[Sequence[str]]) -> None:
    """Refuse an assembly that is singular by its connections, naming the parts; `ports` are those of the parts."""
    if not ports:
        return
    outside = {symbol.sx.name() for port in model.ports.values() for symbol in port.symbols}
    inside = [name for name in model.unknown_names if name not in outside]
    for direction in find_null_vectors(_extract_rows(model), inside):
        potentials, flows = (
            [path for path, port in ports.items() if any(s.sx.name() in direction for s in getattr(port, role))]
            for role in ("potentials", "flows")
        )
        if potentials or flows:
            raise _explain(model.name, direction, potentials, flows, ports, nodes)


def _explain(
    name: str,
    direction: Row,
    potentials: list[str],
    flows: list[str],
    ports: Mapping[str, Port],
    nodes: Sequence[Sequence[str]],
) -> ModelError:
    parts = _list_parts([*potentials, *flows])
    opened = [path for path in potentials if not any(path in node for node in nodes)]
    if not flows and len({value > 0 for value in direction.values()}) == 1:
        domain = ports[potentials[0]].domain
        loose = f" ({quoted(opened)} {'is' if len(opened) == 1 else 'are'} not connected)" if opened else ""
        example = f", {FIXING[domain]}" if domain in FIXING else ""
        return ModelError(
            f"In '{name}', nothing fixes the {domain} potential of {quoted(parts)}{loose}.",
            f"Connect a part that does{example}, to one of {'their' if len(parts) > 1 else 'its'} ports.",
        )
    if not potentials:
        several = len(parts) > 1
        fix = f"the parts {quoted(parts)} fix" if several else f"the connections of part {quoted(parts)} fix"
        return ModelError(
            f"In '{name}', {fix} the same potentials more than once, so the flow that goes around through "
            f"{'them' if several else 'it'} is not determined.",
            f"Put a part {'between them' if several else 'in between'} that takes up the difference, such as a "
            f"resistance{f', or remove one of {quoted(parts)}' if several else ''}.",
        )
    loose = f": {quoted(opened)} {'is' if len(opened) == 1 else 'are'} not connected" if opened else ""
    return ModelError(
        f"In '{name}', nothing determines {quoted(sorted(direction))}{loose}.",
        f"Connect {quoted(opened or potentials)} to a part that lets something flow.",
    )


def _list_parts(paths: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(path.split(".")[0] for path in paths))


def _extract_rows(model: Model) -> list[Row]:
    """The coefficients of each equation, for each order of derivative apart, by plain unknown."""
    residuals = ca.vertcat(*(equation.lhs.sx - equation.rhs.sx for equation in model.equations.values()))
    leaves = list_symbols(residuals)
    jets = [jet(leaf) for leaf in leaves]
    jacobian = ca.jacobian(residuals, stack_symbols(leaves))
    places = list(zip(*jacobian.sparsity().get_triplet(), strict=True))
    numbers, known = _evaluate_coefficients(jacobian, [jets[j][0] for _, j in places], model)
    for base, _ in jets:
        if find_operator(
            base
        ):  # a delay and the like, the derivative of a formula: what is inside counts as determined
            known |= set(list_plain_symbols(intern_symbol(base).sx))
    wanted = set(model.unknown_names) - known
    rows: dict[tuple[int, int], Row] = {}
    for (i, j), number in zip(places, numbers, strict=True):
        base, order = jets[j]
        if base in wanted:
            rows.setdefault((i, order), {})[base] = number
    return [*rows.values(), *({base: 1.0} for base in known)]


def _evaluate_coefficients(jacobian: ca.SX, bases: Sequence[str], model: Model) -> tuple[np.ndarray, set[str]]:
    """The nonzeros, parameters by chance, and the unknowns of which some coefficient is not constant."""
    entries: list[Any] = jacobian.nonzeros()
    changing = [k for k, entry in enumerate(entries) if not entry.is_constant()]
    known = set()
    for k in changing:
        if any(leaf not in model.parameters for leaf in list_symbols(entries[k])):
            known.add(bases[k])
            entries[k] = ca.SX(1)
    constants = [intern_symbol(name).sx for name in model.parameters]
    chance = np.random.default_rng(0).uniform(0.5, 1.5, len(constants))
    function = ca.Function("coefficients", [ca.vertcat(*constants)], [ca.vertcat(*entries)])
    numbers = function(chance).full().ravel()
    known |= {bases[k] for k in np.flatnonzero(~np.isfinite(numbers)).tolist()}
    return numbers, known


def find_null_vectors(rows: Iterable[Row], columns: Sequence[str]) -> Iterable[Row]:
    """Vectors s with Σ row[c] s[c] = 0 for all rows; columns that are not listed are zero in them.

    Examples
    --------
    >>> list(find_null_vectors([{"a": 1.0, "b": -2.0}, {"c": 1.0}], ["a", "b", "c"]))
    [{'b': 1.0, 'a': 2.0}]
    """
    listed = set(columns)
    pivots = _eliminate([{c: v for c, v in row.items() if c in listed and v != 0.0} for row in rows])
    bound = {column for column, _ in pivots}
    for free in (column for column in columns if column not in bound):
        vector = {free: 1.0}
        for column, row in reversed(pivots):
            terms = [value * vector[c] for c, value in row.items() if c in vector]
            if abs(sum(terms)) > CANCELLED * max(map(abs, terms), default=0.0):
                vector[column] = -sum(terms) / row[column]
        yield vector


def _eliminate(rows: list[Row]) -> list[tuple[str, Row]]:
    """Pivot column and row, one after the other; a row holds no pivot column of an earlier one."""
    inside: dict[str, set[int]] = {}
    for i, row in enumerate(rows):
        for column in row:
            inside.setdefault(column, set()).add(i)
    waiting = [(len(row), i) for i, row in enumerate(rows)]
    heapify(waiting)
    pivots: dict[int, str] = {}
    while waiting:
        length, i = heappop(waiting)
        row = rows[i]
        if not row or i in pivots or length != len(row):
            continue  # empty, done, or listed again with its present length
        largest = max(map(abs, row.values()))
        pivots[i] = min((c for c, value in row.items() if abs(value) >= PIVOT * largest), key=lambda c: len(inside[c]))
        for column in row:
            inside[column].discard(i)
        for k in list(inside[pivots[i]]):
            _subtract(rows[k], row, rows[k][pivots[i]] / row[pivots[i]], inside, k)
            rows[k].pop(pivots[i], None)
            inside[pivots[i]].discard(k)
            heappush(waiting, (len(rows[k]), k))
    return [(column, rows[i]) for i, column in pivots.items()]


def _subtract(row: Row, pivot: Row, factor: float, inside: dict[str, set[int]], number: int) -> None:
    for column, value in pivot.items():
        old = row.get(column, 0.0)
        new = old - factor * value
        if abs(new) > CANCELLED * max(abs(old), abs(factor * value)):
            row[column] = new
            inside[column].add(number)
        elif column in row:
            del row[column]
            inside[column].discard(number)
