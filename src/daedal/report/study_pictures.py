"""Pictures of studies: estimates of all runs against each other, minima of many starts, a scan."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from daedal.report.layout import choose_names, frame, make_panels
from daedal.studies import Study
from daedal.tables import add_unit

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST = 6  # estimates against each other
RADIUS = 2.447746830680816  # √ of the 95 % quantile of χ² with two degrees of freedom
RUNS, FITTED, TRUE = "#1f77b4", "#d62728", "#2ca02c"


def draw_study(study: Study, names: Iterable[Any] | None) -> "go.Figure":
    """Minima of starts as a waterfall, a scan over its values, and otherwise estimates against each other."""
    if study.outline.reading == "starts":
        return _draw_waterfall(study)
    labels = list(study.contents.words[0] or {}) if study.contents.words else []
    scanned = [key for key in labels if all(isinstance((one or {}).get(key), float) for one in study.contents.words)]
    if study.outline.reading == "table" and scanned:
        return _draw_scan(study, scanned)
    return _draw_matrix(study, names)


def _draw_matrix(study: Study, names: Iterable[Any] | None) -> "go.Figure":
    """Shares of the runs below each value on the diagonal, pairs below it with their ellipses of 95 %."""
    chosen = choose_names(names, study.fit.estimates, "estimate")
    shown = chosen[:MOST] if names is None else chosen
    count = len(shown)
    figure = make_panels(count, count)
    units = {one.name: one.unit for one in study.fit.estimates.values() if one.unit}
    for row, below in enumerate(shown, start=1):
        _draw_shares(figure, study, below, row)
        for column, beside in enumerate(shown[: row - 1], start=1):
            _draw_pair(figure, study, (beside, below), row, column)
        figure.update_xaxes(title_text=add_unit(below, units), row=count, col=row)
        figure.update_yaxes(title_text="share of runs" if row == 1 else add_unit(below, units), row=row, col=1)
    title = f"study of {study.fit.model.name} by {study.kind}: {study.converged.sum()} of {study.numbers.size} runs"
    figure = frame(figure, title, count, len(study.fit.estimates) - count if names is None else 0, "estimate")
    return figure.update_layout(height=max(420, 140 + 220 * count))


def _draw_shares(figure: "go.Figure", study: Study, name: str, place: int) -> None:
    values = np.sort(study.estimates[name][study.converged])
    values = values[np.isfinite(values)]
    shares = np.arange(1, values.size + 1) / max(values.size, 1)
    line = {"color": RUNS, "width": 1.5, "shape": "hv"}
    figure.add_scatter(x=values, y=shares, name="share of runs", mode="lines", line=line, row=place, col=place)
    for at, color, said in (
        (study[name].estimate, FITTED, "estimate of the fit"),
        (study[name].truth, TRUE, "truth"),
    ):
        if np.isfinite(at):
            style = {"mode": "lines", "line": {"color": color, "width": 1, "dash": "dash"}}
            figure.add_scatter(x=[at, at], y=[0.0, 1.0], name=said, row=place, col=place, **style)


def _draw_pair(figure: "go.Figure", study: Study, names: tuple[str, str], row: int, column: int) -> None:
    place: dict[str, Any] = {"row": row, "col": column}
    points = np.stack([study.estimates[name][study.converged] for name in names])
    points = points[:, np.isfinite(points).all(axis=0)]
    marker = {"size": 4, "color": RUNS, "opacity": 0.5}
    figure.add_scatter(x=points[0], y=points[1], name="runs", mode="markers", marker=marker, **place)
    order = list(study.fit.estimates)
    k = [order.index(name) for name in names]
    estimate = np.array([study.fit.params[name] for name in names])
    truth = np.array([study[name].truth for name in names])
    if points.shape[1] > 2:
        _draw_ellipse(figure, points.mean(axis=1), np.cov(points), RUNS, "95 % of the runs", place)
    known = np.isfinite(truth).all()
    _draw_ellipse(figure, truth if known else estimate, study.fit.cov[np.ix_(k, k)], FITTED, "95 % by the fit", place)
    cross = {"size": 9, "symbol": "cross", "color": TRUE if known else FITTED}
    at = truth if known else estimate
    said = "truth" if known else "estimate of the fit"
    figure.add_scatter(x=at[:1], y=at[1:], name=said, mode="markers", marker=cross, **place)


def _draw_ellipse(
    figure: "go.Figure", center: np.ndarray, covariance: np.ndarray, color: str, name: str, place: dict[str, Any]
) -> None:
    """Where 95 % of normal points lie; none of a covariance that is not finite."""
    if not np.isfinite(covariance).all():
        return
    squares, axes = np.linalg.eigh(covariance)
    angle = np.linspace(0.0, 2.0 * np.pi, 121)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    x, y = center[:, None] + RADIUS * axes @ (np.sqrt(np.maximum(squares, 0.0))[:, None] * circle)
    style = {"mode": "lines", "line": {"color": color, "width": 1.5}}
    figure.add_scatter(x=x, y=y, name=name, **style, **place)


def _draw_waterfall(study: Study) -> "go.Figure":
    """The criterion of each start above the best, in rising order; those that stopped before are pale."""
    figure = make_panels(1)
    known = np.flatnonzero(np.isfinite(study.values))
    order = known[np.argsort(study.values[known], kind="stable")]
    heights = study.values[order] - study.values[order].min(initial=np.inf) if order.size else np.zeros(0)
    marker = {"size": 7, "color": RUNS, "opacity": np.where(study.converged[order], 1.0, 0.3)}
    text = [f"run {study.numbers[k]}" for k in order]
    ranks = np.arange(1, order.size + 1)
    figure.add_scatter(x=ranks, y=heights, name="starts", mode="markers+lines", marker=marker, text=text, row=1, col=1)
    figure.update_xaxes(title_text="starts, best first", row=1, col=1)
    figure.update_yaxes(title_text="criterion above the best", row=1, col=1)
    return frame(figure, f"{order.size} starts of {study.fit.model.name}", 1)


def _draw_scan(study: Study, scanned: list[str]) -> "go.Figure":
    """The criterion over each scanned parameter."""
    figure = make_panels(len(scanned), titled=True)
    for row, name in enumerate(scanned, start=1):
        at = np.array([one[name] for one in study.contents.words])
        order = np.argsort(at, kind="stable")
        style = {"mode": "markers" if len(scanned) > 1 else "markers+lines", "marker": {"color": RUNS}}
        figure.add_scatter(x=at[order], y=study.values[order], name="criterion", row=row, col=1, **style)
        figure.update_xaxes(title_text=name, row=row, col=1)
        figure.update_yaxes(title_text="criterion", row=row, col=1)
    return frame(figure, f"scan of {study.fit.model.name}", len(scanned))
