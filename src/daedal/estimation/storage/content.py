"""What a fit is made of, as named arrays and texts, and back.

Numbers with a name are variables, which other tools can read: estimates along the dimension "parameter", matrices along
"parameter" and "other", samples along dimensions of their own. The model is its text form, the rest one JSON text
("description"); how the fit was made is another ("making"), a project that it was made from a third ("project").
Nothing in a file is ever executed. A criterion is its name and its fields. One of your own is found again as
"module:name" among the modules that are imported already, never imported because a file says so.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass, replace
from hashlib import sha256
from typing import Any, TypeVar

import numpy as np

from daedal.data import Dataset, FrozenMapping, Samples, Signal, write_origin
from daedal.errors import EstimationError
from daedal.estimation.criteria import (
    Criterion,
    MeanVariance,
    MeasurementMoments,
    OutputError,
    SimulationPEM,
    check_criterion,
)
from daedal.estimation.likelihood import Likelihood
from daedal.estimation.problem import Autoregression, Coordinate, Coordinates
from daedal.estimation.result import Attempt, Course, Estimate, Fit, LocalMinimum, Making, ProjectRecord
from daedal.estimation.storage.netcdf import Variable, compute_digests, make_texts
from daedal.models import Model
from daedal.simulation import Lanes, Status
from daedal.symbolic import read_expression

Noun = TypeVar("Noun")
CRITERIA = {kind.__name__: kind for kind in (Likelihood, MeanVariance, OutputError, SimulationPEM)}
MATRICES = ("curvature", "cov", "monte_carlo_cov")
COLUMNS = ("value", "std_error", "monte_carlo_error", "start", "lower", "upper")  # of the estimates, as numbers
PLAIN = ("value", "samples", "loglik", "aic", "bic", "notes", "evaluations")  # of a fit, as JSON has them


def list_variables(fit: Fit) -> dict[str, Variable]:
    """Everything in a fit."""
    one, two = ("parameter",), ("parameter", "other")
    estimates = list(fit.estimates.values())
    variables = {
        "model": Variable((), make_texts([fit.model.to_text()], ())),
        "description": Variable((), make_texts([_write_json(_describe_fit(fit))], ())),
        "parameter": Variable(one, make_texts(list(map(_spell, fit.estimates)), (len(estimates),))),
        "point": _list_numbers(one, fit.point),
    }
    variables |= {name: _list_numbers(two, getattr(fit, name)) for name in MATRICES}
    variables |= {name: _list_numbers(one, [getattr(one, name) for one in estimates]) for name in COLUMNS}
    for number, data in enumerate(fit.data):
        for name, array in _list_arrays(data).items():
            key = f"experiment_{number}_{name}"
            variables[key] = _list_numbers((f"{key}_index",), array)
    if fit.course is not None:
        variables |= _list_course(fit.course)
    if fit.making is not None:
        variables["making"] = Variable((), make_texts([_write_json(asdict(fit.making))], ()))
    if fit.project is not None:  # files without one are as they were before there were projects
        variables["project"] = Variable((), make_texts([_write_json(asdict(fit.project))], ()))
    return variables


def _list_course(course: Course) -> dict[str, Variable]:
    return {
        "course_stages": _list_numbers(("evaluation",), course.stages),
        "course_values": _list_numbers(("evaluation",), course.values),
        "course_params": _list_numbers(("evaluation", "parameter"), course.params),
    }


def identify_fit(fit: Fit) -> dict[str, str]:
    """What a fit was made from, and what it found, each as a text that is the same where that is the same."""
    told = _describe_fit(fit)
    free = {one.name: one.start for one in fit.estimates.values() if one.name in fit.model.parameters}
    model = fit.model.with_parameters(free)
    plain = {name: replace(one, description="") for name, one in model.parameters.items()}
    samples = {name: one for name, one in list_variables(fit).items() if name.startswith("experiment_")}
    data = _write_json([told["data"], sorted(compute_digests(samples).items())])
    return {
        "model": replace(model, parameters=plain).to_text(),
        "data": sha256(data.encode()).hexdigest(),
        "criterion": _write_json(told["criterion"]),
        "free parameters": _write_json([told["coordinates"], told["fixed"]]),
        "solver": _write_json(told["solver"]),
        "estimates": _write_json([fit.params, told["scales"], told["filters"]]),
    }


def _list_numbers(dimensions: tuple[str, ...], values: Any) -> Variable:
    return Variable(dimensions, np.array(values, dtype=float))


def _spell(name: str) -> str:
    """For other tools, whose texts end at a zero; the name itself is in the description."""
    return name.replace("\0", "\\x00").encode(errors="backslashreplace").decode()


def _list_arrays(data: Dataset) -> dict[str, np.ndarray]:
    """Numbered, because names of signals may hold what names in a file may not."""
    arrays: dict[str, np.ndarray] = {"times": data.times}
    for kind, table in (("input", data.inputs), ("output", data.outputs)):
        for number, signal in enumerate(table.values()):
            arrays |= {f"{kind}_{number}_times": signal.times, f"{kind}_{number}_values": signal.values}
    told = {k: samples.noise for k, samples in enumerate(data.outputs.values()) if samples.noise is not None}
    return arrays | {f"output_{k}_noise": noise for k, noise in told.items()}


def _describe_fit(fit: Fit) -> dict[str, Any]:
    words = [field.name for field in fields(Estimate) if field.name not in COLUMNS]
    return {name: getattr(fit, name) for name in PLAIN} | {
        "criterion": _describe_criterion(fit.criterion),
        "estimates": [{name: getattr(one, name) for name in words} for one in fit.estimates.values()],
        "coordinates": [asdict(item) for item in fit.coordinates.items],
        "fixed": fit.coordinates.list_fixed(),
        "data": [_describe_data(one) for one in fit.data],
        "preparation": [one.preparation for one in fit.data],
        "fit_percent": dict(fit.fit_percent),
        "scales": dict(fit.scales),
        "filters": {name: [one.coefficients.tolist(), one.variance] for name, one in fit.filters.items()},
        "minima": [{"value": m.value, "params": dict(m.params), "count": m.count} for m in fit.minima],
        "attempts": [_describe_attempt(one) for one in fit.attempts],
        "status": asdict(fit.status),
        "averaged": fit.averaged,
        "seed": str(fit.seed),  # 128 bits: more than other readers of JSON keep
        "solver": None if fit.solver is None else asdict(fit.solver),
    }


def _describe_attempt(one: Attempt) -> dict[str, Any]:
    return {field.name: getattr(one, field.name) for field in fields(one)} | {
        "start": dict(one.start),
        "params": dict(one.params),
    }


def _write_json(content: Any) -> str:
    return json.dumps(content, default=lambda one: dict(one) if isinstance(one, Mapping) else one.tolist())


def _describe_criterion(criterion: Any) -> dict[str, Any]:
    """Kind and fields; refused where they would not lead back to the same criterion."""
    kind = type(criterion)
    if CRITERIA.get(kind.__name__) is kind:
        return {"kind": kind.__name__, "fields": asdict(criterion)}
    told = {"kind": f"{kind.__module__}:{kind.__qualname__}", "fields": asdict(criterion) if is_dataclass(kind) else {}}
    try:
        same = bool(_make_criterion(json.loads(_write_json(told))) == criterion)
    except (EstimationError, TypeError, ValueError, AttributeError):
        same = False
    if not same:
        raise EstimationError(
            f"A fit by {kind.__name__} cannot be saved: the criterion could not be read back.",
            "Make it a dataclass at the top level of a module, with numbers, texts, True, False or None as fields.",
        )
    return told


def _make_coordinates(items: tuple[Coordinate, ...], told: Sequence[Mapping[str, float | str]]) -> Coordinates:
    """What is fixed at a text is fixed at a formula."""
    fixed = tuple({name: value for name, value in one.items() if not isinstance(value, str)} for one in told)
    texts = [{name: value for name, value in one.items() if isinstance(value, str)} for one in told]
    following = tuple({name: read_expression(value) for name, value in one.items()} for one in texts)
    return Coordinates(items, fixed, following if any(following) else ())


def _make_criterion(told: Mapping[str, Any]) -> Criterion:
    """Of a kind that is there already, from its fields."""
    if told["kind"] in CRITERIA:
        return CRITERIA[told["kind"]](**_read_fields(told["fields"]))
    home, _, name = told["kind"].partition(":")
    kind = vars(sys.modules[home]).get(name) if home in sys.modules else None
    if not (isinstance(kind, type) and is_dataclass(kind) and "objective" in dir(kind)):
        raise EstimationError(
            f"The fit was made by the criterion '{name}' of the module '{home}', which is not there.",
            "Define it here too." if home == "__main__" else f"Write import {home} before load(...).",
        )
    return check_criterion(kind(**told["fields"]))


def _describe_data(data: Dataset) -> dict[str, Any]:
    return {
        "name": data.name,
        "t0": data.t0,
        "inputs": [{"name": name, "intersample": signal.intersample} for name, signal in data.inputs.items()],
        "outputs": list(data.outputs),
        "origin": None if data.origin is None else write_origin(data.origin),
        **({"units": dict(data.units)} if data.units else {}),
    }


def make_fit(variables: Mapping[str, Variable]) -> Fit:
    """The fit that these were listed from."""
    told = json.loads(variables["description"].values.item())
    count = len(told["estimates"])
    point, *matrices = (_read_numbers(variables, name, count) for name in ("point", *MATRICES))
    columns = {name: _read_numbers(variables, name, count).tolist() for name in COLUMNS}
    estimates = [
        Estimate(**words, **{name: column[k] for name, column in columns.items()})
        for k, words in enumerate(told["estimates"])
    ]
    items = tuple(Coordinate(**item) for item in told["coordinates"])
    return Fit(
        model=Model.from_text(variables["model"].values.item()),
        data=_make_datasets(variables, told),
        criterion=_make_criterion(told["criterion"]),
        estimates=FrozenMapping({one.name: one for one in estimates}),
        coordinates=_make_coordinates(items, told["fixed"]),
        point=point,
        **dict(zip(MATRICES, matrices, strict=True)),
        **{name: told[name] for name in PLAIN if name != "notes"},
        notes=tuple(told["notes"]),
        fit_percent=FrozenMapping(told["fit_percent"]),
        scales=FrozenMapping(told["scales"]),
        filters=FrozenMapping(
            {name: Autoregression(np.array(pair[0]), pair[1]) for name, pair in told["filters"].items()}
        ),
        minima=tuple(map(_make_minimum, told["minima"])),
        status=Status(**told["status"]),
        seed=int(told["seed"]),
        solver=None if told["solver"] is None else Lanes(**told["solver"]),
        attempts=tuple(map(_make_attempt, told.get("attempts", ()))),  # files from before they were kept have none
        project=_read_noun(ProjectRecord, variables, "project"),
        making=_read_noun(Making, variables, "making"),
        course=_make_course(variables, count),
        averaged=_make_averaged(told.get("averaged")),
    )


def _make_averaged(told: Sequence[Any] | None) -> tuple[str, int] | None:
    """What was averaged over; files from before it was kept do not tell."""
    if told is None:
        return None
    what, count = told
    return str(what), int(count)


def _make_course(variables: Mapping[str, Variable], count: int) -> Course | None:
    """None of files from before it was kept."""
    if "course_values" not in variables:
        return None
    stages, values, params = (variables[f"course_{name}"].values for name in ("stages", "values", "params"))
    if params.shape != (values.size, count) or stages.shape != values.shape:
        raise ValueError(f"'course_params' has the shape {params.shape} for {count} estimates")
    return Course(stages.astype(int), values, params)


def _read_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a criterion; moments of measurements are a noun of their own."""
    chosen = dict(fields)
    if "measurements" in chosen:
        moments = chosen["measurements"]
        arrays = {name: np.array(moments[name]) for name in ("mean", "covariance", "square_covariance")}
        chosen["measurements"] = MeasurementMoments(
            **arrays, variance_of_squares=moments["variance_of_squares"], repetitions=moments.get("repetitions", 1)
        )
    return chosen


