"""The page of a Comparison."""

from daedal.errors import counted
from daedal.report.nouns.foot import embed_record, write_foot
from daedal.report.page import (
    HELD,
    POOR,
    SCARCE,
    WELL,
    Page,
    Rule,
    Tile,
    judge,
    judge_comparison,
    section,
    write_percent,
)
from daedal.report.sections import SEEN, draw_small, write_comparison
from daedal.validation import Comparison

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
            write_foot(
                COMPARISON_RULES,
                {
                    "Model": comparison.model,
                    "Parameters": comparison.method.strip() or "as the model has them",
                    "Data": comparison.describe_data(),
                    "Realizations": comparison.realizations,
                    "Seed": comparison.seed,
                },
            ),
        ],
        record=embed_record(
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
