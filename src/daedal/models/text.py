"""The text form of a model: TOML, with expressions in Python syntax. Reading never executes code.

name = "pendulum"
unknowns = ["x", "y"]
[equations]
"rod" = "x**2 + y**2 == L**2"
[parameters]
L = 6.25
k = { value = 8.0, lower = 3.85, prior = { kind = "Normal", mean = 7.0, std = 1.0 } }
[ports]
hinge = { domain = "translational", potential = "x", flow = "f" }
[units]
x = "m"
"""

import json
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

import numpy as np

from daedal import priors
from daedal.disturbances import FilteredNoise, Noise, StateSpaceNoise, WhiteNoise
from daedal.errors import DaedalError, ModelError, nearest, quoted, show
from daedal.limits import nests_deeper
from daedal.models.model import Model
from daedal.models.parameter import Parameter
from daedal.models.port import Port
from daedal.symbolic import Expression, read_equation, read_expression, symbol

NOISE = {kind.__name__: kind for kind in (FilteredNoise, StateSpaceNoise, WhiteNoise)}
TABLES = (
    "equations",
    "outputs",
    "parameters",
    "disturbances",
    "measurement_noise",
    "initial",
    "guess",
    "history",
    "defaults",
    "ports",
    "units",
)


def write_model(model: Model) -> str:
    """The model as text."""
    lines = [f"name = {_write(model.name)}"]
    lines += [f"{field} = {_write(list(map(str, getattr(model, field))))}" for field in ("unknowns", "inputs")]
    for table in TABLES:
        rows = getattr(model, table)
        if rows:
            lines += ["", f"[{table}]"]
            write = _write_noise if table == "disturbances" else _write
            lines += [f"{_write(json.dumps(k) if isinstance(k, tuple) else k)} = {write(v)}" for k, v in rows.items()]
    return "\n".join(lines) + "\n"


def _write(value: Any) -> str:
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, Expression):
        return repr(float(value)) if value.sx.is_constant() else _quote(str(value))
    if isinstance(value, Parameter):
        return _write_table({"value": value.value, **value.details()}) if value.details() else _write(value.value)
    if isinstance(value, tuple(priors.KINDS.values())):
        return _write_table(priors.list_entries(value))
    if isinstance(value, Port):
        return _write_table({name: getattr(value, name) for name in _list_fields(Port)})
    if isinstance(value, (list, tuple, np.ndarray)):
        return f"[{', '.join(map(_write, value))}]"
    return repr(float(value)) if isinstance(value, (int, float)) else _quote(str(value))


def _write_noise(noise: Noise) -> str:
    given = {name: entry for name, entry in noise.entries().items() if entry is not None}
    return _write_table({"kind": type(noise).__name__, **given})


