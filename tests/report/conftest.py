"""One set of results for all tests of pictures: small, and made once."""

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.library import electrical as el

x, u, w, k, T = dd.symbols("x u w k T")
TIMES = np.arange(61) * 0.1


def make_lag():
    """A first-order lag with units, driven by an input and a disturbance."""
    return dd.Model(
        name="lag",
        equations={"lag": T * der(x) == k * u + w - x},
        unknowns=[x],
        inputs=[u],
        outputs={"level": x},
        parameters={k: dd.Parameter(1.5, unit="m/V"), T: dd.Parameter(0.8, lower=0.1, upper=5.0, unit="s")},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.05, time_constant=0.5)},
        measurement_noise={"level": 0.02},
        initial={x: 0.0},
        units={"level": "m", "x": "m", "u": "V", "w": "m", "time": "s"},
    )


def make_circuit():
    """Parts with two connections of two and one of three."""
    return dd.assemble(
        name="circuit",
        parts={"source": el.VoltageSource(), "R": el.Resistor(R=2.0), "C": el.Capacitor(C=0.5), "ground": el.Ground()},
        connections=[("source.p", "R.p"), ("R.n", "C.p"), ("C.n", "source.n", "ground.p")],
        inputs=["source.v"],
        outputs={"voltage": "C.v"},
        initial={"C.v": 0.0},
    )


@pytest.fixture(scope="session")
def lag_fit():
    model = make_lag()
    signal = dd.Signal(TIMES[::10], [1.0, -1.0, 1.0, 1.0, -1.0, 0.0, 0.0], "zoh")
    run = dd.simulate(model, TIMES, inputs={"u": signal}, realizations=1, measurement_noise=True, rng=1)
    start = model.with_parameters({"k": 1.0, "T": 1.0})
    return dd.fit(start, run.to_dataset(realization=0), free=["k", "T"], criterion=dd.Likelihood())


@pytest.fixture(scope="session")
def results(lag_fit):
    """Name → one result of every noun that can be drawn."""
    model, data = lag_fit.model, lag_fit.data[0]
    inputs = dict(data.inputs)
    searched = dd.select_order(data, orders=[1, 2])
    white = model.with_disturbances({"w": dd.WhiteNoise(intensity=0.1)})
    return {
        "Trajectory": dd.simulate(model, TIMES, inputs=inputs),
        "realizations": dd.simulate(model, TIMES, inputs=inputs, realizations=25, rng=1),
        "Ensemble": dd.ensemble(model, TIMES, inputs=inputs, realizations=5, rng=1),
        "StateEstimate": dd.estimate_states(model, data),
        "Dataset": data,
        "Signal": data.inputs["u"],
        "Samples": data.outputs["level"],
        "list": [dd.simulate(model, TIMES, inputs=inputs), data],
        "Fit": lag_fit,
        "Cost": dd.evaluate(model, data, free=["k"], criterion=dd.OutputError()),
        "Comparison": dd.compare(lag_fit, data),
        "Residuals": dd.resid(lag_fit),
        "Profile": dd.profile(lag_fit, ["k"], points=2),
        "Identifiability": dd.identifiability(lag_fit),
        "OrderSearch": searched,
        "Candidate": searched.chosen,
        "Study": dd.study(lag_fit, dd.ParametricBootstrap(), runs=4, rng=1),
        "Model": model,
        "circuit": make_circuit(),
        "Structure": dd.analyze(make_circuit()),
        "WellPosedness": dd.check_noise(white, variables=["der(x)"]),
        "Descriptor": dd.descriptor(model),
        "TransferFunction": dd.TransferFunction([1.0], [1.0, 0.5, 4.0], delay=0.2),
        "WhiteNoise": dd.WhiteNoise(2.0),
        "FilteredNoise": dd.FilteredNoise([1.0], [1.0, 1.0]),
        "StateSpaceNoise": dd.StateSpaceNoise([[-1.0, 0.0], [0.0, -2.0]], [[1.0], [0.5]], [[1.0, 0.0], [1.0, 1.0]]),
        "Normal": dd.Normal(1.0, 2.0),
        "LogNormal": dd.LogNormal(5.0, 2.0),
        "Uniform": dd.Uniform(-1.0, 2.0),
        "Equation": der(x) == -k * x,
        "Expression": k * np.sin(x) / 2,
    }
