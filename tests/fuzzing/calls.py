"""A valid call of every public function, class and method: what to call, and its arguments by name."""

import inspect
import operator
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas
import xarray

import daedal as dd
from daedal.library import blocks, electrical, fluid, rotational, thermal, translational

x, u, k, w, s = dd.symbols("x u k w s")
TIMES = np.linspace(0.0, 2.0, 21)
TEXT = 'name = "m"\nunknowns = ["x"]\n[equations]\ne = "der(x) == -k*x"\n[parameters]\nk = 1.0\n'
MODELICA = "model D\n  parameter Real k = 2;\n  Real x(start = 1, fixed = true);\nequation\n  der(x) = -k*x;\nend D;\n"
CSV = "t,u,y\n0,1,2\n1,1,3\n2,0,NA\n"
PROJECT = """title = "p"
[model]
file = "model.toml"
[[data]]
file = "data.csv"
time = "t"
inputs = { u = "u" }
outputs = { y = "y" }
[estimate.free]
k = { start = 1.0, lower = 0.1 }
"""


class Call(NamedTuple):
    """A function, or one that finds it, with valid arguments."""

    function: Callable[[], Callable[..., Any]]
    arguments: Callable[[], dict[str, Any]]


@cache
def make_model() -> dd.Model:
    return dd.Model(
        name="m",
        equations={"rate": dd.der(x) == -k * x + u},
        unknowns=[x],
        inputs=[u],
        outputs={"y": x},
        parameters={k: dd.Parameter(1.0, lower=0.1, upper=10.0)},
        measurement_noise={"y": 0.1},
        initial={x: 1.0},
    )


@cache
def make_noisy_model() -> dd.Model:
    return dd.Model(
        name="n",
        equations={"rate": dd.der(x) == -k * x + w},
        unknowns=[x],
        outputs={"y": x},
        parameters={k: 1.0},
        disturbances={w: dd.FilteredNoise.low_pass(std=1.0, time_constant=1.0)},
        measurement_noise={"y": 0.1},
        initial={x: 1.0},
    )


@cache
def make_bent_model() -> dd.Model:
    """Not linear in its state."""
    return dd.Model(**{**declare(), "equations": {"rate": dd.der(x) == -k * x - 0.2 * x**3 + u + w}})


@cache
def make_data() -> dd.Dataset:
    noise = 0.05 * np.random.default_rng(0).standard_normal(TIMES.size)
    return dd.Dataset(TIMES, {"u": np.sin(3 * TIMES)}, {"y": np.exp(-1.3 * TIMES) + noise})


@cache
def make_fit() -> dd.Fit:
    return dd.fit(make_model(), make_data(), free=["k"])


FOLDER = TemporaryDirectory()  # gone when this process ends


@cache
def make_folder() -> Path:
    folder = Path(FOLDER.name)
    (folder / "data.csv").write_text(CSV)
    (folder / "model.toml").write_text(make_model().to_text())
    (folder / "project.toml").write_text(PROJECT)
    make_fit().save(folder / "fit.nc")
    dd.study(make_quick_fit(), dd.ParametricBootstrap(), runs=2, journal=folder / "runs.study", rng=0)
    return folder


@cache
def make_quick_fit() -> dd.Fit:
    return dd.fit(make_model(), make_data(), free=["k"], solver=dd.Lanes(step=0.1), criterion=dd.OutputError(), rng=0)


@cache
def make_study() -> dd.Study:
    return dd.load(make_folder() / "runs.study")


@cache
def make_search() -> dd.OrderSearch:
    return dd.select_order(make_data(), orders=[1])


@cache
def make_moments() -> dd.MeasurementMoments:
    return dd.MeasurementMoments.from_samples(np.random.default_rng(0).standard_normal((3, 20)))


def make_transfer() -> dd.TransferFunction:
    return dd.TransferFunction([1.0], [1.0, 1.0])


@cache
def make_system() -> dd.System:
    return dd.build(make_model())


@cache
def make_run() -> dd.Trajectory:
    return dd.simulate(make_model(), make_data())


@cache
def make_trajectory() -> dd.Trajectory:
    return dd.simulate(make_noisy_model(), TIMES, realizations=3, rng=0)


