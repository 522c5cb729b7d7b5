"""Turn what a user declares into a Model's normal form, and refuse contradictions in the user's own names."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from daedal.disturbances import Noise
from daedal.errors import ModelError, nearest, quoted
from daedal.models.parameter import as_parameter
from daedal.symbolic import Delayed, Derivative, Equation, Expression, as_expression, jet, operator, symbols_in

if TYPE_CHECKING:
    from daedal.models.model import Model


def normalize(raw: dict[str, Any]) -> dict[str, Any]:
    """Every field in its normal form: symbols in tuples, names as keys, numbers as expressions."""
    name = raw["name"]
    if not isinstance(name, str) or not name:
        raise ModelError(f"The name of a model must be a text, got {name!r}.", "Write name='pendulum'.")
    for key, value in raw.items():
        if key not in ("name", "unknowns", "inputs") and not isinstance(value, Mapping):
            raise ModelError(f"The {key} of model '{name}' must be a mapping, got {value!r}.", _MAPPING_REMEDY[key])
    return {
        "name": name,
        "equations": {_equation_name(key): _equation(key, value) for key, value in raw["equations"].items()},
        "unknowns": _symbols(raw["unknowns"], "unknowns"),
        "inputs": _symbols(raw["inputs"], "inputs"),
        "outputs": {
            _output_name(key): as_expression(value, f"Output '{key}'") for key, value in raw["outputs"].items()
        },
        "parameters": {(n := key_name(key)): as_parameter(value, n) for key, value in raw["parameters"].items()},
        "disturbances": {key_name(key): _noise(key, value) for key, value in raw["disturbances"].items()},
        "measurement_noise": {
            key_name(key): _measurement(key, value) for key, value in raw["measurement_noise"].items()
        },
        **{
            part: {
                key_name(key): as_expression(value, f"The {part} value of '{key}'") for key, value in raw[part].items()
            }
            for part in ("initial", "guess", "history")
        },
    }


_MAPPING_REMEDY = {
    "equations": "Give every equation a name: {'rod': x**2 + y**2 == L**2}.",
    "outputs": "Give every output a name: {'angle': np.arctan2(x, -y)}.",
    "parameters": "Write {k: 8.0}.",
    "disturbances": "Write {w: FilteredNoise(...)}.",
    "measurement_noise": "Write {'angle': 0.002}, a standard deviation per output.",
    "initial": "Write {x: 0.0}.",
    "guess": "Write {x: 0.0}.",
    "history": "Write {x: 1.0}.",
}


def key_name(key: Any) -> Any:
    """A symbol's name, or the names of a tuple of symbols."""
    if isinstance(key, tuple):
        return tuple(key_name(part) for part in key)
    if isinstance(key, Expression) and key.is_symbol:
        return key.sx.name()
    if isinstance(key, str):
        return key
    raise ModelError(
        f"A symbol or a name belongs where {key!r} stands.", "Use a symbol made by symbols(...), or its name."
    )


def as_tuple(key: str | tuple[str, ...]) -> tuple[str, ...]:
    """The names of a key that is one name or several."""
    return key if isinstance(key, tuple) else (key,)


def _equation_name(key: Any) -> str:
    if not isinstance(key, str):
        raise ModelError(f"The name of an equation must be a text, got {key!r}.", "Write {'rod': x**2 + y**2 == L**2}.")
    return key


def _equation(name: str, value: Any) -> Equation:
    if isinstance(value, Equation):
        return value
    kind = "an expression" if isinstance(value, Expression) else repr(value)
    raise ModelError(f"Equation '{name}' must be made with '==', got {kind}.", "Write lhs == rhs with symbols in it.")


def _output_name(key: Any) -> str:
    if not isinstance(key, str):
        raise ModelError(f"The name of an output must be a text, got {key!r}.", "Write {'angle': np.arctan2(x, -y)}.")
    return key


def _symbols(values: Any, field: str) -> tuple[Expression, ...]:
    if isinstance(values, (str, Expression)) or not isinstance(values, Iterable):
        raise ModelError(f"The {field} must be a list of symbols, got {values!r}.", f"Write {field}=[x, y].")
    symbols = tuple(values)
    for value in symbols:
        if isinstance(value, str):
            raise ModelError(
                f"The {field} must be symbols, got the text {value!r}.", f"Make it one first: symbol({value!r})."
            )
        if (
            not isinstance(value, Expression)
            or not value.is_symbol
            or operator(value.sx.name())
            or value.sx.name() == "time"
        ):
            raise ModelError(f"The {field} must be plain symbols, got '{value}'.", "Make one with symbol('name').")
    names = [value.sx.name() for value in symbols]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise ModelError(f"The {field} list {quoted(twice)} twice.", "List every symbol once.")
    return symbols


def _noise(key: Any, value: Any) -> Noise:
    name = key_name(key)
    if not isinstance(value, Noise):
        raise ModelError(
            f"Disturbance '{name}' must be a noise declaration, got {value!r}.", "Use FilteredNoise or WhiteNoise."
        )
    if value.channels != len(as_tuple(name)):
        raise ModelError(
            f"The declaration of disturbance {quoted(as_tuple(name))} drives {value.channels} symbols.",
            "Give a tuple with one symbol per component as the key.",
        )
    return value


