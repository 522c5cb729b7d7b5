"""Timestamps in, seconds and an origin inside, timestamps out; also where clocks are changed."""

import pickle
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pandas
import pytest
import xarray

import daedal as dd
from daedal.data import Dataset, read_csv
from daedal.errors import DataError

BERLIN = ZoneInfo("Europe/Berlin")
AUTUMN = pandas.date_range("2024-10-27 01:30", periods=6, freq="30min", tz="Europe/Berlin")  # 02:00, 02:30 come twice
NAIVE = AUTUMN.tz_localize(None)


def frame(index: pandas.DatetimeIndex) -> pandas.DataFrame:
    return pandas.DataFrame({"y": np.arange(6.0), "u": np.ones(6)}, index=index)


def test_an_index_with_a_zone_counts_seconds_through_the_change_of_the_clock():
    data = Dataset.from_pandas(frame(AUTUMN), ["y"], ["u"])
    np.testing.assert_array_equal(data.times, 1800.0 * np.arange(6))
    assert data.origin == datetime(2024, 10, 27, 1, 30, tzinfo=BERLIN)
    assert data.origin.tzinfo == BERLIN
    assert str(data).endswith("step 1800, t0 = 0, since 2024-10-27 01:30:00+02:00")
    assert list(data.to_pandas().index) == list(AUTUMN)
    assert data.to_pandas().index.name == "time"
    assert Dataset.from_pandas(data.to_pandas(), ["y"], ["u"]) == data
    column = frame(AUTUMN).reset_index(names="when")
    assert Dataset.from_pandas(column, ["y"], ["u"], time="when") == data


def test_the_origin_stays_through_everything(tmp_path):
    data = Dataset.from_pandas(frame(AUTUMN), ["y"], ["u"])
    first, second = data.split(at=3600.0)
    for one in (first, second, data.resample(3600.0), data.detrend(), pickle.loads(pickle.dumps(data))):
        assert one.origin == data.origin
    assert data != Dataset(data.times, {"u": np.ones(6)}, {"y": np.arange(6.0)})
    x, a = dd.symbols("x a")
    model = dd.Model(
        name="ramp", equations={"x": dd.der(x) == a}, unknowns=[x], outputs={"y": x}, parameters={a: 1e-3},
        initial={x: 0.0},
    )  # fmt: skip
    fit = dd.fit(model, data, free=["a"])
    fit.save(tmp_path / "fit.nc")
    loaded = dd.load(tmp_path / "fit.nc").data[0]
    assert loaded == data
    assert loaded.origin.tzinfo == BERLIN


def test_dates_of_numpy_python_and_xarray():
    stamps = np.array(["2024-01-01T00:00:00", "2024-01-01T00:00:00.250", "2024-01-01T00:00:01"], "datetime64[ms]")
    data = Dataset(stamps, outputs={"y": [1, 2, 3]})
    np.testing.assert_array_equal(data.times, [0, 0.25, 1])
    assert data.origin == datetime(2024, 1, 1)
    written = data.to_xarray()
    np.testing.assert_array_equal(written["time"].to_numpy(), stamps)
    assert Dataset.from_xarray(written, ["y"]) == data
    plus = timezone(timedelta(hours=5, minutes=30))
    listed = [datetime(2024, 1, 1, 12, tzinfo=plus), datetime(2024, 1, 1, 7, tzinfo=UTC)]
    assert Dataset(listed, outputs={"y": [1, 2]}).times.tolist() == [0, 1800]
    assert Dataset([0, 1], outputs={"y": [1, 2]}, origin="2024-01-01T12:00:00+05:30").origin == listed[0]
    zoned = Dataset.from_pandas(frame(AUTUMN), ["y"]).to_xarray()
    assert zoned["time"].to_numpy()[0] == np.datetime64("2024-10-26T23:30")
    assert isinstance(zoned, xarray.Dataset)


@pytest.mark.parametrize("zone", ["+02:00", "Z", ""])
def test_files_of_loggers(tmp_path, zone):
    path = tmp_path / "log.csv"
    path.write_text(f"when,y\n2024-07-01 10:00:00{zone},1\n2024-07-01T10:00:00.5{zone},2\n2024-07-01 10:15{zone},3\n")
    data = read_csv(path, time="when", outputs=["y"])
    np.testing.assert_array_equal(data.times, [0, 0.5, 900])
    assert data.origin == datetime.fromisoformat(f"2024-07-01 10:00:00{zone}")


def test_a_file_through_the_change_of_the_clock(tmp_path):
    path = tmp_path / "log.csv"
    frame(AUTUMN).to_csv(path, index_label="when")  # with offsets, which change
    np.testing.assert_array_equal(read_csv(path, time="when", outputs=["y"]).times, 1800.0 * np.arange(6))
    frame(NAIVE).to_csv(path, index_label="when")
    told = (
        r"line 5, column 'when': .* this one = 2024-10-27 02:00:00 follows 2024-10-27 02:30:00, as clocks do at the end"
    )
    with pytest.raises(DataError, match=told):
        read_csv(path, time="when", outputs=["y"])


def test_what_is_refused():
    with pytest.raises(
        DataError, match=r"the index: .* as clocks do at the end of daylight saving. Give timestamps in UTC"
    ):
        Dataset.from_pandas(frame(NAIVE), ["y"])
    mended = frame(NAIVE.tz_localize("Europe/Berlin", ambiguous="infer"))  # the remedy
    assert Dataset.from_pandas(mended, ["y"]) == Dataset.from_pandas(frame(AUTUMN), ["y"])
    with pytest.raises(DataError, match=r"times\[1\] is no date \(NaT\). Remove"):
        Dataset(np.array(["2024-01-01", "NaT"], "datetime64[s]"), outputs={"y": [1, 2]})
    with pytest.raises(DataError, match=r"times\[1\] and times\[0\] are dates with and without a time zone"):
        Dataset([datetime(2024, 1, 1), datetime(2024, 1, 2, tzinfo=UTC)], outputs={"y": [1, 2]})
    with pytest.raises(DataError, match=r"times\[1\] is 3, but others are dates"):
        Dataset([datetime(2024, 1, 1), 3], outputs={"y": [1, 2]})
    with pytest.raises(DataError, match=r"origin must be a date but is 'noon'"):
        Dataset([0, 1], outputs={"y": [1, 2]}, origin="noon")
    with pytest.raises(DataError, match=r"timestamps must increase.* Sort the samples by time"):
        Dataset(AUTUMN[::-1], outputs={"y": np.arange(6)})


def test_one_object_is_no_list_of_times():
    with pytest.raises(dd.DaedalError, match="times must be real numbers"):
        dd.Dataset(np.array(None, dtype=object), outputs={"y": [1.0]})
