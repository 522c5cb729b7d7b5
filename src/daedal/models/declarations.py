"""What a user declares, in a Model's normal form: symbols in tuples, names as keys, numbers as expressions."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from daedal import disturbances, symbolic
from daedal.errors import ModelError, counted, list_entries, quoted, show
from daedal.models.parameter import as_parameter
from daedal.symbolic import NAME, RESERVED, Equation, Expression, as_expression, find_operator

TYPED = 1e-5  # of two deviations: by which covariances that are written twice may differ
UNWRITABLE = re.compile(r"[\ud800-\udfff]")  # what no file and no terminal takes


def check_model_name(name: Any) -> str:
    """A text that files and terminals take."""
    return _check_text(name, "The name of a model", "Write name='pendulum'.")


def normalize(raw: dict[str, Any]) -> dict[str, Any]:
    """Every field of a Model in its normal form."""
    name = check_model_name(raw["name"])
    for key, value in raw.items():
        if key not in ("name", "unknowns", "inputs") and not isinstance(value, Mapping):
            what = _IN_WORDS.get(key, key)
            raise ModelError(
                f"The {what} of model '{name}' must be a mapping, got {show(value)}.", _MAPPING_REMEDY[key]
            )
    return {
        "name": name,
        "equations": _convert(raw, "equations", _check_equation_name, _check_equation),
        "unknowns": _check_symbols(raw["unknowns"], "unknowns"),
        "inputs": _check_symbols(raw["inputs"], "inputs"),
        "outputs": _convert(raw, "outputs", _check_output_name, lambda v, name: as_expression(v, f"Output '{name}'")),
        "parameters": _convert(raw, "parameters", _as_plain_name, as_parameter),
        "disturbances": _convert(raw, "disturbances", _as_disturbance_name, _check_noise),
        "measurement_noise": _convert(raw, "measurement_noise", as_name, _check_accuracy),
        **{
            part: _convert(raw, part, _as_jet_name, lambda value, name, part=part: _check_start(value, name, part))
            for part in ("initial", "guess", "history")
        },
        "defaults": _convert(raw, "defaults", as_name, _check_default),
        "ports": dict(raw["ports"]),
        "units": _convert(raw, "units", as_name, _check_unit),
    }


def _convert(
    raw: dict[str, Any], field: str, rename: Callable[[Any], Any], convert: Callable[[Any, Any], Any]
) -> dict[Any, Any]:
    """A declared mapping with names as keys; a symbol and its name are the same key."""
    normal: dict[Any, Any] = {}
    for key, value in raw[field].items():
        name = rename(key)
        if name in normal:
            raise ModelError(f"Under {field}, {quoted(as_tuple(name))} is given twice.", "Keep one of the two.")
        normal[name] = convert(value, name)
    return normal


_IN_WORDS = {"initial": "initial values", "guess": "guesses", "measurement_noise": "measurement noise"}
_MAPPING_REMEDY = {
    "equations": "Give every equation a name: {'rod': x**2 + y**2 == L**2}.",
    "outputs": "Give every output a name: {'angle': np.arctan2(x, -y)}.",
    "parameters": "Write {k: 8.0}.",
    "disturbances": "Write {w: FilteredNoise(...)}.",
    "measurement_noise": "Write {'angle': 0.002}, a standard deviation per output.",
    "initial": "Write {x: 0.0}.",
    "guess": "Write {x: 0.0}.",
    "history": "Write {x: 1.0}.",
    "defaults": "Write {u: 20.0}.",
    "ports": "Write {'flange': Port('rotational', phi, tau)}.",
    "units": "Write {'speed': 'm/s', 'time': 's'}.",
}


def _check_unit(value: Any, name: Any) -> str:
    if isinstance(value, str) and value.strip():
        return value
    raise ModelError(f"The unit of '{name}' must be a text, got {value!r}.", "Write 'm/s', or leave it out.")


def as_name(key: Any) -> Any:
    """A symbol's name, or the names of a tuple of symbols."""
    if isinstance(key, tuple):
        return tuple(as_name(part) for part in key)
    if isinstance(key, Expression) and key.is_symbol:
        return key.sx.name()
    if isinstance(key, str):
        return str.__str__(key)  # without what a subclass does
    raise ModelError(
        f"A symbol or a name belongs where {show(key)} stands.", "Use a symbol made by symbols(...), or its name."
    )


def _as_plain_name(key: Any) -> str:
    """The name of a symbol that may be declared: no derivative, no formula."""
    name = as_name(key)
    if not isinstance(name, str) or not NAME.fullmatch(name) or name in RESERVED:
        raise ModelError(
            f"A parameter or disturbance must be a plain symbol, got {quoted(as_tuple(name))}.",
            "Make one with symbol('name').",
        )
    return name


def _as_disturbance_name(key: Any) -> str | tuple[str, ...]:
    if isinstance(key, tuple) and len(key) != 1:
        return tuple(map(_as_plain_name, key))
    return _as_plain_name(key[0] if isinstance(key, tuple) else key)


def _as_jet_name(key: Any) -> Any:
    """The name of an unknown or of its derivative; a text such as "der(x)" is read."""
    return as_name(symbolic.read_expression(key) if isinstance(key, str) and "(" in key else key)


