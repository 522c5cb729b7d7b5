"""Tables in and out: columns of numbers as pandas frames and xarray data sets."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.data import timestamps
from daedal.data.arrays import Array, about, check_column
from daedal.data.samples import Samples
from daedal.data.signal import Signal
from daedal.errors import DataError, list_entries, nearest, quoted, show

if TYPE_CHECKING:
    from datetime import datetime

    import pandas
    import xarray

Columns: TypeAlias = Mapping[str, str] | Iterable[str]


def choose_columns(label: str, given: Columns) -> dict[str, str]:
    """Signal name → column name, from such a mapping or from a list of columns that keep their names."""
    if isinstance(given, str):
        raise DataError(f"{label} must be a list or mapping but is the text '{given}'.", f"Write {label}=['{given}'].")
    if (entries := list_entries(given)) is None:
        raise DataError(
            f"{label} must be a list or mapping but is of type {type(given).__name__}.", f"Write {label}=['y']."
        )
    listed = list(given.values()) if isinstance(given, Mapping) else entries
    for name in listed:
        check_label(label, name)
    if isinstance(given, Mapping):
        return dict(given)
    names = listed
    if len(set(names)) < len(names):
        repeated = sorted(show(name, str) for name, count in Counter(names).items() if count > 1)
        raise DataError(f"{label} has {quoted(repeated)} more than once.", "Name each column once.")
    return {name: name for name in names}


def choose_noise_columns(given: Mapping[str, str], outputs: Mapping[str, str]) -> dict[str, str]:
    """Output → the column with the standard deviations of its samples."""
    if not isinstance(given, Mapping):
        raise DataError(
            f"measurement_noise must be a mapping but is of type {type(given).__name__}.",
            "Write measurement_noise={'y': 'column with its standard deviations'}.",
        )
    columns = choose_columns("measurement_noise", given)
    for name in columns:
        if name not in outputs:
            raise DataError(f"measurement_noise is given for '{name}', which is no output.", nearest(name, outputs))
    return columns


def check_label(label: str, name: object) -> None:
    """Refuse what cannot name a column."""
    try:
        hash(name)  # some that have the method refuse all the same
    except Exception:
        raise DataError(
            f"{label} must name columns but one is of type {type(name).__name__}.", "Give their names."
        ) from None


def align_times(
    times: Array, inputs: Mapping[str, Signal], outputs: Mapping[str, Samples]
) -> tuple[Array, dict[str, Array]]:
    """One column for each output and input, on `times` and all output times; NaN where there is no sample or signal.

    A time is there as often as the output that has it most often.
    """
    grids = [times, *(samples.times for samples in outputs.values())]
    distinct = np.unique(np.concatenate(grids))
    often = np.zeros(distinct.size, dtype=int)
    for grid in grids:
        np.maximum.at(often, *_count_equal(distinct, grid))
    times = np.repeat(distinct, often)
    columns = {name: np.full(times.size, np.nan) for name in (*outputs, *inputs)}
    for name, samples in outputs.items():
        place, nth = _count_equal(distinct, samples.times)
        columns[name][np.searchsorted(times, distinct)[place] + nth - 1] = samples.values
    for name, signal in inputs.items():
        inside = (times >= signal.start) & (times <= signal.end)
        columns[name][inside] = signal(times[inside])
    return times, columns


def _count_equal(distinct: Array, times: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each time its place among the distinct ones, and that it is the first, second, … of its value."""
    place = np.searchsorted(distinct, times)
    return place, np.arange(times.size) - np.searchsorted(times, times) + 1


def make_frame(
    times: Array, columns: dict[str, Array], origin: "datetime | None", units: Mapping[str, str]
) -> "pandas.DataFrame":
    """A pandas frame whose index is the time, dates in the zone of the origin where there is one."""
    from daedal import tables

    return tables.make_frame("time", index_times(times, origin), columns, units)


def index_times(times: Array, origin: "datetime | None") -> "Array | pandas.DatetimeIndex":
    """Times for the index of a frame: as they are, or as the dates that they stand for, in the zone of the origin."""
    import pandas

    if origin is None:
        return times
    dates = pandas.DatetimeIndex(timestamps.make_dates(times, origin))
    return dates if origin.tzinfo is None else dates.tz_localize("UTC").tz_convert(origin.tzinfo)


