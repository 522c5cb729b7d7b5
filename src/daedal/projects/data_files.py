"""Data files of projects: columns by name, whatever the format. Nothing in them is executed."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daedal.data import Dataset, read_csv
from daedal.errors import DataError, nearest, refuse_shortage, tell_reason
from daedal.files import check_file
from daedal.projects.project import DataBlock

if TYPE_CHECKING:
    import pandas

COMPRESSED = ".gz"
LARGEST = 1_000_000_000  # bytes
HDF5 = b"\x89HDF\r\n\x1a\n"  # what a .mat file from version 7.3 on holds after its header


def find_kind(name: str) -> str:
    """The ending that tells how a file is read; without .gz, which only text may have."""
    kind = Path(name.removesuffix(COMPRESSED)).suffix.lower()
    if kind in FRAMES and name.endswith(COMPRESSED):
        raise DataError(
            f"file '{Path(name).name}' is compressed, which only text may be.",
            f"Unpack it, so that it ends in {kind}, or save the data as CSV.",
        )
    return kind


def read_columns(path: Path, block: DataBlock) -> Dataset:
    """The data that a block names."""
    return READERS[find_kind(path.name)](path, block)


def _read_text(path: Path, block: DataBlock) -> Dataset:
    options = dict(block.options)
    if find_kind(path.name) == ".tsv":
        options.setdefault("delimiter", "\t")
    return read_csv(path, name=block.name, **options)


def read_frame(path: Path) -> "pandas.DataFrame":
    """All columns of a file that is no text."""
    check_file(path, DataError, f"file '{path.name}'", LARGEST)
    return FRAMES[path.suffix.lower()](path)


def _select_columns(path: Path, block: DataBlock) -> Dataset:
    """From a table in memory; the times may be a column, or steps."""
    frame = read_frame(path)
    options = {key: value for key, value in block.options.items() if key not in ("step", "units")}
    wanted = [block.options.get("time"), *block.options.get("inputs", {}).values(), *block.options["outputs"].values()]
    wanted += block.options.get("measurement_noise", {}).values()
    for column in wanted:
        if column is not None and column not in frame.columns:
            raise DataError(
                f"file '{path.name}': there is no column '{column}'.", nearest(column, map(str, frame.columns))
            )
    if "step" in block.options:
        frame = frame.set_index(np.arange(len(frame)) * block.options["step"])
    data = Dataset.from_pandas(frame, name=block.name, **options)
    return data.with_units(block.options["units"]) if "units" in block.options else data


def _read_parquet(path: Path) -> "pandas.DataFrame":
    import pandas

    try:
        return pandas.read_parquet(path)
    except ImportError:
        raise DataError(
            f"file '{path.name}' needs a package that reads Parquet, which is not installed.",
            "Write pip install pyarrow, or save the data as CSV.",
        ) from None
    except Exception as error:  # whatever the package that reads it raises
        raise _explain_unreadable(path, error) from None


def _explain_unreadable(path: Path, error: Exception) -> DataError:
    refuse_shortage(error, f"Reading file '{path.name}'")
    return DataError(f"file '{path.name}' cannot be read: {tell_reason(error)}.", "Save it again, or as CSV.")


def _read_netcdf(path: Path) -> "pandas.DataFrame":
    import xarray

    try:
        with xarray.open_dataset(path, engine="h5netcdf") as opened:
            flat = [name for name, one in opened.variables.items() if one.ndim == 1]
            return opened[flat].to_dataframe().reset_index()
    except Exception as error:  # of HDF5, of xarray, of an index that cannot be made
        raise _explain_unreadable(path, error) from None


def _read_matlab(path: Path) -> "pandas.DataFrame":
    """Vectors of one length; other variables are passed over."""
    import pandas

    arrays = _list_arrays(path)
    vectors = {name: one.ravel() for name, one in arrays.items() if one.size == max(one.shape, default=0) > 1}
    lengths = [one.size for one in vectors.values()]
    usual = max(set(lengths), key=lengths.count, default=0)
    return pandas.DataFrame({name: one for name, one in vectors.items() if one.size == usual})


def _list_arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        if HDF5 in path.read_bytes()[:1024]:
            import h5py

            with h5py.File(path, "r") as file:
                return {name: np.asarray(one[()]) for name, one in file.items() if isinstance(one, h5py.Dataset)}
        from scipy.io import loadmat

        content: dict[str, Any] = loadmat(path)
    except Exception as error:  # of a damaged file
        raise _explain_unreadable(path, error) from None
    return {
        name: one
        for name, one in content.items()
        if isinstance(one, np.ndarray) and np.issubdtype(one.dtype, np.number)
    }


FRAMES: dict[str, Callable[[Path], "pandas.DataFrame"]] = {
    ".parquet": _read_parquet,
    ".mat": _read_matlab,
    ".nc": _read_netcdf,
}
READERS: dict[str, Callable[[Path, DataBlock], Dataset]] = {
    **dict.fromkeys((".csv", ".txt", ".tsv"), _read_text),
    **dict.fromkeys(FRAMES, _select_columns),
}
