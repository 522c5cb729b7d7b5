"""`[estimate]`, `[validate]` and `[report]`: what is asked of model and data."""

from collections.abc import Mapping
from dataclasses import fields, replace
from math import inf
from pathlib import Path
from typing import Any

from daedal import priors
from daedal.data import FrozenMapping
from daedal.errors import ModelError, is_one_of, look_up, nearest, quoted, show
from daedal.estimation import Criterion, Grid, LatinHypercube, Likelihood, OutputError, SimulationPEM
from daedal.models import Model, Parameter
from daedal.projects.project import Reporting, Validating
from daedal.projects.source import Table
from daedal.symbolic import Expression

CRITERIA = {kind.__name__: kind for kind in (Likelihood, OutputError, SimulationPEM)}
AUTOMATIC = "automatic"
LONGEST = 200  # bytes of the name of a page: files have 255, some of them until it is whole
FREE = ("start", "lower", "upper", "scale", "prior")
Parameters = FrozenMapping[str, Parameter]


def read_free(estimate: Table, model: Model) -> tuple[Parameters, Parameters]:
    """Parameters to estimate, and those of them that are local."""
    declared: dict[str, Parameter] = {}
    if isinstance(estimate.get("free"), list):
        for number, name in enumerate(estimate.take_names("free")):
            with estimate.source.at((*estimate.find("free"), number)):
                look_up(model.parameters, name, ModelError, f"the model '{model.name}' has no parameter")
            declared[name] = _check_start(estimate, "free", name, model.parameters[name])
    else:
        rows = estimate.take_table("free", "[estimate.free]")
        for name in rows.content:
            _check_parameter(rows, name, name, model)
            declared[name] = _read_parameter(rows, name, model.parameters[name])
    names = estimate.take_names("local")
    for name in names:
        _check_parameter(estimate, "local", name, model)
    local = {name: declared.pop(name, model.parameters[name]) for name in names}
    return FrozenMapping(declared), FrozenMapping(local)


def _check_parameter(table: Table, key: Any, name: str, model: Model) -> None:
    if name not in model.parameters:
        raise table.explain(
            key, f"the model '{model.name}' has no parameter '{name}'.", nearest(name, model.parameters)
        )


def _read_parameter(rows: Table, name: str, known: Parameter) -> Parameter:
    """A start, or a table of what differs from the model's."""
    if not isinstance(rows.get(name), dict):
        changed: dict[str, Any] = {"value": rows.take_number(name, "1.0")}
    else:
        inner = rows.take_table(name)
        inner.refuse_unknown(FREE, f"the free parameter '{name}'")
        changed = {key: inner.take_number(key, "1.0") for key in ("lower", "upper") if key in inner}
        changed |= {"value": inner.take_number("start", "1.0")} if "start" in inner else {}
        changed |= {"scale": inner.take_choice("scale", ("linear", "log"), "linear")} if "scale" in inner else {}
        if "prior" in inner:
            with inner.source.at(inner.find("prior")):
                changed["prior"] = priors.read_prior(inner.get("prior"))
    with rows.source.at(rows.find(name)):
        try:
            parameter = replace(known, **changed)
        except ModelError as error:
            raise ModelError(f"of the parameter '{name}': {error.sentence}", error.remedy) from None
    return _check_start(rows, name, name, parameter)


def _check_start(table: Table, key: str, name: str, parameter: Parameter) -> Parameter:
    if isinstance(parameter.value, Expression):
        raise table.explain(
            key,
            f"the value of '{name}' is the formula {parameter.value} in the model.",
            f"Free what is in the formula, or write {{ start = 1.0 }} to free '{name}' itself.",
        )
    with table.source.at(table.find(key)):
        parameter.check(name, parameter.value)
    return parameter


def read_criterion(estimate: Table) -> Criterion | None:
    """None where fit chooses."""
    value = estimate.get("criterion", AUTOMATIC)
    if value == AUTOMATIC:
        return None
    if isinstance(value, str):
        inner = Table(estimate.source, estimate.find("criterion"), {"kind": value})
    else:
        inner = estimate.take_table("criterion", 'criterion = { kind = "Likelihood" }')
    kind = inner.get("kind")
    if not is_one_of(kind, CRITERIA):
        if kind == "MeanVariance":
            remedy = (
                "It needs moments of measurements, which only Python can give: fit(..., criterion=MeanVariance(...))."
            )
        else:
            remedy = (
                nearest(kind, [*CRITERIA, AUTOMATIC]) if isinstance(kind, str) else f"Known are {quoted(CRITERIA)}."
            )
        raise inner.explain("kind", f"there is no criterion {show(kind)} in a project.", remedy)
    options = {key: one for key, one in inner.content.items() if key != "kind"}
    known = [field.name for field in fields(CRITERIA[kind])]
    for key in options:
        if key not in known:
            raise inner.explain(key, f"{kind} has no option '{key}'.", nearest(key, known))
    with inner.source.at(inner.find(next(iter(options), "kind"))):
        return CRITERIA[kind](**options)


