"""A valid call of every public function, class and method: what to call, and its arguments by name."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

import numpy as np
import pandas
import xarray

import daedal as dd

x, u, k, w, s = dd.symbols("x u k w s")
TIMES = np.linspace(0.0, 2.0, 21)
TEXT = 'name = "m"\nunknowns = ["x"]\n[equations]\ne = "der(x) == -k*x"\n[parameters]\nk = 1.0\n'
MODELICA = "model D\n  parameter Real k = 2;\n  Real x(start = 1, fixed = true);\nequation\n  der(x) = -k*x;\nend D;\n"
CSV = "t,u,y\n0,1,2\n1,1,3\n2,0,NA\n"


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
def make_data() -> dd.Dataset:
    noise = 0.05 * np.random.default_rng(0).standard_normal(TIMES.size)
    return dd.Dataset(TIMES, {"u": np.sin(3 * TIMES)}, {"y": np.exp(-1.3 * TIMES) + noise})


@cache
def make_fit() -> dd.Fit:
    return dd.fit(make_model(), make_data(), free=["k"])


@cache
def make_folder() -> Path:
    folder = Path(mkdtemp())
    (folder / "data.csv").write_text(CSV)
    make_fit().save(folder / "fit.nc")
    return folder


@cache
def make_search() -> dd.OrderSearch:
    return dd.select_order(make_data(), orders=[1])


@cache
def make_moments() -> dd.MeasurementMoments:
    return dd.MeasurementMoments.from_samples(np.random.default_rng(0).standard_normal((3, 20)))


def make_transfer() -> dd.TransferFunction:
    return dd.TransferFunction([1.0], [1.0, 1.0])


def make_part() -> dd.Model:
    from daedal.library import electrical

    return electrical.Ground()


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
        "ports": {},
    }


def fitted() -> dict[str, Any]:
    rest = {"local": (), "fixed": None, "criterion": dd.OutputError(), "rng": 0, "solver": None}
    return {"model": make_model(), "data": make_data(), "free": ["k"], **rest}


def simulated() -> dict[str, Any]:
    return {"model": make_model(), "times": TIMES, "inputs": {u: 0.0}, "values": {k: 1.0}, "t0": None, "rng": 0}


CALLS: dict[str, Call] = {
    # expressions
    "symbol": given(dd.symbol, lambda: {"name": "x"}),
    "symbols": given(dd.symbols, lambda: {"names": "x", "count": 3}),
    "der": given(dd.der, lambda: {"expression": x}),
    "delay": given(dd.delay, lambda: {"expression": x, "amount": 0.1}),
    "hold": given(dd.hold, lambda: {"expression": x, "every": 0.1, "delay": 0.0}),
    "hysteresis": given(dd.hysteresis, lambda: {"expression": x, "low": -1.0, "high": 1.0}),
    "where": given(dd.where, lambda: {"condition": x > 0, "yes": x, "no": 0.0}),
    # models
    "Parameter": given(
        dd.Parameter, lambda: {"value": 1.0, "lower": 0.1, "upper": 2.0, "unit": "m", "scale": "log", "prior": None}
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
    "Model.with_outputs": of(make_model, "with_outputs", lambda: {"changes": {"z": x}}),
    "Model.with_disturbances": of(make_noisy_model, "with_disturbances", lambda: {"changes": {w: dd.WhiteNoise(1.0)}}),
    "Model.with_measurement_noise": of(make_model, "with_measurement_noise", lambda: {"changes": {"y": 0.2}}),
    "Model.from_descriptor": given(
        dd.Model.from_descriptor, lambda: {"name": "d", "E": [[1.0]], "F": [[1.0]], "H": [[1.0]]}
    ),
    "Model.with_presampling_filter": of(make_model, "with_presampling_filter", lambda: {"time_constants": {"y": 0.1}}),
    "Model.with_integrating_sampling": of(make_model, "with_integrating_sampling", lambda: {"windows": {"y": 0.1}}),
    "assemble": given(
        dd.assemble, lambda: {"name": "a", "parts": {"earth": make_part()}, "connections": [], "inputs": []}
    ),
    "read_modelica": given(dd.read_modelica, lambda: {"path_or_text": MODELICA, "model": "D"}),
    "Normal": given(dd.Normal, lambda: {"mean": 1.0, "std": 0.5}),
    "LogNormal": given(dd.LogNormal, lambda: {"median": 1.0, "factor": 2.0}),
    "Uniform": given(dd.Uniform, lambda: {"a": 0.5, "b": 2.0}),
    # noise
    "FilteredNoise": given(
        dd.FilteredNoise, lambda: {"numerator": [1.0], "denominator": [1.0, 1.0], "grid": None, "initial": "stationary"}
    ),
    "FilteredNoise.low_pass": given(dd.FilteredNoise.low_pass, lambda: {"std": 1.0, "time_constant": 1.0}),
    "FilteredNoise.resonant": given(dd.FilteredNoise.resonant, lambda: {"std": 1.0, "frequency": 1.0, "damping": 0.2}),
    "StateSpaceNoise": given(dd.StateSpaceNoise, lambda: {"A": [[-1.0]], "B": [[1.0]], "C": [[1.0]]}),
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
        },
    ),
    "Dataset.detrend": of(make_data, "detrend", lambda: {"signals": None, "order": 0}),
    "Dataset.resample": of(make_data, "resample", lambda: {"step": 0.2}),
    "Dataset.split": of(make_data, "split", lambda: {"fraction": None, "at": 1.0}),
    "Dataset.to_pandas": of(make_data, "to_pandas"),
    "Dataset.to_xarray": of(make_data, "to_xarray"),
    "Dataset.from_pandas": given(
        dd.Dataset.from_pandas,
        lambda: {"frame": pandas.DataFrame({"y": TIMES}), "outputs": ["y"], "inputs": [], "time": None, "name": "d"},
    ),
    "Dataset.from_xarray": given(
        dd.Dataset.from_xarray,
        lambda: {
            "dataset": xarray.Dataset({"y": ("time", TIMES)}, coords={"time": TIMES}),
            "outputs": ["y"],
            "inputs": [],
            "time": "time",
        },
    ),
    "read_csv": given(
        dd.read_csv,
        lambda: {
            "path": make_folder() / "data.csv",
            "time": "t",
            "outputs": ["y"],
            "inputs": {"u": "u"},
            "intersample": "foh",
            "measurement_noise": {},
            "t0": None,
            "name": None,
            "delimiter": ",",
        },
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
    "TransferFunction": given(dd.TransferFunction, lambda: {"numerator": [1.0], "denominator": [1.0, 1.0]}),
    "TransferFunction.gain": of(make_transfer, "gain", lambda: {"name": "u"}),
    "TransferFunction.zeros": of(make_transfer, "zeros", lambda: {"name": "u"}),
    "TransferFunction.to_model": of(make_transfer, "to_model", lambda: {"initial": "zero", "name": "first"}),
    "Signal.jumps": of(lambda: dd.Signal(TIMES, TIMES), "jumps", lambda: {"derivative": 0}),
    "TransferFunction.response": of(lambda: dd.TransferFunction([1.0], [1.0, 1.0]), "response", lambda: {"s": [1.0]}),
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
    "Trajectory.to_dataset": of(
        lambda: dd.simulate(make_model(), make_data()), "to_dataset", lambda: {"realization": None}
    ),
    "Trajectory.to_xarray": of(lambda: dd.simulate(make_model(), make_data()), "to_xarray"),
    "Trajectory[]": of(lambda: dd.simulate(make_model(), make_data()), "__getitem__", lambda: {"name": "x"}),
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
    # estimation
    "OutputError": given(dd.OutputError, lambda: {"whiten": False, "segments": 1, "transient": 0.0}),
    "SimulationPEM": given(
        dd.SimulationPEM, lambda: {"realizations": 10, "transient": 0.0, "debias": True, "whiten": False}
    ),
    "Likelihood": given(dd.Likelihood, lambda: {"initial": "diffuse", "initial_std": None}),
    "MeanVariance": given(dd.MeanVariance, lambda: {"gamma": 0.5, "measurements": make_moments(), "gradient": None}),
    "MeasurementMoments.mixture": given(
        dd.MeasurementMoments.mixture,
        lambda: {"mixing": [[1.0]], "mean": [0.0], "variance": [1.0], "third_raw_moment": [0.0]},
    ),
    "MeasurementMoments.independent": given(
        dd.MeasurementMoments.independent, lambda: {"mean": [0.0], "variance": [1.0], "third_raw_moment": [0.0]}
    ),
    "MeasurementMoments.from_samples": given(
        dd.MeasurementMoments.from_samples, lambda: {"array": np.random.default_rng(0).standard_normal((3, 20))}
    ),
    "Grid": given(dd.Grid, lambda: {"points": {"k": 3}}),
    "LatinHypercube": given(dd.LatinHypercube, lambda: {"count": 3}),
    "fit": given(dd.fit, lambda: {**fitted(), "starts": None}),
    "evaluate": given(dd.evaluate, lambda: {**fitted(), "values": {"k": 1.2}}),
    "load": given(dd.load, lambda: {"path": make_folder() / "fit.nc"}),
    "Fit.save": of(make_fit, "save", lambda: {"path": make_folder() / "again.nc"}),
    "Fit.conf_int": of(make_fit, "conf_int", lambda: {"level": 0.9}),
    "Fit.quantile": of(make_fit, "quantile", lambda: {"level": 0.9}),
    "Fit.values": of(make_fit, "values", lambda: {"experiment": 0}),
    "Fit.summary": of(make_fit, "summary"),
    # validation and order
    "compare": given(dd.compare, lambda: {"fit": make_fit(), "data": make_data(), "rng": 0}),
    "resid": given(dd.resid, lambda: {"fit": make_fit(), "data": make_data()}),
    "profile": given(dd.profile, lambda: {"fit": make_fit(), "names": ["k"], "level": 0.9, "points": 3}),
    "identifiability": given(dd.identifiability, lambda: {"fit": make_fit()}),
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
        },
    ),
    "RefinedIV": given(dd.RefinedIV, lambda: {"delay": 0.0, "largest_delay": None, "noise": False}),
    "SparseSplines": given(dd.SparseSplines, lambda: {"terms": None, "knots": None, "weight": None}),
    "plot": given(dd.plot, lambda: {"result": make_data(), "names": ["y"]}),
}
# What only daedal makes: users read it, and its methods are above.
RESULTS = {
    "Candidate", "Comparison", "Cost", "DaedalError", "DaedalWarning", "Descriptor", "Ensemble", "Equation", "Estimate",
    "Expression", "OrderSearches",
    "Fit", "Identifiability", "OrderSearch", "Profile", "Residuals", "StateEstimate", "Structure", "System",
    "Trajectory", "WellPosedness", "time", "MeasurementMoments",
}  # fmt: skip
