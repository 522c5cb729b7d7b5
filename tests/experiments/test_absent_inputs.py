"""Inputs that the data lack and the model has a default for."""

import numpy as np
import pytest

import daedal as dd
from daedal.errors import EstimationError, SimulationError
from daedal.symbolic import der, symbols

x, u, T, a = symbols("x u T a")
TIMES = np.linspace(0.0, 4.0, 41)
SAID = "not given, and taken as the model declares: T = 20"


def room(**changes) -> dd.Model:
    fields = {
        "name": "room", "equations": {"heat": der(x) == u - a * (x - T)}, "unknowns": [x], "inputs": [u, T],
        "outputs": {"y": x}, "parameters": {a: 0.7}, "initial": {x: 20.0}, "measurement_noise": {"y": 0.01},
        "defaults": {T: 20.0},
    }  # fmt: skip
    return dd.Model(**fields | changes)


def record(**inputs) -> dd.Dataset:
    noise = 0.01 * np.random.default_rng(0).normal(size=TIMES.size)
    return dd.Dataset(TIMES, {"u": np.ones(41), **inputs}, {"y": 20.0 + (1.0 - np.exp(-TIMES)) + noise})  # a = 1


def test_a_simulation_takes_the_default_and_says_so():
    trajectory = dd.simulate(room(), record())
    np.testing.assert_allclose(trajectory["y"], 20.0 + (1.0 - np.exp(-0.7 * TIMES)) / 0.7, rtol=1e-6)
    assert SAID in trajectory.notes
    given = dd.simulate(room(), TIMES, inputs={"u": 1.0, "T": 20.0})
    np.testing.assert_allclose(given["y"], trajectory["y"], rtol=1e-9)
    assert SAID not in given.notes
    assert SAID in dd.ensemble(room(), TIMES, realizations=1, inputs={"u": 1.0}).notes


@pytest.mark.parametrize("criterion", [dd.OutputError(), dd.Likelihood()])
def test_a_fit_is_that_of_data_filled_by_hand_and_says_so(criterion):
    fit = dd.fit(room(), [record(), record(T=np.full(41, 20.0))], free=["a"], criterion=criterion)
    filled = dd.fit(room(), [record(T=np.full(41, 20.0))] * 2, free=["a"], criterion=criterion)
    assert fit.params["a"] == pytest.approx(filled.params["a"], rel=1e-8)
    assert abs(fit.params["a"] - 1.0) < 4.0 * fit.std_errors["a"]
    assert SAID in fit.notes
    assert SAID not in filled.notes


def test_every_verdict_says_so(tmp_path):
    fit = dd.fit(room(), record(), free=["a"])
    assert SAID in str(dd.compare(fit, record()))
    assert SAID in str(dd.compare(room(), record()))
    assert SAID in str(dd.resid(fit))
    assert SAID in str(dd.estimate_states(fit, record()))
    fit.save(tmp_path / "fit.nc")
    again = dd.load(tmp_path / "fit.nc")
    assert dict(again.model.defaults) == {"T": 20.0}
    assert SAID in again.notes


def test_without_a_default_the_remedy_names_it():
    bare = room().with_defaults({"T": None})
    with pytest.raises(EstimationError, match=r"lack the input 'T' of model 'room'.*defaults=\{'T': \.\.\.\}"):
        dd.fit(bare, record(), free=["a"])
    with pytest.raises(SimulationError, match="needs the input 'T'"):
        dd.simulate(bare, record())


def test_an_assembly_keeps_defaults_of_inputs_that_stay_inputs():
    whole = dd.assemble(name="house", parts={"room": room()}, inputs=["room.u", "room.T"], outputs={"y": "room.x"})
    assert dict(whole.defaults) == {"room.T": 20.0}
    other = dd.assemble(
        name="house", parts={"room": room()}, inputs=["room.u"], parameters={"room.T": 5.0}, outputs={"y": "room.x"}
    )
    assert not other.defaults
    third = dd.assemble(
        name="house", parts={"room": room()}, inputs=["room.u", "room.T"], outputs={"y": "room.x"},
        defaults={"room.u": 1.0},
    )  # fmt: skip
    assert dict(third.defaults) == {"room.T": 20.0, "room.u": 1.0}
    assert dd.Model.from_text(third.to_text()) == third
