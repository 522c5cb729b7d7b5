"""Data files: comma-separated columns under a header line.

Cells become numbers as they are read, and only in the columns that are asked for: as text they would take fifteen to
thirty times the size of the file.
"""

import csv
import gzip
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from itertools import islice
from math import inf, isfinite, nan
from os import PathLike
from pathlib import Path
from typing import Any, TextIO, cast

import numpy as np

from daedal.data.acceptance import check_units
from daedal.data.advice import UTF_8, explain_bytes, find_cell_advice, find_column_advice
from daedal.data.arrays import Array, about, check_positive, find_first, short
from daedal.data.conversion import Columns, check_label, choose_columns, choose_noise_columns
from daedal.data.dataset import NONE, Dataset
from daedal.data.header_units import Label, read_labels
from daedal.data.signal import IntersampleChoice
from daedal.data.timestamps import check_order, count_from_first, count_microseconds, parse_timestamp
from daedal.errors import DataError, interruptible, is_one_of, quoted, show, tell_reason
from daedal.files import check_file, limit_lines, resolve
from daedal.memory import check_memory

MISSING = {"", "nan", "na"}
LARGEST = 1_000_000_000  # bytes
LONGEST_LINE = 10_000_000  # characters
COPIES = 5  # of a number, while a Dataset is made of columns
NO_STAMP = -(2**63)  # microseconds: a cell that is no timestamp
CHUNK = 2**11  # rows that are text at one time
MISPLACED = "Write a quote inside of a cell twice, or delete it."
OTHER_MARK = " If another character separates the columns, name it with delimiter=."
ROWS = "A header line with the names of the columns and one row at least are needed."
ABOVE = 100  # lines in which the header line is looked for


@interruptible
def read_csv(
    path: str | Path,
    *,
    time: str | None = None,
    step: float | None = None,
    outputs: Columns = (),
    inputs: Columns = (),
    intersample: IntersampleChoice = "foh",
    measurement_noise: Mapping[str, str] = NONE,
    t0: float | None = None,
    name: str | None = None,
    delimiter: str = ",",
    decimal: str = ".",
    units: Mapping[str, str] = NONE,
) -> Dataset:
    """Read a data set from a file of columns with a header line, plain or compressed (.gz).

    Parameters
    ----------
    path : str or Path
        The file. An empty cell, "nan" or "NA" is a missing sample, which only outputs may have.
    time, step : str, float
        Either the column with the sample times, or the time from one row to the next; the first is then at 0. Times are
        numbers, or timestamps of ISO 8601 (2024-03-31T01:30:00+01:00), which become seconds since the first.
    outputs, inputs : mapping of name to column, or list of columns
        What was measured and what drove the system; in a list the columns keep their names.
    intersample : {"foh", "zoh", "spline"}, or mapping of input to one of these
        What the inputs do between their samples; "foh" where a mapping leaves one out.
    measurement_noise : mapping of output to column
        Columns with the standard deviations of the samples.
    t0 : float, optional
        Where the model starts; by default at the first sample.
    name : str, optional
        By default the name of the file.
    delimiter : str
        The character between the columns.
    decimal : {".", ","}
        The character before the fraction of a number; with a comma no number may have a point. Where commas stand
        between columns too, numbers are in quotes.
    units : mapping of name to text
        Of outputs, inputs and "time". Without it, those in the header line: the column "speed [m/s]" may be called
        "speed", and its unit is kept, as text.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from daedal.data import read_csv
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "tank.csv")
    ...     _ = path.write_text("t,pump,level\\n0,1.5,0.20\\n2,1.5,0.26\\n4,0.0,NA\\n")
    ...     print(read_csv(path, time="t", outputs={"h": "level"}, inputs=["pump"], intersample="zoh"))
    data 'tank': output h; input pump (zoh)
    3 samples from 0 to 4, step 2, 1 missing, t0 = 0
    """
    if not isinstance(path, (str, PathLike)):
        raise DataError(f"read_csv takes the path of a file, got {type(path).__name__}.", "Write read_csv('tank.csv').")
    path = Path(path)
    label = path.name or str(path)
    if (time is None) == (step is None):
        given = "both were" if time is not None else "neither was"
        raise DataError(
            f"read_csv needs either time= or step= but {given} given.",
            "Name the column with the times, or give the step between two rows.",
        )
    measured, known = choose_columns("outputs", outputs), choose_columns("inputs", inputs)
    check_label("time", time)
    check_units(units)
    deviations = choose_noise_columns(measurement_noise, measured)
    with about(f"file '{label}'"):
        wanted = [*known.values(), *measured.values(), *deviations.values()]
        table = _read(path, _check_marks(delimiter, decimal), wanted, time, decimal)
        rows = np.arange(len(table.lines))
        times, origin = table.times(time) if time is not None else (check_positive("step", step) * rows, None)
        input_values = {signal: table.numbers(label, "an input") for signal, label in known.items()}
        output_values = {signal: table.numbers(label, None) for signal, label in measured.items()}
        noise = {signal: table.numbers(label, None) for signal, label in deviations.items()}
    name = Path(path.name.removesuffix(".gz")).stem if name is None else name
    told = table.list_units({**known, **measured})
    return Dataset(
        times, input_values, output_values, t0=t0, name=name, intersample=intersample, measurement_noise=noise,
        origin=origin, units={**told, **units},
    )  # fmt: skip


