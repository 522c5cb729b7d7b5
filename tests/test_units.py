"""Units of variables, inputs, outputs and time: declared once, kept and shown by everything, never converted."""

import numpy as np
import pytest

import daedal as dd

v, u, k = dd.symbols("v u k")
UNITS = {"v": "m/s", "u": "N", "speed": "km/h", "time": "min"}


def make_model(**changes):
    declared = {
        "name": "cart",
        "equations": {"momentum": dd.der(v) == u - k * v},
        "unknowns": [v],
        "inputs": [u],
        "outputs": {"speed": 3.6 * v},
        "parameters": {k: dd.Parameter(0.5, unit="1/min")},
        "measurement_noise": {"speed": 0.1},
        "initial": {v: 0.0},
        "units": UNITS,
    }
    return dd.Model(**declared | changes)


def make_trajectory():
    times = np.linspace(0.0, 10.0, 41)
    return dd.simulate(make_model(), times, inputs={"u": dd.Signal(times, np.sign(np.sin(times)), "zoh")})


@pytest.fixture(scope="module")
def fitted():
    return dd.fit(make_model(), make_trajectory().to_dataset(), free=["k"])


def list_labels(figure):
    axes = figure.to_dict()["layout"]
    return {axis["title"]["text"] for name, axis in axes.items() if "axis" in name and "title" in axis}


def test_a_model_keeps_units_in_its_text_and_through_changes():
    model = make_model()
    assert dict(dd.Model.from_text(model.to_text()).units) == UNITS
    assert '[units]\n"v" = "m/s"' in model.to_text()
    assert model.with_parameters({"k": 2.0}).units == model.units
    assert "units: v m/s, u N, speed km/h, time min" in str(model)
    changed = model.with_units({"time": "s", v: None})
    assert dict(changed.units) == {"u": "N", "speed": "km/h", "time": "s"}
    assert "speed" not in model.with_outputs({"speed": None, "v": v}).units
    assert model != changed


@pytest.mark.parametrize(
    ("units", "sentence"),
    [
        ({"k": "1/s"}, r"unit of parameter 'k' belongs to its declaration. Write Parameter\(..., unit='1/s'\)"),
        ({"sped": "km/h"}, "Model 'cart' has nothing called 'sped' to give a unit. .*speed"),
        ({"speed": 3.6}, "The unit of 'speed' must be a text, got 3.6"),
        ({"speed": " "}, "The unit of 'speed' must be a text"),
        ("m/s", "The units of model 'cart' must be a mapping"),
        ({v: "m/s", "v": "m/s"}, "Under units, 'v' is given twice"),
    ],
)
def test_odd_units_of_a_model_are_refused(units, sentence):
    with pytest.raises(dd.DaedalError, match=sentence):
        make_model(units=units)


@pytest.mark.parametrize(
    ("units", "sentence"),
    [
        ({"k": "1/s"}, "there is no output or input 'k' to give a unit"),
        ({"y": None}, "the unit of 'y' must be a text but is None"),
        (["m"], "units must be a mapping but the type is list"),
    ],
)
def test_odd_units_of_data_are_refused(units, sentence):
    with pytest.raises(dd.DaedalError, match=sentence):
        dd.Dataset([0.0, 1.0], outputs={"y": [1.0, 2.0]}, units=units)


def test_data_keep_units():
    data = dd.Dataset([0.0, 1.0, 2.0], inputs={"u": [0, 1, 2]}, outputs={"y": [1.0, 2.0, 3.0]}, units={"y": "m"})
    changed = data.with_units({"time": "s", "u": "N"})
    assert dict(changed.units) == {"y": "m", "time": "s", "u": "N"}
    assert dict(changed.with_units({"y": None}).units) == {"time": "s", "u": "N"}
    parts = [*changed.split(0.7), changed.detrend(), changed.resample(0.5)]
    assert all(part.units == changed.units for part in parts)
    assert changed.to_pandas().attrs["units"] == dict(changed.units)
    assert "units: y m, time s, u N" in str(changed)
    assert changed != data


def test_trajectories_and_what_is_drawn_of_them():
    run = make_trajectory()
    assert "v [m/s]" in str(run)
    assert "from 0 to 10 min" in str(run)
    assert dict(run.to_dataset().units) == {"u": "N", "speed": "km/h", "time": "min"}
    assert run.to_xarray()["speed"].attrs["units"] == "km/h"
    assert list_labels(dd.plot(run)) == {"speed [km/h]", "v [m/s]", "u [N]", "time [min]"}
    with pytest.raises(dd.DaedalError, match="'speed' has the unit 'km/h' in one of the results and 'm/s' in another"):
        dd.plot([run, run.to_dataset().with_units({"speed": "m/s"})])


