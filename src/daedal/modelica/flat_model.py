"""`read_modelica`: an ordinary Model from a Modelica file."""

from collections import Counter
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from daedal.errors import ModelError, interruptible
from daedal.modelica.array_functions import box
from daedal.modelica.branches import Row, align_branches
from daedal.modelica.formula_reader import FormulaReader, Node, find_extent, split_sides, unpack
from daedal.modelica.refusals import check_connections, check_events, check_text
from daedal.modelica.source import Source, find_own_file, read_source
from daedal.modelica.translation import translate
from daedal.modelica.variables import Variables
from daedal.models import Model
from daedal.symbolic import Equation, Expression, jet

LONGEST = 60  # characters of an equation's name; longer ones are cut


@interruptible
def read_modelica(path_or_text: str | Path, model: str | None = None) -> Model:
    """The model written in a Modelica file.

    Names are Modelica's: `motor.flange.tau`, `x[1]`. A parameter keeps its value or formula, its `min` and `max` as
    bounds, and its unit; `start` is an initial value where `fixed = true`, else a guess. Constants, Integer, Boolean
    and enumeration parameters, and whatever else decides which equations there are, become numbers. Assertions and
    annotations are passed over. Reading never executes code, and takes place in a process of its own, with limits on
    memory and time. Needs `pip install 'daedal[modelica]'`.

    Parameters
    ----------
    path_or_text
        A file; or, in a text with a newline or a semicolon in it, the Modelica itself.
    model
        Which model to take, with its packages ("Drives.Motor"); needed when there are several.

    Raises
    ------
    DaedalError
        For a syntax error, for what is not in the file (classes of libraries are found only where the environment
        variable MODELICAPATH leads to them), and for events, algorithms and functions, with their lines.

    Examples
    --------
    >>> read_modelica('''
    ... model Decay "first order"
    ...   parameter Real k(unit = "1/s", min = 0) = 2;
    ...   Real x(start = 1, fixed = true);
    ... equation
    ...   der(x) = -k*x;
    ... end Decay;
    ... ''')
    Model('Decay': 1 equation, unknown 'x')
    """
    source = read_source(path_or_text)
    name, flat = translate(source, model)
    source = replace(source, file=find_own_file(source, flat))
    check_text(source)
    check_events(source, flat)
    check_connections(source, flat)
    try:
        return _make_model(name, flat, source)
    except RecursionError:
        raise ModelError(
            f"{source.opening} has a formula that is nested too deeply.", "Give parts of it variables of their own."
        ) from None


def _make_model(name: str, flat: dict[str, Any], source: Source) -> Model:
    variables = Variables(source, flat)
    formulas = variables.formulas
    equations = _Equations(source)
    for row in _list_rows(flat, "equations", "structured_equations", formulas):
        equations.add(*row)
    for variable, binding in variables.read_bindings():
        equations.define(variable, binding)
    starts = variables.read_starts()
    unknowns = variables.list_symbols("unknown")
    held = _Held(starts["initial"], {str(unknown) for unknown in unknowns})
    for row in _list_rows(flat, "initial_equations", "initial_structured_equations", formulas):
        held.add(*row)
    return Model(
        name=name,
        equations=equations.named,
        unknowns=unknowns,
        inputs=variables.list_symbols("input"),
        outputs={str(symbol): symbol for symbol in variables.list_symbols("output")},
        parameters=variables.read_parameters(),
        units=variables.read_units(),
        **starts,
    )


