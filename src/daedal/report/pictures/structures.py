"""Pictures of structures: which unknown occurs in which equation, in the order in which they can be solved.

An unknown that occurs with the derivative d_j − c_i (see `daedal.analysis.signature`) is solved for together with
equation i, the others are known by then; equations and unknowns are ordered so that those blocks stand on the diagonal
and nothing that is solved for to the right of it (Dulmage, Mendelsohn 1958; the blocks are the strong components of
the graph of a matching).
"""

from collections.abc import Iterable
from graphlib import TopologicalSorter
from typing import Any

import numpy as np

from daedal.analysis import Structure, analyze
from daedal.errors import ReportError, counted, often
from daedal.models import Model
from daedal.report.layout import BLUE, GREY, INK, VERMILLION, arrange
from daedal.report.picture import Axis, Line, Panel, Picture, Points, Trace

NAMED = 60  # equations whose names can be read


def draw_model_structure(model: Model, names: Iterable[Any] | None) -> Picture:
    """What `analyze` says about a model."""
    return draw_structure(analyze(model), names)


def draw_structure(structure: Structure, _names: Iterable[Any] | None) -> Picture:
    """The incidence in block-triangular order, equations that are differentiated marked."""
    if not structure.occurrences:
        raise ReportError("There is no incidence to draw.", "Draw what analyze(model) returns.")
    blocks = order_blocks(structure)
    equations = [equation for block in blocks for equation, _ in block]
    unknowns = [unknown for block in blocks for _, unknown in block]
    column = {name: j for j, name in enumerate(unknowns)}
    kinds: dict[str, list[tuple[int, int]]] = {
        "solved for": [],
        "solved for, equation differentiated": [],
        "known by then": [],
    }
    for i, equation in enumerate(equations):
        c = structure.differentiated.get(equation, 0)
        for unknown, order in structure.occurrences[equation].items():
            tight = order == structure.orders[unknown] - c
            kind = "known by then" if not tight else "solved for, equation differentiated" if c else "solved for"
            kinds[kind].append((column[unknown], i))
    size = 9.0 if len(equations) <= NAMED else 4.0
    traces: list[Trace] = []
    for (kind, places), color, marker in zip(
        kinds.items(), (BLUE, VERMILLION, GREY), ("square", "diamond", "circle-open"), strict=True
    ):
        if places:
            x, y = np.array(places, dtype=float).T
            texts = tuple(f"{equations[i]}: {unknowns[j]}" for j, i in places)
            traces.append(Points(kind, x, y, color, marker, size, texts=texts))
    traces += _outline(blocks)
    named = len(equations) <= NAMED
    marks = tuple(
        f"{name} ({often(n)} differentiated)" if (n := structure.differentiated.get(name)) else name
        for name in equations
    )
    primes = tuple(f"{name}{_write_primes(structure.orders[name])}" for name in unknowns)
    ends = (-0.5, len(equations) - 0.5)
    across = Axis("unknown, with the derivative that is solved for", labels=primes if named else None, range=ends)
    down = Axis("equation", labels=marks if named else None, range=ends, descending=True)
    largest = max(map(len, blocks))
    told = [
        f"index {structure.index}", f"{counted(structure.degrees_of_freedom, 'degree')} of freedom",
        f"largest block {largest}", *structure.repairs,
    ]  # fmt: skip
    alt = (
        f"{counted(structure.equations, 'equation')} of {structure.model} in {counted(len(blocks), 'block')}, the "
        f"largest of {largest}; {len(structure.differentiated) or 'none'} differentiated; index {structure.index}."
    )
    height = min(max(240, 22 * len(equations) + 40), 900)
    return arrange(
        f"structure of {structure.model}", told, [(Panel(tuple(traces), across, down),)], alt, row_height=height
    )


def _write_primes(order: int) -> str:
    return "′" * order if order <= 3 else f"⁽{order}⁾"


def _outline(blocks: list[list[tuple[str, str]]]) -> list[Trace]:
    """A frame around every block of more than one equation."""
    x: list[float] = []
    y: list[float] = []
    start = 0
    for block in blocks:
        low, high = start - 0.5, start + len(block) - 0.5
        if len(block) > 1:
            x += [low, high, high, low, low, np.nan]
            y += [low, low, high, high, low, np.nan]
        start += len(block)
    return [Line("block to be solved at once", np.array(x), np.array(y), INK, "dash", 1.0)] if x else []


def order_blocks(structure: Structure) -> list[list[tuple[str, str]]]:
    """Blocks of matched equations and unknowns, each after those that it depends on; one block where none match."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

    equations, unknowns = list(structure.occurrences), list(structure.orders)
    row = {name: i for i, name in enumerate(equations)}
    column = {name: j for j, name in enumerate(unknowns)}
    tight = [
        (row[equation], column[unknown])
        for equation, listed in structure.occurrences.items()
        for unknown, order in listed.items()
        if order == structure.orders[unknown] - structure.differentiated.get(equation, 0)
    ]
    count = len(equations)
    places = np.array(tight, dtype=int).reshape(-1, 2).T
    graph = csr_array((np.ones(places.shape[1]), (places[0], places[1])), shape=(count, len(unknowns)))
    matched = maximum_bipartite_matching(graph, perm_type="column")
    if count != len(unknowns) or np.any(matched < 0):
        return [list(zip(equations, unknowns, strict=False))]
    owner = np.empty(count, dtype=int)
    owner[matched] = np.arange(count)
    needs = csr_array((np.ones(places.shape[1]), (places[0], owner[places[1]])), shape=(count, count))
    _, labels = connected_components(needs, directed=True, connection="strong")
    before: dict[int, set[int]] = {int(label): set() for label in labels}
    for i, j in zip(places[0], owner[places[1]], strict=True):
        if labels[i] != labels[j]:
            before[int(labels[i])].add(int(labels[j]))
    members: dict[int, list[int]] = {}
    for i, label in enumerate(labels):
        members.setdefault(int(label), []).append(i)
    order = TopologicalSorter(before).static_order()
    return [[(equations[i], unknowns[matched[i]]) for i in members[label]] for label in order]
