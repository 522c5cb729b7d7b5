"""Columns of data files as a new project takes them: which is the time, which drive, which were measured."""

import csv
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import final

import numpy as np

from daedal.data import Dataset, read_first_lines, read_numbers
from daedal.errors import ProjectError, RefusalError, nearest, quoted
from daedal.projects.data_files import READERS, find_kind, read_frame
from daedal.projects.frames import ENDINGS

CLOCK = re.compile(r"t|time|zeit|date|datum|datetime|timestamp|clock|sec|seconds|hours|min", re.IGNORECASE)
DRIVING = re.compile(
    r"u|u[\d_].*|in|in[\d_].*|input.*|cmd.*|command.*|setpoint.*|sp|(T|temp\w*)?[ _]?(out(side|door)\w*|ambient|amb)|"
    r"au(ß|ss)en.*|umgebung.*|solar.*|weather.*",
    re.IGNORECASE,
)
HELD = 0.5  # share of steps without a change that a column has which somebody set
ABOVE = 100  # lines in which the names of the columns are looked for
DELIMITERS = ",;\t|"


@final
@dataclass(frozen=True)
class Columns:
    """What a header line says, and what each column is taken for."""

    time: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    delimiter: str
    decimal: str
    data: Dataset | None  # all columns that hold numbers, as outputs, where they could be read
    texts: tuple[str, ...] = ()  # columns of words, which are left out

    @property
    def names(self) -> tuple[str, ...]:
        """All that are measured."""
        return (*self.outputs, *self.inputs)

    def with_inputs(self, names: Sequence[str]) -> "Columns":
        """Those that drive as somebody says, named by their labels or without their units; the others are measured."""
        chosen = []
        for name in names:
            meant = [one for one in self.names if name.casefold() in (one.casefold(), strip_unit(one).casefold())]
            if len(meant) != 1:
                raise ProjectError(f"--inputs: there is no column '{name}'.", nearest(name, self.names))
            chosen += meant
        measured = tuple(one for one in self.names if one not in chosen)
        if not measured:
            raise ProjectError("--inputs names all columns, so that nothing was measured.", "Leave one out.")
        return replace(self, inputs=tuple(dict.fromkeys(chosen)), outputs=measured)

    def is_like(self, other: "Columns") -> bool:
        """Whether what is said of one file is true of the other."""
        mine, its = ({one.time, *one.names, *one.texts} for one in (self, other))
        return (self.time, mine, self.delimiter, self.decimal) == (other.time, its, other.delimiter, other.decimal)


def read_columns(path: Path) -> Columns:
    """The names of the columns, and what they look like."""
    kind = find_kind(path.name)
    if kind in ENDINGS:
        return _read_table(path)
    if kind not in READERS:
        raise ProjectError(
            f"The columns of '{path}' cannot be listed.",
            f"Give a file that ends in one of {', '.join(READERS)}, or leave --data out and fill in the rest.",
        )
    delimiter, labels = _read_header(path)
    time = _find_clock(labels)
    others = [label for label in labels if label != time]
    decimal, data = _try_to_read(path, time, others, delimiter)
    return _sort_columns(time, others, delimiter, decimal, data)


def _read_header(path: Path) -> tuple[str, list[str]]:
    """What separates the names of the columns in the first line, and the names."""
    lines = read_first_lines(path, ABOVE)
    header = lines[0] if lines else ""
    delimiter = _find_delimiter(header)
    labels = _split(header, delimiter)
    if not labels:
        raise ProjectError(f"The first line of '{path}' has a quote that does not hold a cell.", "Close or delete it.")
    if "\0" in header:
        raise ProjectError(f"The first line of '{path}' has a null character, as no text has.", "Write it anew.")
    if len(labels) < 2 or all(_is_number(label) for label in labels) or header.lower().startswith("sep="):
        raise ProjectError(f"The first line of '{path}' does not name two columns.", _advise_on_header(lines))
    repeated = [label for label in dict.fromkeys(labels) if labels.count(label) > 1]
    if repeated:
        raise ProjectError(
            f"The first line of '{path}' names {quoted(repeated)} more than once.",
            "Give each column its own name.",
        )
    return delimiter, labels


