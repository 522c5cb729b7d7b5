"""A data set: what it stores, what it prints, what it refuses."""

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from daedal.data import Dataset, Samples, Signal
from daedal.errors import DataError

TIMES = [0, 0.5, 1.0]


def house() -> Dataset:
    times = 0.25 * np.arange(2016)
    indoor = np.sin(times)
    indoor[[5, 6, 100]] = np.nan
    return Dataset(times, {"Ta": times, "Ps": times, "Thm": times}, {"indoor": indoor}, name="house")


def two_rates() -> Dataset:
    outputs = {"fast": Samples(range(6), range(6)), "slow": Samples([0.5, 3.5, 4], [1, np.nan, 2])}
    return Dataset(inputs={"u": Signal([0, 9], [0, 1], "zoh")}, outputs=outputs, t0=-1)


def test_arrays_become_signals_and_samples():
    data = Dataset(TIMES, inputs={"u": [1, 2, 3]}, outputs={"y": [4, np.nan, 6]}, intersample="zoh")
    assert data.inputs == {"u": Signal(TIMES, [1, 2, 3], "zoh")}
    assert data.outputs == {"y": Samples(TIMES, [4, np.nan, 6])}
    np.testing.assert_array_equal(data.times, TIMES)
    np.testing.assert_array_equal(data["y"], [4, np.nan, 6])
    np.testing.assert_array_equal(data["u"], [1, 2, 3])
    assert data.t0 == 0


def test_each_input_may_behave_in_its_own_way_between_samples():
    held = Signal(TIMES, [1, 2, 3], "zoh")
    inputs = {"a": [1, 2, 3], "b": [1, 2, 3], "c": held}
    data = Dataset(TIMES, inputs, {"y": TIMES}, intersample={"a": "zoh"})
    assert data.inputs == {"a": held, "b": Signal(TIMES, [1, 2, 3], "foh"), "c": held}
    assert str(data).startswith("data 'data': output y; inputs a (zoh), b (foh), c (zoh)")


def test_replicates_stay_and_inputs_are_known_once():
    data = Dataset([0, 1, 1, 2], {"u": [1, 2, 2, 3]}, {"y": [1, 2, 3, 4]})
    assert data.inputs == {"u": Signal([0, 1, 2], [1, 2, 3])}
    np.testing.assert_array_equal(data["y"], [1, 2, 3, 4])
    np.testing.assert_array_equal(data.sample_times, [0, 1, 2])
    assert "4 samples from 0 to 2, irregular, replicates, t0 = 0" in str(data)
    second = data.split(at=1)[1]
    assert second.outputs["y"] == Samples([1, 1, 2], [2, 3, 4])
    np.testing.assert_array_equal(data.resample(0.5)["y"], [1, 1.75, 2.5, 3.25, 4])


def test_noise_follows_its_samples():
    data = Dataset([0, 1, 2, 3], outputs={"y": [1, np.nan, 3, 4]}, measurement_noise={"y": [0.3, np.nan, 0.4, 0.1]})
    assert data.split(at=2)[1].outputs["y"] == Samples([2, 3], [3, 4], [0.4, 0.1])
    np.testing.assert_allclose(data.resample(2).outputs["y"].noise, [0.3, np.sqrt(0.4**2 + 0.1**2) / 2])
    np.testing.assert_allclose(data.split(at=2)[1].resample(0.5).outputs["y"].noise[1], np.hypot(0.2, 0.05))
    np.testing.assert_array_equal(data.detrend().outputs["y"].noise, data.outputs["y"].noise)
    assert pickle.loads(pickle.dumps(data)) == data
    assert data != Dataset([0, 1, 2, 3], outputs={"y": data["y"]})
    same = Dataset([0, 1], outputs={"y": [1, 2]}, measurement_noise={"y": 0.1})
    np.testing.assert_array_equal(same.outputs["y"].noise, [0.1, 0.1])


def test_a_signal_and_samples_keep_their_own_times():
    data = two_rates()
    np.testing.assert_array_equal(data.times, [0, 0.5, 1, 2, 3, 3.5, 4, 5])
    np.testing.assert_array_equal(data["slow"], [1, np.nan, 2])
    assert data.t0 == -1