def _quote(text: str) -> str:
    """A TOML string: JSON's, except that TOML allows no bare DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _write_table(entries: Mapping[str, Any]) -> str:
    return "{ " + ", ".join(f"{key} = {_write(value)}" for key, value in entries.items()) + " }"


LARGEST = 10_000_000  # characters
DEEPEST = 20  # tables and arrays within each other; a model needs four


def _check_limits(text: str) -> None:
    """Refuse what the reader of TOML would take too deep or too long for."""
    if len(text) > LARGEST:
        raise ModelError(f"The text of the model has more than {LARGEST} characters.", "Divide the model.")
    if nests_deeper(text, DEEPEST):
        raise ModelError(
            f"The text of the model has tables or arrays nested deeper than {DEEPEST} levels.",
            "Compare with the text of Model.to_text().",
        )


def read_model(text: str) -> Model:
    """The model written in `text`."""
    if not isinstance(text, str):
        raise ModelError(f"A model is read from text, got {show(text)}.", "Give the text of Model.to_text().")
    _check_limits(text)
    try:
        content = tomllib.loads(text.removeprefix("\ufeff"))  # what Windows begins a text with
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:  # ValueError: a number of 5000 digits
        raise ModelError(
            f"The text of the model is not TOML: {error}.", "Compare with the text of Model.to_text()."
        ) from None
    unknown = set(content) - {"name", "unknowns", "inputs", *TABLES}
    if unknown:
        raise ModelError(
            f"The text of the model has an entry '{min(unknown)}'.",
            f"Known are name, unknowns, inputs, {', '.join(TABLES)}.",
        )
    tables = {table: content.get(table, {}) for table in TABLES}
    for table, rows in tables.items():
        if not isinstance(rows, dict):
            raise ModelError(f"In the text of the model, {table} must be a table, got {rows!r}.", f"Write [{table}].")
    read: dict[str, Callable[[Any], Any]] = {
        "equations": read_equation,
        "parameters": _read_parameter,
        "disturbances": _read_noise,
        "ports": _read_port,
        "units": str,
    }
    entries: dict[str, Any] = {
        table: {
            _read_key(table, k, tables["outputs"]): _read_at(f"{table}: {k}", read.get(table, _read_coefficient), v)
            for k, v in rows.items()
        }
        for table, rows in tables.items()
    }
    return Model(
        name=content.get("name", ""),
        unknowns=_read_at("unknowns", _read_symbols, content.get("unknowns", [])),
        inputs=_read_at("inputs", _read_symbols, content.get("inputs", [])),
        **entries,
    )


def _read_symbols(names: Any) -> tuple[Expression, ...]:
    if not isinstance(names, list):
        raise ModelError(f"A list of names belongs where {names!r} stands.", "Write ['x', 'y'].")
    return tuple(map(symbol, names))


def _read_key(table: str, key: str, outputs: Collection[str]) -> str | tuple[str, ...]:
    """A key that is several names is written as a list in quotes."""
    if table not in ("disturbances", "measurement_noise") or not key.startswith("[") or key in outputs:
        return key
    try:
        return tuple(json.loads(key))
    except json.JSONDecodeError:
        raise ModelError(
            f"In the text of the model, {table} has the key {key!r}, which is no list of names.",
            'Write it as \'["w1", "w2"]\'.',
        ) from None


def _read_at(place: str, read: Callable[[Any], Any], value: Any) -> Any:
    try:
        return read(value)
    except DaedalError as error:
        raise ModelError(f"In the text of the model, at {place}: {error.sentence}", error.remedy) from None


def _read_coefficient(value: Any) -> Any:
    if isinstance(value, list):
        return [_read_coefficient(entry) for entry in value]
    return read_expression(value) if isinstance(value, str) else value


def _read_parameter(value: Any) -> Parameter:
    if not isinstance(value, dict):
        return Parameter(_read_coefficient(value))
    read = {"value": _read_coefficient, "prior": priors.read_prior}
    return _make(Parameter, {name: read[name](entry) if name in read else entry for name, entry in value.items()})


def _read_port(value: Any) -> Port:
    if not isinstance(value, dict):
        raise ModelError(f"A port must be a table, got {value!r}.", f"It is made of {quoted(_list_fields(Port))}.")
    entries = {
        key: tuple(map(symbol, entry)) if isinstance(entry, list) else symbol(entry)
        for key, entry in value.items()
        if key in ("potential", "flow")
    }
    return _make(Port, {**value, **entries})


def _read_noise(value: Any) -> Noise:
    kind = value.get("kind") if isinstance(value, dict) else None
    if kind not in NOISE:
        raise ModelError(f"A noise declaration must have a kind, got {value!r}.", f"Known are {quoted(NOISE)}.")
    entries = {
        key: entry if key in ("initial", "between") else _read_coefficient(entry)
        for key, entry in value.items()
        if key != "kind"
    }
    return _make(NOISE[kind], entries)


def _make(kind: type, entries: Mapping[str, Any]) -> Any:
    """The object with these fields; none may be missing or unheard of."""
    known = _list_fields(kind)
    for name in entries:
        if name not in known:
            raise ModelError(f"{kind.__name__} has no '{name}'.", nearest(name, known))
    for name, field in known.items():
        if name not in entries and field.default is MISSING:
            raise ModelError(f"{kind.__name__} needs '{name}'.", f"It is made of {quoted(known)}.")
    return kind(**entries)


def _list_fields(kind: type) -> dict[str, Field]:
    """What an object of this kind is made of, without what it remembers besides."""
    return {field.name: field for field in fields(kind)}
