"""The page of an order search."""

from collections.abc import Iterator
from math import isfinite
from typing import Any

from daedal.errors import counted
from daedal.order import Candidate, OrderSearch, OrderSearches
from daedal.report.nouns.foot import embed_record, write_foot, write_number
from daedal.report.page import (
    POOR,
    WELL,
    Finding,
    Html,
    Page,
    Rule,
    Section,
    Tile,
    embed,
    judge,
    list_remarks,
    make_table,
    name_some,
    section,
    tag,
    write_percent,
)
from daedal.tables import format_number

LOOSE = 0.5  # standard error of a coefficient relative to its size


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
        sections=[*_write_search(search), write_foot(ORDER_RULES, {"Method": search.method, "Search": search.status})],
        record=embed_record(verdict, _record_search(search)),
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
        sections=[*parts, write_foot(SEVERAL_RULES, {"Search": searches.status, "BIC of all": f"{searches.bic:.1f}"})],
        record=embed_record(verdict, {name: _record_search(one) for name, one in searches.searches.items()}),
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
        [name, format_number(value, chosen.std_errors[name]), write_number(chosen.std_errors[name], 2)]
        for name, value in chosen.coefficients.items()
    ]
    delays = [[f"delay of {name}", "—", write_number(error, 2)] for name, error in chosen.delay_errors.items()]
    return [
        section(
            "candidates",
            "Candidates",
            tag("p", f"{search.reason[:1].upper()}{search.reason[1:]}"),
            make_table(heads, rows, texts=(0, 7), label="candidates"),
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
        write_number(one.bic, 7) if known else "—",
        write_percent(one.fit_percent) if known else "—",
        write_percent(one.held_out) if known and isfinite(one.held_out) else "—",
        (f"{float(f'{100.0 * one.loosest:.2g}'):g} %" if one.loosest < 10.0 else "> 1000 %") if known else "—",
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