def _advise_on_header(lines: Sequence[str]) -> str:
    """Where the names of the columns may be, if not in the first line."""
    widths = [len(_split(line, _find_delimiter(line))) for line in lines]
    for number, (line, width) in enumerate(zip(lines, widths, strict=True), start=1):
        labels = _split(line, _find_delimiter(line))
        if number > 1 and width > 1 and not any(map(_is_number, labels)) and widths[number : number + 1] == [width]:
            return f"Line {number} seems to: delete what is above it."
    return "Write their names above the numbers, with commas, semicolons, tabs or | between them: t,u,y."


def _find_delimiter(line: str) -> str:
    return max(DELIMITERS, key=line.count) if any(map(line.count, DELIMITERS)) else ","


def _split(line: str, delimiter: str) -> list[str]:
    try:
        return [label.strip() for label in next(csv.reader([line], delimiter=delimiter, strict=True), [""])]
    except csv.Error as error:
        return [line] if "limit" in str(error) else []  # a field without an end, or a quote


def _read_table(path: Path) -> Columns:
    """Those of a file that is no text."""
    frame = read_frame(path)
    labels = [str(label) for label in frame.columns]
    if len(labels) < 2:
        raise ProjectError(
            f"'{path}' has fewer than two columns of one length.", "Write times and signals as columns, or as CSV."
        )
    time, data = _find_clock(labels), None
    others = [label for label in labels if label != time]
    with suppress(RefusalError):  # it will be refused later, with its line
        numbers = list(frame[others].select_dtypes("number").columns)
        data = Dataset.from_pandas(frame, time=time, outputs=numbers)
    return _sort_columns(time, others, ",", ".", data)


def strip_unit(label: str) -> str:
    return re.sub(r"\s*[\[(].*", "", label)


def _find_clock(labels: Sequence[str]) -> str:
    return next((label for label in labels if CLOCK.fullmatch(strip_unit(label))), labels[0])


def _sort_columns(time: str, others: Sequence[str], delimiter: str, decimal: str, data: Dataset | None) -> Columns:
    """What drives, and what is measured."""
    texts = () if data is None else tuple(label for label in others if label not in data.outputs)
    others = [label for label in others if label not in texts]
    driving = [label for label in others if _drives(label, data)]
    if len(driving) == len(others):  # something was measured
        driving = driving[:-1]
    measured = tuple(label for label in others if label not in driving)
    return Columns(time, tuple(driving), measured, delimiter, decimal, data, texts)


def _is_number(label: str) -> bool:
    try:
        return isfinite(float(label))
    except ValueError:
        return not label


def _try_to_read(path: Path, time: str, columns: list[str], delimiter: str) -> tuple[str, Dataset | None]:
    """With a decimal point or comma, without columns of words; None where something will be refused later."""
    found: dict[str, Dataset] = {}
    for decimal in (".", ","):
        with suppress(RefusalError):
            found[decimal] = read_numbers(path, time, columns, delimiter, decimal)
            if len(found[decimal].outputs) == len(columns):
                return decimal, found[decimal]
    return max(found.items(), key=lambda pair: len(pair[1].outputs), default=(".", None))


def _drives(label: str, data: Dataset | None) -> bool:
    """Called as inputs are, or held for several samples at a time."""
    if DRIVING.fullmatch(strip_unit(label)):
        return True
    values = data.outputs[label].values if data is not None else np.zeros(0)
    known = values[np.isfinite(values)]
    return bool(known.size > 2 and float(np.mean(np.diff(known) == 0.0)) > HELD and np.ptp(known) > 0.0)
