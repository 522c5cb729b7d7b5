"""Section 6: the data: every signal, what the inputs excite, digests."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from daedal.data import Dataset, find_uniform_step
from daedal.errors import ReportError, counted
from daedal.estimation import Fit, label_experiments
from daedal.report.page import (
    Html,
    Section,
    digest_data,
    embed,
    embed_picture,
    fold,
    list_items,
    make_table,
    section,
    tag,
)
from daedal.report.pictures import draw_excitation

SIGNALS = 40  # rows of the data table before the others are folded
DRAWN = 4  # experiments with a picture of their own
MOST = 12  # signals in one picture
NUMBERS = (
    "Of all times and values as little-endian doubles, each signal after its kind, name and count: the same for the "
    "same numbers, whatever file they came from."
)
PREPARED = "The table shows the data as the fit saw them."
AS_READ = "Nothing that daedal knows of was done to them before."


def write_data(fit: Fit, validation: Sequence[Dataset]) -> Section:
    """A row for each signal, digests, pictures."""
    units = fit.model.units
    sets = [*_label_sets(fit.data, "estimation", units), *_label_sets(validation, "validation", units)]
    rows = [row for one in sets for row in _list_signals(one)]
    heads = [
        "signal",
        "data",
        "role",
        "samples",
        "missing",
        "step",
        "from",
        "to",
        "lowest",
        "highest",
        "unit",
        "between samples",
    ]
    texts = (0, 1, 2, 10, 11)
    children: list[Any] = [make_table(heads, rows[:SIGNALS], texts=texts, label="signals")]
    if len(rows) > SIGNALS:
        children.append(
            fold(
                f"{len(rows) - SIGNALS} more signals",
                make_table(heads, rows[SIGNALS:], texts=texts, label="more signals"),
            )
        )
    children += _describe_excitation(sets)
    drawn = sets[:DRAWN]
    children += [fold(f"Samples of {one.title}", embed(one.data, _name_signals(one.data))) for one in drawn]
    if len(sets) > len(drawn):
        children.append(tag("p", f"{counted(len(sets) - len(drawn), 'more experiment')} not drawn.", class_="soft"))
    children.append(_write_digests(fit, sets))
    children += _describe_preparation(sets)
    return section("data", "The data", *children)


class _Set(NamedTuple):
    """An experiment, what it is called among its like, and what it is for."""

    data: Dataset
    label: str
    role: str

    @property
    def title(self) -> str:
        return f"'{self.label}' ({self.role})"


def _label_sets(data: Sequence[Dataset], role: str, units: Mapping[str, str]) -> list[_Set]:
    """Named, or numbered as in other sections where names repeat; units are the model's where the data have none."""
    sets = []
    for one, label in zip(data, label_experiments(data), strict=True):
        known = {name: unit for name, unit in units.items() if name in (*one.inputs, *one.outputs, "time")}
        sets.append(_Set(one.with_units({**known, **one.units}), label, role))
    return sets


def _name_signals(data: Dataset) -> list[str] | None:
    """All where they are few: outputs and inputs below each other."""
    names = [*data.outputs, *data.inputs]
    return names if len(names) <= MOST else None


def _describe_excitation(sets: Sequence[_Set]) -> list[Any]:
    """Up to which frequency inputs drove the system: a sentence for each experiment, a picture of the first."""
    sentences, picture = [], None
    for one in sets:
        try:
            drawn = draw_excitation(one.data, None)
        except ReportError:
            continue
        sentences.append(f"Excited, {one.title}: {drawn.subtitle}.")
        picture = picture or drawn
    folded = [] if picture is None else [fold("Which frequencies the inputs excite", embed_picture(picture))]
    return [list_items(sentences[:DRAWN], class_="soft"), *folded]


def _describe_preparation(sets: Sequence[_Set]) -> list[Any]:
    """What was done to the samples of each experiment before the fit."""
    told = [f"{one.title}: {' '.join(one.data.preparation)}" for one in sets if one.data.preparation]
    if not told:
        return [tag("p", f"{PREPARED} {AS_READ}", class_="soft")]
    shown = list_items(told[:SIGNALS], class_="soft")
    more = [tag("p", f"{counted(len(told) - SIGNALS, 'more experiment')} not listed.", class_="soft")]
    return [tag("p", f"{PREPARED} Before:", class_="soft"), shown, *(more if len(told) > SIGNALS else [])]


def _write_digests(fit: Fit, sets: Sequence[_Set]) -> Html:
    """Of the numbers, and of files where a project knows them."""
    rows = [[label, role, str(data.sample_times.size), tag("code", digest_data(data))] for data, label, role in sets]
    parts: list[Any] = [
        make_table(["data", "role", "samples", "SHA-256"], rows, texts=(0, 1, 3), label="digests of the data"),
        tag("p", NUMBERS, class_="soft"),
    ]
    if fit.project is not None and fit.project.digests:
        files = [[name, tag("code", digest)] for name, digest in fit.project.digests.items()]
        parts.append(make_table(["file", "SHA-256"], files, texts=(0, 1), label="digests of files"))
    return fold("SHA-256 digests", *parts)


def _list_signals(one: _Set) -> list[list[str]]:
    data, label, role = one
    rows = []
    for name, signal in (*data.outputs.items(), *data.inputs.items()):
        known = signal.values[np.isfinite(signal.values)]
        step = find_uniform_step(signal.times) if signal.times.size > 1 else None
        between = data.inputs[name].intersample if name in data.inputs else "sampled"
        numbers = [f"{x:.6g}".replace("-", "−") for x in (signal.times[0], signal.times[-1])]
        ends = [f"{x:.4g}".replace("-", "−") for x in (known.min(), known.max())] if known.size else ["—", "—"]
        rows.append(
            [
                name,
                label,
                f"{role} {'input' if name in data.inputs else 'output'}",
                str(signal.times.size),
                str(signal.times.size - known.size),
                f"{step:.5g}" if step else "irregular",
                *numbers,
                *ends,
                data.units.get(name, "—"),
                between,
            ]
        )
    return rows