def _list_rows(flat: dict[str, Any], rows: str, families: str, formulas: FormulaReader) -> list[Row]:
    """Every equation with its formula and the loop indices it stands in.

    Of the equations of a loop, rumoca may write only the first ones and leave zeros in place of the others; the
    formula they come from is then the template of their family.
    """
    listed = [(row, row["residual"], formulas) for row in flat[rows]]
    for family in flat[families]:
        if family["interiors_materialized"]:
            continue
        binders = family["domain"]["binders"]
        ranges = [
            range(loop["lower"], loop["upper"] + (1 if loop["step"] > 0 else -1), loop["step"]) for loop in binders
        ]
        points = [
            dict(zip((loop["display_name"] for loop in binders), point, strict=True)) for point in product(*ranges)
        ]
        first, body = family["first_equation_index"], family["template"]["body"]
        # One equation of the body after the other, each at all points.
        expanded = [(node, formulas.with_indices(point)) for node in body for point in points]
        for k, (node, inside) in enumerate(expanded):
            listed[first + k] = (listed[first + k][0], node, inside)
    return align_branches(listed)


def _split_scalars(node: Node, inside: FormulaReader) -> list[tuple[Expression, Expression]]:
    """The scalar equations lhs = rhs of a residual."""
    lhs, rhs = split_sides(node)
    left = box(inside.read(lhs if lhs else node))
    right = box(inside.read(rhs) if rhs else 0.0)
    shape = left.shape or right.shape
    if left.shape and right.shape and left.shape != right.shape:
        inside.refuse(node, f"an array of shape {left.shape} equals one of {right.shape}", "Give both one shape.")
    return [(left[k if left.shape else ()], right[k if right.shape else ()]) for k in product(*map(range, shape))]


class _Equations:
    """Equations under names that say where they come from: their text, or what they connect."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.named: dict[str, Equation] = {}
        self.used: Counter[str] = Counter()

    def add(self, row: Node, node: Node, inside: FormulaReader) -> None:
        """The scalar equations of one row of the flat form."""
        label = self._choose_label(row, node)
        for left, right in _split_scalars(node, inside):
            self._put(label, left, right)

    def define(self, variable: Expression, binding: Any) -> None:
        """The equation of a variable that is declared with its value."""
        self._put(f"value of {variable}", variable, binding)

    def _put(self, label: str, left: Expression, right: Any) -> None:
        self.used[label] += 1
        count = self.used[label]
        name = label if count == 1 else f"{label} [{count}]"
        self.named[name] = left == right

    def _choose_label(self, row: Node, node: Node) -> str:
        kind, origin = unpack(row["origin"])
        if kind == "Connection":
            return f"{origin['lhs']} = {origin['rhs']}"
        if kind == "UnconnectedFlow":
            return f"no flow into {origin['variable']}"
        if kind == "FlowSum":
            return _cut(origin["description"])
        text = self._read_text(node)
        return f"{origin['component']}: {text}" if origin.get("component") else text

    def _read_text(self, node: Node) -> str:
        """The equation as it was typed; what is spread over branches, by its line."""
        place = find_extent(node)
        if place is None or not self.source.holds(place):
            return "equation"
        text = self.source.find_statement(place)
        is_whole = "=" in text and not text.startswith(("if ", "for "))
        return _cut(text) if is_whole else f"line {self.source.find_line(place)}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


@dataclass(frozen=True)
class _Held:
    """Values at the start, to which initial equations add."""

    initial: dict[str, Any]
    unknowns: set[str]

    def add(self, row: Node, node: Node, inside: FormulaReader) -> None:
        """An initial equation that gives an unknown, or its derivative, a value."""
        for left, right in _split_scalars(node, inside):
            starts = [(str(side), other) for side, other in ((left, right), (right, left)) if self._is_unknown(side)]
            if not starts:
                inside.refuse(
                    row,
                    "an initial equation must give one variable, or its derivative, a value",
                    "Write x = 1 or der(x) = 0, with parameters and numbers on the right.",
                )
            name, value = starts[0]
            if name in self.initial:
                inside.refuse(row, f"the start of '{name}' is given twice", "Keep one of the two.")
            self.initial[name] = value

    def _is_unknown(self, side: Any) -> bool:
        return isinstance(side, Expression) and side.is_symbol and jet(str(side))[0] in self.unknowns
