"""To pandas and xarray, and back."""

import numpy as np
import pandas
import pytest
import xarray
from hypothesis import given
from hypothesis import strategies as st

from daedal.data import Dataset, Samples, Signal
from daedal.errors import DataError

FRAME = pandas.DataFrame({"t": [0.0, 1.0], "y": [1.0, 2.0], "u": [3, 4], "word": ["a", "b"]})


@st.composite
def datasets(draw):
    count = draw(st.integers(4, 20))
    values = st.lists(st.floats(-10, 10), min_size=count, max_size=count)
    kind = draw(st.sampled_from(["foh", "zoh", "spline"]))
    outputs = {"y": np.where(draw(st.lists(st.booleans(), min_size=count, max_size=count)), draw(values), np.nan)}
    data = Dataset(0.1 * np.arange(count), {"u": draw(values)}, outputs, t0=-1, name="trip", intersample=kind)
    return data, {"t0": -1, "name": "trip", "intersample": kind}


@given(datasets())
def test_round_trips_change_nothing(pair):
    data, options = pair
    assert Dataset.from_pandas(data.to_pandas(), ["y"], ["u"], **options) == data
    assert Dataset.from_pandas(data.to_pandas().reset_index(), ["y"], ["u"], time="time", **options) == data
    assert Dataset.from_xarray(data.to_xarray(), ["y"], ["u"], **options) == data


def test_times_are_united_and_gaps_are_nan():
    outputs = {"a": Samples([0, 2], [1, 2]), "b": Samples([1, 2], [3, 4])}
    frame = Dataset(inputs={"u": Signal([0, 1.5], [0, 3])}, outputs=outputs).to_pandas()
    assert frame.index.name == "time"
    assert list(frame.columns) == ["a", "b", "u"]
    np.testing.assert_array_equal(frame.to_numpy(), [[1, np.nan, 0], [np.nan, 3, 2], [2, 4, np.nan]])


def test_replicates_and_noise_survive_a_round_trip():
    outputs = {"a": Samples([0, 1, 1, 2], [1, 2, 3, 4]), "b": Samples([1, 2, 2, 2], [5, 6, 7, 8])}
    frame = Dataset(inputs={"u": Signal([0, 2], [0, 2])}, outputs=outputs).to_pandas()
    np.testing.assert_array_equal(frame.index, [0, 1, 1, 2, 2, 2])
    np.testing.assert_array_equal(frame["a"], [1, 2, 3, 4, np.nan, np.nan])
    np.testing.assert_array_equal(frame["b"], [np.nan, 5, np.nan, 6, 7, 8])
    again = Dataset.from_pandas(frame, ["a", "b"], ["u"])
    np.testing.assert_array_equal(again["b"], frame["b"])
    assert again.inputs == {"u": Signal([0, 1, 2], [0, 1, 2])}
    told = {"measurement_noise": {"a": "u"}}
    for data in (
        Dataset.from_pandas(frame.iloc[1:], ["a"], **told),
        Dataset.from_xarray(xarray.Dataset.from_dataframe(frame.iloc[1:2]), ["a"], **told),
    ):
        assert data.outputs["a"].noise[0] == 1
    with pytest.raises(DataError, match="measurement_noise is given for 'c', which is no output"):
        Dataset.from_pandas(frame, ["a"], measurement_noise={"c": "u"})


def test_a_mapping_renames():
    data = Dataset.from_pandas(FRAME, {"position": "y"}, {"force": "u"}, time="t")
    np.testing.assert_array_equal(data["position"], [1, 2])
    np.testing.assert_array_equal(data["force"], [3, 4])


def test_each_input_of_a_table_has_its_own_intersample():
    options = {"inputs": ["u", "v"], "intersample": {"v": "zoh"}}
    frame = pandas.DataFrame({"u": [1, 2], "v": [3, 4], "y": [5, 6]}, index=pandas.Index([0.0, 1.0], name="time"))
    for data in (
        Dataset.from_pandas(frame, ["y"], **options),
        Dataset.from_xarray(xarray.Dataset.from_dataframe(frame), ["y"], **options),
    ):
        assert [data.inputs[name].intersample for name in ("u", "v")] == ["foh", "zoh"]


def test_missing_values_of_pandas_are_missing_samples():
    frame = pandas.DataFrame({"y": pandas.array([1, None], dtype="Int64")}, index=[0.0, 1.0])
    np.testing.assert_array_equal(Dataset.from_pandas(frame, ["y"])["y"], [1, np.nan])


@pytest.mark.parametrize(
    ("frame", "outputs", "time", "message"),
    [
        (FRAME, ["yy"], "t", "data 'data': the frame has no column 'yy'. Did you mean 'y'?"),
        (FRAME, ["y"], "tt", "the frame has no column 'tt'"),
        (FRAME, "y", "t", r"outputs must be a list or mapping but is the text 'y'. Write outputs=\['y'\]"),
        (FRAME, ["y", "y"], "t", "outputs has 'y' more than once"),
        (FRAME, ["word"], "t", "column 'word' must be real numbers but the type is"),
        (FRAME.set_axis(["t", "y", "y", "z"], axis=1), ["y"], "t", "the frame has more than one column 'y'"),
        (
            FRAME.set_index(pandas.date_range("2024-01-01", periods=2)[::-1]),
            ["y"],
            None,
            r"the index: timestamps must increase but times\[1\] = 2024-01-01 00:00:00 follows 2024-01-02 .* Sort",
        ),
    ],
)
def test_a_frame_that_is_refused(frame, outputs, time, message):
    with pytest.raises(DataError, match=message):
        Dataset.from_pandas(frame, outputs, time=time)


def test_an_xarray_data_set_that_is_refused():
    dataset = xarray.Dataset({"y": (("time", "room"), np.ones((2, 3)))}, coords={"time": [0.0, 1.0]})
    with pytest.raises(DataError, match=r"'y' must depend on 'time' alone but its dimensions are \['time', 'room'\]"):
        Dataset.from_xarray(dataset, ["y"])
    with pytest.raises(DataError, match="the xarray data set has no variable 'z'"):
        Dataset.from_xarray(dataset, ["z"])
    with pytest.raises(DataError, match="has no variable 'when'"):
        Dataset.from_xarray(dataset, ["y"], time="when")
    with pytest.raises(DataError, match="'time' names a signal"):
        Dataset([0, 1], outputs={"time": [0, 1]}).to_xarray()
