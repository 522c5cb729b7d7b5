"""A Fit in a netCDF file, and back: `save` and `load`.

Numbers with a name are variables, which other tools can read: estimates along the dimension "parameter", matrices along
"parameter" and "other", samples along dimensions of their own. The model is its text form, the rest one JSON text
("description"); nothing in a file is ever executed.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from daedal.data import Dataset, FrozenMapping, Samples, Signal
from daedal.errors import EstimationError
from daedal.estimation.criteria import Likelihood, MeanVariance, MeasurementMoments, OutputError, SimulationPEM
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

    goal = _checked_goal(path)
    content = xarray.Dataset(_variables(fit), attrs={"format": FORMAT, "version": VERSION})
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

    file = _checked_path(path)
    if not file.is_file():
        raise EstimationError(f"There is no file '{file}' to load.", "Give the path that fit.save(path) wrote to.")
    try:
        with xarray.open_dataset(file, engine="h5netcdf", decode_times=False) as content:
            content.load()
    except (OSError, ValueError, KeyError):  # neither HDF5 nor netCDF
        raise _foreign(file) from None
    if content.attrs.get("format") != FORMAT:
        raise _foreign(file)
    if int(content.attrs["version"]) > VERSION:
        raise EstimationError(
            f"'{file}' was written by a newer daedal: its format is {int(content.attrs['version'])}, this one reads up "
            f"to {VERSION}.",
            "Update daedal.",
        )
    try:
        return _fit(content)
    except (KeyError, TypeError, IndexError, json.JSONDecodeError) as error:
        raise EstimationError(f"'{file}' is damaged: {error!r}.", "Save the fit again.") from None


def _foreign(file: Path) -> EstimationError:
    return EstimationError(f"'{file}' is not a fit that daedal saved.", "Give a file that fit.save(path) wrote.")


def _checked_path(path: Any) -> Path:
    if not isinstance(path, (str, Path)):
        raise EstimationError(f"The path must be text or a Path, got {path!r}.", "Write 'house.nc'.")
    return Path(path)


def _checked_goal(path: Any) -> Path:
    goal = _checked_path(path)
    if not goal.parent.is_dir():
        raise EstimationError(f"There is no folder '{goal.parent}' to save the fit in.", "Make the folder first.")
    if goal.is_dir():
        raise EstimationError(f"'{goal}' is a folder.", f"Name a file in it: '{goal / 'fit.nc'}'.")
    return goal


def _variables(fit: Fit) -> Variables:
    one, two = ("parameter",), ("parameter", "other")
    estimates = list(fit.estimates.values())
    variables: Variables = {
        "model": ((), fit.model.to_text()),
        "description": ((), json.dumps(_description(fit), default=lambda number: number.tolist())),
        "parameter": (one, np.array(list(fit.estimates), dtype=object)),
        "point": (one, fit.point),
    }
    variables |= {name: (two, getattr(fit, name)) for name in MATRICES}
    variables |= {name: (one, np.array([getattr(each, name) for each in estimates])) for name in COLUMNS}
    for number, data in enumerate(fit.data):
        for name, array in _arrays(data).items():
            key = f"experiment_{number}_{name}"
            variables[key] = ((f"{key}_index",), array)
    return variables


def _arrays(data: Dataset) -> dict[str, np.ndarray]:
    """Numbered, because names of signals may hold what names in a file may not."""
    arrays: dict[str, np.ndarray] = {"times": data.times}
    for kind, table in (("input", data.inputs), ("output", data.outputs)):
        for number, each in enumerate(table.values()):
            arrays |= {f"{kind}_{number}_times": each.times, f"{kind}_{number}_values": each.values}
    return arrays


def _description(fit: Fit) -> dict[str, Any]:
    kind = type(fit.criterion).__name__
    if CRITERIA.get(kind) is not type(fit.criterion):
        raise EstimationError(
            f"A fit by {kind} cannot be saved: only daedal's own criteria can be read back.",
            f"These are {', '.join(CRITERIA)}.",
        )
    words = [field.name for field in fields(Estimate) if field.name not in COLUMNS]
    return {name: getattr(fit, name) for name in PLAIN} | {
        "criterion": {"kind": kind, "fields": asdict(fit.criterion)},
        "estimates": [{name: getattr(each, name) for name in words} for each in fit.estimates.values()],
        "coordinates": [asdict(item) for item in fit.coordinates.items],
        "fixed": [dict(one) for one in fit.coordinates.fixed],
        "data": [_data_description(each) for each in fit.data],
        "fit_percent": dict(fit.fit_percent),
        "scales": dict(fit.scales),
        "filters": {name: [one.coefficients.tolist(), one.variance] for name, one in fit.filters.items()},
        "minima": [{"value": m.value, "params": dict(m.params), "count": m.count} for m in fit.minima],
        "status": asdict(fit.status),
        "seed": str(fit.seed),  # 128 bits: more than other readers of JSON keep
        "solver": None if fit.solver is None else asdict(fit.solver),
    }


def _data_description(data: Dataset) -> dict[str, Any]:
    return {
        "name": data.name,
        "t0": data.t0,
        "inputs": [{"name": name, "intersample": signal.intersample} for name, signal in data.inputs.items()],
        "outputs": list(data.outputs),
    }


def _fit(content: "xarray.Dataset") -> Fit:
    told = json.loads(str(content["description"].item()))
    columns = {name: content[name].values.tolist() for name in COLUMNS}
    estimates = [
        Estimate(**words, **{name: column[k] for name, column in columns.items()})
        for k, words in enumerate(told["estimates"])
    ]
    items = tuple(Coordinate(**item) for item in told["coordinates"])
    criterion = told["criterion"]
    return Fit(
        model=Model.from_text(str(content["model"].item())),
        data=tuple(_dataset(content, number, each) for number, each in enumerate(told["data"])),
        criterion=CRITERIA[criterion["kind"]](**_choices(criterion["fields"])),
        estimates=FrozenMapping({each.name: each for each in estimates}),
        coordinates=Coordinates(items, tuple(told["fixed"])),
        point=content["point"].values,
        **{name: content[name].values for name in MATRICES},
        **{name: told[name] for name in PLAIN if name != "notes"},
        notes=tuple(told["notes"]),
        fit_percent=FrozenMapping(told["fit_percent"]),
        scales=FrozenMapping(told["scales"]),
        filters=FrozenMapping(
            {name: Autoregression(np.array(each[0]), each[1]) for name, each in told["filters"].items()}
        ),
        minima=tuple(_minimum(each) for each in told["minima"]),
        status=Status(**told["status"]),
        seed=int(told["seed"]),
        solver=None if told["solver"] is None else Lanes(**told["solver"]),
    )


def _choices(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a criterion; moments of measurements are a noun of their own."""
    chosen = dict(fields)
    if "measurements" in chosen:
        moments = chosen["measurements"]
        arrays = {name: np.array(moments[name]) for name in ("mean", "covariance", "square_covariance")}
        chosen["measurements"] = MeasurementMoments(
            **arrays, variance_of_squares=moments["variance_of_squares"], repetitions=moments.get("repetitions", 1)
        )
    return chosen


def _minimum(told: Mapping[str, Any]) -> LocalMinimum:
    return LocalMinimum(told["value"], FrozenMapping(told["params"]), told["count"])


def _dataset(content: "xarray.Dataset", number: int, told: Mapping[str, Any]) -> Dataset:
    def array(name: str) -> np.ndarray:
        return content[f"experiment_{number}_{name}"].values

    inputs = {
        each["name"]: Signal(array(f"input_{k}_times"), array(f"input_{k}_values"), each["intersample"])
        for k, each in enumerate(told["inputs"])
    }
    outputs = {
        name: Samples(array(f"output_{k}_times"), array(f"output_{k}_values")) for k, name in enumerate(told["outputs"])
    }
    return Dataset(array("times"), inputs, outputs, t0=told["t0"], name=told["name"])