def test_fits_comparisons_and_residuals(fitted, tmp_path):
    assert "k [1/min]" in str(fitted)
    checked = dd.compare(fitted, fitted.data)
    assert "speed [km/h], simulated" in str(checked)
    assert "speed [km/h]" in str(dd.resid(fitted))
    assert "k [1/min]" in str(dd.profile(fitted, ["k"]))
    assert list_labels(dd.plot(fitted)) == {"speed [km/h]", "residual [km/h]", "time [min]"}
    assert list_labels(dd.plot(checked)) == {"speed [km/h]", "u [N]", "time [min]"}
    fitted.save(tmp_path / "cart.nc")
    loaded = dd.load(tmp_path / "cart.nc")
    assert loaded.model.units == fitted.model.units
    assert loaded.data[0].units == fitted.data[0].units


def test_units_of_the_data_alone_are_shown_too():
    data = make_trajectory().to_dataset()
    checked = dd.compare(make_model(units={}), data)
    assert "speed [km/h], simulated" in str(checked)


def test_ensembles_and_states():
    w = dd.symbol("w")
    model = make_model(
        equations={"momentum": dd.der(v) == u + w - k * v}, disturbances={w: dd.FilteredNoise([0.1], [1.0, 1.0])}
    )
    data = make_trajectory().to_dataset()
    many = dd.ensemble(model, data.sample_times, realizations=4, inputs=dict(data.inputs), rng=0)
    assert "speed [km/h]: mean from" in str(many)
    assert list_labels(dd.plot(many)) == {"speed [km/h]", "time [min]"}
    states = dd.estimate_states(model, data)
    assert "v [m/s]" in str(states)
    assert "v [m/s]" in list_labels(dd.plot(states))


@pytest.mark.parametrize("name", ["speed", "u", "time"])
def test_data_and_model_must_not_contradict_each_other(name):
    data = make_trajectory().to_dataset().with_units({name: "furlong"})
    who = "Time" if name == "time" else f"'{name}'"
    sentence = f"{who} has the unit '{UNITS[name]}' in model 'cart' and 'furlong' in the data 'cart'"
    for verb in (lambda: dd.fit(make_model(), data, free=["k"]), lambda: dd.compare(make_model(), data)):
        with pytest.raises(dd.DaedalError, match=sentence):
            verb()


def test_timestamps_are_seconds_and_contradict_a_model_in_minutes():
    plain = make_trajectory().to_dataset()
    dates = np.datetime64("2024-05-01") + (60 * plain.sample_times).astype("timedelta64[s]")
    push = dd.Signal(60 * plain.sample_times, plain["u"], "zoh")
    data = dd.Dataset(dates, inputs={"u": push}, outputs={"speed": plain["speed"]}, name="log")
    for verb in (lambda: dd.fit(make_model(), data, free=["k"]), lambda: dd.compare(make_model(), data)):
        with pytest.raises(dd.DaedalError, match="seconds, as those of the data 'log', but time has the unit 'min'"):
            verb()
    assert dd.compare(make_model(units={"time": "s"}), data).rmse["speed"] > 0.0


def test_parts_bring_their_units_along():
    def make_lag(clock="s"):
        x, drive = dd.symbols("x drive")
        return dd.Model(
            name="lag", equations={"rate": dd.der(x) == drive - x}, unknowns=[x], inputs=[drive], outputs={"y": x},
            units={"x": "m", "drive": "V", "y": "m", "time": clock},
        )  # fmt: skip

    arguments = {"name": "chain", "connections": [("a.y", "b.drive")], "inputs": ["a.drive"], "outputs": {"z": "b.y"}}
    chain = dd.assemble(parts={"a": make_lag(), "b": make_lag()}, **arguments, units={"z": "m"})
    assert dict(chain.units) == {"a.x": "m", "a.drive": "V", "time": "s", "b.x": "m", "b.drive": "V", "z": "m"}
    with pytest.raises(dd.DaedalError, match="Time has the unit 's' in part 'a' of 'chain' and 'h' in part 'b'"):
        dd.assemble(parts={"a": make_lag(), "b": make_lag("h")}, **arguments)


def test_modelica_units_are_read(tmp_path):
    file = tmp_path / "cart.mo"
    file.write_text(
        'model Cart\n  input Real u(unit="N");\n  output Real v(unit="m/s", start=0, fixed=true);\n'
        '  Real[2] x(each unit="m");\n  parameter Real k(unit="1/s") = 2;\n  Real plain;\nequation\n'
        "  der(v) = u - k*v;\n  x[1] = v;\n  x[2] = 2*v;\n  plain = v;\nend Cart;\n"
    )
    model = dd.read_modelica(file)
    assert dict(model.units) == {"u": "N", "v": "m/s", "x[1]": "m", "x[2]": "m"}
    assert model.parameters["k"].unit == "1/s"


def test_the_fit_of_an_order_search_keeps_the_units_of_its_data():
    data = make_trajectory().to_dataset()
    noisy = dd.Dataset(
        data.times,
        dict(data.inputs),
        {"speed": data["speed"] + 0.01 * np.random.default_rng(0).standard_normal(41)},
        units=data.units,
    )
    assert dd.select_order(noisy, orders=[1]).fit.data[0].units == data.units
