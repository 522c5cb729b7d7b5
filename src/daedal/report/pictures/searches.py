"""Pictures of searches: where the starts ended, minima side by side, the course, what realizations add."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from daedal.errors import ReportError, counted
from daedal.estimation import Fit, list_rivals
from daedal.report.layout import BLUE, GREY, INK, STYLES, VERMILLION, arrange, choose_names, choose_style, write_value
from daedal.report.picture import Axis, Line, Marker, Panel, Picture, Points, Rule, Trace
from daedal.report.pictures.fits import describe_fit

Names = Iterable[Any] | None
MOST = 12  # parameters side by side
SAME = 1e-3  # of the criterion, between minima that no data tell apart: the threshold of intervals is about 2
ROUNDING = 1e-12  # of the criterion: what is lower is drawn there on a logarithmic axis


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


def draw_minima(fit: Fit, names: Names) -> Picture:
    """Minima that the data allow as well as the estimate, one line each across all parameters."""
    rivals = list_rivals(fit)
    if not rivals:
        raise ReportError(
            f"The fit of '{fit.model.name}' has no other minimum that the data allow.", "Draw its starts, 'starts'."
        )
    known = list(fit.estimates)
    shown = known[:MOST] if names is None else choose_names(names, fit.estimates, "estimate")
    minima = (fit.minima[0], *rivals)[: len(STYLES)]
    values = np.array([[one.params[name] for name in shown] for one in minima])
    low, width = values.min(axis=0), np.ptp(values, axis=0)
    places = np.where(width > 0.0, (values - low) / np.where(width > 0.0, width, 1.0), 0.5)
    at = np.arange(len(shown), dtype=float)
    lines = []
    for number, (one, row) in enumerate(zip(minima, places, strict=True)):
        style = choose_style(number)
        above = one.value - fit.value
        worse = f"{write_value(above, 3)} above the best" if above > SAME else "as good as the best"
        label = f"minimum {number + 1}: {'the estimate' if number == 0 else worse}"
        lines.append(Line(label, at, row, style.color, style.dash, 2.0, marker=style.marker))
    ends = [f"{name}: {write_value(a)} … {write_value(a + b)}" for name, a, b in zip(shown, low, width, strict=True)]
    panel = Panel(
        tuple(lines), Axis("parameter", labels=tuple(ends)), Axis("from its least to its largest", range=(-0.05, 1.05))
    )
    said = f"{counted(len(rivals), 'other minimum').replace('minimums', 'minima')} within the 95 % threshold"
    more = f"{len(rivals) + 1 - len(minima)} of them not drawn" if len(rivals) + 1 > len(minima) else ""
    return arrange(
        f"minima of {fit.model.name}", [describe_fit(fit), said, more], [(panel,)],
        f"Parallel coordinates of minima of {fit.model.name}: {said}; {', '.join(ends)}.",
        left_out=len(known) - len(shown) if names is None else 0, what="parameter", row_height=300,
    )  # fmt: skip


def draw_course(fit: Fit, names: Names) -> Picture:
    """The criterion above its lowest value, and where the parameters were, over the evaluations of the search."""
    course = fit.course
    if course is None or course.values.size < 2:
        raise ReportError(f"The fit of '{fit.model.name}' has no course on record.", "Fit again, with this version.")
    known = list(fit.estimates)
    shown = known[: len(STYLES)] if names is None else choose_names(names, fit.estimates, "estimate")
    steps = np.arange(1, course.values.size + 1, dtype=float)
    upper: list[Trace] = []
    for number, stage in enumerate(np.unique(course.stages)):
        mine = (course.stages == stage) & np.isfinite(course.values)
        if not mine.any():
            continue
        heights = course.values[mine] - course.values[mine].min()
        floor = ROUNDING * max(float(np.abs(course.values[mine]).max()), 1.0)
        style = choose_style(number)
        name = "criterion" if number == 0 else f"criterion, stage {number + 1}"
        upper.append(Line(name, steps[mine], np.maximum(heights, floor), INK, style.dash, 1.2, marker=style.marker))
    lower: list[Trace] = []
    for number, name in enumerate(shown):
        away = course.params[:, known.index(name)] - fit[name].value
        style = choose_style(number)
        size = float(np.abs(away).max()) or 1.0
        lower.append(Line(name, steps, away / size, style.color, style.dash, 1.5 + 0.1 * number, marker=style.marker))
    across = Axis("evaluation", whole=steps.size <= 30)
    rows = [
        (Panel(tuple(upper), across, Axis("above its lowest value", log=True)),),
        (Panel(tuple(lower), across, Axis("distance from the estimate, largest = 1")),),
    ]
    stages = int(np.unique(course.stages).size)
    said = f"{counted(steps.size, 'evaluation')} from the best start" + (f" in {stages} stages" if stages > 1 else "")
    failed = int(np.sum(~np.isfinite(course.values)))
    told = [describe_fit(fit), said, f"{counted(failed, 'point')} could not be simulated" if failed else ""]
    return arrange(
        f"course of the search of {fit.model.name}", told, rows,
        f"Criterion and parameters of {fit.model.name} over {said}.", linked=True,
        left_out=len(known) - len(shown) if names is None else 0, what="parameter", row_height=190,
    )  # fmt: skip


def draw_realizations(fit: Fit, names: Names) -> Picture:
    """What averaging over a finite number of realizations or particles adds, which falls with its square root."""
    shares = {
        name: 100.0 * one.monte_carlo_error / one.std_error
        for name, one in fit.estimates.items()
        if one.monte_carlo_error > 0.0 and one.std_error > 0.0 and np.isfinite(one.std_error)
    }
    if fit.averaged is None or not shares:
        raise ReportError(
            f"The fit of '{fit.model.name}' has no error of averaging over realizations or particles on record.",
            "Draw its estimates.",
        )
    what, count = fit.averaged
    ranked = sorted(shares, key=lambda name: -shares[name])[: len(STYLES)]
    shown = ranked if names is None else choose_names(names, shares, "estimate")
    numbers = float(count) * np.geomspace(0.1, 100.0, 31)
    traces: list[Trace] = []
    for number, name in enumerate(shown):
        style = choose_style(number)
        errors = shares[name] * np.sqrt(count / numbers)
        traces.append(Line(name, numbers, errors, style.color, style.dash, 1.5 + 0.1 * number))
    traces.append(Rule(f"{count} {what}, as here", float(count), INK))
    panel = Panel(tuple(traces), Axis(what, log=True), Axis("Monte-Carlo error [% of std error]", log=True))
    worst = f"with {count} {what} at most {write_value(max(shares.values()), 2)} % of a standard error"
    return arrange(
        f"Monte-Carlo error of {fit.model.name}", [describe_fit(fit), worst, "lines: 1/√ of the number"], [(panel,)],
        f"Monte-Carlo error over the number of {what}: {worst}.",
        left_out=len(shares) - len(shown) if names is None else 0, what="parameter", row_height=260,
    )  # fmt: skip
