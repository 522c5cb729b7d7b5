"""Sampled data: known signals, measured outputs, and the data sets that hold them."""

from daedal.data.dataset import Dataset
from daedal.data.reading import read_csv
from daedal.data.samples import Samples
from daedal.data.signal import Signal

__all__ = ["Dataset", "Samples", "Signal", "read_csv"]
