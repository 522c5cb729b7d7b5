"""Pages of a Comparison, an order search, states and a Study: the head and foot of all pages, a middle of their own."""

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

import numpy as np

from daedal.errors import counted
from daedal.filtering import StateEstimate
from daedal.order import Candidate, OrderSearch, OrderSearches
from daedal.records import list_versions
from daedal.report.page.description import SEEN, draw_small, write_comparison
from daedal.report.page.figures import embed
from daedal.report.page.html import Html, embed_json, join, make_table, tag, write_minus
from daedal.report.page.origins import write_data, write_making, write_model
from daedal.report.page.parts import Page, Section, Tile, list_glossary, list_remarks, list_rules, section
from daedal.report.page.record import record_fit
from daedal.report.page.rules import (
    HELD,
    POOR,
    SCARCE,
    WELL,
    Finding,
    Rule,
    Verdict,
    judge,
    judge_comparison,
    name_some,
    write_percent,
)
from daedal.studies import Study
from daedal.tables import format_number
from daedal.validation import Comparison

ENOUGH, FEW = 0.95, 0.80  # share of runs that converged which is good, and below which a study is not usable
SURE = 3.0  # standard errors that a coverage may be off
LOOSE = 0.5  # standard error of a coefficient relative to its size

COMPARISON_RULES = (
    Rule(
        f"A simulation that fits {WELL:g} % or more is good; less asks for care, and less than {POOR:g} %, which the "
        f"mean of the samples would reach, is not usable, unless {100 * HELD:g} % of the samples or more lie in the "
        f"band of 95 %. A band that holds fewer than {100 * SCARCE:g} % asks for care. The worst output counts.",
        judge_comparison,
    ),
)


