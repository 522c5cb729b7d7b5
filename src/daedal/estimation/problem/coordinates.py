"""The free parameters of a fit: a vector for the optimiser, values by name for each experiment.

The optimiser moves φ, which is θ itself or, on a log scale, log θ. A parameter is shared by all experiments or local:
then each experiment has its own, called "Te0[night]" after the experiment. What is fixed in an experiment is a number
there, or follows free parameters by a formula: slopes by it then count for those that it follows.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

import casadi as ca
import numpy as np

from daedal.data import Dataset
from daedal.errors import EstimationError, counted, list_entries, nearest, quoted, show
from daedal.models import (
    Model,
    Parameter,
    ParameterFormulas,
    as_name,
    as_parameter,
    evaluate_parameters,
    find_followers,
)
from daedal.symbolic import Expression, list_symbols, stack_symbols


@dataclass(frozen=True)
class Coordinate:
    """One number to estimate: a parameter of the model, in all experiments (None) or in one of them."""

    name: str
    parameter: str
    experiment: int | None
    start: float
    lower: float
    upper: float
    scale: str
    unit: str

    @property
    def logarithmic(self) -> bool:
        """Whether the optimiser moves the logarithm."""
        return self.scale == "log"


@dataclass(frozen=True, eq=False)
class Coordinates:
    """All free numbers, and in each experiment what is fixed at a number, or at a formula of free parameters."""

    items: tuple[Coordinate, ...]
    fixed: tuple[Mapping[str, float], ...]
    following: tuple[Mapping[str, Expression], ...] = ()  # one for each experiment, or none at all

    @property
    def names(self) -> tuple[str, ...]:
        """What tables call them."""
        return tuple(item.name for item in self.items)

    @cached_property
    def free(self) -> tuple[str, ...]:
        """The free parameters of the model, each once."""
        return tuple(dict.fromkeys(item.parameter for item in self.items))

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Those, and what follows them in some experiment: slopes are needed by all of these."""
        return tuple(dict.fromkeys((*self.free, *(name for one in self.following for name in one))))

    def find_following(self, name: str) -> set[str]:
        """What follows a free parameter in some experiment."""
        return {one for own in self.following for one, formula in own.items() if name in list_symbols(formula.sx)}

    def list_fixed(self) -> list[dict[str, float | str]]:
        """What is fixed in each experiment, formulas as text."""
        texts = [{name: str(formula) for name, formula in one.items()} for one in self.following]
        return [{**one, **two} for one, two in zip(self.fixed, texts or [{}] * len(self.fixed), strict=True)]

    @cached_property
    def _formulas(self) -> tuple[ParameterFormulas, ...]:
        return tuple(ParameterFormulas(one, self.free) for one in self.following)

    @cached_property
    def logarithmic(self) -> np.ndarray:
        """Of which the optimiser moves the logarithm, (coordinate,)."""
        return np.array([item.logarithmic for item in self.items], dtype=bool)

    def natural(self, point: np.ndarray) -> np.ndarray:
        """θ of φ, kept inside the bounds, which exp(log(bound)) may miss by rounding."""
        with np.errstate(over="ignore"):  # a step too far, which ends at a bound or in a failure
            theta = np.where(self.logarithmic, np.exp(np.where(self.logarithmic, point, 0.0)), point)
        return np.clip(theta, *self._limits)

    @cached_property
    def _limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds of θ."""
        return np.array([item.lower for item in self.items]), np.array([item.upper for item in self.items])

    def internal(self, theta: Sequence[float] | np.ndarray) -> np.ndarray:
        """φ of θ."""
        given = np.asarray(theta, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.logarithmic, np.log(np.where(self.logarithmic, given, 1.0)), given)

    def rates(self, point: np.ndarray) -> np.ndarray:
        """dθ/dφ."""
        return np.where(self.logarithmic, self.natural(point), 1.0)

    @property
    def start(self) -> np.ndarray:
        """φ to start from."""
        return self.internal([item.start for item in self.items])

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds of φ."""
        lower = [max(item.lower, 0.0) if item.logarithmic else item.lower for item in self.items]
        return self.internal(lower), self.internal([item.upper for item in self.items])

    def values(self, point: np.ndarray, experiment: int) -> dict[str, float]:
        """Parameter → number in one experiment: what is fixed there, and what is free."""
        theta = self.natural(point)
        mine = {self.items[i].parameter: float(theta[i]) for i in self.find_own(experiment)}
        if self.following:
            formulas = self._formulas[experiment]
            mine |= zip(formulas.expressions, formulas.evaluate(_read(mine, self.free)).tolist(), strict=True)
        return {**self.fixed[experiment], **mine}

    def find_own(self, experiment: int) -> list[int]:
        """The numbers of the coordinates that are shared, or belong to this experiment."""
        return sorted((*self._numbers.get(None, ()), *self._numbers.get(experiment, ())))

    @cached_property
    def _numbers(self) -> dict[int | None, list[int]]:
        """Experiment, or None for all of them → numbers of its coordinates."""
        numbers: dict[int | None, list[int]] = {}
        for number, item in enumerate(self.items):
            numbers.setdefault(item.experiment, []).append(number)
        return numbers

    def convert_slopes(self, slopes: np.ndarray, point: np.ndarray, experiment: int) -> np.ndarray:
        """Slopes by parameter in one experiment as slopes by coordinate, along the first axis."""
        own = self.find_own(experiment)
        if self.following and self.following[experiment]:
            slopes = self._follow(slopes, point, experiment)
        converted = np.zeros((len(self.items), *slopes.shape[1:]))
        places = [self.parameters.index(self.items[i].parameter) for i in own]
        converted[own] = slopes[places] * self.rates(point)[own].reshape(-1, *[1] * (slopes.ndim - 1))
        return converted

    def _follow(self, slopes: np.ndarray, point: np.ndarray, experiment: int) -> np.ndarray:
        """Slopes by the free parameters, with those by what follows them in this experiment."""
        formulas = self._formulas[experiment]
        rates = formulas.differentiate(_read(self.values(point, experiment), self.free))  # (formula, free)
        places = [self.parameters.index(name) for name in formulas.expressions]
        return slopes[: len(self.free)] + np.tensordot(rates.T, slopes[places], 1)

    def hold(self, names: Iterable[str], point: np.ndarray) -> "Coordinates":
        """Without these coordinates, which keep the values they have at the point."""
        held = set(names)
        theta = self.natural(point)
        fixed = [dict(one) for one in self.fixed]
        for item, value in zip(self.items, theta, strict=True):
            if item.name in held:
                for number in range(len(fixed)) if item.experiment is None else (item.experiment,):
                    fixed[number][item.parameter] = float(value)
        rest = tuple(
            replace(item, start=float(value))
            for item, value in zip(self.items, theta, strict=True)
            if item.name not in held
        )
        following = []
        for number, one in enumerate(self.following):
            left = {item.parameter for item in rest if item.experiment in (None, number)}
            values = self.values(point, number)
            settled = {name: e for name, e in one.items() if not left & set(list_symbols(e.sx))}
            fixed[number] |= {name: values[name] for name in settled}
            following.append({name: _replace(e, fixed[number]) for name, e in one.items() if name not in settled})
        return Coordinates(rest, tuple(fixed), tuple(following) if any(following) else ())


