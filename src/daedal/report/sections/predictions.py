"""Sections 2, 3 and 4: does it describe the data, what is left, how sure are we."""

from math import isfinite
from typing import Any

import numpy as np

from daedal.errors import counted
from daedal.report.page import (
    Evidence,
    Html,
    Section,
    draw_legend,
    draw_panel,
    embed,
    embed_picture,
    fold,
    join,
    list_remarks,
    make_table,
    section,
    tag,
    write_percent,
)
from daedal.report.pictures import draw_scatter, draw_steps
from daedal.validation import Comparison

PANELS = 6  # small pictures in the head
OUTPUTS = 6  # in a large picture
STYLE = (  # of small pictures where the page has none: dots and axes in the colour of the text
    ".daedal{max-width:60rem}.daedal .panels{display:grid;gap:1rem;"
    "grid-template-columns:repeat(auto-fit,minmax(20rem,1fr))}"
    ".daedal svg{width:100%}.daedal .legend svg{width:26px;height:12px;margin:0 .4rem 0 1rem}"
    ".daedal .ink{stroke:currentColor}.daedal .line,.daedal .soft-line{stroke:currentColor;stroke-opacity:.3}"
    ".daedal .mark{stroke:#0072b2}.daedal .fill-band{fill:#0072b2;fill-opacity:.2}"
    ".daedal text{fill:currentColor;font-size:12px}"
)
SEEN = {"held-out data": "unseen data", "data of the fit": "data of the fit"}


def draw_small(comparison: Comparison) -> Html:
    """One small picture for each output of each experiment, as many as fit."""
    series = list(comparison.series)
    several = len({one.experiment for one in series}) > 1
    panels = [
        draw_panel(
            one,
            comparison.units.get(one.output, ""),
            comparison.units.get("time", ""),
            f"{one.output}, {one.experiment}" if several else one.output,
            f"{one.output} measured and simulated: fit {write_percent(one.fit_percent)}",
        )
        for one in series[:PANELS]
    ]
    banded = any(np.isfinite(one.deviation).any() for one in series)
    legend = draw_legend([("dot", "measured"), ("line", "simulated"), *([("band", "95 % band")] if banded else [])])
    left_out = len(series) - len(panels)
    more = (
        tag("p", f"{left_out} more signals not drawn here; they are in section 2.", class_="soft")
        if left_out > 0
        else ""
    )
    words = SEEN.get(comparison.relation, "data")
    caption = tag("figcaption", f"Measured and simulated, {words}")
    return tag("figure", caption, legend, tag("div", *panels, class_="panels"), more, class_="small")


def draw_compared(comparison: Comparison) -> str:
    """Small pictures with a style of their own, for a notebook."""
    percents = "; ".join(f"{name} {write_percent(value)}" for name, value in comparison.fit_percent.items())
    return tag("div", tag("style", Html(STYLE)), tag("p", f"Fit: {percents}"), draw_small(comparison), class_="daedal")


def write_description(evidence: Evidence) -> Section:
    """Fits in numbers and pictures: unseen data first, then those of the fit."""
    children: list[Any] = []
    if evidence.unseen is not None:
        title = f"{SEEN.get(evidence.unseen.relation, 'data')}".capitalize()
        children += [
            tag("h3", title),
            *write_comparison(evidence.unseen, evidence.unseen_ahead, evidence.missing.get("ahead", "")),
        ]
    else:
        children.append(
            tag(
                "p", "No unseen data were given. ", tag("code", "write_report(…, validation=data)"), " shows them here."
            )
        )
    if evidence.own is not None:
        body = write_comparison(evidence.own, evidence.own_ahead, evidence.missing.get("ahead", ""))
        children.append(
            fold("Data of the fit (estimation)", *body)
            if evidence.unseen is not None
            else join([tag("h3", "Data of the fit (estimation)"), *body])
        )
    elif "own" in evidence.missing:
        children.append(tag("p", f"The data of the fit cannot be predicted: {evidence.missing['own']}"))
    if evidence.steps is not None and len(evidence.steps.horizons) > 1:
        children.append(embed_picture(draw_steps(evidence.steps)))
        children.append(
            tag(
                "p",
                "Where the curves meet the dotted lines, samples no longer help: from there on the model knows as "
                "much as a simulation does.",
                class_="soft",
            )
        )
    if evidence.shown is not None:
        children.append(
            fold(
                "Measured against simulated, sample by sample",
                embed_picture(draw_scatter(evidence.shown)),
            )
        )
    return section("data-fit", "Does it describe the data?", *children)


def write_comparison(comparison: Comparison, ahead: Comparison | None = None, refusal: str = "") -> list[Any]:
    """A table and pictures of every output; `ahead` has the predictions one step ahead, or `refusal` says why not."""
    heads = ["output", "experiment", "simulated", "one step ahead", "RMSE simulated", "samples in the 95 % band"]
    rows = []
    for one in comparison.series:
        near = one.ahead
        if near is None and ahead is not None:
            near = ahead[one.output, one.experiment].ahead
        unit = comparison.units.get(one.output, "")
        rows.append(
            [
                one.output,
                one.experiment,
                write_percent(one.fit_percent),
                "—" if near is None else write_percent(near.fit_percent),
                f"{one.rmse:.4g} {unit}".strip() if isfinite(one.rmse) else "—",
                f"{100.0 * one.coverage:.1f} %" if isfinite(one.coverage) else "—",
            ]
        )
    table = make_table(heads, rows, texts=(0, 1), label="fit of every output")
    shown = comparison.outputs[:OUTPUTS]
    figures: list[Any] = [embed(comparison, shown)]
    rest = comparison.outputs[OUTPUTS:]
    for first in range(0, len(rest), OUTPUTS):
        names = rest[first : first + OUTPUTS]
        figures.append(fold(f"{counted(len(names), 'more output')}: {', '.join(names)}", embed(comparison, names)))
    without = bool(refusal) and ahead is None and not comparison.horizons
    said = tag("p", f"One step ahead: {refusal}", class_="soft") if without else ""
    by_filter = (
        tag(
            "p",
            "One step ahead is the exact filter of the fitted linear model; the criterion itself simulates.",
            class_="soft",
        )
        if ahead is not None
        else ""
    )
    return [table, said, by_filter, *figures, list_remarks(comparison.notes)]