def _read_noun(kind: Callable[..., Noun], variables: Mapping[str, Variable], name: str) -> Noun | None:
    """What a variable holds as JSON; None where the file has no such variable."""
    if name not in variables:
        return None
    told: dict[str, Any] = json.loads(variables[name].values.item())
    tables = {name: FrozenMapping(one) for name, one in told.items() if isinstance(one, dict)}
    return kind(**{**told, **tables})


def _make_minimum(told: Mapping[str, Any]) -> LocalMinimum:
    return LocalMinimum(told["value"], FrozenMapping(told["params"]), told["count"])


def _make_attempt(told: Mapping[str, Any]) -> Attempt:
    return Attempt(**{**told, "start": FrozenMapping(told["start"]), "params": FrozenMapping(told["params"])})


def _read_numbers(variables: Mapping[str, Variable], name: str, count: int) -> np.ndarray:
    """A vector or matrix of as many parameters as there are estimates."""
    dimensions, values = variables[name]
    if values.shape != (count,) * len(dimensions):
        raise ValueError(f"'{name}' has the shape {values.shape} for {count} estimates")
    return values


def _make_datasets(variables: Mapping[str, Variable], told: Mapping[str, Any]) -> tuple[Dataset, ...]:
    """Of all experiments; what was done to them identifies no fit, and older files do not tell it."""
    prepared = told.get("preparation", [()] * len(told["data"]))
    return tuple(
        replace(_make_dataset(variables, number, one), preparation=said)
        for number, (one, said) in enumerate(zip(told["data"], prepared, strict=True))
    )


def _make_dataset(variables: Mapping[str, Variable], number: int, told: Mapping[str, Any]) -> Dataset:
    def array(name: str) -> np.ndarray:
        return variables[f"experiment_{number}_{name}"].values

    def noise(k: int) -> np.ndarray | None:
        told = variables.get(f"experiment_{number}_output_{k}_noise")
        return None if told is None else told.values

    inputs = {
        one["name"]: Signal(array(f"input_{k}_times"), array(f"input_{k}_values"), one["intersample"])
        for k, one in enumerate(told["inputs"])
    }
    outputs = {
        name: Samples(array(f"output_{k}_times"), array(f"output_{k}_values"), noise(k))
        for k, name in enumerate(told["outputs"])
    }
    # Files from before data had an origin and units have none.
    told_since = {"origin": told.get("origin"), "units": told.get("units", {})}
    return Dataset(array("times"), inputs, outputs, t0=told["t0"], name=told["name"], **told_since)
