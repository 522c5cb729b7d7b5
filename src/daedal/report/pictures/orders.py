"""Pictures of searches for an order: BIC of the candidates."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from daedal.order import OrderSearch, OrderSearches
from daedal.report.layout import GREY, arrange, choose_names, choose_style
from daedal.report.picture import Axis, Line, Panel, Picture, Points, Trace


def draw_order_search(search: OrderSearch, _names: Iterable[Any] | None) -> Picture:
    """BIC above the lowest of each candidate, one line for each input order, the chosen one marked."""
    alt = f"{_describe_choice(search)} among {len(search.candidates)} candidates."
    told = [search.reason, "" if search.status.ok else search.status.sentence]
    return arrange(f"order search by {search.method}", told, [(_draw_candidates(search),)], alt, row_height=300)


def draw_order_searches(searches: OrderSearches, names: Iterable[Any] | None) -> Picture:
    """The same for each output, one panel each."""
    shown = choose_names(names, searches.searches, "output")
    rows = [(_draw_candidates(searches[name], f"{name}: "),) for name in shown]
    methods = dict.fromkeys(searches[name].method for name in shown)
    title = f"order search by {', '.join(methods)} for each output"
    alt = "; ".join(f"{name}: {_describe_choice(searches[name])}" for name in shown)
    left_out = len(searches.searches) - len(shown) if names is None else 0
    return arrange(title, [], rows, f"{alt}.", linked=True, left_out=left_out, what="output")


def _describe_choice(search: OrderSearch) -> str:
    return f"order {search.order} with input order {search.input_order} was chosen"


def _draw_candidates(search: OrderSearch, owner: str = "") -> Panel:
    candidates = [candidate for candidate in search.candidates if np.isfinite(candidate.bic)]
    lowest = min(candidate.bic for candidate in candidates)
    traces: list[Trace] = []
    for number, order in enumerate(sorted({candidate.input_order for candidate in candidates})):
        mine = [candidate for candidate in candidates if candidate.input_order == order]
        style = choose_style(number)
        x = np.array([float(candidate.order) for candidate in mine])
        y = np.array([candidate.bic - lowest for candidate in mine])
        traces.append(Line(f"input order {order}", x, y, style.color, style.dash, marker=style.marker))
    chosen = Points(
        "chosen", np.array([float(search.order)]), np.array([search.chosen.bic - lowest]), GREY, "circle-open", 15.0
    )
    return Panel((*traces, chosen), Axis("order", whole=True), Axis(f"{owner}BIC above the lowest"))
