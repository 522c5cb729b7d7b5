"""Data files of projects: columns by name, whatever the format. Nothing in them is executed."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daedal.data import Dataset, read_csv
from daedal.errors import DataError, nearest, refuse_shortage, tell_reason
from daedal.files import check_file
from daedal.memory import find_available
from daedal.projects.frames import ENDINGS, LackingError, UnreadableError, read_apart
from daedal.projects.project import DataBlock

if TYPE_CHECKING:
    import pandas

COMPRESSED = ".gz"
LARGEST = 1_000_000_000  # bytes
LARGEST_MEMORY = 2.0**36  # bytes that a table may take where nobody tells how many there are


def find_kind(name: str) -> str:
    """The ending that tells how a file is read; without .gz, which only text may have."""
    kind = Path(name.removesuffix(COMPRESSED)).suffix.lower()
    if kind in ENDINGS and name.endswith(COMPRESSED):
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
    available = find_available()
    try:
        return read_apart(path.resolve(), LARGEST_MEMORY if available is None else available)
    except LackingError as error:  # all others come with daedal
        refuse_shortage(error, f"Reading file '{path.name}'")
        raise DataError(
            f"file '{path.name}' needs a package that reads Parquet, which is not installed.",
            "Write pip install pyarrow, or save the data as CSV.",
        ) from None
    except MemoryError as error:
        refuse_shortage(error, f"Reading file '{path.name}'")
        raise
    except (UnreadableError, OSError) as error:
        refuse_shortage(error, f"Reading file '{path.name}'")
        raise DataError(
            f"file '{path.name}' cannot be read: {tell_reason(error)}.", "Save it again, or as CSV."
        ) from None


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


READERS: dict[str, Callable[[Path, DataBlock], Dataset]] = {
    **dict.fromkeys((".csv", ".txt", ".tsv"), _read_text),
    **dict.fromkeys(ENDINGS, _select_columns),
}
