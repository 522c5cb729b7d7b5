"""What a Model refuses: declarations that contradict each other, in the user's own names."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from daedal import disturbances
from daedal.errors import ModelError, nearest, quoted, with_article
from daedal.models.declarations import as_tuple
from daedal.models.parameter_values import evaluate_parameters
from daedal.symbolic import Expression, Latched, find_operator, jet, list_symbols

if TYPE_CHECKING:
    from daedal.models.model import Model


def refuse_contradictions(model: "Model") -> None:
    """Refuse a declaration that contradicts itself."""
    _check_names(model)
    roles = model.names
    _check_equations(model, roles)
    _check_outputs(model, roles)
    for name, parameter in model.parameters.items():
        _check_constant(parameter.value, roles, f"The value of parameter '{name}'")
    for key, noise in model.disturbances.items():
        for value in disturbances.list_formulas(noise):
            _check_constant(value, roles, f"Disturbance {quoted(as_tuple(key))}")
    for part in ("initial", "guess", "history"):
        for name, value in getattr(model, part).items():
            _check_unknown(model, roles, part, name)
            _check_constant(value, roles, f"The {part} value of '{name}'", time=part == "history")
    for name in model.defaults:
        if name not in model.input_names:
            told = f" but {with_article(roles[name])}" if name in roles else ""
            raise ModelError(
                f"A default is given for {quoted(as_tuple(name))}, which is no input{told}.",
                nearest(str(name), model.input_names),
            )
    for name in model.units:
        _check_has_unit(model, roles, name)
    evaluate_parameters(model)


def _check_has_unit(model: "Model", roles: Mapping[str, str], name: str) -> None:
    """Only what varies, and time, have a unit among the units."""
    if name == "time" or name in model.outputs or roles.get(name) in ("unknown", "input", "disturbance"):
        return
    if name in roles:
        raise ModelError(
            f"The unit of parameter '{name}' belongs to its declaration.",
            f"Write Parameter(..., unit={model.units[name]!r}) under parameters.",
        )
    known = [*model.outputs, *(own for own, role in roles.items() if role != "parameter"), "time"]
    raise ModelError(f"Model '{model.name}' has nothing called '{name}' to give a unit.", nearest(str(name), known))


def _check_unknown(model: "Model", roles: Mapping[str, str], part: str, name: str) -> None:
    """Only unknowns and their derivatives have values at the start."""
    base, order = jet(name)
    role = roles.get(base)
    if part == "history" and role == "input" and not order:
        return  # what a delayed input was before its first sample
    if role not in ("unknown", None):
        raise ModelError(
            f"The {part} value of '{name}' cannot be given: '{base}' is {with_article(role)}.", _INSTEAD[role]
        )
    if role is None or (part == "history" and order):
        raise ModelError(f"The {part} value of '{name}' belongs to no unknown.", nearest(name, model.unknown_names))


_INSTEAD = {
    "parameter": "Give its value among the parameters.",
    "input": "Its values come with the data, or with inputs=.",
    "disturbance": "How it starts is part of its noise declaration.",
}


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
        taken = roles.get(name) or ("derivative" if find_operator(name) else "")
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
        _check_accuracy(value, roles, key)


def _check_accuracy(value: Any, roles: Mapping[str, str], key: str | tuple[str, ...]) -> None:
    """Parameters, numbers, and the output itself."""
    for leaf in list_symbols(value.sx) if isinstance(value, Expression) else ():
        if leaf != key and roles.get(leaf) != "parameter":
            if leaf != "time" and not find_operator(leaf):
                _check_declared(leaf, roles, f"The measurement noise of '{key}'")
            what = f"the {roles[leaf]} '{leaf}'" if leaf in roles else leaf
            raise ModelError(
                f"The measurement noise of '{key}' contains {what}, but must be made of parameters and of "
                "the output itself.",
                f"Write 0.05*symbol('{key}'), say.",
            )


def _check_symbols(expression: Expression, roles: Mapping[str, str], where: str) -> set[str]:
    """The plain symbols of an expression, all of which must be declared."""
    plain: set[str] = set()
    for leaf in list_symbols(expression.sx):
        meaning = find_operator(leaf)
        if meaning is None:
            _check_declared(leaf, roles, where)
            plain.add(leaf)
            continue
        inner = _check_symbols(meaning.operand, roles, where)
        if isinstance(meaning, Latched):  # its thresholds may move
            inner = inner.union(*(_check_symbols(threshold, roles, where) for threshold in meaning.amounts))
        if all(roles.get(name) == "parameter" for name in inner):
            raise ModelError(
                f"{where} contains {leaf}, but {quoted(sorted(inner))} {_IS_CONSTANT[len(inner) > 1]} not change.",
                f"Make it an unknown with an equation of its own, or write it without {leaf.split('(')[0]}.",
            )
        if not isinstance(meaning, Latched):
            for amount in meaning.amounts:
                _check_constant(amount, roles, f"The amount of {leaf} in {where[0].lower()}{where[1:]}")
        plain |= inner
    return plain


_IS_CONSTANT = ("is a parameter, which does", "are parameters, which do")


def _check_declared(leaf: str, roles: Mapping[str, str], where: str) -> None:
    if leaf != "time" and leaf not in roles:
        raise ModelError(
            f"{where} contains '{leaf}', which is not declared.",
            f"{nearest(leaf, roles, 'Use one of')} "
            "Otherwise list it among the unknowns, inputs, parameters or disturbances.",
        )


def _check_constant(value: Any, roles: Mapping[str, str], where: str, time: bool = False) -> None:
    """Refuse what is not made of parameters and numbers, and of time where that is allowed."""
    for leaf in list_symbols(value.sx) if isinstance(value, Expression) else ():
        if leaf == "time" and time:
            continue
        if leaf != "time" and not find_operator(leaf):
            _check_declared(leaf, roles, where)
        if roles.get(leaf) != "parameter":
            what = f"the {roles[leaf]} '{leaf}'" if leaf in roles else leaf
            raise ModelError(
                f"{where} contains {what}, but must be constant." if not time else f"{where} contains {what}.",
                f"Use parameters{', time' * time} and numbers only.",
            )
