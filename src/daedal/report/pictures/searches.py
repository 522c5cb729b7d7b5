"""Pictures of searches: where the starts ended."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from daedal.errors import ReportError, counted
from daedal.estimation import Fit
from daedal.report.layout import BLUE, GREY, VERMILLION, arrange
from daedal.report.picture import Axis, Line, Marker, Panel, Picture, Points, Trace
from daedal.report.pictures.fits import describe_fit

Names = Iterable[Any] | None


def draw_starts(fit: Fit, _names: Names) -> Picture:
    """The criterion that the search from each start ended with, above the best, in rising order."""
    ended = [one for one in fit.attempts if one.value is not None and np.isfinite(one.value)]
    if not ended:
        raise ReportError(
            f"The fit of {fit.model.name} has no starts on record.", "Give fit several: starts=LatinHypercube(20)."
        )
    unsorted = np.array([one.value for one in ended], dtype=float)
    order = np.argsort(unsorted, kind="stable")
    values = unsorted[order]
    converged = np.array([ended[k].converged for k in order])
    failed = len(fit.attempts) - len(ended)
    same = int(np.sum(values - values[0] <= 0.01 * max(abs(values[0]), 1.0)))
    said = f"{same} of {counted(len(fit.attempts), 'start')} ended within 1 % of the best"
    told = [describe_fit(fit), said, f"{failed} could not be searched from" if failed else ""]
    panel = draw_waterfall(values, converged, tuple(f"start {k + 1}" for k in order))
    return arrange(
        f"starts of the fit of {fit.model.name}", told, [(panel,)], f"Waterfall of starts: {said}.", row_height=280
    )


def draw_waterfall(values: np.ndarray, converged: np.ndarray, texts: tuple[str, ...]) -> Panel:
    """Final values above the best in their order; those that stopped before are squares."""
    heights = values - values.min(initial=np.inf) if values.size else values
    ranks = np.arange(1, values.size + 1, dtype=float)
    traces: list[Trace] = [Line("in rising order", ranks, heights, GREY, "dot", 1.0)]
    kinds: tuple[tuple[str, np.ndarray, str, Marker], ...] = (
        ("converged", converged, BLUE, "circle"),
        ("stopped before", ~converged, VERMILLION, "square"),
    )
    for name, chosen, color, marker in kinds:
        if chosen.any():
            said = tuple(text for text, one in zip(texts, chosen, strict=True) if one)
            traces.append(Points(name, ranks[chosen], heights[chosen], color, marker, 7.0, texts=said))
    return Panel(tuple(traces), Axis("starts, best first", whole=values.size <= 30), Axis("criterion above the best"))