def test_without_outputs_the_inputs_give_the_times():
    data = Dataset(inputs={"u": Signal([0, 2], [0, 1]), "v": Signal([1, 2], [0, 1])})
    np.testing.assert_array_equal(data.times, [0, 1, 2])


def test_input_times_before_the_start_are_allowed():
    data = Dataset([-5, 0, 5], inputs={"u": [0, 1, 0]}, outputs={"y": Samples([1, 2], [0, 0])}, t0=0.5)
    assert data.t0 == 0.5


def test_print_is_two_lines():
    assert str(house()) == (
        "data 'house': output indoor; inputs Ta, Ps, Thm (foh)\n"
        "2016 samples from 0 to 503.75, step 0.25, 3 missing, t0 = 0"
    )


def test_print_counts_each_output_with_times_of_its_own():
    assert str(two_rates()) == (
        "data 'data': outputs fast, slow; input u (zoh)\n"
        "fast 6 samples from 0 to 5, step 1; slow 3 samples from 0.5 to 4, irregular, 1 missing; t0 = -1"
    )


def test_print_of_irregular_single_and_mixed():
    held, line = Signal([0, 1], [0, 1], "zoh"), Signal([0, 1], [0, 1])
    assert str(Dataset([0, 1, 3], inputs={"u": held, "v": line})) == (
        "data 'data': no outputs; inputs u (zoh), v (foh)\n3 samples from 0 to 3, irregular, t0 = 0"
    )
    assert str(Dataset([2], outputs={"y": [1]})) == "data 'data': output y; no inputs\n1 sample at 2, t0 = 2"
    assert repr(Dataset([2], outputs={"y": [1]})) == "Dataset(name='data', outputs=['y'], inputs=[])"


@pytest.mark.parametrize("data", [house(), two_rates()], ids=["house", "two rates"])
def test_pickle_equality_and_hash(data):
    copy = pickle.loads(pickle.dumps(data))
    assert copy == data
    assert hash(copy) == hash(data)
    assert pickle.loads(pickle.dumps(data.inputs)) == data.inputs
    assert not copy.times.flags.writeable


def test_data_sets_that_differ_are_not_equal():
    data = Dataset(TIMES, outputs={"y": [1, 2, 3]})
    assert data != Dataset(TIMES, outputs={"y": [1, 2, 4]})
    assert data != Dataset(TIMES, outputs={"z": [1, 2, 3]})
    assert data != Dataset(TIMES, outputs={"y": [1, 2, 3]}, t0=-1)
    assert data != Dataset(TIMES, outputs={"y": [1, 2, 3]}, name="other")
    assert data != 0