def read_frame_times(table: "pandas.DataFrame", time: Hashable | None) -> "tuple[Array, datetime | None]":
    """The column `time` of a frame, or its index; dates as seconds since the first."""
    import pandas

    if not isinstance(table, pandas.DataFrame):
        raise DataError(
            f"the frame must be a pandas DataFrame but is of type {type(table).__name__}.",
            "Write series.to_frame('y') for a Series, pandas.DataFrame(table) for a mapping.",
        )
    if time is None:
        column, label = table.index, "the index"
    else:
        check_label("time", time)
        _check_column(table, time)
        column, label = table[time], f"column '{time}'"
    if column.ndim == 1 and column.dtype.kind == "M":
        dates = pandas.DatetimeIndex(column)
        plain = dates if dates.tz is None else dates.tz_convert("UTC").tz_localize(None)
        with about(label):
            return timestamps.count_from_first(plain.to_numpy().astype("datetime64[ns]"), dates.tz)
    return _convert_to_numbers(label, column), None


def _check_column(table: "pandas.DataFrame", label: Hashable) -> None:
    if label not in table.columns:
        raise DataError(f"the frame has no column '{show(label, str)}'.", nearest(label, table.columns))


def read_frame_columns(table: "pandas.DataFrame", wanted: Mapping[str, Hashable]) -> dict[str, Array]:
    """The wanted columns of a frame, under their new names."""
    for label in wanted.values():
        _check_column(table, label)
    return {name: _convert_to_numbers(f"column '{label}'", table[label]) for name, label in wanted.items()}


def _convert_to_numbers(label: str, series: "pandas.Series | pandas.Index | pandas.DataFrame") -> Array:
    if series.ndim != 1:
        raise DataError(f"the frame has more than one {label}.", "Rename the columns so that each name is used once.")
    # The kind is asked of pandas: to_numpy would turn dates into nanoseconds without a word.
    if series.dtype.kind not in "biuf":
        raise DataError(
            f"{label} must be real numbers but the type is {series.dtype}.",
            "Convert it first: text to numbers, or to dates with pandas.to_datetime(...) where it is the time.",
        )
    return series.to_numpy(dtype=np.float64, na_value=np.nan)


def make_xarray(times: Array, columns: dict[str, Array], origin: "datetime | None") -> "xarray.Dataset":
    """An xarray data set with the dimension "time", of dates in UTC where there is an origin."""
    import xarray

    if "time" in columns:
        raise DataError("'time' names a signal, but in xarray it is the dimension.", "Give that signal another name.")
    grid = times if origin is None else timestamps.make_dates(times, origin)
    return xarray.Dataset({name: ("time", values) for name, values in columns.items()}, coords={"time": grid})


def read_xarray_times(table: "xarray.Dataset", time: str) -> Any:
    """The times of an xarray data set, numbers or dates."""
    _check_variables(table, time, [time])
    column = table[time].to_numpy()
    return column if column.dtype.kind == "M" else check_column(f"'{time}'", column)


def read_xarray_columns(table: "xarray.Dataset", time: str, wanted: Mapping[str, str]) -> dict[str, Array]:
    """The wanted variables of an xarray data set, under their new names; all along the dimension of `time`."""
    _check_variables(table, time, [time, *wanted.values()])
    return {name: check_column(f"'{label}'", table[label].to_numpy()) for name, label in wanted.items()}


def _check_variables(table: "xarray.Dataset", time: str, labels: Iterable[str]) -> None:
    import xarray

    if not isinstance(table, xarray.Dataset):
        raise DataError(
            f"the data set must be an xarray Dataset but is of type {type(table).__name__}.",
            "Write array.to_dataset(name='y') for a DataArray.",
        )
    check_label("time", time)
    for label in labels:
        if label not in table.variables:
            missing = show(label, str)
            raise DataError(
                f"the xarray data set has no variable '{missing}'.", nearest(missing, map(str, table.variables))
            )
        if table[label].ndim != 1 or table[label].dims != table[time].dims:
            raise DataError(
                f"'{label}' must depend on '{time}' alone but its dimensions are {list(table[label].dims)}.",
                "Select one element of the other dimensions first, with .isel(...) or .sel(...).",
            )
