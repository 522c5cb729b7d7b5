"""Samples: missing is allowed, infinite is not."""

import pickle

import numpy as np
import pytest

from daedal.data import Samples
from daedal.errors import DataError


def test_missing_samples_are_kept_and_equal():
    samples = Samples([0, 1, 2], [1, np.nan, 3])
    copy = pickle.loads(pickle.dumps(samples))
    assert samples == copy
    assert hash(samples) == hash(copy)
    assert not copy.values.flags.writeable
    assert repr(samples) == "Samples(3 from 0 to 2, 1 missing)"


def test_samples_that_differ_are_not_equal():
    assert Samples([0], [1]) != Samples([0], [2])
    assert Samples([0], [1]) != Samples([1], [1])
    assert Samples([0], [1]) != 1


def test_masked_samples_are_missing():
    np.testing.assert_array_equal(Samples([0, 1], np.ma.array([4, 5], mask=[0, 1])).values, [4, np.nan])


@pytest.mark.parametrize(
    ("times", "values", "message"),
    [
        ([0, 1], [1, -np.inf], r"values\[1\] \(time 1\) is -inf. Write NaN"),
        ([0, 1], [1], "there are 1 values but 2 times"),
        ([2, 1], [1, 2], r"times\[1\] = 1 follows times\[0\] = 2"),
        ([0], 3.0, r"values must be one-dimensional but the shape is \(\)"),
    ],
)
def test_what_is_refused_and_why(times, values, message):
    with pytest.raises(DataError, match=message):
        Samples(times, values)
