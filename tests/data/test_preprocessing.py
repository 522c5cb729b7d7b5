"""Splitting, detrending and resampling against closed forms."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daedal.data import Dataset, Samples, Signal
from daedal.errors import DataError, OutOfMemoryError


def line(count: int = 10) -> Dataset:
    times = np.arange(count)
    return Dataset(times, inputs={"u": times}, outputs={"y": 2 * times + 1}, t0=-1, name="line")


@given(st.integers(2, 60), st.floats(0.01, 0.99))
def test_a_split_loses_no_sample(count, fraction):
    data = line(count)
    if not 0 < round(fraction * count) < count:
        with pytest.raises(DataError, match="leaves one part without samples"):
            data.split(fraction)
        return
    first, second = data.split(fraction)
    np.testing.assert_array_equal(np.concatenate([first.times, second.times]), data.times)
    np.testing.assert_array_equal(np.concatenate([first["y"], second["y"]]), data["y"])
    assert first.times.size == round(fraction * count)


def test_a_split_keeps_whole_inputs_and_starts_where_its_part_starts():
    first, second = line().split(fraction=0.7)
    assert first.inputs == second.inputs == line().inputs
    assert (first.t0, second.t0) == (-1, 7)
    assert first.name == second.name == "line"


def test_a_split_at_a_time_gives_that_time_to_the_second_part():
    first, second = line().split(at=4)
    np.testing.assert_array_equal(first.times, [0, 1, 2, 3])
    np.testing.assert_array_equal(second.times, [4, 5, 6, 7, 8, 9])
    assert line().split(at=3.5) == line().split(at=4)


def test_a_split_of_outputs_with_times_of_their_own():
    outputs = {"a": Samples([0, 1, 2, 3], [0, 1, 2, 3]), "b": Samples([0.5, 2.5], [5, 6])}
    data = Dataset([-9, -8], inputs={"u": [0, 0]}, outputs=outputs)
    first, second = data.split(fraction=0.5)
    np.testing.assert_array_equal(first["b"], [5])
    np.testing.assert_array_equal(second["a"], [2, 3])
    np.testing.assert_array_equal(first.times, [-9, -8])
    np.testing.assert_array_equal(second.times, [2, 2.5, 3])
    with pytest.raises(DataError, match=r"output 'b' has samples only on one side of 0.2: from 0.5 to 2.5\. Split at"):
        data.split(at=0.2)


def test_a_split_without_outputs_cuts_the_times():
    first, second = Dataset([0, 1, 2], inputs={"u": [0, 1, 0]}).split(at=1)
    np.testing.assert_array_equal(first.times, [0])
    np.testing.assert_array_equal(second.times, [1, 2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, r"data 'line': split needs either fraction= or at= but neither was given. Write split\(fraction=0.7\)"),
        ({"fraction": 0.5, "at": 3}, "both were given"),
        ({"at": 0}, "at = 0 leaves one part without samples: there are 10, from 0 to 9. Both"),
        ({"at": 9.5}, "at = 9.5 leaves one part without samples"),
        ({"fraction": 1.0}, "fraction = 1 leaves one part without samples"),
        ({"fraction": -0.5}, "fraction = -0.5 leaves one part without samples"),
        ({"fraction": 1.5}, "fraction = 1.5 leaves one part without samples"),
        ({"fraction": "half"}, "fraction must be a number but is 'half'"),
        ({"at": np.inf}, "at must be finite but is inf"),
    ],
)
def test_a_split_that_is_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        line().split(**arguments)


def test_detrending_subtracts_the_mean_of_what_is_known():
    data = Dataset([0, 1, 2], inputs={"u": [1, 2, 6]}, outputs={"y": [1, np.nan, 3]}).detrend()
    np.testing.assert_array_equal(data["y"], [-1, np.nan, 1])
    np.testing.assert_array_equal(data["u"], [-2, -1, 3])


def test_detrending_subtracts_the_line_that_polyfit_finds():
    rng = np.random.default_rng(1)
    times, values = np.cumsum(rng.uniform(0.1, 1, 50)) + 1e3, rng.normal(size=50)
    known = np.arange(50) != 7
    values[7] = np.nan
    data = Dataset(times, outputs={"y": values}).detrend(order=1)
    fitted = np.polynomial.Polynomial.fit(times[known], values[known], 1)
    np.testing.assert_allclose(data["y"], values - fitted(times), atol=1e-12)


def test_only_named_signals_are_detrended():
    data = Dataset([0, 1], inputs={"u": Signal([0, 1], [1, 3], "zoh")}, outputs={"y": [1, 3]}, t0=-2)
    only = data.detrend(["u"])
    assert only.inputs == {"u": Signal([0, 1], [-1, 1], "zoh")}
    assert only.outputs == data.outputs
    assert only.t0 == -2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"signals": ["z"]}, "data 'data' has no output or input 'z'"),
        ({"signals": "y"}, r"signals must be a list or mapping but is the text 'y'. Write signals=\['y'\]"),
        ({"order": 2}, r"order must be 0 or 1 but is 2. Subtract the mean \(0\)"),
        ({"order": 1}, "'y' has 1 samples that are not missing but order = 1 needs 2. Leave it out"),
    ],
)
def test_detrending_that_is_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        Dataset([0, 1], outputs={"y": [1, np.nan]}).detrend(**arguments)


def test_resampling_finer_is_linear_and_keeps_gaps():
    data = Dataset([0, 1, 2, 3], inputs={"u": [0, 1, 0, 1]}, outputs={"y": [0, 2, np.nan, 3]}).resample(0.5)
    np.testing.assert_array_equal(data.times, [0, 0.5, 1, 1.5, 2, 2.5, 3])
    np.testing.assert_array_equal(data["y"], [0, 1, 2, np.nan, np.nan, np.nan, 3])
    assert data.inputs == {"u": Signal([0, 1, 2, 3], [0, 1, 0, 1])}


def test_resampling_coarser_takes_symmetric_means():
    values = np.array([1, 2, 6, 4, np.nan, 8, 9, np.nan, np.nan, np.nan, np.nan])
    data = Dataset(np.arange(11), outputs={"y": values}).resample(2)
    np.testing.assert_array_equal(data.times, [0, 2, 4, 6, 8, 10])
    np.testing.assert_allclose(data["y"], [1.5, 4, 6, 8.5, np.nan, np.nan])


@given(st.integers(3, 40), st.integers(2, 5))
def test_coarser_means_of_a_line_stay_on_the_line_inside(count, factor):
    if count <= factor:
        return
    data = line(count).resample(factor)
    inside = (data.times >= factor / 2) & (data.times <= count - 1 - factor / 2)
    np.testing.assert_allclose(data["y"][inside], 2 * data.times[inside] + 1)


@given(st.integers(2, 300), st.floats(1e-3, 1e3), st.floats(-1e3, 1e3), st.randoms(use_true_random=False))
def test_resampling_at_the_same_step_changes_nothing(count, step, start, random):
    values = [random.choice([1.0, 2.0, np.nan]) for _ in range(count)]
    data = Dataset(start + step * np.arange(count), outputs={"y": values})
    same = data.resample(step)
    np.testing.assert_allclose(same.times, data.times, rtol=1e-12)
    np.testing.assert_allclose(same["y"], data["y"], rtol=1e-6)


def test_resampling_puts_outputs_on_one_grid_without_extrapolating():
    outputs = {"a": Samples([0, 1, 2, 3, 4], [0, 1, 2, 3, 4]), "b": Samples([1, 2.5], [1, 4]), "c": Samples([2], [7])}
    data = Dataset(outputs=outputs).resample(1)
    np.testing.assert_array_equal(data["a"], [0, 1, 2, 3, 4])
    np.testing.assert_array_equal(data["b"], [np.nan, 1, 3, np.nan, np.nan])
    np.testing.assert_array_equal(data["c"], [np.nan, np.nan, 7, np.nan, np.nan])


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (0, "data 'line': step must be positive but is 0. Give a number above zero"),
        ("fast", "step must be a number but is 'fast'"),
        (9.1, "step = 9.1 is longer than the data, which run from 0 to 9. Give a shorter step"),
    ],
)
def test_resampling_that_is_refused(step, message):
    with pytest.raises(DataError, match=message):
        line().resample(step)


def jittering(size: float = 3e-8) -> np.ndarray:
    times = np.arange(2001) * 1e-3
    times[1:] += np.random.default_rng(3).uniform(0, size, 2000)
    return times


def test_means_of_a_line_stay_on_it_whatever_the_clock_jitters():
    times = jittering()
    data = Dataset(times, outputs={"y": times}).resample(0.004)
    np.testing.assert_allclose(data["y"][1:-1], data.times[1:-1], atol=3e-8)  # half a sample would be 5e-4


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_missing_sample_of_a_jittering_clock_takes_no_neighbour_with_it(sign):
    times = np.arange(9.0)
    times[1:-1] += sign * 1e-4
    values = np.where(times.round() == 4, np.nan, times)
    np.testing.assert_allclose(Dataset(times, outputs={"y": values}).resample(1)["y"], values, atol=2e-4)


def test_a_jittering_clock_is_regular_and_described_as_one():
    assert str(Dataset(jittering(), outputs={"y": np.zeros(2001)})).endswith("step 0.001, off by up to 3e-08, t0 = 0")
    assert "irregular" in str(Dataset(jittering(1e-5), outputs={"y": np.zeros(2001)}))


def test_what_was_done_is_kept_in_words():
    times = np.arange(10.0)
    data = Dataset(times, inputs={"u": times}, outputs={"y": times}, preparation=["Two outliers were removed."])
    first, second = data.detrend(["y"]).resample(2.0).split(at=4.0)
    assert data.preparation == ("Two outliers were removed.",)
    done = (*data.preparation, "The mean was subtracted from y.", "Outputs were resampled, 2 apart.")
    assert first.preparation == (*done, "Split: samples before 4.")
    assert second.preparation == (*done, "Split: samples from 4.")
    assert pickle.loads(pickle.dumps(second)).preparation == second.preparation
    with pytest.raises(DataError, match="preparation must be a list of texts"):
        Dataset(times, outputs={"y": times}, preparation="detrended")


def test_a_grid_that_memory_cannot_hold_is_refused_with_the_name_of_the_data(monkeypatch):
    monkeypatch.setattr("daedal.memory.find_available", lambda: 1e9)
    data = Dataset([0.0, 1.0, 2.0], outputs={"y": [0.0, 1.0, 2.0]}, name="run 7")
    with pytest.raises(OutOfMemoryError, match="data 'run 7': A grid of"):
        data.resample(1e-9)
