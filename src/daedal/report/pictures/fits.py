"""Pictures of a fit: samples and prediction, estimates within their bounds, correlations, where its starts ended."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from daedal.errors import ReportError, counted
from daedal.estimation import Cost, Fit, describe_for_reading, label_experiments
from daedal.report.layout import (
    BLUE,
    GREY,
    INK,
    PANELS,
    VERMILLION,
    arrange,
    choose_names,
    choose_style,
    choose_time_axis,
    write_cell,
    write_value,
)
from daedal.report.picture import Axis, Bars, Cells, Dash, Line, Panel, Picture, Points, Trace
from daedal.report.pictures.predictions import draw_samples, label_series, list_series, write_percents
from daedal.report.pictures.residuals import COLUMNS, draw_residuals_over_time
from daedal.validation import compare, resid

Names = Iterable[Any] | None
STRONG = 0.9  # a correlation that is told in words
PARAMETERS = 12  # side by side
RADIUS = 2.447746830680816  # √ of the 95 % quantile of χ² with two degrees of freedom
MOST_CELLS = 40  # estimates in one matrix
FARTHEST = 1e4  # times an estimate, that ends of its interval may be to be shown relative to it


def draw_fit(fit: Fit, names: Names) -> Picture:
    """Samples and prediction of each output (one step ahead, where the fit predicts so), the residual below."""
    comparison = compare(fit, fit.data)
    series, left_out = list_series(comparison, names, PANELS // 2)
    series = [one.ahead or one for one in series]
    axis = choose_time_axis([one.origin for one in series])
    time = Axis(axis.name(comparison.units))
    rows = []
    for one in series:
        times = axis.place(one.times, one.origin)
        rows.append((Panel(tuple(draw_samples(one, times)), time, Axis(label_series(comparison, one))),))
        residual = np.where(one.scored, one.measured - one.predicted, np.nan)
        unit = f" [{comparison.units[one.output]}]" if one.output in comparison.units else ""
        points = Points("residual", times, residual, VERMILLION, "x", 6.0)
        rows.append((Panel((points,), time, Axis(f"residual{unit}")),))
    kind = series[0].prediction
    said = write_percents(fit.fit_percent)
    told = [describe_fit(fit), f"{kind}, {comparison.describe_data()}"]
    alt = f"Measured and predicted samples of the fit of {fit.model.name} ({kind}): {said}."
    linked = len({one.experiment for one in series}) == 1
    title = f"fit of {fit.model.name}: {said}"
    return arrange(title, told, rows, alt, linked=linked, left_out=left_out, what="output")


def describe_fit(fit: Fit) -> str:
    """By which criterion, and how it ended where it did not end well."""
    return f"by {describe_for_reading(fit.criterion)}" + ("" if fit.status.ok else f"; {fit.status.sentence}")


def describe_values(fit: Fit) -> str:
    """Of which experiment the values are, where they differ."""
    several = any(dict(fit.values(k)) != dict(fit.values(0)) for k in range(1, len(fit.data)))
    return f"at the values of experiment '{label_experiments(fit.data)[0]}'" if several else ""


def draw_innovations(fit: Fit, names: Names) -> Picture:
    """What the fit leaves over time."""
    return draw_residuals_over_time(resid(fit), names)


def draw_correlations(fit: Fit, names: Names) -> Picture:
    """The correlation of each estimate with each other, written in cells; empty at a bound."""
    listed = list(fit.estimates)
    shown = listed[:MOST_CELLS] if names is None else choose_names(names, fit.estimates, "estimate")
    places = [listed.index(name) for name in shown]
    matrix = fit.correlation[np.ix_(places, places)]
    matrix = np.where(np.isfinite(matrix), matrix, np.nan)
    texts = tuple(tuple(map(write_cell, row)) for row in matrix)
    labels = tuple(shown)
    axis = Axis("estimate", labels=labels)
    panel = Panel(
        (Cells("correlation", matrix, texts, -1.0, 1.0),), axis, Axis("estimate", labels=labels, descending=True)
    )
    below = np.tril(np.nan_to_num(matrix), -1)
    strong = [
        f"{labels[i]} and {labels[j]} {write_cell(float(below[i, j]))}" for i, j in np.argwhere(np.abs(below) > STRONG)
    ]
    whole = bool(np.isfinite(matrix).all())
    none = f"none {'' if whole else 'of those known '}is beyond {STRONG:g}"
    said = f"beyond {STRONG:g}: {', '.join(strong[:PANELS])}" if strong else none
    empty = "" if whole else "empty: at a bound, or not determined"
    alt = f"Correlations of {counted(len(shown), 'estimate')} of {fit.model.name}: {said}."
    told = [describe_fit(fit), said, empty]
    left_out = len(listed) - len(shown) if names is None else 0
    height = max(240, 28 * len(shown) + 60)
    title = f"correlations of the estimates of {fit.model.name}"
    return arrange(title, told, [(panel,)], alt, left_out=left_out, what="estimate", row_height=height)


def draw_estimates(fit: Fit, names: Names) -> Picture:
    """Each estimate relative to its value, with its interval of 95 %."""
    shown = choose_names(names, fit.estimates, "estimate") if names is not None else list(fit.estimates)[:MOST_CELLS]
    intervals = fit.conf_int()
    rows, loose = np.arange(len(shown), dtype=float), []
    spreads = np.full((len(shown), 2), np.nan)
    for k, name in enumerate(shown):
        value, (low, high) = fit[name].value, intervals[name]
        if max(abs(low), abs(high)) < FARTHEST * abs(value):
            spreads[k] = sorted((100 * (low / value - 1), 100 * (high / value - 1)))
        else:
            loose.append(name)
    x = np.column_stack([spreads, np.full(len(shown), np.nan)]).ravel()
    lines = Line("interval of 95 %", x, np.repeat(rows, 3), BLUE, width=4.0, joined=len(shown))
    points = Points("estimate", np.zeros(len(shown)), rows, INK, "diamond", 8.0)
    labels = tuple(
        f"{name} = {write_value(fit[name].value)}{fit[name].unit and f' {fit[name].unit}'}" for name in shown
    )
    widest = 1.1 * float(np.nanmax(np.abs(spreads), initial=0.0)) or 1.0
    across = Axis("deviation from the estimate [%]", range=(-widest, widest))
    panel = Panel((lines, points), across, Axis("estimate", labels=labels, descending=True))
    told = [describe_fit(fit), f"without an interval here: {', '.join(loose)}" if loose else ""]
    widths = [
        f"{n} {write_value(float(np.abs(s).max()), 2)} %"
        for n, s in zip(shown, spreads, strict=True)
        if np.isfinite(s).all()
    ]
    said = ", ".join(widths) or "none is known"
    alt = f"Intervals of 95 % of the estimates of {fit.model.name}, to each side: {said}."
    left_out = len(fit.estimates) - len(shown) if names is None else 0
    title = f"estimates of {fit.model.name}"
    return arrange(
        title, told, [(panel,)], alt, left_out=left_out, what="estimate", row_height=max(200, 28 * len(shown) + 60)
    )


def draw_cost(cost: Cost, _names: Names) -> Picture:
    """Residuals in their order; of a criterion without, the gradient."""
    if cost.failure:
        raise ReportError(
            f"There is nothing to draw of a cost that failed: {cost.failure}", "Evaluate at other values."
        )
    told = [
        f"criterion {write_value(cost.value)}",
        "" if cost.loglik is None else f"log-likelihood {write_value(cost.loglik)}",
    ]
    if cost.residuals is not None:
        order = np.arange(1, cost.residuals.size + 1, dtype=float)
        points = Points("residual", order, np.asarray(cost.residuals), BLUE, "circle", 4.0)
        panel = Panel((points,), Axis("sample"), Axis("residual, in units of its accuracy"))
        alt = f"{counted(cost.residuals.size, 'residual')} of a criterion of {write_value(cost.value)}."
        return arrange("residuals of a criterion", told, [(panel,)], alt, row_height=280)
    bars = Bars("gradient", np.arange(len(cost.names), dtype=float), np.asarray(cost.gradient), BLUE)
    panel = Panel((bars,), Axis("parameter", labels=cost.names), Axis("gradient of the criterion"))
    alt = f"Gradient of a criterion of {write_value(cost.value)} in {counted(len(cost.names), 'parameter')}."
    return arrange("gradient of a criterion", told, [(panel,)], alt, row_height=280)


def trace_ellipse(center: np.ndarray, covariance: np.ndarray, color: str, name: str, dash: Dash) -> list[Trace]:
    """Where 95 % of normal points lie; none of a covariance that is not finite."""
    if not np.isfinite(covariance).all() or not np.isfinite(center).all():
        return []
    squares, axes = np.linalg.eigh(covariance)
    angle = np.linspace(0.0, 2.0 * np.pi, 121)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    x, y = center[:, None] + RADIUS * axes @ (np.sqrt(np.maximum(squares, 0.0))[:, None] * circle)
    return [Line(name, x, y, color, dash)]


def draw_pairs(fit: Fit, names: Names) -> Picture:
    """The 95 % ellipses of the pairs that are correlated most."""
    listed, matrix = list(fit.estimates), np.abs(np.nan_to_num(fit.correlation))
    wanted = set(listed if names is None else choose_names(names, fit.estimates, "estimate"))
    places = [k for k, name in enumerate(listed) if name in wanted]
    pairs = sorted(((matrix[i, j], j, i) for i in places for j in places if j < i), reverse=True)[:COLUMNS]
    pairs = [pair for pair in pairs if pair[0] > 0.0]
    if not pairs:
        raise ReportError(f"No two estimates of '{fit.model.name}' are correlated.", "Draw 'estimates'.")
    panels = []
    for _, a, b in pairs:
        one, other = fit.estimates[listed[a]], fit.estimates[listed[b]]
        center, name = np.array([one.value, other.value]), "95 % of both together"
        traces = (
            *trace_ellipse(center, fit.cov[np.ix_([a, b], [a, b])], BLUE, name, "solid"),
            Points("estimate", center[:1], center[1:], INK, "cross", 9.0),
        )
        reach = 1.1 * RADIUS * np.sqrt(np.diag(fit.cov)[[a, b]])
        ends = [(float(v - r), float(v + r)) if r > 0.0 else None for v, r in zip(center, reach, strict=True)]
        axes = [Axis(_label(each.name, each.unit), range=end) for each, end in zip((one, other), ends, strict=True)]
        panels.append(Panel(traces, axes[0], axes[1]))
    said = ", ".join(f"{listed[a]} and {listed[b]} {value:.2f}" for value, a, b in pairs)
    title = "pairs of estimates that are correlated most"
    return arrange(
        title, [describe_fit(fit)], [tuple(panels)], f"Ellipses of 95 % of pairs of estimates, correlated by: {said}.",
        row_height=260,
    )  # fmt: skip


def draw_forest(fits: Mapping[str, Fit]) -> Picture:
    """Estimates with their intervals of 95 %, fit by fit, one panel for each parameter."""
    names = list(dict.fromkeys(name for one in fits.values() for name in one.estimates))
    panels = []
    for name in names[:PARAMETERS]:
        traces: list[Trace] = []
        for number, (label, one) in enumerate(fits.items()):
            if name not in one.estimates:
                continue
            ends, value, style = np.array(one.conf_int()[name]), one.estimates[name].value, choose_style(number)
            traces.append(Line("interval of 95 %", ends, np.full(2, float(number)), GREY, width=3.0))
            points = np.array([value]), np.array([float(number)])
            traces.append(Points(f"{number + 1}: {label}", *points, style.color, style.marker, 9.0))
        unit = next(one.estimates[name].unit for one in fits.values() if name in one.estimates)
        numbers = tuple(str(k + 1) for k in range(len(fits)))
        known = np.concatenate([np.ravel(trace.x) for trace in traces if isinstance(trace, (Line, Points))])
        known = known[np.isfinite(known)]
        gap = 0.08 * (float(np.ptp(known)) or abs(float(known[0])) or 1.0)
        across = Axis(_label(name, unit), range=(float(known.min()) - gap, float(known.max()) + gap))
        panels.append(Panel(tuple(traces), across, Axis("fit", labels=numbers, descending=True)))
    rows = [tuple(panels[k : k + COLUMNS]) for k in range(0, len(panels), COLUMNS)]
    alt = f"Estimates of {len(fits)} fits with their intervals of 95 %, for {len(panels)} parameters."
    return arrange(
        "estimates side by side", [], rows, alt, left_out=len(names) - len(panels), what="parameter",
        row_height=60 + 26 * min(len(fits), PANELS),
    )  # fmt: skip


def _label(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name
