"""Turn what a user declares into a Model's normal form, and refuse contradictions in the user's own names."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from daedal.disturbances import Noise
from daedal.errors import ModelError, nearest, quoted
from daedal.models.parameter import as_parameter
from daedal.symbolic import (
    NAME,
    RESERVED,
    Delayed,
    Equation,
    Expression,
    as_expression,
    jet,
    operator,
    read_expression,
    symbols_in,
)

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
        "parameters": _by_name(raw, "parameters", _plain_name, as_parameter),
        "disturbances": _by_name(raw, "disturbances", _disturbance_name, _noise),
        "measurement_noise": _by_name(raw, "measurement_noise", key_name, _measurement),
        **{
            part: _by_name(raw, part, _jet_name, lambda value, name, part=part: _start(value, name, part))
            for part in ("initial", "guess", "history")
        },
    }


def _by_name(
    raw: dict[str, Any], field: str, rename: Callable[[Any], Any], convert: Callable[[Any, Any], Any]
) -> dict[Any, Any]:
    """A declared mapping with names as keys; a symbol and its name are the same key."""
    result: dict[Any, Any] = {}
    for key, value in raw[field].items():
        name = rename(key)
        if name in result:
            raise ModelError(f"Under {field}, {quoted(as_tuple(name))} is given twice.", "Keep one of the two.")
        result[name] = convert(value, name)
    return result


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


def _plain_name(key: Any) -> str:
    """The name of a symbol that may be declared: no derivative, no formula."""
    name = key_name(key)
    if not isinstance(name, str) or not NAME.fullmatch(name) or name in RESERVED:
        raise ModelError(
            f"A parameter or disturbance must be a plain symbol, got {quoted(as_tuple(name))}.",
            "Make one with symbol('name').",
        )
    return name


def _disturbance_name(key: Any) -> str | tuple[str, ...]:
    if isinstance(key, tuple) and len(key) != 1:
        return tuple(map(_plain_name, key))
    return _plain_name(key[0] if isinstance(key, tuple) else key)


def _jet_name(key: Any) -> Any:
    """The name of an unknown or of its derivative; a text such as "der(x)" is read."""
    return key_name(read_expression(key) if isinstance(key, str) and "(" in key else key)


def as_tuple(key: str | tuple[str, ...]) -> tuple[str, ...]:
    """The names of a key that is one name or several."""
    return key if isinstance(key, tuple) else (key,)


def _equation_name(key: Any) -> str:
    if not isinstance(key, str) or not key:
        raise ModelError(f"The name of an equation must be a text, got {key!r}.", "Write {'rod': x**2 + y**2 == L**2}.")
    return key


def _equation(name: str, value: Any) -> Equation:
    if isinstance(value, Equation):
        return value
    kind = "an expression" if isinstance(value, Expression) else repr(value)
    raise ModelError(f"Equation '{name}' must be made with '==', got {kind}.", "Write lhs == rhs with symbols in it.")


def _output_name(key: Any) -> str:
    if not isinstance(key, str) or not key:
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


def _noise(value: Any, name: str | tuple[str, ...]) -> Noise:
    if not isinstance(value, Noise):
        raise ModelError(
            f"Disturbance {quoted(as_tuple(name))} must be a noise declaration, got {value!r}.",
            "Use FilteredNoise or WhiteNoise.",
        )
    if value.channels != len(as_tuple(name)):
        raise ModelError(
            f"The declaration of disturbance {quoted(as_tuple(name))} drives {value.channels} "
            f"symbol{'s' * (value.channels > 1)}.",
            "Give a tuple with one symbol per component as the key.",
        )
    return value


def _start(value: Any, name: str, part: str) -> Expression:
    expression = as_expression(value, f"The {part} value of '{name}'")
    if expression.sx.is_constant() and not np.isfinite(float(expression)):
        raise ModelError(f"The {part} value of '{name}' must be finite, got {float(expression)}.", "Give a number.")
    return expression


def _measurement(value: Any, name: str | tuple[str, ...]) -> Any:
    if isinstance(name, tuple):
        return _covariance(value, name)
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim):
        array = _numbers(value)
        if array is None or array.ndim != 1 or not array.size or not np.all((array > 0) & np.isfinite(array)):
            raise ModelError(
                f"The measurement noise of '{name}' must be positive standard deviations, one per sample, "
                f"got {value!r}.",
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


def _covariance(value: Any, names: tuple[str, ...]) -> np.ndarray:
    count = len(names)
    array = _numbers(value)
    if array is None or array.shape != (count, count):
        raise ModelError(
            f"The measurement noise of {quoted(names)} must be a {count}×{count} covariance matrix, got {value!r}.",
            "Give variances on its diagonal, in numbers.",
        )
    if not np.all(np.isfinite(array)) or not np.allclose(array, array.T) or np.linalg.eigvalsh(array)[0] <= 0:
        raise ModelError(
            f"The covariance of the measurement noise of {quoted(names)} must be symmetric and positive definite, "
            f"got {value!r}.",
            "Check its entries.",
        )
    return array


def _numbers(value: Any) -> np.ndarray | None:
    """A read-only array of floats, or None when it is not one."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        return None
    array.flags.writeable = False
    return array


