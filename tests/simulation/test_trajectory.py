"""What a Trajectory gives back, and how it is handed on."""

import pickle

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.errors import SimulationError

x, y, u, k = dd.symbols("x y u k")


def model(**more):
    return dd.Model(
        name="lag",
        equations={"lag": der(x) == -k * x + u, "square": y == x**2},
        unknowns=[x, y],
        inputs=[u],
        outputs={"double": 2 * x, "slope": der(x), "drive": u},
        parameters={k: 2.0},
        initial={x: 0.0},
        **more,
    )


@pytest.fixture(scope="module")
def trajectory():
    drive = dd.Signal([0.0, 1.0, 3.0], [1.0, 2.0, 2.0], "zoh")
    return dd.simulate(model(), [0.0, 0.5, 1.0, 2.0], inputs={u: drive}, t0=-0.0, solver=dd.IDA())


def test_every_name(trajectory):
    assert list(trajectory) == ["x", "y", "double", "slope", "drive", "u"]
    assert "y" in trajectory
    for name in trajectory:
        assert trajectory[name].shape == (4,)
    np.testing.assert_array_equal(trajectory[x], trajectory["x"])
    np.testing.assert_allclose(trajectory["y"], trajectory["x"] ** 2, rtol=1e-14)
    np.testing.assert_allclose(trajectory["slope"], trajectory["u"] - 2 * trajectory["x"], rtol=1e-13)
    np.testing.assert_array_equal(trajectory["drive"], [1.0, 1.0, 2.0, 2.0])


def test_an_unknown_name_suggests_the_nearest(trajectory):
    with pytest.raises(
        SimulationError, match=r"trajectory of 'lag' has nothing called 'doubel'. Did you mean 'double'"
    ):
        trajectory["doubel"]
    with pytest.raises(SimulationError, match="Known are 'x', 'y'"):
        trajectory["angle"]


def test_nothing_can_be_changed(trajectory):
    for values in (*(trajectory[name] for name in trajectory), trajectory.times):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 1.0
    for mapping in (trajectory.values, trajectory.inputs, trajectory.parameters):
        with pytest.raises(TypeError):
            mapping["x"] = 1.0
    with pytest.raises(AttributeError):
        trajectory.times = None


def test_the_users_times_stay_the_users():
    times = np.array([0.0, 1.0])
    trajectory = dd.simulate(model(), times, inputs={"u": 0.0})
    times[1] = 7.0
    np.testing.assert_array_equal(trajectory.times, [0.0, 1.0])


def test_to_xarray(trajectory):
    table = trajectory.to_xarray()
    np.testing.assert_array_equal(table["double"].sel(time=1.0), trajectory["double"][2])
    assert set(table.data_vars) == set(trajectory)
    assert table.attrs["model"] == "lag"
    assert table.attrs["status"] == "The simulation reached its end."


def test_to_dataset_and_back(trajectory):
    data = trajectory.to_dataset()
    assert (data.name, data.t0) == ("lag", 0.0)
    assert set(data.outputs) == {"double", "slope", "drive"}
    assert data.inputs["u"].intersample == "zoh"
    again = dd.simulate(model(), data, solver=dd.IDA())
    for name in trajectory:
        np.testing.assert_array_equal(again[name], trajectory[name])


def test_a_stopped_run_gives_missing_samples():
    growth = dd.Model(name="growth", equations={"g": der(x) == x**2}, unknowns=[x], outputs={"x": x}, initial={x: 1.0})
    data = dd.simulate(growth, [0.0, 0.5, 1.5]).to_dataset()
    np.testing.assert_array_equal(np.isnan(data["x"]), [False, False, True])


def test_without_outputs_there_is_nothing_to_measure():
    decay = dd.Model(name="decay", equations={"rate": der(x) == -x}, unknowns=[x], initial={x: 1.0})
    with pytest.raises(SimulationError, match=r"'decay' has no outputs.*Declare outputs"):
        dd.simulate(decay, [0.0, 1.0]).to_dataset()


def test_print(trajectory):
    text = str(trajectory)
    assert text.startswith("trajectory of 'lag': 4 samples from 0 to 2, IDA(rtol=1e-08, atol=1e-10)")
    assert "The simulation reached its end." in text
    assert text.splitlines()[3].split()[0] == "x"
    assert repr(trajectory) == text


def test_print_of_one_sample():
    noise = dd.FilteredNoise([1.0], [1.0, 1.0])
    one = dd.Model(name="one", equations={"a": der(x) == u}, unknowns=[x], disturbances={u: noise}, initial={x: 0.0})
    text = str(dd.simulate(one, [0.0], realizations=1, rng=1))
    assert text.startswith("trajectory of 'one': 1 realization of 1 sample from 0 to 0")


def test_print_of_many_variables_and_large_times():
    xs = dd.symbols("x", 30)
    many = dd.Model(
        name="many",
        equations={f"rate {i}": der(each) == -each for i, each in enumerate(xs)},
        unknowns=list(xs),
        initial=dict.fromkeys(xs, 1.0),
    )
    text = str(dd.simulate(many, [1_700_000_000.0, 1_700_000_001.0]))
    assert "from 1700000000 to 1700000001" in text
    assert "and 10 more" in text


def test_pickle(trajectory):
    again = pickle.loads(pickle.dumps(trajectory))
    np.testing.assert_array_equal(again["x"], trajectory["x"])
    assert again.inputs["u"] == trajectory.inputs["u"]
    assert again.status == trajectory.status
