"""Section 2: does it describe the data."""

from math import isfinite
from typing import Any

import numpy as np

from daedal.errors import counted
from daedal.report.page import (
    PANEL,
    WIDE,
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
from daedal.report.pictures import draw_experiment
from daedal.validation import Compared, Comparison

PANELS = 6  # small pictures in the head
OUTPUTS = 6  # in a large picture
ROWS = 24  # of a table before the others are folded
STYLE = (  # of small pictures where the page has none: dots and axes in the colour of the text
    ".daedal{max-width:60rem}.daedal .panels{display:grid;gap:1rem;"
    "grid-template-columns:repeat(auto-fit,minmax(20rem,1fr))}"
    ".daedal .wide{display:none}.daedal svg{width:100%}"
    ".daedal .legend svg{width:26px;height:12px;margin:0 .4rem 0 1rem}"
    ".daedal .ink{stroke:currentColor}.daedal .line,.daedal .soft-line{stroke:currentColor;stroke-opacity:.3}"
    ".daedal .mark{stroke:#0072b2}.daedal .fill-band{fill:#0072b2;fill-opacity:.2}"
    ".daedal text{fill:currentColor;font-size:12px}"
)
UNDRAWN = "{} not drawn here: dd.plot(dd.compare(fit, fit.data)) draws all."
MEETING = (
    "Where the curves meet the dotted lines, samples no longer help: from there on the model knows as much as a "
    "simulation does."
)
SEEN = {"held-out data": "unseen data", "data of the fit": "data of the fit"}


def draw_small(comparison: Comparison) -> Html:
    """One small picture for each output of each experiment, as many as fit."""
    series = list(comparison.series)
    several = len({one.experiment for one in series}) > 1
    panels = [_draw_panel(comparison, one, several) for one in series[:PANELS]]
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
    if len(panels) == 1:  # a wide one where there is room for it
        wide = tag("div", _draw_panel(comparison, series[0], several, size=WIDE), class_="wide")
        return tag("figure", caption, legend, wide, tag("div", *panels, class_="panels narrow"), more, class_="small")
    kind = "panels pairs" if len(panels) in (2, 4) else "panels"
    return tag("figure", caption, legend, tag("div", *panels, class_=kind), more, class_="small")


def _draw_panel(comparison: Comparison, one: Compared, several: bool, *, size: tuple[int, int] = PANEL) -> Html:
    return draw_panel(
        one,
        comparison.units.get(one.output, ""),
        comparison.units.get("time", ""),
        f"{one.output}, {one.experiment}" if several else one.output,
        f"{one.output} measured and simulated: fit {write_percent(one.fit_percent)}",
        size=size,
    )


def draw_compared(comparison: Comparison) -> str:
    """Small pictures with a style of their own, for a notebook."""
    percents = "; ".join(f"{name} {write_percent(value)}" for name, value in comparison.fit_percent.items())
    return tag("div", tag("style", Html(STYLE)), tag("p", f"Fit: {percents}"), draw_small(comparison), class_="daedal")


def write_description(evidence: Evidence) -> Section:
    """Fits in numbers and pictures: unseen data first, then those of the fit."""
    children: list[Any] = []
    if evidence.unseen is not None:
        title = f"{SEEN.get(evidence.unseen.relation, 'data')} (validation)"
        children += [tag("h3", f"{title[:1].upper()}{title[1:]}"), *write_comparison(evidence.unseen)]
    else:
        called = tag("code", "write_report(…, validation=data)")
        children.append(tag("p", "No unseen data were given. ", called, " shows them here."))
    if evidence.own is not None:
        words, body = "Data of the fit (estimation)", write_comparison(evidence.own, brief=evidence.unseen is not None)
        children.append(fold(words, *body) if evidence.unseen is not None else join([tag("h3", words), *body]))
    elif "own" in evidence.missing:
        children.append(tag("p", f"The data of the fit cannot be predicted: {evidence.missing['own']}"))
    children.append(_describe_ahead(evidence))
    if evidence.steps is not None and len(evidence.steps.horizons) > 1:
        children.append(embed(evidence.steps, None, "horizons"))
        children.append(tag("p", MEETING, class_="soft"))
    if evidence.shown is not None:
        children.append(fold("Measured against simulated, sample by sample", embed(evidence.shown, None, "scatter")))
    return section("data-fit", "Does it describe the data?", *children)


def _describe_ahead(evidence: Evidence) -> Html:
    """How one step ahead was predicted where the criterion itself simulates, or why it was not."""
    if evidence.fit.criterion.condition is not None and "ahead" not in evidence.missing:
        return Html("")
    if "ahead" in evidence.missing:
        said = f"One step ahead: {evidence.missing['ahead']}"
    elif evidence.steps is None:
        said = (
            "One step ahead: the model has no disturbances, so samples before tell it nothing that the inputs do not; "
            "its prediction is the simulation."
        )
    else:
        said = "One step ahead is the exact filter of the fitted linear model; the criterion itself simulates."
    return tag("p", said, class_="soft")


def write_comparison(comparison: Comparison, *, brief: bool = False) -> list[Any]:
    """A table of every output, and pictures, experiment by experiment; where it is brief, of the first outputs."""
    heads = ["output", "experiment", "simulated", "one step ahead", "RMSE simulated", "in the 95 % band"]
    rows = []
    for one in comparison.series:
        near, unit = one.ahead, comparison.units.get(one.output, "")
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
    table = make_table(heads, rows[:ROWS], texts=(0, 1), label="fit of every output")
    more = make_table(heads, rows[ROWS:], texts=(0, 1), label="fit of more outputs") if rows[ROWS:] else ""
    labels = list(dict.fromkeys(one.experiment for one in comparison.series))
    figures: list[Any] = []
    for number, label in enumerate(labels):
        drawn = _draw_experiment(comparison, label, brief)
        figures += drawn if len(labels) == 1 else [fold(f"Experiment '{label}'", *drawn, opened=number == 0)]
    return [
        table, fold(f"{len(rows) - ROWS} more rows", more) if more else "", *figures, list_remarks(comparison.notes)
    ]  # fmt: skip


def _draw_experiment(comparison: Comparison, label: str, brief: bool) -> list[Any]:
    """A picture of the first outputs, and folded ones of the others; where it is brief, how many these are."""
    names = [one.output for one in comparison.series if one.experiment == label]
    groups = [names[first : first + OUTPUTS] for first in range(0, len(names), OUTPUTS)]
    if brief and len(groups) > 1:
        first = embed_picture(draw_experiment(comparison, label, groups[0]))
        return [first, tag("p", UNDRAWN.format(counted(len(names) - OUTPUTS, "more output")), class_="soft")]
    figures = [embed_picture(draw_experiment(comparison, label, group)) for group in groups]
    folded = [
        fold(f"{counted(len(group), 'more output')}: {', '.join(group)}", figure)
        for group, figure in zip(groups[1:], figures[1:], strict=True)
    ]
    return [figures[0], *folded]
