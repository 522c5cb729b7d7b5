"""Section 6: the data."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from daedal.data import Dataset, find_uniform_step
from daedal.report.page import Section, digest_data, embed, fold, list_remarks, make_table, section, tag

SIGNALS = 40  # rows of the data table before the others are folded


def write_data(fit_data: Sequence[Dataset], validation: Sequence[Dataset], notes: Sequence[str] = ()) -> Section:
    """A row for each signal, digests, pictures."""
    sets = [(one, "estimation") for one in fit_data] + [(one, "validation") for one in validation]
    rows = [row for data, role in sets for row in _list_signals(data, role)]
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
    digests = [[data.name, role, str(data.sample_times.size), tag("code", digest_data(data))] for data, role in sets]
    children.append(
        fold(
            "SHA-256 digests",
            make_table(["data", "role", "samples", "SHA-256"], digests, texts=(0, 1, 3), label="digests of the data"),
            tag(
                "p",
                "Of all times and values as little-endian doubles, each signal after its kind, name and count: "
                "the same for the same numbers, whatever file they came from.",
                class_="soft",
            ),
        )
    )
    drawn = sets[:4]
    children += [fold(f"Samples of '{data.name}' ({role})", embed(data)) for data, role in drawn]
    if len(sets) > len(drawn):
        children.append(tag("p", f"{len(sets) - len(drawn)} more experiments not drawn.", class_="soft"))
    return section("data", "The data", *children, list_remarks(notes))


def _list_signals(data: Dataset, role: str) -> list[list[str]]:
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
                data.name,
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
