"""The page of a Study."""

from collections.abc import Iterator
from math import isfinite

from daedal.errors import counted
from daedal.report.nouns.foot import embed_record, write_entries, write_number
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
    record_fit,
    section,
    tag,
    write_minus,
)
from daedal.report.sections import write_data, write_making, write_model
from daedal.studies import Study
from daedal.tables import format_number

ENOUGH, FEW = 0.95, 0.80  # share of runs that converged which is good, and below which a study is not usable
SURE = 3.0  # standard errors that a coverage may be off


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
            write_number(one.std, 2),
            write_number(one.bias, 2),
            write_number(estimate.std_error, 2),
        ]
        share = f"{100.0 * one.coverage:.1f} ± {100.0 * one.coverage_error:.1f} %" if isfinite(one.coverage) else "—"
        rows.append(row + [write_number(one.truth, 6), write_number(one.rmse, 2), share] * known)
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
            write_data(study.fit, ()),
            write_making(
                study.fit,
                STUDY_RULES,
                [
                    tag(
                        "dl",
                        *write_entries(
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
        record=embed_record(
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
