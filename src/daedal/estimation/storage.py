"""A Fit in a netCDF file, and back: `save` and `load`.

Numbers with a name are variables, which other tools can read: estimates along the dimension "parameter", matrices along
"parameter" and "other", samples along dimensions of their own. The model is its text form, the rest one JSON text
("description"); nothing in a file is ever executed. A criterion is its name and its fields. One of your own is found
again as "module:name" among the modules that are imported already, never imported because a file says so.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from daedal.data import Dataset, FrozenMapping, Samples, Signal
from daedal.errors import EstimationError
from daedal.estimation.criteria import (
    Criterion,
    Likelihood,
    MeanVariance,
    MeasurementMoments,
    OutputError,
    SimulationPEM,
    check_criterion,
)
from daedal.estimation.problem import Autoregression, Coordinate, Coordinates
from daedal.estimation.result import Estimate, Fit, LocalMinimum
from daedal.models import Model
from daedal.simulation import Lanes, Status

if TYPE_CHECKING:
    import xarray

FORMAT = "daedal fit"
VERSION = 1
CRITERIA = {kind.__name__: kind for kind in (Likelihood, MeanVariance, OutputError, SimulationPEM)}
MATRICES = ("curvature", "cov", "monte_carlo_cov")
COLUMNS = ("value", "std_error", "monte_carlo_error", "start", "lower", "upper")  # of the estimates, as numbers
PLAIN = ("value", "samples", "loglik", "aic", "bic", "notes", "evaluations")  # of a fit, as JSON has them
Variables = dict[str, tuple[tuple[str, ...], Any]]


def save(fit: Fit, path: str | Path) -> None:
    """Write everything in a fit to a file; an existing one is replaced only when the new one is complete."""
    import xarray

    goal = _check_goal(path)
    content = xarray.Dataset(_list_variables(fit), attrs={"format": FORMAT, "version": VERSION})
    part = goal.with_name(f".{goal.name}.{uuid4().hex}")
    try:
        content.to_netcdf(part, engine="h5netcdf")
        part.replace(goal)
    except OSError as error:
        raise EstimationError(
            f"The fit could not be written to '{goal}': {error.strerror or error}.",
            "Save it where files can be written and there is room.",
        ) from None
    finally:
        part.unlink(missing_ok=True)


def load(path: str | Path) -> Fit:
    """The fit that `fit.save(path)` wrote, complete: model, data, estimates, seed and all.

    The module of a criterion of your own must be imported before.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from daedal import Dataset, Model, der, fit, symbols
    >>> x, k = symbols("x k")
    >>> decay = Model(
    ...     name="decay", equations={"rate": der(x) == -k * x}, unknowns=[x], outputs={"x": x}, parameters={k: 2.0},
    ...     initial={x: 1.0},
    ... )
    >>> found = fit(decay, Dataset([0.0, 0.5, 1.0, 1.5], outputs={"x": [1.0, 0.61, 0.36, 0.23]}), free=["k"])
    >>> with TemporaryDirectory() as folder:
    ...     found.save(Path(folder) / "decay.nc")
    ...     load(Path(folder) / "decay.nc").params == found.params
    True
    """
    import xarray

    file = _check_path(path)
    if not file.is_file():
        raise EstimationError(f"There is no file '{file}' to load.", "Give the path that fit.save(path) wrote to.")
    try:
        with xarray.open_dataset(file, engine="h5netcdf", decode_times=False) as content:
            content.load()
    except (OSError, ValueError, KeyError):  # neither HDF5 nor netCDF
        raise _explain_foreign(file) from None
    if content.attrs.get("format") != FORMAT:
        raise _explain_foreign(file)
    if int(content.attrs["version"]) > VERSION:
        raise EstimationError(
            f"'{file}' was written by a newer daedal: its format is {int(content.attrs['version'])}, this one reads up "
            f"to {VERSION}.",
            "Update daedal.",
        )
    try:
        return _make_fit(content)
    except (KeyError, TypeError, IndexError, json.JSONDecodeError) as error:
        raise EstimationError(f"'{file}' is damaged: {error!r}.", "Save the fit again.") from None


def _explain_foreign(file: Path) -> EstimationError:
    return EstimationError(f"'{file}' is not a fit that daedal saved.", "Give a file that fit.save(path) wrote.")


def _check_path(path: Any) -> Path:
    if not isinstance(path, (str, Path)):
        raise EstimationError(f"The path must be text or a Path, got {path!r}.", "Write 'house.nc'.")
    try:
        Path(path).exists()
    except (OSError, ValueError):  # too long, or with a character that no file has in its name
        raise EstimationError(f"The path '{path}' cannot name a file.", "Write 'house.nc'.") from None
    return Path(path)


def _check_goal(path: Any) -> Path:
    goal = _check_path(path)
    if not goal.parent.is_dir():
        raise EstimationError(f"There is no folder '{goal.parent}' to save the fit in.", "Make the folder first.")
    if goal.is_dir():
        raise EstimationError(f"'{goal}' is a folder.", f"Name a file in it: '{goal / 'fit.nc'}'.")
    return goal


def _list_variables(fit: Fit) -> Variables:
    one, two = ("parameter",), ("parameter", "other")
    estimates = list(fit.estimates.values())
    variables: Variables = {
        "model": ((), fit.model.to_text()),
        "description": ((), _write_json(_describe_fit(fit))),
        "parameter": (one, np.array(list(fit.estimates), dtype=object)),
        "point": (one, fit.point),
    }
    variables |= {name: (two, getattr(fit, name)) for name in MATRICES}
    variables |= {name: (one, np.array([getattr(one, name) for one in estimates])) for name in COLUMNS}
    for number, data in enumerate(fit.data):
        for name, array in _list_arrays(data).items():
            key = f"experiment_{number}_{name}"
            variables[key] = ((f"{key}_index",), array)
    return variables


def _list_arrays(data: Dataset) -> dict[str, np.ndarray]:
    """Numbered, because names of signals may hold what names in a file may not."""
    arrays: dict[str, np.ndarray] = {"times": data.times}
    for kind, table in (("input", data.inputs), ("output", data.outputs)):
        for number, signal in enumerate(table.values()):
            arrays |= {f"{kind}_{number}_times": signal.times, f"{kind}_{number}_values": signal.values}
    return arrays


def _describe_fit(fit: Fit) -> dict[str, Any]:
    words = [field.name for field in fields(Estimate) if field.name not in COLUMNS]
    return {name: getattr(fit, name) for name in PLAIN} | {
        "criterion": _describe_criterion(fit.criterion),
        "estimates": [{name: getattr(one, name) for name in words} for one in fit.estimates.values()],
        "coordinates": [asdict(item) for item in fit.coordinates.items],
        "fixed": [dict(one) for one in fit.coordinates.fixed],
        "data": [_describe_data(one) for one in fit.data],
        "fit_percent": dict(fit.fit_percent),
        "scales": dict(fit.scales),
        "filters": {name: [one.coefficients.tolist(), one.variance] for name, one in fit.filters.items()},
        "minima": [{"value": m.value, "params": dict(m.params), "count": m.count} for m in fit.minima],
        "status": asdict(fit.status),
        "seed": str(fit.seed),  # 128 bits: more than other readers of JSON keep
        "solver": None if fit.solver is None else asdict(fit.solver),
    }


def _write_json(content: Any) -> str:
    return json.dumps(content, default=lambda number: number.tolist())


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
    }


def _make_fit(content: "xarray.Dataset") -> Fit:
    told = json.loads(str(content["description"].item()))
    columns = {name: content[name].values.tolist() for name in COLUMNS}
    estimates = [
        Estimate(**words, **{name: column[k] for name, column in columns.items()})
        for k, words in enumerate(told["estimates"])
    ]
    items = tuple(Coordinate(**item) for item in told["coordinates"])
    return Fit(
        model=Model.from_text(str(content["model"].item())),
        data=tuple(_make_dataset(content, number, one) for number, one in enumerate(told["data"])),
        criterion=_make_criterion(told["criterion"]),
        estimates=FrozenMapping({one.name: one for one in estimates}),
        coordinates=Coordinates(items, tuple(told["fixed"])),
        point=content["point"].values,
        **{name: content[name].values for name in MATRICES},
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
    )


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


def _make_minimum(told: Mapping[str, Any]) -> LocalMinimum:
    return LocalMinimum(told["value"], FrozenMapping(told["params"]), told["count"])


def _make_dataset(content: "xarray.Dataset", number: int, told: Mapping[str, Any]) -> Dataset:
    def array(name: str) -> np.ndarray:
        return content[f"experiment_{number}_{name}"].values

    inputs = {
        one["name"]: Signal(array(f"input_{k}_times"), array(f"input_{k}_values"), one["intersample"])
        for k, one in enumerate(told["inputs"])
    }
    outputs = {
        name: Samples(array(f"output_{k}_times"), array(f"output_{k}_values")) for k, name in enumerate(told["outputs"])
    }
    return Dataset(array("times"), inputs, outputs, t0=told["t0"], name=told["name"])
