"""`daedal new`: a project to fill in, from the header lines of data and what a model declares.

What cannot be read is proposed, and every proposal is said: which column is the time, which are inputs, which outputs.
"""

import csv
import gzip
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TextIO, cast, final

import numpy as np

from daedal.data import Dataset, read_csv
from daedal.errors import DaedalError, ProjectError, quoted
from daedal.files import is_file, is_folder
from daedal.models import Model
from daedal.projects.data_files import FRAMES, READERS, read_frame
from daedal.projects.model_files import read_model
from daedal.projects.source import Source, Table
from daedal.projects.template_model import write_first_model
from daedal.symbolic import Expression

CLOCK = re.compile(r"t|time|zeit|date|datum|datetime|timestamp|clock|sec|seconds|hours|min", re.IGNORECASE)
DRIVING = re.compile(r"u|u[\d_].*|in|in[\d_].*|input.*|cmd.*|command.*|setpoint.*|sp", re.IGNORECASE)
HELD = 0.5  # share of steps without a change that a column has which somebody set
DELIMITERS = ",;\t|"
FEW = 6  # parameters that are all freed
FACTOR = 100.0  # to each side of the start of a positive parameter
FILL_IN = "FILL IN"


@final
@dataclass(frozen=True)
class Written:
    """The files, the project first, and what there is to say about them."""

    files: tuple[Path, ...]
    sentences: tuple[str, ...]


@final
@dataclass(frozen=True)
class Columns:
    """What a header line says, and what each column is taken for."""

    time: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    delimiter: str
    decimal: str
    data: Dataset | None  # all columns as outputs, where they could be read

    @property
    def names(self) -> tuple[str, ...]:
        """All that are measured."""
        return (*self.outputs, *self.inputs)


def write_template(name: str, model: Path | None = None, data: Sequence[Path] = ()) -> Written:
    """Write NAME.toml, and NAME_model.toml where there is no model; existing files are never touched."""
    project = Path(name if name.endswith(".toml") else f"{name}.toml")
    if project.suffix != ".toml" or not project.stem.strip(" .") or not name.isprintable():
        raise ProjectError(f"A project is called by a name, got {name!r}.", "Write daedal new tank.")
    made_model = project.with_name(f"{project.stem}_model.toml") if model is None else None
    _refuse_existing(project, made_model, data)
    columns = [_read_columns(path) for path in data]
    first = columns[0] if columns else Columns("t", ("u",), ("y",), ",", ".", None)
    if made_model is None:
        declared, entry = _find_model(project, cast(Path, model))
        chosen = _match(declared, first)
        text = None
    else:
        declared = None
        text, signals = write_first_model(project.stem, first.time, first.inputs, first.outputs, first.data)
        declared = Model.from_text(text)
        chosen = {signal: column for column, signal in signals.items()}
        entry = f"file = {_quote(made_model.name)}"
    files = [os.path.relpath(path.resolve(), project.parent.resolve()) for path in data] or [f"{FILL_IN}.csv"]
    content = _write_project(project.stem, entry, declared, first, chosen, files)
    written = [project]
    _write(project, content)
    if text is not None and made_model is not None:
        _write(made_model, text)
        written.append(made_model)
    return Written(tuple(written), tuple(_tell(written, first, chosen, declared, bool(data))))


def _refuse_existing(project: Path, model: Path | None, data: Sequence[Path]) -> None:
    for path in filter(None, (project, model)):
        if os.path.lexists(path):
            raise ProjectError(f"There is a '{path}' already.", "Choose another name; nothing was written.")
    if not is_folder(project.parent):
        raise ProjectError(f"There is no folder '{project.parent}'.", "Make it first.")
    for path in data:
        if not is_file(path):
            raise ProjectError(f"There is no data file '{path}'.", "Check its name; nothing was written.")


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ProjectError(f"'{path}' could not be written: {error.strerror}.", "Choose another folder.") from None


def _find_model(project: Path, given: Path) -> tuple[Model, str]:
    """The model, and the line of the project that names it."""
    file, _, name = str(given).rpartition(":") if ".py:" in str(given) else (str(given), "", "")
    relative = Path(os.path.relpath(Path(file).resolve(), project.parent.resolve())).as_posix()
    rows = {"python": f"{relative}:{name}"} if name else {"file": relative}
    source = Source(project, "", {})
    try:
        model, _ = read_model(Table(source, ("model",), rows))
    except ProjectError as error:
        raise ProjectError(error.sentence.replace(f"{project}: ", "--from: "), error.remedy) from None
    entry = "\n".join(f"{key} = {_quote(value)}" for key, value in rows.items())
    if rows.get("file", "").endswith(".mo"):
        entry += f"\nclass = {_quote(model.name)}"
    return model, entry


