"""The page of a Fit."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from math import isfinite
from typing import Any

from daedal.data import Dataset
from daedal.errors import counted, quoted
from daedal.estimation import Estimate, Fit, describe_for_reading
from daedal.report.layout import write_p
from daedal.report.page import (
    FIT_RULES,
    Evidence,
    Html,
    Page,
    Section,
    Tile,
    Verdict,
    digest_data,
    embed,
    embed_json,
    embed_picture,
    join,
    judge_fit,
    list_remarks,
    list_tests,
    make_table,
    record_fit,
    section,
    tag,
    write_percent,
)
from daedal.report.pictures import draw_forest
from daedal.report.sections import (
    draw_small,
    list_quantities,
    write_certainty,
    write_data,
    write_description,
    write_making,
    write_model,
    write_parameters,
    write_residuals,
)
from daedal.tables import format_number
from daedal.validation import Comparison


def make_fit_page(evidence: Evidence, notes: str) -> Page:
    """All sections in order."""
    fit = evidence.fit
    verdict = judge_fit(evidence)
    summary = Html("") if evidence.shown is None else draw_small(evidence.shown)
    sections = [
        write_parameters(evidence),
        write_description(evidence),
        write_residuals(evidence),
        write_certainty(evidence),
        write_model(fit.model, evidence),
        write_data(fit, evidence.validation),
    ]
    if evidence.states is not None:
        sections.append(_write_states(evidence))
    if evidence.others:
        sections.append(_write_others(evidence))
    written = sum(len(one.body) for one in sections) + len(summary)
    sections.append(write_making(fit, FIT_RULES, written=written))
    unseen = f", validated on {_name_data(evidence.validation, fit.data)}" if evidence.validation else ""
    return Page(
        kicker=" · ".join(
            [
                "Estimation report",
                *_describe_origin(fit),
                describe_for_reading(fit.criterion),
                f"data {_name_data(fit.data, evidence.validation)}, {counted(fit.samples, 'sample')}{unseen}",
            ]
        ),
        title=(fit.project.title if fit.project is not None else "") or f"Fit of '{fit.model.name}'",
        verdict=verdict,
        tiles=_make_tiles(evidence),
        summary=summary,
        notes=notes,
        sections=sections,
        record=embed_json(make_record(evidence, verdict), id="daedal"),
    )


def _name_data(sets: Sequence[Dataset], others: Sequence[Dataset]) -> str:
    """Their names; of two parts of one record, from when to when each is."""
    names = quoted(dict.fromkeys(one.name for one in sets), 4)
    alone = len(sets) == 1 and any(other.name == sets[0].name for other in others)
    return f"{names} ({_write_span(sets[0])})" if alone else names


def _write_span(data: Dataset) -> str:
    first, last = (f"{data.sample_times[k]:.5g}".replace("-", "−") for k in (0, -1))
    return f"{first} to {last} {data.units.get('time', '')}".rstrip()


def _describe_origin(fit: Fit) -> list[str]:
    """Day of the fit, author and days of the data; not when the page was written: it is to be the same again."""
    told = [] if fit.making is None else [f"fitted {fit.making.date[:10]}"]
    told += [fit.project.author] if fit.project is not None and fit.project.author else []
    dated = [(one.origin, one.times) for one in fit.data if one.origin is not None]
    ends = [origin + timedelta(seconds=float(times[k])) for origin, times in dated for k in (0, -1)]
    days = sorted({f"{one:%Y-%m-%d}" for one in ends})
    return [*told, f"measured {days[0]}{f' to {days[-1]}' if len(days) > 1 else ''}"] if days else told


def make_record(evidence: Evidence, verdict: Verdict) -> dict[str, Any]:
    """All numbers of the page."""
    record = record_fit(evidence.fit, evidence.own)
    record["Verdict"] = {
        "word": verdict.word,
        "findings": [{"level": one.level, "sentence": one.sentence} for one in verdict.findings],
    }
    covariances = record["Parameters"]["FreeParCovariance"]
    covariances |= {key: _round(covariances[key]) for key in ("data", "monte_carlo")}
    record["Correlation"] = {"names": list(evidence.fit.estimates), "matrix": evidence.fit.correlation.round(6)}
    for key, one in (("Estimation", evidence.own), ("Validation", evidence.unseen)):
        record[key] = None if one is None else _record_comparison(one)
    record["ValidationData"] = [{"Name": one.name, "SHA256": digest_data(one)} for one in evidence.validation]
    if evidence.residuals is not None:
        record["ResidualTests"] = [
            {"output": name, "input": key or None, "p": test.p_value, "passed": bool(test.passed)}
            for name, key, test in list_tests(evidence.residuals)
        ]
    record["Derived"] = [
        {"name": one.name, "value": one.value, "std_error": one.error, "unit": one.unit}
        for one in list_quantities(evidence)
    ]
    if evidence.profile is not None:
        record["Profile"] = {
            name: {"interval95": curve.interval, "open": curve.open, "values": curve.values, "cost": curve.cost}
            for name, curve in evidence.profile.curves.items()
        }
    return record


def _round(matrix: list[list[float | None]]) -> list[list[float | None]]:
    """To eight digits: the matrices of 60 parameters would take a tenth of a page."""
    return [[None if one is None else float(f"{one:.8g}") for one in row] for row in matrix]


def _record_comparison(comparison: Comparison) -> list[dict[str, Any]]:
    told = []
    for one in comparison.series:
        near = one.ahead
        told.append(
            {
                "output": one.output,
                "experiment": one.experiment,
                "relation": comparison.relation,
                "fit_percent_simulated": one.fit_percent,
                "fit_percent_one_step": None if near is None else near.fit_percent,
                "rmse": one.rmse,
                "coverage95": one.coverage,
            }
        )
    return told


def _make_tiles(evidence: Evidence) -> list[Tile]:
    estimates = evidence.fit.estimates
    counts = Counter(one.verdict for one in estimates.values())
    rest = ", ".join(f"{count} {word}" for word, count in counts.items() if word != "determined")
    tiles = [Tile(f"{counts['determined']} of {len(estimates)}", f"parameters determined{f'; {rest}' if rest else ''}")]
    if evidence.shown is not None:
        tiles.append(_make_fit_tile(evidence.shown, evidence))
    if evidence.residuals is not None:
        tests = list_tests(evidence.residuals)
        if tests:
            passed = sum(test.passed for _, _, test in tests)
            lowest = min(test.p_value for _, _, test in tests)
            where = "unseen data" if evidence.unseen_residuals is not None else "data of the fit"
            tiles.append(
                Tile(f"{passed} of {len(tests)}", f"residual tests passed on {where}, smallest {write_p(lowest)}")
            )
    return tiles


def _make_fit_tile(comparison: Comparison, evidence: Evidence) -> Tile:
    simulated = {name: value for name, value in comparison.fit_percent.items() if isfinite(value)}
    near = [one.ahead.fit_percent for one in comparison.series if one.ahead is not None]
    held = evidence.unseen is not None and comparison.relation != "data of the fit"
    said = f"{'unseen data' if held else 'data of the fit'}, simulated"
    said += f" ({' · '.join(simulated)})" if len(simulated) in (1, 2) else f" (worst of {len(simulated)})"
    step = _list_worst([value for value in near if isfinite(value)])
    return Tile(_list_worst(list(simulated.values())) or "—", f"{said}; one step ahead {step or 'not predicted'}")


def _list_worst(percents: list[float]) -> str:
    """One or two numbers, of more the worst."""
    if len(percents) in (1, 2):
        return " · ".join(map(write_percent, percents))
    return f"{write_percent(min(percents))} or better" if percents else ""


def _write_states(evidence: Evidence) -> Section:
    states = evidence.states
    assert states is not None
    said = tag(
        "p",
        f"Smoothed from all samples of '{(evidence.validation or evidence.fit.data)[0].name}'; parameters count as "
        "known.",
    )
    return section(
        "states",
        "States",
        said,
        embed(states),
        list_remarks(states.notes),
    )


def label_fits(fits: tuple[Fit, ...]) -> dict[str, Fit]:
    """Model and criterion, numbered where that is the same."""
    labels: dict[str, Fit] = {}
    for one in fits:
        label = f"{one.model.name}, {describe_for_reading(one.criterion)}"
        number = 2
        while label in labels:
            label, number = f"{one.model.name}, {describe_for_reading(one.criterion)} ({number})", number + 1
        labels[label] = one
    return labels


def _write_others(evidence: Evidence) -> Section:
    fits = label_fits((evidence.fit, *evidence.others))
    names = list(dict.fromkeys(name for one in fits.values() for name in one.estimates))
    same = all(one.data == evidence.fit.data for one in fits.values())
    heads = ["", *(f"{number}: {label}" for number, label in enumerate(fits, start=1))]
    rows: list[list[Any]] = [
        [name, *(_write_estimate(one.estimates.get(name)) for one in fits.values())] for name in names
    ]
    if same:
        for word, key in (("log likelihood", "loglik"), ("AIC", "aic"), ("BIC", "bic")):
            values = [getattr(one, key) for one in fits.values()]
            if any(value is not None for value in values):
                rows.append([word, *("—" if value is None else f"{value:.6g}".replace("-", "−") for value in values)])
    rows.append(["fit on its own data", *(_list_percents(one.fit_percent) for one in fits.values())])
    if evidence.validation:
        unseen = (evidence.unseen, *evidence.others_unseen)
        shown = ["—" if one is None else _list_percents(one.fit_percent) for one in unseen]
        rows.append(["unseen data, simulated", *shown])
    said = (
        ""
        if same
        else tag(
            "p", "The fits are of different data, so that AIC, BIC and likelihoods cannot be compared and are left out."
        )
    )
    return section(
        "comparison",
        "Comparison",
        said,
        make_table(heads, rows, label="fits side by side"),
        embed_picture(draw_forest(fits)),
    )


def _list_percents(percents: Mapping[str, float]) -> Html:
    return join((f"{name} {write_percent(value)}" for name, value in percents.items()), ", ")


def _write_estimate(one: Estimate | None) -> str:
    if one is None:
        return "—"
    error = f" ± {one.std_error:.2g}" if isfinite(one.std_error) else ""
    return f"{format_number(one.value, one.std_error)}{error}".replace("-", "−")
