"""`daedal new`: a project to fill in, from the header lines of data and what a model declares.

What cannot be read is proposed, and every proposal is said: which column is the time, which are inputs, which outputs.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import cast, final

from daedal.errors import ProjectError, nearest, quoted
from daedal.files import check_file, is_folder
from daedal.models import Model
from daedal.projects.model_files import read_model
from daedal.projects.source import LARGEST, Source, Table, list_beside
from daedal.projects.template_columns import Columns, read_columns, strip_unit
from daedal.projects.template_model import write_first_model
from daedal.symbolic import Expression

FEW = 6  # parameters that are all freed
WORDS = {"unit", "description"}  # what a model may say of a parameter without expecting it to be estimated
FACTOR = 100.0  # to each side of the start of a positive parameter
FILL_IN = "FILL IN"


@final
@dataclass(frozen=True)
class Written:
    """The files, the project first, and what there is to say about them."""

    files: tuple[Path, ...]
    sentences: tuple[str, ...]


def write_template(
    name: str, model: Path | None = None, data: Sequence[Path] = (), inputs: Sequence[str] = ()
) -> Written:
    """Write NAME.toml, and NAME_model.toml where there is no model; existing files are never touched.

    `inputs` are the columns that drive the system, where names and values do not tell.
    """
    project = Path(name if name.endswith(".toml") else f"{name}.toml")
    if project.suffix != ".toml" or not project.stem.strip(" .") or not name.isprintable():
        raise ProjectError(f"A project is called by a name, got {name!r}.", "Write daedal new tank.")
    made_model = project.with_name(f"{project.stem}_model.toml") if model is None else None
    _refuse_existing(project, made_model, data)
    read = [read_columns(path) for path in data]
    columns = [one.with_inputs(inputs) for one in read] if inputs else read
    columns = columns or [Columns("t", ("u",), ("y",), ",", ".", None)]
    first = columns[0]
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
    matched = [chosen, *(chosen if one.is_like(first) else _match(declared, one) for one in columns[1:])]
    content = _write_project(project.stem, entry, declared, columns, matched, files)
    written = [project]
    _write(project, content)
    if text is not None and made_model is not None:
        _write(made_model, text)
        written.append(made_model)
    told = _tell(written, first, chosen, declared, bool(data), proposed=not inputs)
    for file, one, pairs in zip(files[1:], columns[1:], matched[1:], strict=True):
        if not one.is_like(first):
            told.append(f"'{file}' has other columns than '{files[0]}': look at its [[data]] in {project}.")
            told += _ask_for_columns(declared, pairs, f"its [[data]] in {project}")
    return Written(tuple(written), tuple(told))


def _refuse_existing(project: Path, model: Path | None, data: Sequence[Path]) -> None:
    for path in filter(None, (project, model)):
        if os.path.lexists(path):
            raise ProjectError(f"There is a '{path}' already.", "Choose another name; nothing was written.")
    if not is_folder(project.parent):
        raise ProjectError(f"There is no folder '{project.parent}'.", "Make it first.")
    for path in data:
        try:
            check_file(path, ProjectError, f"The data file '{path}'", LARGEST)
        except FileNotFoundError:
            others = list_beside(path)
            advice = nearest(path.name, others, "There are") if others else "Check its name; nothing was written."
            raise ProjectError(f"There is no data file '{path}'.", advice) from None


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


def _match(model: Model, columns: Columns) -> dict[str, str]:
    """Signal → column: of the same name, or the only ones that are left."""
    bare = {strip_unit(label).casefold(): label for label in columns.names}
    chosen = {name: bare[name.casefold()] for name in (*model.input_names, *model.outputs) if name.casefold() in bare}
    for signals, labels in ((model.input_names, columns.inputs), (tuple(model.outputs), columns.outputs)):
        open_signals = [name for name in signals if name not in chosen]
        open_labels = [label for label in labels if label not in chosen.values()]
        if len(open_signals) == len(open_labels) == 1:
            chosen[open_signals[0]] = open_labels[0]
    return chosen


def _write_project(
    title: str,
    entry: str,
    model: Model,
    columns: Sequence[Columns],
    chosen: Sequence[Mapping[str, str]],
    files: Sequence[str],
) -> str:
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
        *_write_columns(model, columns[0], chosen[0]),
        "# between = [0.0, 100.0]         # times that are used",
        "# missing = [-999.0]             # values that mean: no sample",
    ]
    for number, (file, one, signals) in enumerate(zip(files[1:], columns[1:], chosen[1:], strict=True), start=2):
        held = number == len(files)
        like = ["like = 0                         # the same columns"]
        own = like if one.is_like(columns[0]) else _write_columns(model, one, signals)
        lines += ["", "[[data]]", f"file = {_quote(Path(file).as_posix())}", *own]
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


def _write_columns(model: Model, columns: Columns, chosen: Mapping[str, str]) -> list[str]:
    """What a block says of the columns of its file."""
    inputs = _write_table({name: chosen.get(name, FILL_IN) for name in model.input_names})
    outputs = _write_table({name: chosen.get(name, FILL_IN) for name in model.outputs})
    lines = [
        f"time = {_quote(columns.time)}                       # the column of the times; or step = 0.5 without one"
    ]
    if columns.delimiter != ",":
        lines.append(f"delimiter = {_quote(columns.delimiter)}")
    if columns.decimal != ".":
        lines.append(f"decimal = {_quote(columns.decimal)}                    # numbers such as 1,5")
    lines.append(f"# columns of the file: {', '.join(map(_show_name, (columns.time, *columns.names, *columns.texts)))}")
    if model.input_names:
        lines.append(f"inputs = {inputs}     # name in the model = column: what drives it, and was recorded")
    lines.append(f"outputs = {outputs}    # name in the model = column: what was measured")
    if model.input_names:
        lines.append('intersample = "zoh"              # inputs between samples: "zoh" held, "foh" straight lines')
    return lines


def _choose_free(model: Model) -> tuple[list[str], list[str]]:
    """Those that the model gives bounds, or else the first; the others are listed as remarks."""
    numbers = [name for name, one in model.parameters.items() if not isinstance(one.value, Expression)]
    varying = [name for name in numbers if model.parameters[name].details().keys() - WORDS]
    free = varying or numbers[:FEW]
    return free, [name for name in numbers if name not in free]


def _write_free(model: Model, name: str) -> str:
    """Start and bounds: the model's, or a wide range around a positive value."""
    one = model.parameters[name]
    rows: dict[str, str] = {"start": repr(one.value)}
    details = one.details()
    if not details.keys() - WORDS and cast(float, one.value) > 0.0:
        value = cast(float, one.value)
        rows |= {"lower": f"{value / FACTOR:.3g}", "upper": f"{value * FACTOR:.3g}", "scale": '"log"'}
    rows |= {key: repr(value) for key, value in details.items() if key in ("lower", "upper") and isfinite(value)}
    rows |= {"scale": '"log"'} if details.get("scale") == "log" else {}
    return f"{{ {', '.join(f'{key} = {value}' for key, value in rows.items())} }}"