def _read_columns(path: Path) -> Columns:
    """The names of the columns, and what they look like."""
    kind = Path(path.name.removesuffix(".gz")).suffix.lower()
    if kind in FRAMES:
        return _read_table(path)
    if kind not in READERS:
        raise ProjectError(
            f"The columns of '{path}' cannot be listed.",
            f"Give a file that ends in one of {', '.join(READERS)}, or leave --data out and fill in the rest.",
        )
    try:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            line = cast(TextIO, file).readline(1_000_000).strip("\r\n")
    except (OSError, UnicodeDecodeError, EOFError) as error:
        raise ProjectError(
            f"'{path}' cannot be read: {error}.", "It must be UTF-8 text ('CSV UTF-8' in a spreadsheet)."
        ) from None
    delimiter = max(DELIMITERS, key=line.count) if any(map(line.count, DELIMITERS)) else ","
    labels = [label.strip() for label in next(csv.reader([line], delimiter=delimiter), [])]
    if len(labels) < 2 or all(_is_number(label) for label in labels):
        raise ProjectError(
            f"'{path}' has no header line with names of columns.",
            "Write one above the numbers: t,u,y. Nothing was written.",
        )
    time = _find_clock(labels)
    others = [label for label in labels if label != time]
    decimal, data = _try_to_read(path, time, others, delimiter)
    return _sort_columns(time, others, delimiter, decimal, data)


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
    with suppress(DaedalError):  # it will be refused later, with its line
        data = Dataset.from_pandas(frame, time=time, outputs=others)
    return _sort_columns(time, others, ",", ".", data)


def _strip_unit(label: str) -> str:
    return re.sub(r"\s*[\[(].*", "", label)


def _find_clock(labels: Sequence[str]) -> str:
    return next((label for label in labels if CLOCK.fullmatch(_strip_unit(label))), labels[0])


def _sort_columns(time: str, others: Sequence[str], delimiter: str, decimal: str, data: Dataset | None) -> Columns:
    """What drives, and what is measured."""
    driving = [label for label in others if _drives(label, data)]
    if len(driving) == len(others):  # something was measured
        driving = driving[:-1]
    measured = tuple(label for label in others if label not in driving)
    return Columns(time, tuple(driving), measured, delimiter, decimal, data)


def _is_number(label: str) -> bool:
    try:
        return isfinite(float(label))
    except ValueError:
        return not label


def _try_to_read(path: Path, time: str, columns: list[str], delimiter: str) -> tuple[str, Dataset | None]:
    """With a decimal point or comma; None where something in the file will be refused later, with its line."""
    for decimal in (".", ","):
        with suppress(DaedalError):
            return decimal, read_csv(path, time=time, outputs=columns, delimiter=delimiter, decimal=decimal)
    return ".", None


def _drives(label: str, data: Dataset | None) -> bool:
    """Called as inputs are, or held for several samples at a time."""
    if DRIVING.fullmatch(_strip_unit(label)):
        return True
    values = data.outputs[label].values if data is not None else np.zeros(0)
    known = values[np.isfinite(values)]
    return bool(known.size > 2 and float(np.mean(np.diff(known) == 0.0)) > HELD and np.ptp(known) > 0.0)


def _match(model: Model, columns: Columns) -> dict[str, str]:
    """Signal → column: of the same name, or the only ones that are left."""
    bare = {_strip_unit(label).casefold(): label for label in columns.names}
    chosen = {name: bare[name.casefold()] for name in (*model.input_names, *model.outputs) if name.casefold() in bare}
    for signals, labels in ((model.input_names, columns.inputs), (tuple(model.outputs), columns.outputs)):
        open_signals = [name for name in signals if name not in chosen]
        open_labels = [label for label in labels if label not in chosen.values()]
        if len(open_signals) == len(open_labels) == 1:
            chosen[open_signals[0]] = open_labels[0]
    return chosen