@cache
def make_states() -> dd.StateEstimate:
    return dd.estimate_states(make_noisy_model(), make_data())


@cache
def make_comparison() -> dd.Comparison:
    return dd.compare(make_fit(), make_data())


@cache
def make_residuals() -> dd.Residuals:
    return dd.resid(make_fit())


@cache
def make_profile() -> dd.Profile:
    return dd.profile(make_fit(), points=2)


def given(function: Callable[..., Any], make: Callable[[], dict[str, Any]] = dict) -> Call:
    return Call(lambda: function, make)


def of(make: Callable[[], Any], method: str, arguments: Callable[[], dict[str, Any]] = dict) -> Call:
    return Call(lambda: getattr(make(), method), arguments)


def declare() -> dict[str, Any]:
    return {
        "name": "m",
        "equations": {"rate": dd.der(x) == -k * x + u + w},
        "unknowns": [x],
        "inputs": [u],
        "outputs": {"y": x},
        "parameters": {k: 1.0},
        "disturbances": {w: dd.FilteredNoise.low_pass(std=1.0, time_constant=1.0)},
        "measurement_noise": {"y": 0.1},
        "initial": {x: 1.0},
        "guess": {},
        "history": {},
        "defaults": {},
        "units": {},
        "ports": {},
    }


def recorded() -> dict[str, Any]:
    return {"t0": None, "name": "d", "intersample": "foh"}


def sided() -> dict[str, Any]:
    return {"delay": 0.0, "input": "u", "output": "y"}


def describe() -> dict[str, Any]:
    numbers = {"E": [[1.0]], "F": [[1.0]], "G": [[1.0]], "J": [[1.0]], "H": [[1.0]], "f": [0.0]}
    names = {"variables": ["x"], "equations": ["e"], "inputs": ["u"], "outputs": ["y"], "parameters": {}}
    noises = {"disturbances": [dd.WhiteNoise(1.0)], "measurement_noise": {"y": 0.1}}
    return {"name": "d", **numbers, **names, **noises, "initial": {}, "guess": {}}


def moments() -> dict[str, Any]:
    return {"mean": [0.0], "variance": [1.0], "third_raw_moment": [0.0], "fourth_raw_moment": [3.0]}


def sampled() -> dict[str, Any]:
    return {"grid": None, "initial": "stationary", "between": "linear"}


def fitted() -> dict[str, Any]:
    rest = {"local": (), "fixed": None, "criterion": dd.OutputError(), "rng": 0, "solver": None}
    return {"model": make_model(), "data": make_data(), "free": ["k"], **rest}


def predicted() -> dict[str, Any]:
    return {**fitted(), "model": make_noisy_model(), "criterion": dd.Likelihood()}


def studied() -> dict[str, Any]:
    rest = {"journal": None, "workers": None, "rng": 0, "fresh": False, "shard": None}
    return {"fit": make_quick_fit(), "kind": dd.Starts(2), "runs": 2, **rest}  # of which there cannot be many


def bent(method: Any) -> dict[str, Any]:
    criterion = dd.Likelihood(method=method, particles=20, realizations=100)
    return {**fitted(), "model": make_bent_model(), "criterion": criterion}


def simulated() -> dict[str, Any]:
    return {"model": make_model(), "times": TIMES, "inputs": {u: 0.0}, "values": {k: 1.0}, "t0": None, "rng": 0}


OPERATORS = ("add", "sub", "mul", "truediv", "pow", "lt", "le", "gt", "ge", "eq", "ne", "and_", "or_")
FUNCTIONS = ("arctan2", "hypot", "maximum", "minimum", "fmod", "copysign", "heaviside", "logical_and", "logical_or")


def join(function: Callable[..., Any]) -> Callable[..., Any]:
    """An expression and something else, on both sides."""
    return lambda other: (function(x, other), function(other, x))


def list_parts() -> dict[str, Call]:
    """Every component of the library, with the values it has by itself."""
    rooms = (blocks, electrical, fluid, rotational, thermal, translational)
    makers = [
        make for room in rooms for name, make in inspect.getmembers(room, inspect.isfunction) if name[0].isupper()
    ]
    return {
        f"{make.__module__.removeprefix('daedal.library.')}.{make.__name__}": given(
            make, lambda m=make: _list_defaults(m)
        )
        for make in makers
    }