def _read(values: Mapping[str, float], names: Sequence[str]) -> np.ndarray:
    return np.array([values.get(name, np.nan) for name in names])


def _replace(expression: Expression, values: Mapping[str, float | Expression]) -> Expression:
    """An expression with numbers or formulas in place of some of its symbols."""
    entries = [value.sx if isinstance(value, Expression) else ca.SX(value) for value in values.values()]
    return Expression(ca.substitute(expression.sx, stack_symbols(values), ca.vertcat(*entries)))


def declare_free(model: Model, free: Any, local: Any) -> Model:
    """The model with the starts, bounds and scales that `free` and `local` give as mappings."""
    given = {**_read_declared(model, free, "free"), **_read_declared(model, local, "local")}
    changed = {name: _keep_words(model, name, one) for name, one in given.items() if one is not None}
    return model.with_parameters(changed) if changed else model


def _keep_words(model: Model, name: str, parameter: Parameter) -> Parameter:
    """A new declaration that says nothing of unit or description keeps the model's."""
    known = model.parameters[name]
    return replace(parameter, unit=parameter.unit or known.unit, description=parameter.description or known.description)


def make_coordinates(model: Model, data: Sequence[Dataset], free: Any, local: Any, fixed: Any) -> Coordinates:
    """Check what is free, local and fixed against the (freed) model, and line it up."""
    shared, own = _read_declared(model, free, "free"), _read_declared(model, local, "local")
    given = _read_fixed(model, fixed, len(data))
    held = [_evaluate_fixed(model, one) for one in given]
    if not shared and not own:
        raise EstimationError("Nothing is free, so there is nothing to estimate.", f"Write free=[{_name_some(model)}].")
    if twice := [name for name in shared if name in own]:
        raise EstimationError(f"{quoted(twice)} cannot be both free and local.", "List it once.")
    for option, names in (("free", shared), ("local", own)):
        both = [name for name in names if any(name in one for one in held)]
        if both:
            raise EstimationError(
                f"{quoted(both)} cannot be both {option} and fixed.", "Remove it from one of the two."
            )
    _refuse_followers(model, (*shared, *own), held)
    labels = label_experiments(data)
    items = [_make_coordinate(model, name, name, None, held[0]) for name in shared]
    for number, label in enumerate(labels):
        items += [_make_coordinate(model, f"{name}[{label}]", name, number, held[number]) for name in own]
    following = tuple(_find_following(model, one, {*shared, *own}) for one in given)
    if not any(following):
        return Coordinates(tuple(items), tuple(held))
    constant = [
        {name: value for name, value in one.items() if name not in two}
        for one, two in zip(held, following, strict=True)
    ]
    return Coordinates(tuple(items), tuple(constant), following)


