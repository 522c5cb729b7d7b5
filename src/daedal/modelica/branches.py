"""The equations of an if-equation, so ordered that each determines the same variable in all branches.

rumoca puts the first equations of all branches into one, then the second ones, and so on. Branches may have their
equations in any order, and an equation that is for `der(x)` in one branch and for `y` in another could not be solved
for either; so they are joined by their left sides where these are the same in all branches.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from daedal.modelica.formula_reader import FormulaReader, Node, split_sides, unpack

Row = tuple[Node, Node, FormulaReader]


def align_branches(rows: Sequence[Row]) -> list[Row]:
    """The rows, where neighbouring ones that are nothing but an if of equal conditions become side = if …."""
    aligned: list[Row] = []
    for conditions, group in groupby(rows, key=_write_conditions):
        members = list(group)
        aligned += _join(members) if conditions else members
    return aligned


def _write_conditions(row: Row) -> str:
    """The conditions of a row that is nothing but an if, else an empty text."""
    kind, content = unpack(row[1])
    return _write_text([branch[0] for branch in content["branches"]]) if kind == "If" else ""


def _join(rows: list[Row]) -> list[Row]:
    choices = [unpack(node)[1] for _, node, _ in rows]
    conditions = [branch[0] for branch in choices[0]["branches"]]
    columns = [[choice["branches"][k][1] for choice in choices] for k in range(len(conditions))]
    columns.append([choice["else_branch"] for choice in choices])
    right = [{_write_text(lhs): rhs for lhs, rhs in map(split_sides, column) if lhs} for column in columns]
    left = {_write_text(lhs): lhs for lhs, _ in map(split_sides, columns[0]) if lhs}
    if any(len(column) < len(rows) or set(column) != set(left) for column in right):
        return rows  # equations that are no assignments keep the order they were written in
    joined = []
    for (row, _, inside), choice, (side, lhs) in zip(rows, choices, left.items(), strict=True):
        branches = [[condition, right[k][side]] for k, condition in enumerate(conditions)]
        chosen = {"If": {"branches": branches, "else_branch": right[-1][side], "span": choice["span"]}}
        joined.append((row, {"Binary": {"op": "Sub", "lhs": lhs, "rhs": chosen, "span": choice["span"]}}, inside))
    return joined


def _write_text(node: Any) -> str:
    """A formula as text, without the places of its parts."""
    return json.dumps(_drop_places(node))


def _drop_places(node: Any) -> Any:
    if isinstance(node, Mapping):
        return {key: _drop_places(value) for key, value in node.items() if key != "span"}
    return [_drop_places(value) for value in node] if isinstance(node, list) else node