def _list_defaults(make: Callable[..., Any]) -> dict[str, Any]:
    return {name: parameter.default for name, parameter in inspect.signature(make).parameters.items()}


CALLS: dict[str, Call] = {
    # expressions
    "symbol": given(dd.symbol, lambda: {"name": "x"}),
    "symbols": given(dd.symbols, lambda: {"names": "x", "count": 3}),
    "der": given(dd.der, lambda: {"expression": x}),
    "delay": given(dd.delay, lambda: {"expression": x, "amount": 0.1}),
    "hold": given(dd.hold, lambda: {"expression": x, "every": 0.1, "delay": 0.0}),
    "hysteresis": given(dd.hysteresis, lambda: {"expression": x, "low": -1.0, "high": 1.0}),
    "where": given(dd.where, lambda: {"condition": x > 0, "yes": x, "no": 0.0}),
    "Expression": given(dd.Expression, lambda: {"sx": x.sx}),
    "Equation": given(dd.Equation, lambda: {"lhs": x, "rhs": k}),
    **{f"Expression.{name}": given(join(getattr(operator, name)), lambda: {"other": k}) for name in OPERATORS},
    **{f"np.{name}": given(join(getattr(np, name)), lambda: {"other": k}) for name in FUNCTIONS},
    "np.where": given(lambda c, a, b: np.where(c, a, b), lambda: {"c": x > 0, "a": x, "b": 1.0}),
    "np.select": given(lambda c, a, b: np.select([c], [a], b), lambda: {"c": x > 0, "a": x, "b": 1.0}),
    "np.clip": given(lambda a, b: np.clip(x, a, b), lambda: {"a": 0.0, "b": 1.0}),
    "round": given(lambda digits: round(x, digits), lambda: {"digits": 0}),
    "np.sum": given(lambda other: np.sum([x, other]), lambda: {"other": k}),
    "np.dot": given(lambda other: np.dot([x, k], other), lambda: {"other": [1.0, 2.0]}),
    # models
    "Parameter": given(
        dd.Parameter,
        lambda: {
            "value": 1.0,
            "lower": 0.1,
            "upper": 2.0,
            "unit": "m",
            "scale": "log",
            "prior": None,
            "description": "a rod",
        },
    ),
    "Parameter.with_value": of(lambda: dd.Parameter(1.0), "with_value", lambda: {"value": 2.0}),
    "Port": given(dd.Port, lambda: {"domain": "electrical", "potential": x, "flow": u}),
    "Model": given(dd.Model, declare),
    "Model.from_text": given(dd.Model.from_text, lambda: {"text": TEXT}),
    "Model.to_text": of(make_model, "to_text"),
    "Model.with_parameters": of(make_model, "with_parameters", lambda: {"changes": {"k": 2.0}}),
    "Model.with_initial": of(make_model, "with_initial", lambda: {"changes": {"x": 2.0}}),
    "Model.with_defaults": of(make_model, "with_defaults", lambda: {"changes": {"u": 2.0}}),
    "Model.with_guess": of(make_model, "with_guess", lambda: {"changes": {"x": 2.0}}),
    "Model.with_units": of(make_model, "with_units", lambda: {"changes": {"x": "m"}}),
    "Model.with_outputs": of(make_model, "with_outputs", lambda: {"changes": {"z": x}}),
    "Model.with_disturbances": of(make_noisy_model, "with_disturbances", lambda: {"changes": {w: dd.WhiteNoise(1.0)}}),
    "Model.with_measurement_noise": of(make_model, "with_measurement_noise", lambda: {"changes": {"y": 0.2}}),
    "Model.from_descriptor": given(dd.Model.from_descriptor, describe),
    "Model[]": of(make_model, "__getitem__", lambda: {"key": "x"}),
    "Model.with_presampling_filter": of(make_model, "with_presampling_filter", lambda: {"time_constants": {"y": 0.1}}),
    "Model.with_integrating_sampling": of(make_model, "with_integrating_sampling", lambda: {"windows": {"y": 0.1}}),
    "assemble": given(
        dd.assemble,
        lambda: {
            "name": "a",
            "parts": {"supply": electrical.VoltageSource(), "R": electrical.Resistor(), "earth": electrical.Ground()},
            "connections": [("supply.p", "R.p"), ("R.n", "supply.n", "earth.p")],
            "ports": {},
            "inputs": ["supply.v"],
            "outputs": {"current": "R.i"},
            "parameters": {},
            "disturbances": {},
            "measurement_noise": {"current": 0.1},
            "initial": {},
            "guess": {},
            "history": {},
            "defaults": {},
            "units": {},
        },
    ),
    "System.function": of(make_system, "function", lambda: {"name": "constraints"}),
    "System.parameter_vector": of(make_system, "parameter_vector", lambda: {"values": {"k": 2.0}}),
    "System": given(
        lambda model: dd.simulate(dd.build(model), TIMES, inputs={"u": 0.0}), lambda: {"model": make_model()}
    ),
    "read_modelica": given(dd.read_modelica, lambda: {"path_or_text": MODELICA, "model": "D"}),
    "Normal": given(dd.Normal, lambda: {"mean": 1.0, "std": 0.5}),
    "LogNormal": given(dd.LogNormal, lambda: {"median": 1.0, "factor": 2.0}),
    "Uniform": given(dd.Uniform, lambda: {"a": 0.5, "b": 2.0}),
    # noise
    "FilteredNoise": given(dd.FilteredNoise, lambda: {"numerator": [1.0], "denominator": [1.0, 1.0], **sampled()}),
    "FilteredNoise.low_pass": given(
        dd.FilteredNoise.low_pass, lambda: {"std": 1.0, "time_constant": 1.0, "grid": None, "initial": "rest"}
    ),
    "FilteredNoise.resonant": given(
        dd.FilteredNoise.resonant,
        lambda: {"std": 1.0, "frequency": 1.0, "damping": 0.2, "grid": None, "initial": "rest"},
    ),
    "StateSpaceNoise": given(dd.StateSpaceNoise, lambda: {"A": [[-1.0]], "B": [[1.0]], "C": [[1.0]], **sampled()}),
    "WhiteNoise": given(dd.WhiteNoise, lambda: {"intensity": 1.0}),
    "sample_path": given(
        dd.sample_path,
        lambda: {
            "noise": dd.FilteredNoise.low_pass(std=1.0, time_constant=1.0),
            "times": TIMES,
            "rng": 0,
            "values": {},
        },
    ),
    # data
    "Signal": given(dd.Signal, lambda: {"times": TIMES, "values": TIMES, "intersample": "foh"}),
    "Signal()": Call(lambda: dd.Signal(TIMES, TIMES), lambda: {"t": 0.5, "derivative": 0}),
    "Samples": given(dd.Samples, lambda: {"times": TIMES, "values": TIMES, "noise": TIMES + 1.0}),
    "Dataset": given(
        dd.Dataset,
        lambda: {
            "times": TIMES,
            "inputs": {"u": TIMES},
            "outputs": {"y": TIMES},
            "t0": 0.0,
            "name": "d",
            "intersample": {"u": "zoh"},
            "measurement_noise": {"y": 0.1},
            "origin": None,
            "units": {"y": "m"},
            "preparation": ["Two outliers were removed."],
        },
    ),
    "Dataset[]": of(make_data, "__getitem__", lambda: {"name": "y"}),
    "Dataset.detrend": of(make_data, "detrend", lambda: {"signals": None, "order": 0}),
    "Dataset.resample": of(make_data, "resample", lambda: {"step": 0.2}),
    "Dataset.split": of(make_data, "split", lambda: {"fraction": None, "at": 1.0}),
    "Dataset.with_units": of(make_data, "with_units", lambda: {"changes": {"y": "m"}}),
    "Dataset.to_pandas": of(make_data, "to_pandas"),
    "Dataset.to_xarray": of(make_data, "to_xarray"),
    "Dataset.from_pandas": given(
        dd.Dataset.from_pandas,
        lambda: {
            "frame": pandas.DataFrame({"y": TIMES}),
            "outputs": ["y"],
            "inputs": [],
            "time": None,
            "measurement_noise": {},
            **recorded(),
        },
    ),
    "Dataset.from_xarray": given(
        dd.Dataset.from_xarray,
        lambda: {
            "dataset": xarray.Dataset({"y": ("time", TIMES)}, coords={"time": TIMES}),
            "outputs": ["y"],
            "inputs": [],
            "time": "time",
            "measurement_noise": {},
            **recorded(),
        },
    ),
    "read_csv": given(
        dd.read_csv,
        lambda: {
            "path": make_folder() / "data.csv",
            "time": "t",
            "step": None,
            "outputs": ["y"],
            "inputs": {"u": "u"},
            "intersample": "foh",
            "measurement_noise": {},
            "t0": None,
            "name": None,
            "delimiter": ",",
            "decimal": ".",
            "units": {"y": "m"},
        },
    ),
    "read_project": given(dd.read_project, lambda: {"path": make_folder() / "project.toml", "text": None}),
    "Project.with_values": of(
        lambda: dd.read_project(make_folder() / "project.toml"), "with_values", lambda: {"values": {"k": 1.0}}
    ),
    "Project.with_free": of(
        lambda: dd.read_project(make_folder() / "project.toml"), "with_free", lambda: {"names": ["k"]}
    ),
    # analysis
    "analyze": given(dd.analyze, lambda: {"model": make_model()}),
    "build": given(dd.build, lambda: {"model": make_model()}),
    "check_noise": given(dd.check_noise, lambda: {"model": make_noisy_model(), "variables": ["x"]}),
    "descriptor": given(dd.descriptor, lambda: {"model": make_model(), "values": {"k": 1.0}}),
    "Descriptor.transfer": of(lambda: dd.descriptor(make_model()), "transfer", lambda: {"s": 1j}),
    "Descriptor.standard_form": of(lambda: dd.descriptor(make_model()), "standard_form"),
    "linearize": given(dd.linearize, lambda: {"model": make_model(), "at": {"x": 0.0, "u": 0.0}, "values": {"k": 1.0}}),
    "transfer_function": given(
        dd.transfer_function, lambda: {"model": make_model(), "output": "y", "values": {"k": 1.0}}
    ),
    "TransferFunction": given(dd.TransferFunction, lambda: {"numerator": [1.0], "denominator": [1.0, 1.0], **sided()}),
    "TransferFunction.gain": of(make_transfer, "gain", lambda: {"name": "u"}),
    "TransferFunction.zeros": of(make_transfer, "zeros", lambda: {"name": "u"}),
    "TransferFunction.to_model": of(make_transfer, "to_model", lambda: {"initial": "zero", "name": "first"}),
    "Signal.jumps": of(lambda: dd.Signal(TIMES, TIMES), "jumps", lambda: {"derivative": 0}),
    "TransferFunction.response": of(
        lambda: dd.TransferFunction([1.0], [1.0, 1.0]), "response", lambda: {"s": [1.0], "name": "u"}
    ),
    # simulation
    "simulate": given(
        dd.simulate,
        lambda: {**simulated(), "realizations": None, "measurement_noise": False, "variables": None, "solver": None},
    ),
    "ensemble": given(
        dd.ensemble, lambda: {**simulated(), "realizations": 4, "sensitivities": ["k"], "keep": 1, "solver": None}
    ),
    "IDA": given(dd.IDA, lambda: {"rtol": 1e-8, "atol": 1e-10}),
    "Lanes": given(dd.Lanes, lambda: {"method": "auto", "step": None, "tolerance": 1e-6}),
    "Trajectory.to_dataset": of(make_run, "to_dataset", lambda: {"realization": None}),
    "Trajectory.to_dataset of several": of(make_trajectory, "to_dataset", lambda: {"realization": 1}),
    "Trajectory.to_xarray": of(make_run, "to_xarray"),
    "Trajectory[]": of(make_run, "__getitem__", lambda: {"name": "x"}),
    "estimate_states": given(
        dd.estimate_states,
        lambda: {
            "model": make_noisy_model(),
            "data": make_data(),
            "variables": ["x"],
            "kind": "smoothed",
            "horizon": None,
            "times": None,
        },
    ),
    "estimate_states ahead": given(
        dd.estimate_states,
        lambda: {
            "model": make_noisy_model(),
            "data": make_data(),
            "variables": ["x"],
            "kind": "predicted",
            "horizon": 0.3,
            "times": [1.0, 1.5],
        },
    ),
    "estimate_states of a nonlinear model": given(
        dd.estimate_states,
        lambda: {
            "model": make_bent_model(),
            "data": make_data(),
            "variables": ["x"],
            "kind": "filtered",
            "horizon": None,
            "times": None,
        },
    ),
    "StateEstimate[]": of(make_states, "__getitem__", lambda: {"name": "x"}),
    # estimation
    "OutputError": given(dd.OutputError, lambda: {"whiten": False, "segments": 1, "transient": 0.0, "loss": "huber"}),
    "SimulationPEM": given(
        dd.SimulationPEM, lambda: {"realizations": 10, "transient": 0.0, "debias": True, "whiten": False}
    ),
    "Likelihood": given(
        dd.Likelihood,
        lambda: {"initial": "diffuse", "initial_std": None, "method": "auto", "particles": 9, "realizations": 9},
    ),
    "MeanVariance": given(dd.MeanVariance, lambda: {"gamma": 0.5, "measurements": make_moments(), "gradient": None}),
    "MeasurementMoments.mixture": given(
        dd.MeasurementMoments.mixture,
        lambda: {
            "mixing": [[1.0]],
            "mean": [0.0],
            "variance": [1.0],
            "third_raw_moment": [0.0],
            "fourth_raw_moment": None,
        },
    ),
    "MeasurementMoments.independent": given(
        dd.MeasurementMoments.independent,
        moments,
    ),
    "MeasurementMoments": given(
        dd.MeasurementMoments,
        lambda: {
            "mean": np.zeros(2),
            "covariance": np.eye(2),
            "square_covariance": np.zeros(2),
            "variance_of_squares": None,
            "repetitions": 1,
        },
    ),
    "MeasurementMoments.from_samples": given(
        dd.MeasurementMoments.from_samples, lambda: {"array": np.random.default_rng(0).standard_normal((3, 20))}
    ),
    "Grid": given(dd.Grid, lambda: {"points": {"k": 3}}),
    "LatinHypercube": given(dd.LatinHypercube, lambda: {"count": 3}),
    "fit": given(dd.fit, lambda: {**fitted(), "starts": None}),
    "evaluate": given(dd.evaluate, lambda: {**fitted(), "values": {"k": 1.2}}),
    "load": given(dd.load, lambda: {"path": make_folder() / "fit.nc"}),
    "load of a study": given(dd.load, lambda: {"path": make_folder() / "runs.study"}),
    # studies
    "ParametricBootstrap": given(dd.ParametricBootstrap),
    "BlockBootstrap": given(dd.BlockBootstrap, lambda: {"length": 0.3}),
    "MonteCarlo": given(dd.MonteCarlo, lambda: {"truth": make_model()}),
    "LeaveOut": given(dd.LeaveOut, lambda: {"count": 1}),
    "Starts": given(dd.Starts, lambda: {"count": 3}),
    "Scan": given(dd.Scan, lambda: {"values": {"k": [1.0, 2.0]}}),
    "study": given(dd.study, studied),
    "merge": given(dd.merge, lambda: {"journals": [make_folder() / "runs.study"], "journal": None}),
    "Study.conf_int": of(make_study, "conf_int", lambda: {"level": 0.9, "method": "bca"}),
    "Study.to_pandas": of(make_study, "to_pandas"),
    "Study[]": of(make_study, "__getitem__", lambda: {"name": "k"}),
    "Fit.save": of(make_fit, "save", lambda: {"path": make_folder() / "again.nc"}),
    "Fit.conf_int": of(make_fit, "conf_int", lambda: {"level": 0.9}),
    "Fit.quantile": of(make_fit, "quantile", lambda: {"level": 0.9, "name": "k"}),
    "Fit.values": of(make_fit, "values", lambda: {"experiment": 0}),
    "Fit.summary": of(make_fit, "summary"),
    "Fit[]": of(make_fit, "__getitem__", lambda: {"name": "k"}),
    "evaluate by Likelihood": given(dd.evaluate, lambda: {**predicted(), "values": {"k": 1.2}}),
    "evaluate by SimulationPEM": given(
        dd.evaluate, lambda: {**predicted(), "criterion": dd.SimulationPEM(realizations=4), "values": {"k": 1.2}}
    ),
    **{
        f"evaluate by Likelihood {method}": given(
            dd.evaluate, lambda method=method: {**bent(method), "values": {"k": 1.2}}
        )
        for method in ("laplace", "moments", "particle")
    },
    "fit by Likelihood of a nonlinear model": given(dd.fit, lambda: {**bent("laplace"), "starts": None}),
    "compare of a nonlinear model": given(
        dd.compare,
        lambda: {"fit": make_bent_model(), "data": make_data(), "horizon": None, "uncertainty": False, "rng": 0},
    ),
    # validation and order
    "compare": given(
        dd.compare, lambda: {"fit": make_fit(), "data": make_data(), "horizon": None, "uncertainty": False, "rng": 0}
    ),
    "compare of a likelihood": given(
        dd.compare,
        lambda: {"fit": make_noisy_model(), "data": make_data(), "horizon": [1, 2], "uncertainty": True, "rng": 0},
    ),
    "resid": given(dd.resid, lambda: {"fit": make_fit(), "data": make_data()}),
    "profile": given(dd.profile, lambda: {"fit": make_fit(), "names": ["k"], "level": 0.9, "points": 3}),
    "identifiability": given(dd.identifiability, lambda: {"fit": make_fit()}),
    "Comparison[]": of(make_comparison, "__getitem__", lambda: {"key": "y"}),
    "Residuals[]": of(make_residuals, "__getitem__", lambda: {"name": "y"}),
    "Profile[]": of(make_profile, "__getitem__", lambda: {"name": "k"}),
    "Identifiability[]": of(lambda: dd.identifiability(make_fit()), "__getitem__", lambda: {"name": "k"}),
    "OrderSearch[]": of(make_search, "__getitem__", lambda: {"key": 1}),
    "select_order": given(
        dd.select_order,
        lambda: {
            "data": make_data(),
            "orders": [1],
            "input_orders": None,
            "method": None,
            "output": "y",
            "inputs": ["u"],
            "initial": "free",
            "stable": True,
        },
    ),
    "RefinedIV": given(dd.RefinedIV, lambda: {"delay": 0.0, "largest_delay": None, "noise": False}),
    "SparseSplines": given(dd.SparseSplines, lambda: {"terms": None, "knots": None, "weight": None}),
    "plot": given(dd.plot, lambda: {"result": make_data(), "names": ["y"], "picture": "signals", "backend": "plotly"}),
    "explore": given(dd.explore, lambda: {"model": make_model(), "data": make_data(), "free": ["k"]}),
    "write_report": given(
        dd.write_report,
        lambda: {
            "result": make_comparison(),
            "path": make_folder() / "report.html",
            "validation": None,
            "notes": "*short*",
            "profile": (),
            "states": (),
            "compare_with": (),
        },
    ),
    "plot of a comparison": given(
        dd.plot, lambda: {"result": make_comparison(), "names": ["y"], "picture": "comparison", "backend": "plotly"}
    ),
    "plot of a profile": given(
        dd.plot, lambda: {"result": make_profile(), "names": ["k"], "picture": "profiles", "backend": "plotly"}
    ),
    "plot of states": given(
        dd.plot, lambda: {"result": make_states(), "names": ["x"], "picture": "signals", "backend": "plotly"}
    ),
    "plot of several": given(
        dd.plot,
        lambda: {"result": [make_trajectory(), make_data()], "names": ["y"], "picture": "signals", "backend": "plotly"},
    ),
    **list_parts(),
}
# What only daedal makes: users read it, and its methods are above.
RESULTS = {
    "Candidate", "Comparison", "Cost", "DaedalError", "DaedalWarning", "Descriptor", "Ensemble", "Equation", "Estimate",
    "Expression", "OrderSearches",
    "Fit", "Identifiability", "OrderSearch", "Profile", "Project", "Residuals", "StateEstimate", "Structure", "System",
    "Trajectory", "WellPosedness", "time", "MeasurementMoments", "Study",
}  # fmt: skip