def _write_project(
    title: str, entry: str, model: Model, columns: Columns, chosen: Mapping[str, str], files: Sequence[str]
) -> str:
    inputs = _write_table({name: chosen.get(name, FILL_IN) for name in model.input_names})
    outputs = _write_table({name: chosen.get(name, FILL_IN) for name in model.outputs})
    free, rest = _choose_free(model)
    lines = [
        f"# What 'daedal check {title}.toml' and 'daedal fit {title}.toml' read. What follows a # is a remark;",
        "# every line except those of [model] and [[data]] may be left out.",
        f"title = {_quote(title)}",
        'author = ""',
        "",
        "[model]",
        entry,
        "# [model.set]                    # fixed values that differ from the model",
        *(f"# {_quote_key(name)} = {_show(model, name)}" for name in list(model.parameters)[:1]),
        "",
        "[[data]]                         # one block for each experiment",
        f"file = {_quote(Path(files[0]).as_posix())}",
        f"time = {_quote(columns.time)}                       # the column of the times; or step = 0.5 without one",
        *([f"delimiter = {_quote(columns.delimiter)}"] if columns.delimiter != "," else []),
        *(
            [f"decimal = {_quote(columns.decimal)}                    # numbers such as 1,5"]
            if columns.decimal != "."
            else []
        ),
        f"# columns of the file: {', '.join(map(_show_name, (columns.time, *columns.names)))}",
        *(
            [f"inputs = {inputs}     # name in the model = column: what drives it, and was recorded"]
            if model.input_names
            else []
        ),
        f"outputs = {outputs}    # name in the model = column: what was measured",
        *(
            ['intersample = "zoh"              # inputs between samples: "zoh" held, "foh" straight lines']
            if model.input_names
            else []
        ),
        "# between = [0.0, 100.0]         # times that are used",
        "# missing = [-999.0]             # values that mean: no sample",
    ]
    for number, file in enumerate(files[1:], start=2):
        held = number == len(files)
        lines += [
            "",
            "[[data]]",
            f"file = {_quote(Path(file).as_posix())}",
            "like = 0                         # the same columns",
        ]
        lines += ['use = "validate"                 # never seen by the fit, to try it on'] if held else []
    if len(files) == 1:
        lines += [
            "",
            "# [[data]]                       # a second run, to try the fit on",
            '# file = "run2.csv"',
            "# like = 0",
            '# use = "validate"',
        ]
    lines += [
        "",
        "[estimate]",
        'criterion = "automatic"          # or { kind = "Likelihood" }, "OutputError", "SimulationPEM"',
        "# starts = { latin_hypercube = 20 }  # where the answer may depend on the start; needs bounds",
        "[estimate.free]                  # what is not known; all other parameters keep the model's values",
        *(f"{_quote_key(name)} = {_write_free(model, name)}" for name in free),
        *(f"# {_quote_key(name)} = {_write_free(model, name)}" for name in rest),
        "",
        "[validate]",
        "# horizon = [1, 10]              # predictions so many samples ahead",
        "# profile = []                   # parameters whose intervals follow the criterion",
        f"# states = {json.dumps(list(model.unknown_names)[:3], ensure_ascii=False)}",
        "",
        "[report]",
        f"file = {_quote(f'{title}.html')}",
        '# notes = "notes.md"             # your own words on top of the page',
    ]
    return "\n".join(lines) + "\n"


def _choose_free(model: Model) -> tuple[list[str], list[str]]:
    """Those that the model gives bounds, or else the first; the others are listed as remarks."""
    numbers = [name for name, one in model.parameters.items() if not isinstance(one.value, Expression)]
    varying = [name for name in numbers if model.parameters[name].details().keys() - {"unit"}]
    free = varying or numbers[:FEW]
    return free, [name for name in numbers if name not in free]


def _write_free(model: Model, name: str) -> str:
    """Start and bounds: the model's, or a wide range around a positive value."""
    one = model.parameters[name]
    rows: dict[str, str] = {"start": repr(one.value)}
    details = one.details()
    if not details.keys() - {"unit"} and cast(float, one.value) > 0.0:
        value = cast(float, one.value)
        rows |= {"lower": f"{value / FACTOR:.3g}", "upper": f"{value * FACTOR:.3g}", "scale": '"log"'}
    rows |= {key: repr(value) for key, value in details.items() if key in ("lower", "upper") and isfinite(value)}
    rows |= {"scale": '"log"'} if details.get("scale") == "log" else {}
    return f"{{ {', '.join(f'{key} = {value}' for key, value in rows.items())} }}"


def _show(model: Model, name: str) -> str:
    value = model.parameters[name].value
    return repr(value) if isinstance(value, float) else "1.0"


def _tell(files: Sequence[Path], columns: Columns, chosen: Mapping[str, str], model: Model, read: bool) -> list[str]:
    told = [f"Written: {' and '.join(map(str, files))}."]
    if read:
        told.append(
            f"Proposed, from names and values of the columns: '{columns.time}' is the time; inputs, which drive the "
            f"system: {quoted(columns.inputs) or 'none'}; measured: {quoted(columns.outputs)}. If that is wrong, "
            f"change it in {files[0]}."
        )
    if len(files) > 1:
        told.append(f"{files[1]} holds a first model, one lag for each output: put your own equations in its place.")
    lacking = [name for name in (*model.input_names, *model.outputs) if name not in chosen]
    if lacking:
        told.append(f"Fill in the columns of {quoted(lacking)} in {files[0]}.")
    if not read:
        told.append(f"Fill in the file of the data in {files[0]}.")
    return told


def _write_table(rows: Mapping[str, str]) -> str:
    return f"{{ {', '.join(f'{_quote_key(key)} = {_quote(value)}' for key, value in rows.items())} }}"


def _show_name(name: str) -> str:
    """In a comment, where control characters are not allowed."""
    return name if name.isprintable() else _quote(name)


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _quote_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quote(name)