def read_starts(
    estimate: Table, names: Mapping[str, Parameter]
) -> LatinHypercube | Grid | tuple[Mapping[str, float], ...] | None:
    """Where to start, in place of the parameters' own values."""
    value = estimate.get("starts")
    if value is None:
        return None
    example = "Write starts = { latin_hypercube = 20 }, { grid = { a = 5 } } or [{ a = 1.0 }, { a = 2.0 }]."
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        for number, one in enumerate(value):
            inner = Table(estimate.source, (*estimate.find("starts"), number), one)
            inner.refuse_unknown(names, "a start: free parameters")
            for name in one:
                inner.take_number(name, "1.0")
        return tuple(FrozenMapping({name: float(number) for name, number in one.items()}) for one in value)
    kinds = ("latin_hypercube", "grid")
    if not isinstance(value, dict) or len(value) != 1:
        raise estimate.explain("starts", "starts must be one way to choose them.", example)
    inner = estimate.take_table("starts")
    inner.refuse_unknown(kinds, "starts")
    with inner.source.at(inner.find(next(iter(value)))):
        if "latin_hypercube" in value:
            hypercube = LatinHypercube(value["latin_hypercube"])
            _require_bounds(inner, "latin_hypercube", names)
            return hypercube
        points = inner.take_table("grid", "grid = { a = 5 }")
        points.refuse_unknown(names, "the grid: free parameters")
        _require_bounds(inner, "grid", {name: names[name] for name in points.content})
        return Grid(points.content)


def _require_bounds(starts: Table, key: str, names: Mapping[str, Parameter]) -> None:
    """Starts are spread between them."""
    for name, one in names.items():
        least = 0.0 if one.scale == "log" else -inf
        if not (least < one.lower and one.upper < inf):
            raise starts.explain(
                key,
                f"starts are spread between bounds, but '{name}' has {'none' if one.upper == inf else 'no lower one'}.",
                f'Write "{name}" = {{ lower = 1.0, upper = 20.0 }} below [estimate.free].',
            )


def read_validating(root: Table, model: Model, names: Mapping[str, Any]) -> Validating:
    """`[validate]`."""
    table = root.take_table("validate")
    table.refuse_unknown([field.name for field in fields(Validating)], "[validate]")
    horizon = table.take_numbers("horizon", "[1, 10]")
    if any(step != int(step) or step < 1 for step in horizon):
        raise table.explain(
            "horizon", f"horizon counts samples ahead, got {table.get('horizon')!r}.", "Write horizon = [1, 10]."
        )
    profiled, states = table.take_names("profile"), table.take_names("states")
    for name in profiled:
        if name not in names:
            raise table.explain("profile", f"'{name}' is not free, so that it has no profile.", nearest(name, names))
    known = [name for name, role in model.names.items() if role in ("unknown", "disturbance")]
    for name in states:
        if name not in known and name not in model.outputs:
            raise table.explain("states", f"the model '{model.name}' has no state '{name}'.", nearest(name, known))
    return Validating(tuple(map(int, horizon)), profiled, states)


def read_reporting(root: Table) -> tuple[Reporting, list[Path]]:
    """`[report]`; the words are read here, so that a missing file shows early."""
    table = root.take_table("report")
    table.refuse_unknown([field.name for field in fields(Reporting)], "[report]")
    file, notes = table.take_text("file"), table.take_text("notes")
    possible = Path(file).suffix == ".html" and Path(file).name == file and len(file.encode()) <= LONGEST
    if file and not (possible and file.isprintable()):
        raise table.explain(
            "file",
            f"the page must be a .html file in the folder of results, got '{file}'.",
            'Write file = "tank.html".',
        )
    if not notes:
        return Reporting(file), []
    path = table.source.find_file(table.find("notes"), notes, "file of notes")
    try:
        return Reporting(file, path.read_text(encoding="utf-8-sig")), [path]
    except (OSError, UnicodeDecodeError):
        raise table.explain("notes", f"'{notes}' cannot be read as UTF-8 text.", "Save it as UTF-8.") from None