def _measurement(key: Any, value: Any) -> Any:
    name = key_name(key)
    if isinstance(value, (list, tuple, np.ndarray)) and np.ndim(value):
        array = np.array(value, dtype=float)
        count = len(as_tuple(name))
        if isinstance(name, tuple) and array.shape != (count, count):
            raise ModelError(
                f"The measurement noise of {quoted(name)} must be a {count}×{count} covariance.",
                f"Got shape {array.shape}.",
            )
        if isinstance(name, str) and (array.ndim != 1 or not np.all(array > 0)):
            raise ModelError(
                f"The measurement noise of '{name}' must be positive standard deviations, one per sample.",
                f"Got {value!r}.",
            )
        array.flags.writeable = False
        return array
    expression = as_expression(value, f"The measurement noise of '{name}'")
    if isinstance(name, tuple):
        raise ModelError(
            f"The measurement noise of {quoted(name)} must be a covariance matrix, got {value!r}.", "Give one per pair."
        )
    if not expression.sx.is_constant():
        return expression
    if not float(expression) > 0:
        raise ModelError(
            f"The measurement noise of '{name}' must be a positive standard deviation, got {float(expression):g}.",
            "Leave it out for exact data.",
        )
    return float(expression)


def check(model: "Model") -> None:
    """Refuse a declaration that contradicts itself."""
    _check_names(model)
    known = model.names
    parameters = set(model.parameters)
    _check_equations(model, known)
    for name, expression in model.outputs.items():
        _check_symbols(expression, known, f"Output '{name}'")
        if known.get(name) and not (expression.is_symbol and expression.sx.name() == name):
            raise ModelError(
                f"Output '{name}' has the name of the {known[name]} '{name}' but is '{expression}'.",
                "Rename the output.",
            )
    for name, parameter in model.parameters.items():
        if isinstance(parameter.value, Expression):
            _check_symbols(parameter.value, parameters, f"The value of parameter '{name}'")
    for key, noise in model.disturbances.items():
        for value in noise.coefficients():
            if isinstance(value, Expression):
                _check_symbols(value, parameters, f"Disturbance '{key}'")
    for key, value in model.measurement_noise.items():
        for name in as_tuple(key):
            if name not in model.outputs:
                raise ModelError(
                    f"Measurement noise is given for '{name}', which is not an output.", nearest(name, model.outputs)
                )
        if isinstance(value, Expression):
            _check_symbols(value, parameters, f"The measurement noise of '{key}'")
    for part in ("initial", "guess", "history"):
        allowed = parameters | ({"time"} if part == "history" else set())
        for name, value in getattr(model, part).items():
            if known.get(jet(name)[0]) != "unknown" or (part == "history" and jet(name)[1]):
                raise ModelError(
                    f"The {part} value of '{name}' belongs to no unknown.", nearest(name, model.unknown_names)
                )
            _check_symbols(value, allowed, f"The {part} value of '{name}'")
    if model.parameters:
        from daedal.models.values import parameter_values

        parameter_values(model)


def _check_names(model: "Model") -> None:
    """No symbol may play two roles."""
    if not model.unknowns:
        raise ModelError(
            f"Model '{model.name}' has no unknowns.", "List the symbols its equations determine: unknowns=[x, y]."
        )
    roles: dict[str, str] = {}
    for role, names in (
        ("unknown", model.unknown_names),
        ("input", model.input_names),
        ("disturbance", model.disturbance_names),
        ("parameter", tuple(model.parameters)),
    ):
        for name in names:
            if name in roles:
                both = f"{role} twice" if roles[name] == role else f"both {roles[name]} and {role}"
                raise ModelError(f"'{name}' is declared as {both}.", "Keep one of the two.")
            roles[name] = role


def _check_equations(model: "Model", known: Mapping[str, str]) -> None:
    for name, equation in model.equations.items():
        used = set()
        for side in (equation.lhs, equation.rhs):
            used |= _check_symbols(side, known, f"Equation '{name}'")
        if not any(known.get(base) == "unknown" for base in used):
            raise ModelError(
                f"Equation '{name}', {equation}, contains no unknown.",
                "Remove it, or list the symbol it determines among the unknowns.",
            )


def _check_symbols(expression: Expression, known: Iterable[str], where: str) -> set[str]:
    """The plain symbols of an expression, all of which must be known."""
    known = known if isinstance(known, (set, dict)) else set(known)
    plain: set[str] = set()
    for leaf in symbols_in(expression.sx):
        meaning = operator(leaf)
        if meaning is None:
            if leaf != "time" and leaf not in known:
                raise ModelError(
                    f"{where} contains '{leaf}', which is not declared.",
                    f"{nearest(leaf, known)} Otherwise list it among the unknowns, inputs, parameters or disturbances.",
                )
            if leaf == "time" and isinstance(known, set) and "time" not in known:
                raise ModelError(f"{where} contains time, but must be constant.", "Use parameters and numbers only.")
            plain.add(leaf)
            continue
        inner = _check_symbols(meaning.operand, known, where)
        if (
            isinstance(meaning, Derivative)
            and isinstance(known, dict)
            and all(known.get(n) == "parameter" for n in inner)
        ):
            raise ModelError(
                f"{where} contains {leaf}, but {quoted(sorted(inner))} is a parameter, which does not change.",
                "Make it an unknown with an equation of its own, or drop the derivative.",
            )
        if isinstance(meaning, Delayed):
            _check_symbols(
                meaning.amount,
                {n for n in known if not isinstance(known, dict) or known[n] == "parameter"},
                f"The delay in {where}",
            )
        plain |= inner
    return plain