def make_comparison_page(comparison: Comparison, notes: str) -> Page:
    """How well a model, or a fit, predicts data."""
    verdict = judge(COMPARISON_RULES, comparison)
    count = sum(int(one.scored.sum()) for one in comparison.series)
    tiles = [
        Tile(write_percent(value), f"{name}, simulated, {SEEN.get(comparison.relation, 'data')}")
        for name, value in list(comparison.fit_percent.items())[:4]
    ]
    return Page(
        kicker=f"Comparison{comparison.method} · {comparison.describe_data()}, {counted(count, 'sample')}",
        title=f"Comparison of '{comparison.model}' with data",
        verdict=verdict,
        tiles=tiles,
        summary=draw_small(comparison),
        notes=notes,
        sections=[
            section("data-fit", "Does it describe the data?", *write_comparison(comparison)),
            _write_foot(COMPARISON_RULES, {"Realizations": comparison.realizations, "Seed": comparison.seed}),
        ],
        record=_embed(
            verdict,
            {
                "Model": comparison.model,
                "Relation": comparison.relation,
                "Series": [
                    {
                        "output": one.output,
                        "experiment": one.experiment,
                        "prediction": kind.prediction,
                        "fit_percent": kind.fit_percent,
                        "rmse": kind.rmse,
                        "coverage95": kind.coverage,
                    }
                    for one in comparison.series
                    for kind in (one, *one.steps_ahead.values())
                ],
                "Notes": list(comparison.notes),
            },
        ),
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
        rows.append([name, states.units.get(name, "—"), *(_write(number) for number in numbers)])
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
            _write_foot(STATE_RULES, {"Kind": states.kind, "Horizon": states.horizon}),
        ],
        record=_embed(
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


def _judge_search(search: OrderSearch) -> Iterator[Finding]:
    chosen = search.chosen
    if not search.status.ok:
        yield Finding("care", "not all candidates were tried", "making")
    if chosen.grows:
        yield Finding("bad", "the chosen model grows without bound", "candidates")
    elif not chosen.stable:
        yield Finding("care", "the chosen model is not stable, though it does not show within the record", "candidates")
    else:
        yield Finding("good", f"order {chosen.order} with input order {chosen.input_order} is stable", "candidates")
    if loose := chosen.not_in_the_data:
        yield Finding("care", f"the data hardly tell {name_some(list(loose))}", "chosen")
    if isfinite(chosen.held_out):
        level = "good" if chosen.held_out >= WELL else "bad" if chosen.held_out < POOR else "care"
        yield Finding(level, f"held-out samples are simulated to {write_percent(chosen.held_out)}", "candidates")


def _judge_searches(searches: OrderSearches) -> Iterator[Finding]:
    for name, search in searches.searches.items():
        for finding in _judge_search(search):
            yield Finding(finding.level, f"output {name}: {finding.sentence}", finding.anchor)


ORDER_TEXT = (
    f"A model that grows within the record is not usable; one that is not stable, candidates that were not tried, and "
    f"a coefficient whose standard error is above {100 * LOOSE:g} % of its size ask for care. Held-out samples that "
    f"are simulated to {WELL:g} % or more are good, less asks for care, less than {POOR:g} % is not usable."
)
ORDER_RULES = (Rule(ORDER_TEXT, _judge_search),)
SEVERAL_RULES = (Rule(ORDER_TEXT, _judge_searches),)


def make_order_page(search: OrderSearch, notes: str) -> Page:
    """Candidates, the chosen one and why."""
    verdict = judge(ORDER_RULES, search)
    return Page(
        kicker=f"Order search by {search.method} · {counted(len(search.candidates), 'candidate')}",
        title=f"Order {search.order}, input order {search.input_order}",
        verdict=verdict,
        tiles=_make_order_tiles(search),
        summary=Html(""),
        notes=notes,
        sections=[*_write_search(search), _write_foot(ORDER_RULES, {"Method": search.method, "Search": search.status})],
        record=_embed(verdict, _record_search(search)),
    )


def make_orders_page(searches: OrderSearches, notes: str) -> Page:
    """The same for each output."""
    verdict = judge(SEVERAL_RULES, searches)
    parts: list[Section] = []
    for name, search in searches.searches.items():
        for one in _write_search(search):
            first = not any(part.anchor == one.anchor for part in parts)
            parts.append(
                section(one.anchor if first else f"{one.anchor}-{len(parts)}", f"{name}: {one.title}", one.body)
            )
    return Page(
        kicker=f"Order search · {counted(len(searches.searches), 'output')}",
        title="Orders of " + ", ".join(searches.searches),
        verdict=verdict,
        tiles=[
            Tile(f"{one.order}, {one.input_order}", f"order and input order of {name}")
            for name, one in list(searches.searches.items())[:6]
        ],
        summary=Html(""),
        notes=notes,
        sections=[*parts, _write_foot(SEVERAL_RULES, {"Search": searches.status, "BIC of all": f"{searches.bic:.1f}"})],
        record=_embed(verdict, {name: _record_search(one) for name, one in searches.searches.items()}),
    )


def _make_order_tiles(search: OrderSearch) -> list[Tile]:
    chosen = search.chosen
    tiles = [Tile(write_percent(chosen.fit_percent), "all samples, simulated")]
    if isfinite(chosen.held_out):
        tiles.append(Tile(write_percent(chosen.held_out), "held-out samples, simulated"))
    return [*tiles, Tile("stable" if chosen.stable else "not stable", "chosen model")]


def _write_search(search: OrderSearch) -> list[Section]:
    heads = ["order", "input order", "BIC", "fit", "held out", "loosest", "stable", "remark"]
    rows = [_write_candidate(one, one is search.chosen) for one in search.candidates]
    chosen = search.chosen
    coefficients = [
        [name, format_number(value, chosen.std_errors[name]), _write(chosen.std_errors[name], 2)]
        for name, value in chosen.coefficients.items()
    ]
    delays = [[f"delay of {name}", "—", _write(error, 2)] for name, error in chosen.delay_errors.items()]
    return [
        section(
            "candidates",
            "Candidates",
            tag("p", f"{search.reason[:1].upper()}{search.reason[1:]}"),
            make_table(heads, rows, texts=(7,), label="candidates"),
            embed(search),
            list_remarks(search.notes),
        ),
        section(
            "chosen",
            "The chosen model",
            tag("pre", tag("code", str(search.transfer_function)), tabindex="0"),
            make_table(["coefficient", "value", "std error"], [*coefficients, *delays], label="coefficients"),
            tag("p", "Its full page: ", tag("code", "write_report(search.fit, …)"), "."),
        ),
    ]


def _write_candidate(one: Candidate, is_chosen: bool) -> list[Any]:
    known = one.transfer_function is not None
    return [
        str(one.order),
        str(one.input_order),
        _write(one.bic, 7) if known else "—",
        write_percent(one.fit_percent) if known else "—",
        write_percent(one.held_out) if known and isfinite(one.held_out) else "—",
        (f"{100.0 * one.loosest:.2g} %" if one.loosest < 10.0 else "> 1000 %") if known else "—",
        ("yes" if one.stable else "no" if one.grows else "nearly") if known else "—",
        tag("strong", "chosen") if is_chosen else one.failure,
    ]


def _record_search(search: OrderSearch) -> dict[str, Any]:
    return {
        "Method": search.method,
        "Reason": search.reason,
        "Chosen": {
            "order": search.order,
            "input_order": search.input_order,
            "coefficients": dict(search.chosen.coefficients),
            "std_errors": dict(search.chosen.std_errors),
        },
        "Candidates": [
            {
                "order": one.order,
                "input_order": one.input_order,
                "bic": one.bic,
                "fit_percent": one.fit_percent,
                "held_out": one.held_out,
                "stable": one.stable,
                "failure": one.failure,
            }
            for one in search.candidates
        ],
        "Notes": list(search.notes),
    }


def _judge_study(study: Study) -> Iterator[Finding]:
    count = study.numbers.size
    share = float(study.converged.mean()) if count else 0.0
    level = "good" if share >= ENOUGH else "care" if share >= FEW else "bad"
    yield Finding(level, f"{int(study.converged.sum())} of {count} runs converged", "runs")
    if not study.status.ok:
        yield Finding("care", f"{study.runs - count} of {study.runs} runs are not there yet", "runs")
    for name, one in study.spreads.items():
        if isfinite(one.coverage) and abs(one.coverage - 0.95) > SURE * one.coverage_error:
            yield Finding(
                "care",
                f"intervals of 95 % of {name} hold the truth in {100.0 * one.coverage:.0f} ± "
                f"{100.0 * one.coverage_error:.0f} % of the runs",
                "runs",
            )
    covered = [one for one in study.spreads.values() if isfinite(one.coverage)]
    if covered and all(abs(one.coverage - 0.95) <= SURE * one.coverage_error for one in covered):
        yield Finding("good", "intervals of 95 % hold the truth as often as they should", "runs")


STUDY_RULES = (
    Rule(
        f"{100 * ENOUGH:g} % of the runs or more must have converged; fewer ask for care, fewer than {100 * FEW:g} % "
        f"are not usable. Where the truth is known, intervals of 95 % must hold it in 95 % of the runs, to {SURE:g} "
        "standard errors; otherwise care.",
        _judge_study,
    ),
)


def make_study_page(study: Study, notes: str) -> Page:
    """What many runs say about the estimates of a fit."""
    verdict = judge(STUDY_RULES, study)
    known = any(isfinite(one.truth) for one in study.spreads.values())
    heads = ["parameter", "unit", "estimate", "mean of runs", "sd of runs", "bias", "std error of the fit"]
    heads += ["truth", "RMSE", "coverage of 95 %"] * known
    rows = []
    for name, one in study.spreads.items():
        estimate = study.fit.estimates[name]
        row = [
            name,
            estimate.unit or "—",
            write_minus(format_number(one.estimate, one.std)),
            write_minus(format_number(one.mean, one.std)) if isfinite(one.mean) else "—",
            _write(one.std, 2),
            _write(one.bias, 2),
            _write(estimate.std_error, 2),
        ]
        share = f"{100.0 * one.coverage:.1f} ± {100.0 * one.coverage_error:.1f} %" if isfinite(one.coverage) else "—"
        rows.append(row + [_write(one.truth, 6), _write(one.rmse, 2), share] * known)
    failed = study.failures
    reasons = [f"run {number}: {message}" for number, message in list(failed.items())[:10]]
    more = tag("p", f"{len(failed) - 10} more runs failed.", class_="soft") if len(failed) > 10 else ""
    return Page(
        kicker=f"Study by {study.kind} · {counted(study.numbers.size, 'run')}",
        title=f"Study of '{study.fit.model.name}'",
        verdict=verdict,
        tiles=[
            Tile(f"{int(study.converged.sum())} of {study.numbers.size}", "runs converged"),
            Tile(str(len(study.spreads)), "parameters"),
        ],
        summary=Html(""),
        notes=notes,
        sections=[
            section(
                "runs",
                "What the runs say",
                make_table(heads, rows, texts=(0, 1), label="runs"),
                embed(study),
                list_remarks(reasons),
                more,
            ),
            write_model(study.fit.model),
            write_data(study.fit.data, ()),
            write_making(
                study.fit,
                STUDY_RULES,
                [
                    tag(
                        "dl",
                        *_list_entries(
                            {
                                "Study": study.kind,
                                "Runs": f"{study.numbers.size} of {study.runs}",
                                "Seed of the study": study.seed,
                            }
                        ),
                    )
                ],
            ),
        ],
        record=_embed(
            verdict,
            {
                "Kind": study.kind,
                "Runs": study.runs,
                "Seed": str(study.seed),
                "Spreads": {
                    name: {key: getattr(one, key) for key in one.__dataclass_fields__}
                    for name, one in study.spreads.items()
                },
                "Estimates": dict(study.estimates) if study.numbers.size <= 2000 else None,
                "Fit": record_fit(study.fit),
            },
        ),
    )


def _list_entries(entries: dict[str, Any]) -> list[Html]:
    return [join([tag("dt", key), tag("dd", value)]) for key, value in entries.items() if value is not None]


def _write_foot(rules: Sequence[Rule], entries: dict[str, Any]) -> Section:
    versions = ", ".join(f"{key} {value}" for key, value in list_versions().items())
    shown = _list_entries({**entries, "Versions that wrote this page": versions})
    return section("making", "How this was made", tag("dl", *shown), list_rules(rules), list_glossary())


def _embed(verdict: Verdict, record: dict[str, Any]) -> Html:
    told = {
        "word": verdict.word,
        "findings": [{"level": one.level, "sentence": one.sentence} for one in verdict.findings],
    }
    return embed_json({**record, "Verdict": told, "Versions": list_versions()}, id="daedal")


def _write(number: float, digits: int = 5) -> str:
    return "—" if np.isnan(number) else "∞" if np.isinf(number) else write_minus(f"{number:.{digits}g}")