def read_first_lines(path: Path, count: int) -> list[str]:
    """The header line, if it is one, and what follows."""
    with about(f"file '{path.name}'"), _open(path) as file:
        limited = limit_lines(file, DataError, "it", longest=LONGEST_LINE, largest=LARGEST)
        return [line.strip("\r\n") for line in islice(limited, count)]


def read_numbers(path: Path, time: str, columns: Sequence[str], delimiter: str, decimal: str) -> Dataset:
    """Those of the columns that hold numbers, as outputs: found as they are read, so that the file is read once.

    Where some hold words, empty ones are left out with them; a few words among numbers are missing samples.
    """
    table = _read(path, _check_marks(delimiter, decimal), columns, time, decimal)
    times, origin = table.times(time)
    values = {label: numbers for label in columns if (numbers := table.list_numbers(label)) is not None}
    if table.wrong:
        values = {label: one for label, one in values.items() if np.isfinite(one).any()}
    return Dataset(times, outputs=values, origin=origin, units=table.list_units({label: label for label in values}))


@dataclass(frozen=True)
class _Table:
    """Columns as numbers, the text of the first cell in each that is none, and the line on which each row ends.

    Timestamps in the column `clock` are microseconds since 1970, in the zones of their rows.
    """

    columns: dict[str, array]
    wrong: dict[str, str] = field(default_factory=dict)
    lines: array = field(default_factory=lambda: array("q"))
    units: dict[str, str] = field(default_factory=dict)  # of columns, as the header line tells them
    clock: str | None = None
    decimal: str = "."
    stamps: array = field(default_factory=lambda: array("q"))
    zones: list[tzinfo | None] = field(default_factory=list)  # of the first row

    def extend(self, rows: list[list[str]], places: dict[str, int]) -> None:
        """More rows, with the place of each column in them."""
        for label, place in places.items():
            if label == self.clock and self._read_stamps(label, [row[place] for row in rows]):
                continue
            numbers = [_parse_number(row[place], self.decimal) for row in rows]
            if (row := find_first(np.isinf(numbers))) is not None:
                self.wrong.setdefault(label, rows[row][place])
            self.columns[label].extend(numbers)

    def _read_stamps(self, label: str, cells: list[str]) -> bool:
        """Whether the first cell of the column is a timestamp; all others must then be one too, of the same kind."""
        if not self.zones:
            first = parse_timestamp(cells[0])
            self.zones.append(first.tzinfo if first else None)
            if first is None or isfinite(_parse_number(cells[0], self.decimal)):
                return False
        elif not self.stamps:
            return False
        for cell in cells:
            stamp = parse_timestamp(cell)
            if stamp is None or (stamp.tzinfo is None) != (self.zones[0] is None):
                self.wrong.setdefault(label, cell)
                self.stamps.append(NO_STAMP)
            else:
                self.stamps.append(count_microseconds(stamp))
        return True

    def list_units(self, signals: Mapping[str, str]) -> dict[str, str]:
        """Name → unit, of signals in these columns and of the time, unless it is told by timestamps."""
        clock = {} if self.clock is None or self.stamps else {"time": self.clock}
        return {name: unit for name, label in {**signals, **clock}.items() if (unit := self._find_unit(name, label))}

    def _find_unit(self, name: str, label: str) -> str:
        """The unit of a column, unless the signal is called by its label, which has it already."""
        unit = self.units.get(label, "")
        return "" if name.endswith((f"[{unit}]", f"({unit})")) else unit

    def numbers(self, label: str, complete: str | None) -> Array:
        """A column as numbers, NaN where missing unless it must be `complete`, which then says as what."""
        values = np.array(self.columns[label])
        if (row := find_first(np.isinf(values))) is not None:
            text = self.wrong[label]
            alone = row == 0 and bool(np.isfinite(values[1:]).any())
            remedy = find_cell_advice(text, label, complete, self.decimal, alone=alone)
            raise DataError(f"{self._place(row, label)}, '{text}' is not a finite number.", remedy)
        if complete and (row := find_first(np.isnan(values))) is not None:
            raise DataError(
                f"{self._place(row, label)}, a value is missing, which {complete} may not have.",
                "Fill the gap or remove that row: only outputs may have missing samples.",
            )
        return values

    def list_numbers(self, label: str) -> Array | None:
        """A column as far as it holds numbers; None where more cells are words."""
        values = np.array(self.columns[label])
        words = np.isinf(values)
        values[words] = np.nan
        return values if np.isfinite(values).sum() >= words.sum() else None

    def times(self, label: str) -> tuple[Array, datetime | None]:
        """A column as sample times, and the date of time 0 where they are timestamps."""
        if self.stamps:
            return self._count_seconds(label)
        times = self.numbers(label, "the time")
        if (row := find_first(np.diff(times) < 0)) is not None:
            raise DataError(
                f"{self._place(row + 1, label)}, the time must increase "
                f"but {short(times[row + 1])} follows {short(times[row])}.",
                "Sort the rows by time.",
            )
        return times, None

    def _count_seconds(self, label: str) -> tuple[Array, datetime]:
        stamps = np.array(self.stamps)
        if (row := find_first(stamps == NO_STAMP)) is not None:
            raise DataError(
                f"{self._place(row, label)}, '{self.wrong[label]}' is no timestamp like that of the first row.",
                "Write all as in 2024-03-31T01:30:00+01:00, with a zone or without; other forms are read by "
                "pandas.to_datetime(..., format=...) and Dataset.from_pandas.",
            )
        if (row := find_first(np.diff(stamps) < 0)) is not None:
            with about(self._place(row + 1, label)):
                check_order(1000 * stamps[row : row + 2], self.zones[0], "this one")
        return count_from_first((1000 * stamps).astype("datetime64[ns]"), self.zones[0])

    def _place(self, row: int, label: str) -> str:
        return f"line {self.lines[row]}, column '{label}'"