def _evaluate_fixed(model: Model, fixed: Mapping[str, Any]) -> dict[str, float]:
    resolved = evaluate_parameters(model, fixed)
    return {name: resolved[name] for name in fixed}


def _find_following(model: Model, fixed: Mapping[str, Any], free: Collection[str]) -> dict[str, Expression]:
    """What is fixed at a formula that free parameters are in, with nothing else left in it."""
    values = {name: parameter.value for name, parameter in model.parameters.items()}
    values |= {name: as_parameter(value, name).value for name, value in fixed.items()}
    values = {name: value for name, value in values.items() if name not in free}
    following = {}
    for name in fixed:
        formula = values[name]
        while isinstance(formula, Expression) and (known := values.keys() & set(list_symbols(formula.sx))):
            formula = _replace(formula, {one: values[one] for one in known})
        if isinstance(formula, Expression) and not formula.sx.is_constant():
            following[name] = formula
    return following


def _refuse_followers(model: Model, free: Sequence[str], held: Sequence[Mapping[str, float]]) -> None:
    """A prior of what follows a free parameter by its formula would be passed over."""
    for name in free:
        for follower in sorted(find_followers(model, name) - {*free}):
            parameter = model.parameters[follower]
            if parameter.prior is not None and not all(follower in one for one in held):
                raise EstimationError(
                    f"'{follower}' has the prior {parameter.prior}, but it is not free: its value is the formula "
                    f"{parameter.value}, which follows '{name}'.",
                    f"Give '{name}' a prior instead, or free '{follower}'.",
                )


def label_experiments(data: Sequence[Dataset]) -> list[str]:
    """What each experiment is called: its name, or its number where names repeat; all are numbers if one is a name."""
    count = Counter(one.name for one in data)
    numbers = [str(number) for number in range(1, len(data) + 1)]
    labels = [one.name if count[one.name] == 1 else number for one, number in zip(data, numbers, strict=True)]
    return labels if len(set(labels)) == len(labels) else numbers