def as_tuple(key: str | tuple[str, ...]) -> tuple[str, ...]:
    """The names of a key that is one name or several."""
    return key if isinstance(key, tuple) else (key,)


def _check_equation_name(key: Any) -> str:
    return _check_text(key, "The name of an equation", "Write {'rod': x**2 + y**2 == L**2}.")


def _check_output_name(key: Any) -> str:
    return _check_text(key, "The name of an output", "Write {'angle': np.arctan2(x, -y)}.")


def _check_text(value: Any, what: str, remedy: str) -> str:
    if not isinstance(value, str) or not value or UNWRITABLE.search(value):
        raise ModelError(f"{what} must be a text, got {show(value)}.", remedy)
    return value


def _check_equation(value: Any, name: str) -> Equation:
    if isinstance(value, Equation):
        return value
    kind = "an expression" if isinstance(value, Expression) else show(value)
    raise ModelError(f"Equation '{name}' must be made with '==', got {kind}.", "Write lhs == rhs with symbols in it.")


def _check_symbols(values: Any, field: str) -> tuple[Expression, ...]:
    if (entries := list_entries(values)) is None:
        raise ModelError(f"The {field} must be a list of symbols, got {show(values)}.", f"Write {field}=[x, y].")
    symbols = tuple(entries)
    for value in symbols:
        if isinstance(value, str):
            raise ModelError(
                f"The {field} must be symbols, got the text {value!r}.", f"Make it one first: symbol({value!r})."
            )
        if (
            not isinstance(value, Expression)
            or not value.is_symbol
            or find_operator(value.sx.name())
            or value.sx.name() == "time"
        ):
            raise ModelError(
                f"The {field} must be plain symbols, got '{show(value, str)}'.", "Make one with symbol('name')."
            )
    if twice := [name for name, count in Counter(value.sx.name() for value in symbols).items() if count > 1]:
        raise ModelError(f"The {field} list {quoted(twice)} twice.", "List every symbol once.")
    return symbols


def _check_noise(value: Any, name: str | tuple[str, ...]) -> "disturbances.Noise":
    if not disturbances.is_noise(value):
        raise ModelError(
            f"Disturbance {quoted(as_tuple(name))} must be a noise declaration, got {show(value)}.",
            "Use FilteredNoise or WhiteNoise.",
        )
    if value.channels != len(as_tuple(name)):
        raise ModelError(
            f"The declaration of disturbance {quoted(as_tuple(name))} drives {counted(value.channels, 'symbol')}.",
            "Give a tuple with one symbol per component as the key.",
        )
    return value


def _check_start(value: Any, name: str, part: str) -> Expression:
    expression = as_expression(value, f"The {part} value of '{name}'")
    if expression.sx.is_constant() and not np.isfinite(float(expression)):
        raise ModelError(f"The {part} value of '{name}' must be finite, got {float(expression)}.", "Give a number.")
    return expression


def _check_default(value: Any, name: Any) -> float:
    expression = as_expression(value, f"The default of input {quoted(as_tuple(name))}")
    if not expression.sx.is_constant() or not np.isfinite(float(expression)):
        raise ModelError(
            f"The default of input {quoted(as_tuple(name))} must be a finite number, got {value!r}.",
            "Make it a parameter in place of an input, where it is estimated.",
        )
    return float(expression)


def _check_accuracy(value: Any, name: str | tuple[str, ...]) -> Any:
    if isinstance(name, tuple):
        return _check_covariance(value, name)
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim):
        array = _as_numbers(value)
        if array is None or array.ndim != 1 or not array.size or not np.all((array > 0) & np.isfinite(array)):
            raise ModelError(
                f"The measurement noise of '{name}' must be positive standard deviations, one per sample, "
                f"got {show(value)}.",
                "Give numbers, or one number or expression for all samples.",
            )
        return array
    expression = as_expression(value, f"The measurement noise of '{name}'")
    if not expression.sx.is_constant():
        return expression
    if not 0 < float(expression) < np.inf:
        raise ModelError(
            f"The measurement noise of '{name}' must be a positive standard deviation, got {float(expression):g}.",
            "Leave it out for exact data.",
        )
    return float(expression)


def _is_symmetric(array: np.ndarray) -> bool:
    """To the digits that people type, in units of the deviations."""
    deviations = np.sqrt(np.abs(np.diag(array)))
    return bool(np.all(np.abs(array - array.T) <= TYPED * np.outer(deviations, deviations)))


def _check_covariance(value: Any, names: tuple[str, ...]) -> np.ndarray:
    count = len(names)
    array = _as_numbers(value)
    if array is None or array.shape != (count, count):
        raise ModelError(
            f"The measurement noise of {quoted(names)} must be a {count}×{count} covariance matrix, got {show(value)}.",
            "Give variances on its diagonal, in numbers.",
        )
    if not (np.all(np.isfinite(array)) and _is_symmetric(array) and np.linalg.eigvalsh(array)[0] > 0.0):
        raise ModelError(
            f"The covariance of the measurement noise of {quoted(names)} must be symmetric and positive definite, "
            f"got {show(value)}.",
            "Check its entries.",
        )
    return array


def _as_numbers(value: Any) -> np.ndarray | None:
    """A read-only array of floats, or None when it is not one."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        return None
    array.flags.writeable = False
    return array
