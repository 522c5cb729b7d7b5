"""Section 1: what was estimated, how sure that is, and the same for other programs."""

from math import isfinite
from typing import Any

import numpy as np

from daedal.errors import counted
from daedal.estimation import Estimate, Fit
from daedal.report.page import (
    Evidence,
    Html,
    Section,
    draw_range,
    embed,
    fold,
    join,
    list_items,
    make_table,
    section,
    tag,
    write_minus,
    write_pre,
)
from daedal.report.sections.derived import write_derived
from daedal.report.sections.exports import write_csv, write_latex, write_modelica, write_python
from daedal.tables import format_error, format_number, format_relative

FIRST = 20  # rows before the others are folded
TIGHT = 0.9  # correlation that is worth a word
MOST_PAIRS = 20
LARGEST_MATRIX = 60
WORDS = {
    "determined": "good",
    "loosely determined": "care",
    "not determined": "bad",
    "at its bound": "bad",
    "known from its prior": "care",
}


def write_parameters(evidence: Evidence) -> Section:
    """The table, what is held, what is correlated."""
    fit = evidence.fit
    estimates = list(fit.estimates.values())
    children: list[Any] = [_write_bound_note(fit), _write_table(evidence, estimates[:FIRST])]
    if len(estimates) > FIRST:
        rest = estimates[FIRST:]
        children.append(fold(f"{len(rest)} more parameters", _write_table(evidence, rest)))
    profiled = evidence.profile is not None
    children.append(
        tag(
            "p",
            "Range drawn: the line is what the bounds allow, the bar the interval of 95 %, the stroke the estimate, "
            "the ring the start. ",
            "Intervals marked P follow the criterion (profile), others its curvature (Wald). "
            if profiled
            else "Intervals follow from the curvature of the criterion (Wald). ",
            "— means that it is not known.",
            class_="soft",
        )
    )
    children += [_write_copies(evidence), _write_fixed(fit), write_derived(evidence), _write_correlations(fit)]
    return section("parameters", "Parameters", *children)


def _write_bound_note(fit: Fit) -> Html:
    stuck = [one for one in fit.estimates.values() if one.at_bound]
    if not stuck:
        return Html("")
    where = ", ".join(f"{one.name} = {one.value:.6g}" for one in stuck)
    return tag(
        "p",
        tag("strong", "At a bound: "),
        f"{where}. Standard errors of the others hold only if {'it is' if len(stuck) == 1 else 'these are'} exactly "
        "there; the intervals of 95 % also hold what the others would be if it left the bound.",
    )


def _write_table(evidence: Evidence, estimates: list[Estimate]) -> Html:
    everything = list(evidence.fit.estimates.values())
    simulated = any(one.monte_carlo_error > 0.0 for one in everything)
    informed = any(one.from_data is not None for one in everything)
    described = any(one.description for one in everything)
    heads = ["parameter", *["description"] * described, "unit", "value", "std error", "relative", "95 % interval"]
    heads += ["MC error"] * simulated + ["from the data"] * informed + ["start", "within its bounds", "verdict"]
    rows = []
    for one in estimates:
        interval, kind = evidence.find_interval(one.name)
        error = np.nan if evidence.fit.status.interrupted else one.std_error
        width = interval[1] - interval[0]
        unsure = width / 4.0 if isfinite(width) and not error <= width else error
        relative = format_relative(error, one.value)
        row: list[Any] = [
            one.name,
            *[one.description or "—"] * described,
            one.unit.replace(" ", "\u00a0") or "—",
            write_minus(format_number(one.value, unsure)),
            "—" if np.isnan(error) else f"± {format_error(error)}",
            relative if relative == "—" else f"{relative} %",
            f"{_write_interval(interval, unsure)}{' P' if kind == 'P' else ''}",
        ]
        row += [format_error(one.monte_carlo_error)] * simulated
        row += ["—" if one.from_data is None else f"{100.0 * one.from_data:.0f} %"] * informed
        bounds = f"{_write_end(one.lower)} … {_write_end(one.upper)}{', log' if one.scale == 'log' else ''}"
        label = f"{one.name}: {_write_interval(interval, unsure)} within {bounds}, started at {one.start:.4g}"
        drawn = draw_range(one.value, interval, (one.lower, one.upper), one.start, log=one.scale == "log", label=label)
        row += [write_minus(f"{one.start:.5g}"), join([drawn, tag("span", bounds, class_="soft")])]
        row.append(tag("span", one.verdict, class_=f"word-{WORDS[one.verdict]}"))
        rows.append(row)
    return make_table(
        heads, rows, texts=(0, 1, 1 + described, len(heads) - 2, len(heads) - 1), label="estimated parameters"
    )