def _show(model: Model, name: str) -> str:
    value = model.parameters[name].value
    return repr(value) if isinstance(value, float) else "1.0"


def _tell(
    files: Sequence[Path], columns: Columns, chosen: Mapping[str, str], model: Model, read: bool, *, proposed: bool
) -> list[str]:
    told = [f"Written: {' and '.join(map(str, files))}."]
    if read:
        begin = "Proposed, from names and values of the columns" if proposed else "Taken"
        wrong = (
            "delete what was written and name those that drive: --inputs a,b" if len(files) > 1 else "change it there"
        )
        told.append(
            f"{begin}: '{columns.time}' is the time; inputs, which drive the system: "
            f"{quoted(columns.inputs) or 'none'}; measured: {quoted(columns.outputs)}."
            + f" If that is wrong, {wrong}."
            * proposed
        )
    if columns.texts:
        told.append(f"Left out, as they hold no numbers: {quoted(columns.texts)}.")
    if len(files) > 1:
        told.append(f"{files[1]} holds a first model, one lag for each output: put your own equations in its place.")
    told += _ask_for_columns(model, chosen, str(files[0]))
    if not read:
        told.append(f"Fill in the file of the data in {files[0]}.")
    return told


def _ask_for_columns(model: Model, chosen: Mapping[str, str], where: str) -> list[str]:
    lacking = [name for name in (*model.input_names, *model.outputs) if name not in chosen]
    return [f"Fill in the columns of {quoted(lacking)} in {where}."] if lacking else []


def _write_table(rows: Mapping[str, str]) -> str:
    return f"{{ {', '.join(f'{_quote_key(key)} = {_quote(value)}' for key, value in rows.items())} }}"


def _show_name(name: str) -> str:
    """In a comment, where control characters are not allowed."""
    return name if name.isprintable() else _quote(name)


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _quote_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quote(name)
