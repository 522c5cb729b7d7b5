from .arrays import FrozenMapping, find_uniform_step, frozen, increasing, short
from .conversion import (
    align_times, choose_columns, choose_noise_columns, index_times, make_frame, make_xarray, read_frame_columns,
    read_frame_times, read_xarray_columns, read_xarray_times,
)
from .dataset import Dataset
from .preprocessing import choose_split_time, make_grid, remove_trends, resample, split_samples
from .reading import read_csv, read_first_lines, read_numbers
from .samples import Samples
from .signal import Signal
from .timestamps import (
    check_origin, count_seconds, describe_clock, holds_timestamps, make_clock, make_dates, write_origin,
)

__all__ = [
    "Dataset", "FrozenMapping", "Samples", "Signal", "align_times", "check_origin", "choose_columns",
    "choose_noise_columns", "choose_split_time", "count_seconds", "describe_clock", "find_uniform_step", "frozen",
    "holds_timestamps", "increasing", "index_times", "make_clock", "make_dates", "make_frame", "make_grid",
    "make_xarray", "read_csv", "read_first_lines", "read_frame_columns", "read_frame_times", "read_numbers",
    "read_xarray_columns", "read_xarray_times", "remove_trends", "resample", "short", "split_samples", "write_origin",
]