def _write_interval(interval: tuple[float, float], unsure: float) -> str:
    if not all(map(isfinite, interval)):
        return "—"
    return " … ".join(
        write_minus(format_number(end, min(unsure, 0.1 * abs(end)) if end else unsure)) for end in interval
    )


def _write_end(bound: float) -> str:
    return write_minus(f"{bound:.4g}") if isfinite(bound) else "−∞" if bound < 0 else "∞"


def _write_copies(evidence: Evidence) -> Html:
    texts = {
        "CSV": write_csv(evidence),
        "LaTeX": write_latex(evidence),
        "Python": write_python(evidence.fit),
        "Modelica": write_modelica(evidence.fit),
    }
    buttons = [tag("button", word, type="button", data_copy=f"copy-{word.lower()}") for word in texts]
    stored = [write_pre(text, id=f"copy-{word.lower()}") for word, text in texts.items()]
    return join(
        [
            tag("div", tag("span", "Copy as", class_="soft"), *buttons, class_="buttons"),
            fold("The same as text: CSV, LaTeX, Python, Modelica", *stored),
        ]
    )


def _write_fixed(fit: Fit) -> Html:
    free = {item.parameter for item in fit.coordinates.items}
    held = fit.coordinates.list_fixed()
    rows = []
    for name, parameter in fit.model.parameters.items():
        if name in free:
            continue
        given = [one[name] for one in held if name in one]
        value = given[0] if given and all(one == given[0] for one in given) else parameter.value
        differs = bool(given) and any(one != given[0] for one in given)
        shown = (
            "differs between experiments"
            if differs
            else f"{value:.6g}"
            if isinstance(value, (int, float))
            else str(value)
        )
        rows.append([name, write_minus(shown), parameter.unit or "—", parameter.description or "—"])
    if not rows:
        return Html("")
    described = any(row[3] != "—" for row in rows)
    return fold(
        f"{counted(len(rows), 'parameter')} held",
        make_table(
            ["parameter", "value", "unit", *["description"] * described],
            [row[: 3 + described] for row in rows],
            texts=(0, 2, 3),
            label="parameters that were held",
        ),
    )


def _write_correlations(fit: Fit) -> Html:
    names = list(fit.estimates)
    if len(names) < 2 or fit.status.interrupted:
        return Html("")
    if not np.isfinite(fit.correlation[~np.eye(len(names), dtype=bool)]).any():
        said = tag("p", "Nothing is known of them: no two of the estimates are determined.")
        return join([tag("h3", "Correlations"), said])
    matrix = np.nan_to_num(fit.correlation)
    pairs = sorted(
        ((matrix[i, j], names[j], names[i]) for i in range(len(names)) for j in range(i)), key=lambda p: -abs(p[0])
    )
    tight = [pair for pair in pairs if abs(pair[0]) > TIGHT]
    if tight:
        words = [
            f"{one} and {other}: ρ = {write_minus(f'{value:.3f}')}; the data tell "
            f"{'their difference or ratio' if value > 0 else 'their sum or product'} better than each alone"
            for value, one, other in tight[:MOST_PAIRS]
        ]
        more = f" The first {MOST_PAIRS} of {len(tight)}:" if len(tight) > MOST_PAIRS else ""
        said = join(
            [
                tag(
                    "p", f"{counted(len(tight), 'pair')} of estimates can hardly be told apart (|ρ| > {TIGHT:g}).{more}"
                ),
                list_items(words),
            ]
        )
    else:
        value, one, other = pairs[0]
        said = tag(
            "p",
            f"No two estimates are correlated by more than {TIGHT:g}; the largest is {one} and {other} with "
            f"ρ = {write_minus(f'{value:.2f}')}.",
        )
    if len(names) > LARGEST_MATRIX:
        return join(
            [
                tag("h3", "Correlations"),
                said,
                tag("p", f"The matrix of {len(names)} parameters is not drawn; it is in the JSON."),
            ]
        )
    figures: list[Any] = [embed(fit, None, "correlations")]
    if pairs[0][0] != 0.0:
        figures.append(embed(fit, None, "pairs"))
    return join(
        [tag("h3", "Correlations"), said, fold("Pictures of the correlations", *figures, opened=len(names) <= 12)]
    )
