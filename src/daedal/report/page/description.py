"""Sections 2, 3 and 4: does it describe the data, what is left, how sure are we."""

from math import isfinite
from typing import Any

import numpy as np

from daedal.errors import counted
from daedal.report.page.evidence import Evidence
from daedal.report.page.figures import embed, embed_picture
from daedal.report.page.html import Html, fold, join, list_items, make_table, tag
from daedal.report.page.parts import Section, list_remarks, section
from daedal.report.page.pictures import draw_quantiles, draw_scatter, draw_steps
from daedal.report.page.rules import expects_white, list_tests, write_p, write_percent
from daedal.report.page.svg import draw_legend, draw_panel
from daedal.validation import Comparison, Residuals

PANELS = 6  # small pictures in the head
OUTPUTS = 6  # in a large picture
FAR = 4.0  # standard deviations from zero that make a sample worth a word
MOST_FAR = 10
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


def write_residuals(evidence: Evidence) -> Section:
    """Tests as sentences, then pictures."""
    if evidence.residuals is None:
        return section(
            "residuals", "What is left?", tag("p", evidence.missing.get("residuals", "The residuals could not be had."))
        )
    children: list[Any] = []
    if evidence.unseen_residuals is not None:
        children += _write_tests(evidence.unseen_residuals, "unseen data")
        if evidence.own_residuals is not None:
            children.append(fold("On the data of the fit", *_write_tests(evidence.own_residuals, "data of the fit")))
    else:
        children += _write_tests(evidence.residuals, "data of the fit")
    if not expects_white(evidence.fit):
        children.insert(
            0,
            tag(
                "p",
                "What disturbances do beyond their mean stays in the residual of this criterion, so it need not be "
                "white; the standard errors respect that.",
                class_="soft",
            ),
        )
    return section("residuals", "What is left?", *children)


def _write_tests(residuals: Residuals, where: str) -> list[Any]:
    sentences = [join([tag("b", name), f": {one.sentence}."]) for name, one in residuals.outputs.items()]
    rows = [
        [
            name,
            f"on {key}" if key else "on its own past",
            str(test.lags.size),
            write_p(test.p_value).removeprefix("p = ").removeprefix("p "),
            "passed" if test.passed else "failed",
        ]
        for name, key, test in list_tests(residuals)
    ]
    table = make_table(
        ["output", "depends", "lags", "p-value", "test at 5 %"],
        rows,
        texts=(0, 1, 4),
        label=f"tests of the residuals on {where}",
    )
    names = list(residuals.outputs)
    figures: list[Any] = [embed(residuals, names[:3])]
    for first in range(3, len(names), 3):
        group = names[first : first + 3]
        figures.append(fold(f"Correlations of {', '.join(group)}", embed(residuals, group)))
    figures.append(
        fold(
            "Residuals over time, and their distribution",
            embed(residuals, None, "innovations"),
            embed_picture(draw_quantiles(residuals)),
        )
    )
    return [
        list_items(sentences),
        _write_outliers(residuals),
        fold("Tests in numbers", table),
        *figures,
        list_remarks(residuals.notes),
    ]


def _write_outliers(residuals: Residuals) -> Html:
    """Samples that a normal distribution does not have."""
    outliers = []
    for name, one in residuals.outputs.items():
        for label, tested in one.tested.items():
            known = tested[np.isfinite(tested)]
            spread = 1.4826 * float(np.median(np.abs(known - np.median(known)))) if known.size else 0.0
            far = np.flatnonzero(np.nan_to_num(np.abs(tested)) > FAR * spread) if spread > 0.0 else []
            outliers += [(abs(tested[k]) / spread, name, label, one.times[label][k], one.values[label][k]) for k in far]
    if not outliers:
        return tag("p", f"No sample is farther off than {FAR:g} robust standard deviations of the residual.")
    outliers.sort(key=lambda entry: -entry[0])
    shown = [_describe_outlier(residuals, *entry) for entry in outliers[:MOST_FAR]]
    more = f", of which the first {MOST_FAR}" if len(outliers) > MOST_FAR else ""
    summary = f"{counted(len(outliers), 'sample')} farther off than {FAR:g} robust standard deviations{more}"
    return fold(summary, list_items(shown))


def _describe_outlier(residuals: Residuals, size: float, name: str, label: str, time: float, value: float) -> str:
    when = f"{name} at {time:.6g} {residuals.units.get('time', '')}".rstrip()
    much = f"residual {value:.3g} {residuals.units.get(name, '')}".rstrip()
    return f"{when} ({label}): {size:.1f} standard deviations off, {much}".replace("-", "−")


def write_certainty(evidence: Evidence) -> Section:
    """Profiles, directions, starts."""
    fit = evidence.fit
    children: list[Any] = []
    if evidence.profile is not None:
        children += [tag("h3", "Profiles"), embed(evidence.profile), list_remarks(evidence.profile.notes)]
        left = [name for name in fit.estimates if name not in evidence.profile.curves]
        if left:
            children.append(tag("p", f"{counted(len(left), 'parameter')} not profiled.", class_="soft"))
    found = evidence.identifiability
    if found is not None:
        worst = found.directions[-1]
        children += [
            tag("h3", "Which combinations the data tell"),
            tag("p", f"The least determined direction: {worst.sentence}"),
            list_remarks(found.notes),
            fold(f"All {len(found.directions)} directions", embed(found)) if len(fit.estimates) > 1 else "",
        ]
    elif "identifiability" in evidence.missing:
        children.append(tag("p", evidence.missing["identifiability"]))
    if sum(one.value is not None for one in fit.attempts) > 1:
        children += [
            tag("h3", "Starts"),
            tag("p", _count_minima(evidence)),
            embed(fit, None, "starts"),
        ]
    if any(one.monte_carlo_error > 0.0 for one in fit.estimates.values()):
        shares = [
            one.monte_carlo_error / one.std_error
            for one in fit.estimates.values()
            if one.std_error > 0.0 and isfinite(one.std_error)
        ]
        if shares:
            children.append(
                tag(
                    "p",
                    f"A finite number of realizations adds at most {100.0 * max(shares):.2g} % of a standard error "
                    "(column MC error); it falls with their square root.",
                )
            )
    return section("certainty", "How sure are we?", *children)


def _count_minima(evidence: Evidence) -> str:
    fit = evidence.fit
    best = fit.minima[0]
    others = (
        f"; {counted(len(fit.minima) - 1, 'other minimum').replace('minimums', 'minima')} were found"
        if len(fit.minima) > 1
        else ""
    )
    return f"{len(fit.attempts)} starts, of which {best.count} ended in the best minimum{others}."
