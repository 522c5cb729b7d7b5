"""The page of a StateEstimate."""

from collections.abc import Iterator

import numpy as np

from daedal.errors import counted
from daedal.filtering import StateEstimate
from daedal.report.nouns.foot import embed_record, write_foot, write_number
from daedal.report.page import (
    Finding,
    Html,
    Page,
    Rule,
    Tile,
    embed,
    judge,
    list_remarks,
    make_table,
    name_some,
    section,
    tag,
)


def _judge_states(states: StateEstimate) -> Iterator[Finding]:
    hidden = [name for name, std in states.std.items() if not np.isfinite(std).all()]
    if hidden:
        yield Finding("care", f"at some times the samples say nothing about {name_some(hidden)}", "states")
    if known := [name for name in states.mean if name not in hidden]:
        yield Finding("good", f"known at all times, with a finite standard deviation: {name_some(known)}", "states")


STATE_RULES = (
    Rule(
        "A variable whose standard deviation is infinite at some time, as no sample tells it, asks for care.",
        _judge_states,
    ),
)


def make_states_page(states: StateEstimate, notes: str) -> Page:
    """Variables over time with their bands."""
    verdict = judge(STATE_RULES, states)
    ahead = f" {states.horizon:g} ahead" if states.horizon else ""
    heads = ["variable", "unit", "from", "to", "std median", "std largest"]
    rows = []
    for name, mean in states.mean.items():
        numbers = (
            float(mean.min()),
            float(mean.max()),
            float(np.median(states.std[name])),
            float(states.std[name].max()),
        )
        rows.append([name, states.units.get(name, "—"), *(write_number(number) for number in numbers)])
    shown = list(states.mean)
    figures = [embed(states, shown[:8])]
    return Page(
        kicker=f"{states.kind.capitalize()} states{ahead} · {counted(states.times.size, 'time')}",
        title=f"States of '{states.model}'",
        verdict=verdict,
        tiles=[Tile(str(len(states.mean)), "variables estimated"), Tile(str(states.times.size), "times")],
        summary=Html(""),
        notes=notes,
        sections=[
            section(
                "states",
                "States",
                make_table(heads, rows, texts=(0, 1), label="variables"),
                *figures,
                tag("p", f"{len(shown) - 8} more variables not drawn.", class_="soft") if len(shown) > 8 else "",
                tag(
                    "p", "Parameters count as known: what is uncertain of them is not part of the bands.", class_="soft"
                ),
                list_remarks(states.notes),
            ),
            write_foot(STATE_RULES, {"Model": states.model, "Kind": states.kind, "Horizon": states.horizon}),
        ],
        record=embed_record(
            verdict,
            {
                "Model": states.model,
                "Kind": states.kind,
                "Variables": {
                    row[0]: {
                        "unit": states.units.get(row[0]),
                        "lowest": float(states.mean[row[0]].min()),
                        "highest": float(states.mean[row[0]].max()),
                        "std_median": float(np.median(states.std[row[0]])),
                        "std_largest": float(states.std[row[0]].max()),
                    }
                    for row in rows
                },
                "Notes": list(states.notes),
            },
        ),
    )
