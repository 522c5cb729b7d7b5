"""The text form of a model: TOML, with expressions in Python syntax. Reading never executes code.

name = "pendulum"
unknowns = ["x", "y"]
[equations]
"rod" = "x**2 + y**2 == L**2"
[parameters]
L = 6.25
k = { value = 8.0, lower = 3.85 }
"""

import json
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from daedal.disturbances import FilteredNoise, Noise, StateSpaceNoise, WhiteNoise
from daedal.errors import DaedalError, ModelError
from daedal.models.model import Model
from daedal.models.parameter import Parameter
from daedal.symbolic import Expression, read_equation, read_expression, symbol

NOISE = {kind.__name__: kind for kind in (FilteredNoise, StateSpaceNoise, WhiteNoise)}
TABLES = ("equations", "outputs", "parameters", "disturbances", "measurement_noise", "initial", "guess", "history")


def write_model(model: Model) -> str:
    """The model as text."""
    lines = [f"name = {_value(model.name)}"]
    lines += [f"{field} = {_value(list(map(str, getattr(model, field))))}" for field in ("unknowns", "inputs")]
    for table in TABLES:
        rows = getattr(model, table)
        if rows:
            lines += ["", f"[{table}]"]
            lines += [f"{_value(json.dumps(k) if isinstance(k, tuple) else k)} = {_value(v)}" for k, v in rows.items()]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Expression):
        return repr(float(value)) if value.sx.is_constant() else json.dumps(str(value), ensure_ascii=False)
    if isinstance(value, Parameter):
        return _table({"value": value.value, **value.details()}) if value.details() else _value(value.value)
    if isinstance(value, Noise):
        fields = {key: entry for key, entry in vars(value).items() if entry is not None}
        return _table({"kind": type(value).__name__, **fields})
    if isinstance(value, (list, tuple, np.ndarray)):
        return f"[{', '.join(map(_value, value))}]"
    return repr(float(value)) if isinstance(value, (int, float)) else json.dumps(str(value), ensure_ascii=False)


def _table(entries: Mapping[str, Any]) -> str:
    return "{ " + ", ".join(f"{key} = {_value(value)}" for key, value in entries.items()) + " }"


def read_model(text: str) -> Model:
    """The model written in `text`."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
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
    read: dict[str, Callable[[Any], Any]] = {
        "equations": read_equation,
        "parameters": _parameter,
        "disturbances": _noise,
    }
    entries: dict[str, Any] = {
        table: {_key(table, k): _at(f"{table}: {k}", read.get(table, _coefficient), v) for k, v in rows.items()}
        for table, rows in tables.items()
    }
    return Model(
        name=content.get("name", ""),
        unknowns=tuple(map(symbol, content.get("unknowns", []))),
        inputs=tuple(map(symbol, content.get("inputs", []))),
        **entries,
    )


def _key(table: str, key: str) -> str | tuple[str, ...]:
    """A key that is several names is written as a list in quotes."""
    several = table in ("disturbances", "measurement_noise") and key.startswith("[")
    return tuple(json.loads(key)) if several else key


def _at(place: str, read: Callable[[Any], Any], value: Any) -> Any:
    try:
        return read(value)
    except (DaedalError, TypeError, KeyError) as error:
        reason = error.args[0] if error.args else error
        raise ModelError(
            f"In the text of the model, at {place}: {reason}", "Compare with the text of Model.to_text()."
        ) from error


def _coefficient(value: Any) -> Any:
    if isinstance(value, list):
        return [_coefficient(entry) for entry in value]
    return read_expression(value) if isinstance(value, str) else value


def _parameter(value: Any) -> Parameter:
    if not isinstance(value, dict):
        return Parameter(_coefficient(value))
    return Parameter(**{**value, "value": _coefficient(value["value"])})


def _noise(value: dict[str, Any]) -> Noise:
    fields = {key: entry if key == "initial" else _coefficient(entry) for key, entry in value.items() if key != "kind"}
    return NOISE[value["kind"]](**fields)
