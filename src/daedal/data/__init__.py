"""Sampled data: known signals, measured outputs, and the data sets that hold them.

`FrozenMapping`, `frozen`, `increasing` and `short` serve the other packages: what is stored read-only, times that are
checked, numbers in sentences.
"""

from daedal.data.arrays import FrozenMapping, frozen, increasing, short
from daedal.data.dataset import Dataset
from daedal.data.reading import read_csv
from daedal.data.samples import Samples
from daedal.data.signal import Signal

__all__ = ["Dataset", "FrozenMapping", "Samples", "Signal", "frozen", "increasing", "read_csv", "short"]
