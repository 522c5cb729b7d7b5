"""`[[data]]`: one block for each experiment, its columns matched with the model."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from daedal.data import Dataset, Samples, short
from daedal.errors import DaedalError, counted, nearest
from daedal.models import Model
from daedal.projects.data_files import COMPRESSED, READERS, read_columns
from daedal.projects.project import DataBlock
from daedal.projects.source import Table

INTERSAMPLE = ("foh", "zoh", "spline")
USES = ("fit", "validate")
OWN = ("file", "name", "use", "like")  # what a block has of its own, whichever it is like
KEYS = (
    *OWN,
    "time",
    "step",
    "inputs",
    "outputs",
    "intersample",
    "between",
    "missing",
    "units",
    "delimiter",
    "decimal",
    "measurement_noise",
)
SPELLINGS = {"μ": "µ", "·": "*", "²": "^2", "³": "^3", " ": ""}
SAME = {"sec": "s", "second": "s", "seconds": "s", "ohm": "Ω", "Ohm": "Ω", "degC": "°C", "degF": "°F", "deg": "°"}
SAME |= {"hour": "h", "hours": "h", "minute": "min", "minutes": "min", "percent": "%"}


def read_blocks(root: Table, model: Model) -> tuple[tuple[DataBlock, ...], tuple[Dataset, ...], list[Path]]:
    """All blocks, their data, and their files."""
    listed = root.get("data", [])
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise root.explain("data", "data must be blocks.", "Write [[data]] above each, in double brackets.")
    if not listed:
        raise root.source.explain((), "there is no [[data]].", 'Write [[data]] with file = "run.csv" below it.')
    tables: list[Table] = []
    blocks: list[DataBlock] = []
    for number, content in enumerate(listed):
        tables.append(_make_table(root, number, content, tables, blocks))
        blocks.append(_read_block(tables[-1], model))
        _refuse_same_name(tables, blocks)
    read = [_read_data(table, block, model) for table, block in zip(tables, blocks, strict=True)]
    _refuse_other_units(tables, blocks, [data for data, _ in read])
    if all(block.held_out for block in blocks):
        raise tables[0].explain(
            "use", "all data are held out: nothing is left to fit.", 'Leave one use = "validate" out.'
        )
    return tuple(blocks), tuple(data for data, _ in read), [path for _, path in read]


def _make_table(
    root: Table, number: int, content: dict[str, Any], before: list[Table], blocks: list[DataBlock]
) -> Table:
    """A block with what it takes over from the one it is like."""
    table = Table(root.source, ("data", number), content)
    table.refuse_unknown(KEYS, "[[data]]")
    if "like" not in table:
        return table
    like = table.get("like")
    names = [block.name for block in blocks]
    place = names.index(like) if like in names else like
    if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < number:
        known = f"There are 0 to {number - 1}, counted from 0." if number > 1 else "Before it there is 0."
        advice = known if number else "It is the first: give it columns of its own."
        raise table.explain("like", f"like must be the number or the name of a block before it, got {like!r}.", advice)
    chosen = before[place]
    shared = {key: value for key, value in chosen.content.items() if key not in OWN}
    base = Table(root.source, chosen.address, shared, chosen.inherited)
    conflict = {"time": "step", "step": "time"}
    hidden = [conflict[key] for key in conflict if key in content]
    return Table(root.source, table.address, content, _leave_out(base, hidden))


def _leave_out(table: Table, keys: list[str]) -> Table:
    """One block may be timed by a column, one like it by steps."""
    inherited = None if table.inherited is None else _leave_out(table.inherited, keys)
    return replace(table, content={k: v for k, v in table.content.items() if k not in keys}, inherited=inherited)


def _read_block(table: Table, model: Model) -> DataBlock:
    file = table.take_text("file")
    if not file:
        raise table.explain("file", "[[data]] must have a file.", 'Write file = "run.csv".')
    stem = Path(file).name
    stem = stem.removesuffix(COMPRESSED)
    name = table.take_text("name") or Path(stem).stem
    if ("time" in table) == ("step" in table):
        given = "both" if "time" in table else "neither"
        raise table.explain(
            "time",
            f"the data '{name}' must have either time or step, but have {given}.",
            'Write time = "t" with the column of the times, or step = 0.5 with the time from row to row.',
        )
    options: dict[str, Any] = {"time": table.take_text("time")} if "time" in table else {}
    if "step" in table:
        step = options["step"] = table.take_number("step", "0.5") or 0.0
        if not step > 0.0:
            raise table.explain("step", f"step must be positive, got {step:g}.", "Write step = 0.5.")
    for key, known in (("inputs", model.input_names), ("outputs", tuple(model.outputs))):
        columns = _read_columns(table, key, known, model)
        options |= {key: columns} if columns else {}
    if "outputs" not in options:
        raise table.explain(
            "outputs",
            f"the data '{name}' have no outputs.",
            f'Write outputs = {{ {next(iter(model.outputs), "y")} = "column" }}.',
        )
    options |= _read_intersample(table, options.get("inputs", {}))
    options |= _read_units(table, options)
    noise = table.take_table("measurement_noise", 'measurement_noise = { level = "std" }')
    for key in noise.content:
        if key not in options["outputs"]:
            raise noise.explain(key, f"'{key}' is no output of these data.", nearest(key, options["outputs"]))
    options |= {"measurement_noise": {key: noise.take_text(key) for key in noise.content}} if noise.content else {}
    options |= {"delimiter": _read_delimiter(table)} if "delimiter" in table else {}
    options |= {"decimal": table.take_choice("decimal", (".", ","), ".")} if "decimal" in table else {}
    return DataBlock(
        file, name, options, _read_between(table), table.take_numbers("missing", "[-999.0]"),
        held_out=table.take_choice("use", USES, "fit") == "validate",
    )  # fmt: skip


def _read_delimiter(table: Table) -> str:
    text = table.take_text("delimiter")
    if len(text) != 1:
        raise table.explain("delimiter", f"delimiter must be one character, got {text!r}.", 'Write ";" or "\\t".')
    return text


def _read_columns(table: Table, key: str, known: tuple[str, ...], model: Model) -> dict[str, str]:
    """Signal → column; a list has columns that are called as the signals are."""
    value = table.get(key, {})
    if isinstance(value, list):
        rows = {name: name for name in table.take_names(key)}
        inner = Table(table.source, table.find(key), rows)
    else:
        inner = table.take_table(key, f'{key} = {{ {next(iter(known), "name")} = "column" }}')
    for name in inner.content:
        if name not in known:
            noun = key.removesuffix("s")
            raise inner.explain(name, f"the model '{model.name}' has no {noun} '{name}'.", nearest(name, known))
    return {name: inner.take_text(name) for name in inner.content}


def _read_intersample(table: Table, inputs: Mapping[str, str]) -> dict[str, Any]:
    value = table.get("intersample")
    if value is None:
        return {}
    if not isinstance(value, dict):
        return {"intersample": table.take_choice("intersample", INTERSAMPLE, "foh")}
    inner = table.take_table("intersample")
    for name in inner.content:
        if name not in inputs:
            raise inner.explain(name, f"'{name}' is no input of these data.", nearest(name, inputs))
    return {"intersample": {name: inner.take_choice(name, INTERSAMPLE, "foh") for name in inner.content}}


def _read_units(table: Table, options: Mapping[str, Any]) -> dict[str, Any]:
    inner = table.take_table("units", 'units = { level = "dm" }')
    known = [*options.get("inputs", {}), *options["outputs"], "time"]
    for name in inner.content:
        if name not in known:
            raise inner.explain(name, f"'{name}' is no signal of these data.", nearest(name, known))
    return {"units": {name: inner.take_text(name) for name in inner.content}} if inner.content else {}


def _read_between(table: Table) -> tuple[float, float] | None:
    if "between" not in table:
        return None
    ends = table.take_numbers("between", "[2.0, 38.0]; where times are dates, seconds since the first")
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise table.explain(
            "between", f"between must be two times, the earlier first, got {table.get('between')!r}.",
            "Write between = [2.0, 38.0].",
        )  # fmt: skip
    return ends[0], ends[1]


def _refuse_same_name(tables: list[Table], blocks: list[DataBlock]) -> None:
    names = [block.name for block in blocks]
    if names[-1] in names[:-1]:
        first = tables[names.index(names[-1])]
        line = first.source.lines.get(first.find("name" if "name" in first.content else "file"))
        raise tables[-1].explain(
            "name" if "name" in tables[-1].content else "file",
            f"two [[data]] are called '{names[-1]}', the other in line {line}.",
            f'Give this one a name of its own: name = "{names[-1]}-2".',
        )


def _read_data(table: Table, block: DataBlock, model: Model) -> tuple[Dataset, Path]:
    path = table.source.find_file(table.find("file"), block.file, "data file")
    _refuse_unknown_kind(table, block)
    try:
        data = read_columns(path, block)
    except DaedalError as error:
        address = _find_culprit(table, block, error.sentence)
        raise table.source.explain(address, error.sentence, error.remedy) from None
    _check_missing_inputs(table, block, data)
    data = _cut(table, block, _clear_missing(block, data))
    _check_inputs(table, block, model)
    _check_units(table, block, data, model)
    return data, path


def _refuse_unknown_kind(table: Table, block: DataBlock) -> None:
    kind = Path(block.file.removesuffix(COMPRESSED)).suffix.lower()
    if kind not in READERS:
        remedy = "Save it as .csv, .csv.gz, .parquet, .mat or .nc."
        raise table.explain("file", f"'{block.file}' is no file of data that can be read.", remedy)
    for key in ("delimiter", "decimal"):
        if kind not in (".csv", ".txt", ".tsv") and key in block.options:
            raise table.explain(key, f"'{block.file}' has no {key}.", f"Leave {key} out.")


def _find_culprit(table: Table, block: DataBlock, sentence: str) -> tuple[str | int, ...]:
    """The entry that names the column which a sentence is about, or the file."""
    for key in ("inputs", "outputs", "measurement_noise"):
        for name, column in block.options.get(key, {}).items():
            if f"'{column}'" in sentence:
                return (*table.find(key), name)
    if "time" in block.options and f"'{block.options['time']}'" in sentence:
        return table.find("time")
    return table.find("file")


def _check_missing_inputs(table: Table, block: DataBlock, data: Dataset) -> None:
    for name, signal in data.inputs.items():
        marked = np.isin(signal.values, block.missing)
        if marked.any():
            when = short(float(signal.times[marked][0]))
            raise table.explain(
                "missing",
                f"the input '{name}' of '{block.name}' is missing at time {when} "
                f"({counted(int(marked.sum()), 'sample')}), which an input may not be.",
                "Fill the gap in the file: only outputs may have missing samples.",
            )


def _clear_missing(block: DataBlock, data: Dataset) -> Dataset:
    """Values that mean no sample are none."""
    if not block.missing:
        return data
    outputs = {
        name: Samples(one.times, np.where(np.isin(one.values, block.missing), np.nan, one.values), one.noise)
        for name, one in data.outputs.items()
    }
    said = f"{', '.join(map(short, block.missing))} in an output means no sample."
    return replace(data, outputs=outputs, preparation=(*data.preparation, said))


def _cut(table: Table, block: DataBlock, data: Dataset) -> Dataset:
    """The samples from one time to another; inputs stay whole, so that what drove the system before is known."""
    if block.between is None:
        return data
    begin, end = block.between
    outputs = {}
    for name, one in data.outputs.items():
        kept = (one.times >= begin) & (one.times <= end)
        if not kept.any():
            first, last = short(float(one.times[0])), short(float(one.times[-1]))
            raise table.explain(
                "between",
                f"no sample of '{name}' in '{block.name}' lies between {short(begin)} and {short(end)}.",
                f"Its samples go from {first} to {last}.",
            )
        outputs[name] = Samples(one.times[kept], one.values[kept], None if one.noise is None else one.noise[kept])
    said = f"Samples from {short(begin)} to {short(end)} were used."
    return replace(data, times=None, outputs=outputs, t0=None, preparation=(*data.preparation, said))


def _check_inputs(table: Table, block: DataBlock, model: Model) -> None:
    absent = [
        name for name in model.input_names if name not in block.options.get("inputs", {}) and name not in model.defaults
    ]
    if absent:
        raise table.explain(
            "inputs",
            f"the data '{block.name}' do not have the input '{absent[0]}' of the model '{model.name}'.",
            f'Write inputs = {{ {_quote(absent[0])} = "column" }}.',
        )


def _quote(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else f'"{name}"'


def _check_units(table: Table, block: DataBlock, data: Dataset, model: Model) -> None:
    """Nothing is converted: where both the data and the model tell a unit, it must be the same."""
    for name, unit in _list_units(data).items():
        wanted = model.units.get(name, "")
        if not unit or not wanted or _spell(unit) == _spell(wanted):
            continue
        key = next((one for one in ("inputs", "outputs") if name in block.options.get(one, {})), "time")
        address = (*table.find(key), name) if key != "time" else table.find("time")
        declared = name in block.options.get("units", {})
        if declared:
            address = (*table.find("units"), name)
        if name == "time" and data.origin is not None:
            raise table.source.explain(
                address,
                f"timestamps become seconds, but the time of the model '{model.name}' is in '{wanted}'.",
                f"Write the model in seconds, or give a column of times in '{wanted}'.",
            )
        remedy = "Nothing is converted: convert the column, or the model."
        if not declared:
            right = f'{_quote(name)} = "{wanted}"'
            remedy = f"Convert one of them; if the file tells the wrong unit, write units = {{ {right} }}."
        raise table.source.explain(
            address,
            f"'{name}' is in '{unit}' in '{block.file}' but in '{wanted}' in the model '{model.name}'.",
            remedy,
        )


def _list_units(data: Dataset) -> dict[str, str]:
    """What a file tells; timestamps become seconds."""
    return {**data.units, **({"time": "s"} if data.origin is not None else {})}


def _refuse_other_units(tables: list[Table], blocks: list[DataBlock], read: list[Dataset]) -> None:
    """What two files tell in different units cannot both suit a model, whatever the model says."""
    told: dict[str, tuple[str, str]] = {}  # unit and file
    for table, block, data in zip(tables, blocks, read, strict=True):
        for name, unit in _list_units(data).items():
            before, file = told.setdefault(name, (unit, block.file))
            if unit and before and _spell(unit) != _spell(before):
                key = next((one for one in ("inputs", "outputs") if name in block.options.get(one, {})), "time")
                raise table.explain(
                    key,
                    f"'{name}' is in '{unit}' in '{block.file}' but in '{before}' in '{file}'.",
                    "Nothing is converted: convert the column of one of them.",
                )


def _spell(unit: str) -> str:
    """Two ways to write one unit are the same."""
    for one, other in SPELLINGS.items():
        unit = unit.replace(one, other)
    return SAME.get(unit, unit)
