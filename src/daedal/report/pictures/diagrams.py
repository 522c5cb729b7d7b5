"""Diagrams of models: parts and how they are connected, or, of a model without, what drives it and what it gives.

Parts are read from the paths of symbols: `shaft.flange_a.tau` is of part 'shaft', at its port 'flange_a'. An equation
with symbols of several parts connects them. Boxes stand in columns by their distance from what drives the model, in an
order that crosses few lines: the layers and the barycentres of Sugiyama, Tagawa and Toda (1981).

Libraries were tried on a ladder of 26 parts: `dot` of Graphviz lays out as well, but is a program of its own that pip
does not install; grandalf (GPL or EPL, undirected graphs in three layers of 232 crossings) and the layers of networkx
(99 crossings) place nodes without ports or routes; elkjs and dagre are scripts, and pages draw diagrams without any.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daedal.errors import counted, quoted
from daedal.models import Model
from daedal.report.drawings import Box, Drawing, Formulas, Wire, list_names
from daedal.report.layout import choose_names
from daedal.symbolic import Equation, Expression, list_plain_symbols, write_latex, write_mathml

MOST = 60  # parts in a diagram
LISTED = 8  # names in a box
ACROSS, DOWN, EDGE = 130.0, 34.0, 24.0  # pixels between columns, between boxes, and around all
BESIDE, APART, LANES = 14.0, 6.0, 5  # pixels beside a column to lines that go around, between these, and how many
SPREAD, BETWEEN = 0.9, 15.0  # share of a side that lines meet, and pixels between two of them where there is room
SWEEPS = 12  # of ordering columns by their neighbours
EQUATIONS = 40  # that are typeset without a choice


@dataclass(frozen=True)
class Node:
    """What is connected: (part, port or signal) each."""

    terminals: tuple[tuple[str, str], ...]


def draw_diagram(model: Model, names: Iterable[Any] | None) -> Drawing:
    """Parts and connections, or inputs, equations and outputs."""
    parts = list_parts(model)
    return _draw_parts(model, parts, names) if len(parts) > 1 else _draw_whole(model)


def list_parts(model: Model) -> dict[str, list[str]]:
    """Part → its symbols without the name of the part, in the order of the model."""
    parts: dict[str, list[str]] = {}
    for name in model.names:
        part, dot, rest = name.partition(".")
        if dot:
            parts.setdefault(part, []).append(rest)
    return {part: inside for part, inside in parts.items() if part not in model.ports}


def list_nodes(model: Model, parts: Mapping[str, Any]) -> list[Node]:
    """What is connected with what: equations between symbols of several parts, joined where they share a terminal."""
    groups: list[set[tuple[str, str]]] = []
    for equation in model.equations.values():
        symbols = [*list_plain_symbols(equation.lhs.sx), *list_plain_symbols(equation.rhs.sx)]
        ends = {
            _find_terminal(name) for name in symbols if name.partition(".")[0] in parts and name not in model.parameters
        }
        if len({part for part, _ in ends}) < 2:
            continue
        touched = [group for group in groups if group & ends]
        groups = [group for group in groups if not group & ends] + [set().union(ends, *touched)]
    order = {name: k for k, name in enumerate(parts)}
    nodes = [Node(tuple(sorted(group, key=lambda end: (order[end[0]], end[1])))) for group in groups]
    return sorted(nodes, key=lambda node: [order[part] for part, _ in node.terminals])


def _find_terminal(name: str) -> tuple[str, str]:
    """Part and port, or signal, of a symbol."""
    part, _, rest = name.partition(".")
    port, dot, _ = rest.rpartition(".")
    return part, port if dot else rest


def _draw_parts(model: Model, parts: Mapping[str, list[str]], names: Iterable[Any] | None) -> Drawing:
    shown = choose_names(names, parts, "part") if names is not None else list(parts)[:MOST]
    known = set(shown)
    seen = [Node(tuple(end for end in node.terminals if end[0] in known)) for node in list_nodes(model, parts)]
    nodes = [node for node in seen if len({part for part, _ in node.terminals}) > 1]
    lines: dict[str, tuple[str, ...]] = {part: (part,) for part in shown}
    kinds: dict[str, Any] = dict.fromkeys(shown, "part")
    links: list[tuple[str, str, str, str, bool]] = []  # from, to, what stands at either end, whether it has an arrow
    for name in (*model.input_names, *model.disturbance_names):
        part = name.partition(".")[0]
        if part in known:
            key = f"input {name}"
            lines[key], kinds[key] = (name,), "input" if name in model.input_names else "disturbance"
            links.append((key, part, "", "", True))
    for label, expression in model.outputs.items():
        key = f"output {label}"
        owners = dict.fromkeys(name.partition(".")[0] for name in list_plain_symbols(expression.sx))
        owners = [part for part in owners if part in known]
        if owners:
            lines[key], kinds[key] = (label,), "output"
            links += [(part, key, "", "", True) for part in owners]
    dots = []
    for number, node in enumerate(nodes):
        if len(node.terminals) == 2:
            (part, end), (other, far) = node.terminals
            links.append((part, other, end, far, False))
        else:
            key = f"dot {number}"
            dots.append(key)
            links += [(part, key, end, "", False) for part, end in node.terminals]
    drives = [link[0] for link in links if kinds.get(link[0]) in ("input", "disturbance")]
    boxes, points, width, height = _place(lines, kinds, dots, links, drives)
    wires = _route(boxes, points, links)
    connected = f"{counted(len(shown), 'part')} and {counted(len(nodes), 'connection')}"
    left_out = len(parts) - len(shown)
    told = f"{left_out} more part{'s' * (left_out != 1)} not drawn" if left_out and names is None else ""
    alt = f"Diagram of {model.name}: {connected} between {quoted(shown)}."
    said = "; ".join(filter(None, (connected, told)))
    drawn, dotted = tuple(boxes.values()), tuple(points.values())
    return Drawing(f"parts of {model.name}", said, width, height, drawn, wires, dotted, alt)


def _draw_whole(model: Model) -> Drawing:
    """Inputs and disturbances to the left of the equations, outputs to the right."""
    center = (model.name, counted(len(model.equations), "equation"), *list_names(list(model.equations), LISTED))
    left = [(name, "input") for name in model.input_names] + [(name, "disturbance") for name in model.disturbance_names]
    lines: dict[str, tuple[str, ...]] = {"equations": center}
    kinds: dict[str, Any] = {"equations": "equations"}
    links = []
    for name, kind in left[: 2 * LISTED]:
        lines[f"{kind} {name}"], kinds[f"{kind} {name}"] = (name,), kind
        links.append((f"{kind} {name}", "equations", "", "", True))
    for name in list(model.outputs)[: 2 * LISTED]:
        lines[f"output {name}"], kinds[f"output {name}"] = (name,), "output"
        links.append(("equations", f"output {name}", "", "", True))
    drives = [key for key, kind in kinds.items() if kind in ("input", "disturbance")]
    boxes, points, width, height = _place(lines, kinds, [], links, drives or ["equations"])
    hidden = max(len(left) - 2 * LISTED, 0) + max(len(model.outputs) - 2 * LISTED, 0)
    parts = [
        f"{counted(len(model.equations), 'equation')} in {counted(len(model.unknowns), 'unknown')}",
        counted(len(model.input_names), "input"), counted(len(model.disturbance_names), "disturbance"),
        counted(len(model.outputs), "output"),
    ]  # fmt: skip
    told = [", ".join(parts), f"{hidden} more signals not drawn" if hidden else ""]
    return Drawing(
        f"model {model.name}", "; ".join(filter(None, told)), width, height, tuple(boxes.values()),
        _route(boxes, points, links), (), f"Diagram of {model.name}: {', '.join(parts)}.",
    )  # fmt: skip


Links = Sequence[tuple[str, str, str, str, bool]]


def _place(
    lines: Mapping[str, tuple[str, ...]], kinds: Mapping[str, Any], dots: Sequence[str], links: Links,
    drives: Sequence[str],
) -> tuple[dict[str, Box], dict[str, tuple[float, float]], float, float]:  # fmt: skip
    """Boxes and dots with their places, and the size of it all."""
    columns = _order_columns([*lines, *dots], kinds, links, drives)
    met = _count_ends(columns, links)
    sizes = {key: Box(0.0, 0.0, texts, kinds[key], BETWEEN * met[key]) for key, texts in lines.items()}
    widths = [max((sizes[key].width if key in sizes else 8.0) for key in column) for column in columns]
    heights = [sum((sizes[key].height if key in sizes else 12.0) + DOWN for key in column) - DOWN for column in columns]
    height = max(heights) + 2 * EDGE
    boxes: dict[str, Box] = {}
    points: dict[str, tuple[float, float]] = {}
    left = EDGE
    for column, width, total in zip(columns, widths, heights, strict=True):
        top = (height - total) / 2.0
        for key in column:
            tall = sizes[key].height if key in sizes else 12.0
            x, y = left + width / 2.0, top + tall / 2.0
            if key in sizes:
                boxes[key] = replace(sizes[key], x=x, y=y)
            else:
                points[key] = (x, y)
            top += tall + DOWN
        left += width + ACROSS
    return boxes, points, left - ACROSS + EDGE, height


def _count_ends(columns: Sequence[Sequence[str]], links: Links) -> dict[str, int]:
    """Of how many lines each is met at most on one side."""
    level = {key: k for k, column in enumerate(columns) for key in column}
    counts: dict[str, list[int]] = {key: [0, 0] for key in level}
    for first, last, *_ in links:
        for key, other in ((first, last), (last, first)):
            if level[key] != level[other]:
                counts[key][level[other] > level[key]] += 1
    return {key: max(both) for key, both in counts.items()}


def _order_columns(
    keys: Sequence[str], kinds: Mapping[str, Any], links: Links, drives: Sequence[str]
) -> list[list[str]]:
    """Columns by distance from what drives, outputs after what they are of, ordered by barycentres."""
    near: dict[str, list[str]] = {key: [] for key in keys}
    for first, last, *_ in links:
        near[first].append(last)
        near[last].append(first)
    depth: dict[str, int] = {}
    for root in [*drives, *keys]:
        if root in depth or kinds.get(root) == "output":
            continue
        depth[root] = 0
        front = [*(key for key in drives if key not in depth), root] if root in drives else [root]
        depth |= dict.fromkeys(front, 0)
        while front:
            front = [
                other
                for key in front
                for other in near[key]
                if kinds.get(other) != "output" and other not in depth and not depth.__setitem__(other, depth[key] + 1)
            ]
    for key in keys:
        if kinds.get(key) == "output":
            depth[key] = 1 + max((depth[other] for other in near[key] if other in depth), default=0)
    columns = [[key for key in keys if depth[key] == level] for level in sorted(set(depth.values()))]
    for _ in range(SWEEPS):
        place = {key: (k + 0.5) / len(column) for column in columns for k, key in enumerate(column)}
        columns = [
            sorted(
                column, key=lambda key: sum(place[o] for o in near[key]) / len(near[key]) if near[key] else place[key]
            )
            for column in columns
        ]
    return _exchange_neighbours(columns, links)


def _exchange_neighbours(columns: list[list[str]], links: Links) -> list[list[str]]:
    """Neighbours in a column exchanged as long as fewer lines cross."""
    fewest = _count_crossings(columns, links)
    for _ in range(SWEEPS):
        before = fewest
        for column in columns:
            for k in range(len(column) - 1):
                column[k], column[k + 1] = column[k + 1], column[k]
                count = _count_crossings(columns, links)
                if count < fewest:
                    fewest = count
                else:
                    column[k], column[k + 1] = column[k + 1], column[k]
        if fewest in (0, before):
            break
    return columns


def _count_crossings(columns: list[list[str]], links: Links) -> int:
    """Pairs of straight lines that cross, with columns and rows one apart and columns centred."""
    place = {
        key: (float(level), k - (len(column) - 1) / 2.0)
        for level, column in enumerate(columns)
        for k, key in enumerate(column)
    }
    ends = np.array([[place[first], place[last]] for first, last, *_ in links]).reshape(-1, 2, 2)

    def turn(points: np.ndarray) -> np.ndarray:
        """On which side of each line (row) each point (column) lies."""
        along, beside = ends[:, 1] - ends[:, 0], points[None, :, :] - ends[:, None, 0, :]
        return np.sign(along[:, None, 0] * beside[:, :, 1] - along[:, None, 1] * beside[:, :, 0])

    apart = turn(ends[:, 0]) * turn(ends[:, 1]) < 0
    return int(np.triu(apart & apart.T).sum())


def _route(boxes: Mapping[str, Box], points: Mapping[str, tuple[float, float]], links: Links) -> tuple[Wire, ...]:
    """Straight lines from border to border; those that meet a box on one side stand beside each other there.

    Where others of the same column stand between, a line goes around them.
    """
    centers = {key: _find_center(boxes, points, key) for link in links for key in link[:2]}
    places = _spread_ends(boxes, centers, links)
    wires, around = [], 0
    for number, (first, last, near, far, arrow) in enumerate(links):
        start, end = centers[first], centers[last]
        passed = _list_between(boxes, points, start, end)
        if passed:
            side = start[0] + max(passed) + BESIDE + APART * (around % LANES)
            around += 1
            corners = (side, start[1]), (side, end[1])
            a, b = _leave(boxes.get(first), start, corners[0]), _leave(boxes.get(last), end, corners[1])
            wires.append(Wire((a, *corners, b), arrow, near, far))
            continue
        wires.append(Wire((places[number, first], places[number, last]), arrow, near, far))
    return tuple(wires)


def _spread_ends(
    boxes: Mapping[str, Box], centers: Mapping[str, tuple[float, float]], links: Links
) -> dict[tuple[int, str], tuple[float, float]]:
    """(number of a link, what it meets) → where it does, in the order of what stands at the other ends."""
    sides: dict[tuple[str, str], list[tuple[float, int]]] = {}
    for number, (first, last, *_) in enumerate(links):
        for key, other in ((first, last), (last, first)):
            (x, y), (u, v) = centers[key], centers[other]
            side = ("right" if u > x else "left") if abs(u - x) > 1.0 else ("below" if v > y else "above")
            slope = (v - y) / abs(u - x) if abs(u - x) > 1.0 else 0.0
            sides.setdefault((key, side), []).append((slope, number))
    places: dict[tuple[int, str], tuple[float, float]] = {}
    for (key, side), ends in sides.items():
        x, y = centers[key]
        level = side in ("left", "right")
        half = (0.0, 0.0) if key not in boxes else (boxes[key].width / 2.0, boxes[key].height / 2.0)
        room = 2.0 * half[level] * SPREAD
        sign = {"right": 1.0, "left": -1.0, "below": 1.0, "above": -1.0}[side]
        for rank, (_, number) in enumerate(sorted(ends)):
            along = ((rank + 0.5) / len(ends) - 0.5) * min(room, BETWEEN * len(ends))
            places[number, key] = (x + sign * half[0], y + along) if level else (x + along, y + sign * half[1])
    return places


def _list_between(
    boxes: Mapping[str, Box],
    points: Mapping[str, tuple[float, float]],
    start: tuple[float, float],
    end: tuple[float, float],
) -> list[float]:
    """Half the widths of what stands between two places of one column, those at its ends included; empty elsewhere."""
    if abs(start[0] - end[0]) > 1.0:
        return []
    low, high = sorted((start[1], end[1]))
    places = [(one.x, one.y, one.width / 2.0) for one in boxes.values()] + [(x, y, 0.0) for x, y in points.values()]
    mine = [(y, half) for x, y, half in places if abs(x - start[0]) <= 1.0 and low <= y <= high]
    return [half for _, half in mine] if any(low < y < high for y, _ in mine) else []


def _find_center(boxes: Mapping[str, Box], points: Mapping[str, tuple[float, float]], key: str) -> tuple[float, float]:
    return (boxes[key].x, boxes[key].y) if key in boxes else points[key]


def _leave(box: Box | None, inside: tuple[float, float], outside: tuple[float, float]) -> tuple[float, float]:
    """Where a line from inside a box to a point outside crosses its border."""
    if box is None:
        return inside
    dx, dy = outside[0] - inside[0], outside[1] - inside[1]
    reach = 1.0
    for delta, position, center, half in (
        (dx, inside[0], box.x, box.width / 2.0),
        (dy, inside[1], box.y, box.height / 2.0),
    ):
        if delta:
            border = center + (half if delta > 0 else -half)
            reach = min(reach, max((border - position) / delta, 0.0))
    return inside[0] + reach * dx, inside[1] + reach * dy


def draw_equations(model: Model, names: Iterable[Any] | None) -> Formulas:
    """The equations of a model, typeset, under their names."""
    shown = choose_names(names, model.equations, "equation") if names is not None else list(model.equations)[:EQUATIONS]
    left_out = len(model.equations) - len(shown) if names is None else 0
    told = f"{left_out} more equation{'s' * (left_out != 1)} not drawn" if left_out else ""
    equations = [model.equations[name] for name in shown]
    alt = f"{counted(len(shown), 'equation')} of {model.name}: {quoted(shown)}."
    return _typeset(f"equations of {model.name}", told, shown, equations, alt)


def draw_formula(formula: Equation | Expression, _names: Iterable[Any] | None) -> Formulas:
    """One equation or expression, typeset."""
    what = "equation" if isinstance(formula, Equation) else "expression"
    text = str(formula)
    return _typeset(what, "", [""], [formula], f"{what}: {text if len(text) <= 200 else f'{text[:200]} …'}")


def _typeset(title: str, told: str, names: Sequence[str], formulas: Sequence[Any], alt: str) -> Formulas:
    mathml, latex = tuple(map(write_mathml, formulas)), tuple(map(write_latex, formulas))
    return Formulas(title, told, tuple(names), mathml, latex, alt)