def _read_declared(model: Model, given: Any, option: str) -> dict[str, Parameter | None]:
    """Name → the Parameter given for it, or None to take the model's."""
    if given is None:
        return {}
    if (listed := list_entries(given)) is None:
        raise EstimationError(
            f"{option} must be a list of parameters, or a mapping to Parameter, got {show(given)}.",
            f"Write {option}=[{_name_some(model, given)}].",
        )
    names = [as_name(key) for key in listed]
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        raise EstimationError(f"{option} lists {quoted(repeated)} twice.", "List every parameter once.")
    for name in names:
        if name not in model.parameters:
            raise _explain_no_parameter(model, name, option)
    if not isinstance(given, Mapping):
        return dict.fromkeys(names)
    return {name: _read_parameter(model, name, given[key]) for name, key in zip(names, listed, strict=True)}


def _read_parameter(model: Model, name: str, value: Any) -> Parameter:
    """A Parameter as it is; a number is another start and keeps the bounds."""
    parameter = as_parameter(value, name)
    return parameter if isinstance(value, Parameter) else model.parameters[name].with_value(parameter.value)


def _explain_no_parameter(model: Model, name: str, option: str) -> EstimationError:
    role = model.names.get(name, "output" if name in model.outputs else None)
    if role is None:
        return EstimationError(
            f"Model '{model.name}' has no parameter '{name}' to make {option}.", nearest(str(name), model.parameters)
        )
    remedies = {
        "unknown": f"To estimate where it starts, hold it at a parameter: initial={{{name}: {name}0}}.",
        "disturbance": "Free the parameters in its declaration instead.",
        "input": "Its values come from the data.",
        "output": "Free the parameters in its expression or in its measurement noise.",
    }
    article = "a" if role == "disturbance" else "an"
    return EstimationError(
        f"'{name}' cannot be {option}: it is {article} {role} of model '{model.name}', not a parameter.", remedies[role]
    )


def _name_some(model: Model, given: Any = None) -> str:
    """The parameter that was given without its brackets, or the first two of the model."""
    if isinstance(given, (str, Expression)) and as_name(given) in model.parameters:
        return repr(as_name(given))
    return ", ".join(repr(name) for name in list(model.parameters)[:2])


def _read_fixed(model: Model, fixed: Any, experiments: int) -> list[dict[str, Any]]:
    """One mapping for each experiment, to numbers or formulas."""
    if fixed is None:
        return [{} for _ in range(experiments)]
    if isinstance(fixed, Mapping):
        listed = [fixed] * experiments
    elif isinstance(fixed, Sequence) and not isinstance(fixed, str) and all(isinstance(one, Mapping) for one in fixed):
        listed = list(fixed)
    else:
        raise EstimationError(
            f"fixed must be a mapping name → number, or a list of them, one per experiment, got {show(fixed)}.",
            f"Write fixed={{{next(iter(model.parameters), 'm')!r}: 0.3}}.",
        )
    if len(listed) != experiments:
        raise EstimationError(
            f"fixed has {counted(len(listed), 'mapping')} for {counted(experiments, 'experiment')}.",
            "Give one for each experiment.",
        )
    result = []
    for one in listed:
        numbers = {as_name(key): value for key, value in one.items()}
        for name in numbers:
            if name not in model.parameters:
                raise EstimationError(
                    f"Model '{model.name}' has no parameter '{name}' to fix.", nearest(str(name), model.parameters)
                )
        result.append(numbers)
    return result


def _make_coordinate(
    model: Model, label: str, name: str, experiment: int | None, fixed: Mapping[str, float]
) -> Coordinate:
    parameter = model.parameters[name]
    start = evaluate_parameters(model, fixed)[name]  # refuses a start outside its bounds
    low, high = (-inf, inf) if parameter.prior is None else parameter.prior.support
    lower = max(parameter.lower, low, 0.0) if parameter.scale == "log" else max(parameter.lower, low)
    upper = min(parameter.upper, high)
    return Coordinate(label, name, experiment, start, lower, upper, parameter.scale, parameter.unit)


def has_finite_bounds(item: Coordinate) -> bool:
    """Whether starts can be spread between the bounds."""
    low = item.lower > (0.0 if item.logarithmic else -inf)
    return low and item.upper < inf