def _parse_number(cell: str, decimal: str = ".") -> float:
    """The number in a cell; infinite stands for text that is none, 1_000 included, which Python alone reads."""
    if decimal == ",":
        if "." in cell:  # which would stand between thousands
            return inf
        cell = cell.replace(",", ".")
    try:
        return inf if "_" in cell else float(cell)
    except ValueError:
        return nan if cell.strip().lower() in MISSING else inf


def _check_marks(delimiter: Any, decimal: Any) -> str:
    """The delimiter; it may be what numbers have before their fraction, where these stand in quotes."""
    if not isinstance(delimiter, str) or len(delimiter) != 1:
        raise DataError(f"delimiter must be one character but is {show(delimiter)}.", "Give ';' or '\\t', for example.")
    if not is_one_of(decimal, (".", ",")):
        raise DataError(f"decimal must be '.' or ',' but is {show(decimal)}.", "Leave it out for a point.")
    return delimiter


def _read(path: Path, delimiter: str, columns: Iterable[str], time: str | None, decimal: str) -> _Table:
    with _open(path) as file:
        # Compressed text may be a thousand times as long as its file.
        limited = limit_lines(file, DataError, "it", longest=LONGEST_LINE, largest=LARGEST)
        reader = csv.reader(limited, delimiter=delimiter, strict=True)  # else an open quote swallows the rows below it
        rows = _list_rows(reader)
        header = [label.strip() for label in next(rows, ([], 0))[0]]
        if not header and next(rows, None) is None:
            raise DataError("the file is empty.", ROWS)
        _check_header(header)
        wanted = [*([] if time is None else [time]), *columns]
        labels = read_labels(header)
        places = {label: _find_column(labels, label, rows) for label in wanted}
        units = {label: labels[place].unit for label, place in places.items()}
        table = _Table({label: array("d") for label in places}, units=units, clock=time, decimal=decimal)
        while some := list(islice(rows, CHUNK)):
            for row, line in some:
                if len(row) != len(header):
                    sentence = f"line {line} has {len(row)} fields but the header line has {len(header)}."
                    raise DataError(sentence, _advise_on_fields(delimiter, decimal))
            table.extend([row for row, _ in some], places)
            table.lines.extend([line for _, line in some])
            _check_size(path, len(table.lines), file.buffer.tell(), len(places))
    if not table.lines:
        raise DataError("there are no rows below the header line.", ROWS)
    return table