def test_nothing_can_be_changed():
    data = house()
    with pytest.raises(FrozenInstanceError):
        data.t0 = 3.0  # pyright: ignore
    with pytest.raises(TypeError, match="does not support item assignment"):
        data.inputs["v"] = 3  # pyright: ignore
    with pytest.raises(ValueError, match="read-only"):
        data["indoor"][0] = 1
    assert repr(two_rates().inputs) == "{'u': Signal(2 samples from 0 to 9, zoh)}"


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(DataError, match=r"data 'house' has no output or input 'indor'\. Did you mean 'indoor'\?"):
        house()["indor"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"outputs": {"y": [1, 2]}}, "output 'y' has 2 samples for 3 times. Give one value"),
        ({"inputs": {"u": [1, 2]}}, "input 'u' has 2 samples for 3 times"),
        ({"outputs": {"y": np.ones((3, 1))}}, r"output 'y' must be one-dimensional but the shape is \(3, 1\)"),
        (
            {"inputs": {"u": [1, np.nan, 2]}},
            r"data 'data': input 'u': values must be finite but values\[1\] \(time 0.5\)",
        ),
        ({"outputs": {"y": [1, np.inf, 2]}}, r"output 'y': values must be finite but values\[1\] \(time 0.5\) is inf"),
        ({"inputs": {"u": [1, 2, 3]}, "intersample": "spline"}, "input 'u': a signal with .* needs at least 4 samples"),
        ({"inputs": {"u": [1, 2, 3]}, "intersample": "cubic"}, "input 'u': intersample must be"),
        ({"inputs": {"u": [1, 2, 3]}, "intersample": {"u": "cubic"}}, "input 'u': intersample must be"),
        (
            {"inputs": {"pump": [1, 2, 3]}, "intersample": {"pmp": "zoh"}},
            "intersample is given for 'pmp', which is no input. Did you mean 'pump'",
        ),
        (
            {"inputs": {"u": Signal([0, 1], [1, 2])}, "intersample": {"u": "zoh"}},
            "intersample is given for input 'u', but that is a Signal, which has its own. Leave it out",
        ),
        (
            {"times": [0, 1, 1], "inputs": {"u": [1, 2, 3]}, "outputs": {"y": [1, 2, 3]}},
            "input 'u': at the time 1, which several samples have, it is both 2 and 3. Replicates of one experiment",
        ),
        (
            {"outputs": {"y": [1, 2, 3]}, "measurement_noise": {"y": [1, 0, 1]}},
            r"output 'y': the noise of a sample must be a positive .* noise\[1\] \(time 0.5\) is 0.0. Write NaN",
        ),
        (
            {"outputs": {"y": [1, 2, 3]}, "measurement_noise": {"y": [1, 2]}},
            "output 'y': there are 2 standard deviations but 3 values. Give one for each",
        ),
        (
            {"outputs": {"y": [1, 2, 3]}, "measurement_noise": {"z": 1}},
            "measurement_noise is given for 'z', which is no output",
        ),
        (
            {"outputs": {"y": Samples([0], [1])}, "measurement_noise": {"y": 1}},
            r"measurement_noise is given for output 'y', but that is given as Samples. Write Samples\(times, val",
        ),
        ({"outputs": {"y": [1, 2, 3]}, "measurement_noise": 1}, "measurement_noise must be a mapping"),
        ({"inputs": {"u": [1, 2, 3]}, "outputs": {"u": [1, 2, 3]}}, "'u' is both input and output. Use two names"),
        (
            {"inputs": {3: [1, 2, 3]}},
            r"names of inputs must be text but 3 is of type int. Write inputs=\{'3': values\}",
        ),
        ({"outputs": [1, 2, 3]}, r"outputs must be a mapping but the type is list. Write outputs=\{'name': values\}"),
        ({}, "there are no outputs and no inputs. Give"),
        ({"times": [], "outputs": {"y": []}}, "data 'data': times are empty"),
        ({"times": [0, 2, 1], "outputs": {"y": [1, 2, 3]}}, r"times\[2\] = 1 follows times\[1\] = 2. Sort"),
        ({"times": [0, 1], "outputs": {"y": [1]}}, "output 'y' has 1 sample for 2 times. Give one value for each time"),
        ({"times": [0, 1, np.nan], "outputs": {"y": [1, 2, 3]}}, r"times\[2\] is nan"),
        (
            {"times": None, "inputs": {"u": [1, 2, 3]}},
            "input 'u' is an array but there are no times. Give times=, or Sig",
        ),
        ({"times": None, "outputs": {"y": [1, 2, 3]}}, "output 'y' is an array but there are no times. .* Samples"),
        ({"inputs": {"u": Samples([0], [1])}}, "input 'u' is given as Samples"),
        ({"outputs": {"y": Signal([0, 1], [1, 2])}}, "output 'y' is given as a Signal"),
        ({"outputs": {"y": ["1", "2", "x"]}}, "output 'y' must be real numbers but the type is <U1"),
        ({"outputs": {"y": [1, 2, 3]}, "t0": 0.1}, "t0 = 0.1 lies after the first sample at 0. The model must"),
        ({"outputs": {"y": [1, 2, 3]}, "t0": np.nan}, "t0 must be finite but is nan"),
        ({"outputs": {"y": [1, 2, 3]}, "t0": "now"}, "t0 must be a number but is 'now'"),
        ({"outputs": {"y": [1, 2, 3]}, "name": 3}, "name must be text but the type is int"),
    ],
)
def test_what_is_refused_and_why(arguments, message):
    with pytest.raises(DataError, match=message):
        Dataset(**{"times": TIMES, **arguments})
