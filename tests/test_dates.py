"""The date at time 0 of data with timestamps is kept by everything that is made from them, in frames and pictures."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pandas
import pytest

import daedal as dd

x, u, w, k = dd.symbols("x u w k")
MODEL = dd.Model(
    name="lag", equations={"rate": dd.der(x) == 0.01 * (u + w) - k * x}, unknowns=[x], inputs=[u], outputs={"y": x},
    parameters={k: dd.Parameter(0.01, lower=1e-4, upper=1.0)},
    disturbances={w: dd.FilteredNoise.low_pass(std=0.3, time_constant=600.0)},
    measurement_noise={"y": 0.05}, initial={x: 0.0},
)  # fmt: skip
BERLIN = ZoneInfo("Europe/Berlin")
# Clocks are put back at 03:00 in this night: a clock on the wall shows 02:30 twice.
DATES = pandas.date_range("2024-10-27 00:30", periods=40, freq="15min", tz="Europe/Berlin")


def make_data(dates=DATES, name="night"):
    random = np.random.default_rng(1)
    frame = pandas.DataFrame({"u": np.sign(random.standard_normal(40)), "y": random.standard_normal(40)}, index=dates)
    data = dd.Dataset.from_pandas(frame, outputs=["y"], inputs=["u"], name=name, intersample="zoh")
    return data.with_units({"y": "K"})


@pytest.fixture(scope="module")
def results():
    data = make_data()
    fit = dd.fit(MODEL, data, free=["k"])
    return {
        "Dataset": data,
        "Trajectory": dd.simulate(MODEL, data),
        "realizations": dd.simulate(MODEL, data, realizations=2, rng=1),
        "Ensemble": dd.ensemble(MODEL, data, realizations=4, rng=1),
        "StateEstimate": dd.estimate_states(MODEL, data),
        "Comparison": dd.compare(fit, data, horizon=[1, 3]),
        "Residuals": dd.resid(fit),
    }


NAMES = ["Dataset", "Trajectory", "realizations", "Ensemble", "StateEstimate", "Comparison", "Residuals"]


@pytest.mark.parametrize("name", NAMES)
def test_frames_have_the_dates_of_the_data(results, name):
    index = results[name].to_pandas().index
    times = index.get_level_values("time")
    assert list(times[:40]) == list(DATES)
    assert str(times.tz) == "Europe/Berlin"
    assert results[name].to_pandas().attrs["units"]["y"] == "K"


@pytest.mark.parametrize("name", ["Dataset", "Trajectory", "StateEstimate", "Ensemble", "Comparison"])
def test_pictures_have_a_clock_that_is_never_put_back(results, name):
    figure = dd.plot(results[name])
    shown = next(np.asarray(one.x, dtype="datetime64[s]") for one in figure.data if len(one.x) == 40)
    assert shown[0] == np.datetime64("2024-10-27T00:30:00")
    assert np.all(np.diff(shown) == np.timedelta64(15, "m"))
    axes = figure.to_dict()["layout"]
    titles = {axis["title"]["text"] for key, axis in axes.items() if "xaxis" in key and "title" in axis}
    assert "time (UTC+02:00)" in titles


def test_printed_results_say_since_when_and_in_which_unit(results):
    for name in ("Trajectory", "StateEstimate"):
        assert "since 2024-10-27 00:30:00+02:00" in str(results[name])
        assert results[name].origin == datetime(2024, 10, 27, 0, 30, tzinfo=BERLIN)
    assert "y [K]" in str(results["Trajectory"])
    assert "y [K]" in str(results["Ensemble"])


def test_a_trajectory_becomes_data_with_the_same_dates(results):
    data = results["Trajectory"].to_dataset()
    assert data.origin == results["Dataset"].origin
    dates = results["Trajectory"].to_xarray()["time"].to_numpy()
    assert dates[0] == np.datetime64("2024-10-26T22:30:00")  # UTC


def test_results_with_and_without_dates_share_an_axis_of_numbers(results):
    plain = dd.simulate(MODEL, np.arange(40) * 900.0, inputs={"u": 0.0})
    figure = dd.plot([results["Dataset"], plain], ["y"])
    assert [one.x[1] for one in figure.data] == [900.0, 900.0]
    assert dd.plot(plain, ["y"]).data[0].x[1] == 900.0


def test_dates_of_several_zones_share_one_clock():
    here, there = make_data(), make_data(DATES.tz_convert("Asia/Tokyo"), "there")
    figure = dd.plot([here, there], ["y"])
    first, second = (np.asarray(one.x, dtype="datetime64[s]") for one in figure.data)
    np.testing.assert_array_equal(first, second)


def test_dates_without_a_zone_stay_as_they_are():
    data = make_data(
        DATES.tz_localize(None)[:1].append(DATES.tz_convert("UTC").tz_localize(None)[:39] + timedelta(hours=3))
    )
    figure = dd.plot(data, ["y"])
    assert np.asarray(figure.data[0].x, dtype="datetime64[s]")[0] == np.datetime64("2024-10-27T00:30:00")
    assert figure.layout.xaxis.title.text == "time"


def test_experiments_of_which_one_has_no_dates_are_compared_over_numbers():
    dated = make_data()
    plain = dd.Dataset(dated.times, dict(dated.inputs), {"y": dated["y"]}, name="plain")
    found = dd.compare(MODEL, [dated, plain]).to_pandas()
    assert found.index.get_level_values("time").dtype == float


def test_an_offset_is_written_as_it_is():
    origin = datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    data = dd.Dataset([0.0, 1.0], outputs={"y": [0.0, 1.0]}, origin=origin)
    assert dd.plot(data).layout.xaxis.title.text == "time (UTC+05:30)"
    utc = dd.Dataset([0.0, 1.0], outputs={"y": [0.0, 1.0]}, origin=datetime(2024, 1, 1, tzinfo=UTC))
    assert dd.plot(utc).layout.xaxis.title.text == "time (UTC+00:00)"