def _advise_on_fields(delimiter: str, decimal: str) -> str:
    if delimiter == decimal:
        return f"Where '{delimiter}' stands both between columns and in numbers, these must be in quotes."
    return "Write one cell for each column, NA where an output is missing."


def _check_size(path: Path, rows: int, read: int, columns: int) -> None:
    """Refuse a file of which all rows, as far as these tell their number, do not fit into memory."""
    if rows % CHUNK == 0 and (rows // CHUNK) & (rows // CHUNK - 1) == 0:  # at every doubling
        # A compressed file has read more than its size, and tells of the next doubling only.
        expected = rows * max(path.stat().st_size / read, 2.0)
        needed, subject = COPIES * 8.0 * (columns + 1) * expected, f"what is read of about {expected:.2g} rows"
        check_memory(needed, subject, "Divide the file, or read fewer columns.")


def _list_rows(reader: Any) -> Iterator[tuple[list[str], int]]:
    """Rows and the lines they end on; a blank one only if another follows that is not."""
    blank: list[tuple[list[str], int]] = []
    while (row := _take_row(reader)) is not None:
        if row:
            yield from blank
            blank = []
            yield row, reader.line_num
        elif not blank:  # the first is refused already
            blank = [(row, reader.line_num)]


def _take_row(reader: Any) -> list[str] | None:
    """The next one; None at the end."""
    begin = reader.line_num + 1
    try:
        return next(reader, None)
    except csv.Error as error:
        reason = str(error)
        if "expected after" in reason:
            sentence = f"line {reader.line_num} has text behind the quote that ends a cell."
            raise DataError(sentence, MISPLACED + OTHER_MARK * (begin == 1)) from None
        if "unexpected end" in reason or "field limit" in reason:
            raise DataError(f"line {begin} opens a quote that is not closed.", "Close it, or delete it.") from None
        raise


@contextmanager
def _open(path: Path) -> Iterator[TextIO]:
    """The text of a file, and sentences for what may go wrong with it."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        check_file(path, DataError, "it", LARGEST)
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield cast(TextIO, file)
    except FileNotFoundError:
        raise DataError(f"there is no such file in '{resolve(path.parent)}'.", "Check the path.") from None
    except PermissionError:
        raise DataError("you may not read it.", "Ask its owner, or copy it.") from None
    except UnicodeDecodeError:
        raise DataError(f"the file cannot be read: {_explain_bytes(path)}.", UTF_8) from None
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        raise DataError(f"the file cannot be read: {tell_reason(error)}.", UTF_8) from None


def _explain_bytes(path: Path) -> str:
    with path.open("rb") as file:
        return explain_bytes(file.read(2))


def _find_column(labels: list[Label], label: Any, rows: Iterator[tuple[list[str], int]]) -> int:
    """By its label, or by its name without the unit."""
    header = [one.label for one in labels]
    if is_one_of(label, header):
        return header.index(label)
    alike = [place for place, one in enumerate(labels) if is_one_of(label, [one.name])]
    if len(alike) == 1:
        return alike[0]
    label = show(label, str)
    if alike:
        raise DataError(
            f"'{label}' may be the column {' or '.join(repr(header[place]) for place in alike)}.", "Write all of it."
        )
    remedy = find_column_advice(label, header, (row for row, _ in islice(rows, ABOVE)))
    raise DataError(f"there is no column '{label}'.", remedy)


def _check_header(header: list[str]) -> None:
    repeated = sorted(label for label, count in Counter(header).items() if count > 1)
    if repeated:
        raise DataError(f"the header line has {quoted(repeated)} more than once.", "Give each column its own name.")
    if all(isfinite(_parse_number(label)) for label in header):
        raise DataError("the first line must name the columns but holds numbers or nothing.", "Add a header line.")