def check(model: "Model") -> None:
    """Refuse a declaration that contradicts itself."""
    _check_names(model)
    roles = model.names
    _check_equations(model, roles)
    _check_outputs(model, roles)
    for name, parameter in model.parameters.items():
        _check_constant(parameter.value, roles, f"The value of parameter '{name}'")
    for key, noise in model.disturbances.items():
        for value in noise.coefficients():
            _check_constant(value, roles, f"Disturbance {quoted(as_tuple(key))}")
    for part in ("initial", "guess", "history"):
        for name, value in getattr(model, part).items():
            if roles.get(jet(name)[0]) != "unknown" or (part == "history" and jet(name)[1]):
                raise ModelError(
                    f"The {part} value of '{name}' belongs to no unknown.", nearest(name, model.unknown_names)
                )
            _check_constant(value, roles, f"The {part} value of '{name}'", time=part == "history")
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


def _check_equations(model: "Model", roles: Mapping[str, str]) -> None:
    for name, equation in model.equations.items():
        used = set()
        for side in (equation.lhs, equation.rhs):
            used |= _check_symbols(side, roles, f"Equation '{name}'")
        if not any(roles.get(base) == "unknown" for base in used):
            raise ModelError(
                f"Equation '{name}', {equation}, contains no unknown.",
                "Remove it, or list the symbol it determines among the unknowns.",
            )


def _check_outputs(model: "Model", roles: Mapping[str, str]) -> None:
    for name, expression in model.outputs.items():
        _check_symbols(expression, roles, f"Output '{name}'")
        taken = roles.get(name) or ("derivative" if operator(name) else "")
        if name == "time" or (taken and not (expression.is_symbol and expression.sx.name() == name)):
            role = taken or "independent variable"
            raise ModelError(
                f"Output '{name}' has the name of the {role} '{name}' but is '{expression}'.", "Rename the output."
            )
    covered: set[str] = set()
    for key, value in model.measurement_noise.items():
        for name in as_tuple(key):
            if name not in model.outputs:
                raise ModelError(
                    f"Measurement noise is given for '{name}', which is not an output.", nearest(name, model.outputs)
                )
            if name in covered:
                raise ModelError(f"The measurement noise of '{name}' is given twice.", "Keep one of the two.")
            covered.add(name)
        _check_constant(value, roles, f"The measurement noise of {quoted(as_tuple(key))}")


def _check_symbols(expression: Expression, roles: Mapping[str, str], where: str) -> set[str]:
    """The plain symbols of an expression, all of which must be declared."""
    plain: set[str] = set()
    for leaf in symbols_in(expression.sx):
        meaning = operator(leaf)
        if meaning is None:
            _check_declared(leaf, roles, where)
            plain.add(leaf)
            continue
        inner = _check_symbols(meaning.operand, roles, where)
        if all(roles.get(name) == "parameter" for name in inner):
            raise ModelError(
                f"{where} contains {leaf}, but {quoted(sorted(inner))} {_IS_CONSTANT[len(inner) > 1]} not change.",
                "Make it an unknown with an equation of its own, or write it without der and delay.",
            )
        if isinstance(meaning, Delayed):
            _check_constant(meaning.amount, roles, f"The amount of {leaf} in {where[0].lower()}{where[1:]}")
        plain |= inner
    return plain


_IS_CONSTANT = ("is a parameter, which does", "are parameters, which do")


def _check_declared(leaf: str, roles: Mapping[str, str], where: str) -> None:
    if leaf != "time" and leaf not in roles:
        raise ModelError(
            f"{where} contains '{leaf}', which is not declared.",
            f"{nearest(leaf, roles)} Otherwise list it among the unknowns, inputs, parameters or disturbances.",
        )


def _check_constant(value: Any, roles: Mapping[str, str], where: str, time: bool = False) -> None:
    """Refuse what is not made of parameters and numbers, and of time where that is allowed."""
    for leaf in symbols_in(value.sx) if isinstance(value, Expression) else ():
        if leaf == "time" and time:
            continue
        if leaf != "time" and not operator(leaf):
            _check_declared(leaf, roles, where)
        if roles.get(leaf) != "parameter":
            what = f"the {roles[leaf]} '{leaf}'" if leaf in roles else leaf
            raise ModelError(
                f"{where} contains {what}, but must be constant." if not time else f"{where} contains {what}.",
                f"Use parameters{', time' * time} and numbers only.",
            )
