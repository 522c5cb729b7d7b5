"""Pictures of studies: estimates of all runs against each other, minima of many starts, a scan."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from daedal.errors import counted
from daedal.report.layout import BLUE, GREEN, PANELS, VERMILLION, arrange, choose_names, write_value
from daedal.report.picture import Axis, Dash, Line, Panel, Picture, Points, Rule, Trace
from daedal.report.pictures.fits import trace_ellipse
from daedal.report.pictures.searches import draw_waterfall
from daedal.studies import Study
from daedal.tables import add_unit

MOST = 6  # estimates against each other
SAME = 1e-9  # of the criterion: rounding, which is no height


def draw_study(study: Study, names: Iterable[Any] | None) -> Picture:
    """Minima of starts as a waterfall, a scan over its values, and otherwise estimates against each other."""
    if study.outline.reading == "starts":
        return _draw_minima(study)
    labels = list(study.contents.words[0] or {}) if study.contents.words else []
    scanned = [key for key in labels if all(isinstance((one or {}).get(key), float) for one in study.contents.words)]
    if study.outline.reading == "table" and scanned:
        return _draw_scan(study, scanned)
    return _draw_matrix(study, names)


def _draw_matrix(study: Study, names: Iterable[Any] | None) -> Picture:
    """Shares of the runs below each value on the diagonal, pairs below it with their ellipses of 95 %."""
    chosen = choose_names(names, study.fit.estimates, "estimate")
    shown = chosen[:MOST] if names is None else chosen
    units = {one.name: one.unit for one in study.fit.estimates.values() if one.unit}
    rows: list[list[Panel | None]] = []
    for i, below in enumerate(shown):
        pairs = [_draw_pair(study, (beside, below), units) for beside in shown[:i]]
        rows.append([*pairs, _draw_shares(study, below, units), *([None] * (len(shown) - 1 - i))])
    title = f"study of {study.fit.model.name} by {study.kind}"
    said = f"{int(study.converged.sum())} of {counted(study.numbers.size, 'run')}"
    spreads = [
        f"{name} from {write_value(float(known.min()))} to {write_value(float(known.max()))}"
        for name in shown
        if (known := _list_known(study, name)).size
    ]
    alt = f"Estimates of {said} of {study.fit.model.name}: {', '.join(spreads) or 'none is known'}."
    left_out = len(study.fit.estimates) - len(shown) if names is None else 0
    return arrange(title, [f"{said} converged"], rows, alt, left_out=left_out, what="estimate", row_height=210)


def _list_known(study: Study, name: str) -> np.ndarray:
    values = study.estimates[name][study.converged]
    return np.sort(values[np.isfinite(values)])


def _draw_shares(study: Study, name: str, units: dict[str, str]) -> Panel:
    values = _list_known(study, name)
    shares = np.arange(1, values.size + 1) / max(values.size, 1)
    traces: list[Trace] = [Line("share of runs", values, shares, BLUE, steps=True)]
    known: tuple[tuple[float, str, str, Dash], ...] = (
        (study[name].estimate, VERMILLION, "estimate of the fit", "dash"),
        (study[name].truth, GREEN, "truth", "dot"),
    )
    for at, color, said, dash in known:
        if np.isfinite(at):
            traces.append(Rule(said, float(at), color, dash=dash))
    return Panel(tuple(traces), Axis(add_unit(name, units)), Axis("share of runs"))


def _draw_pair(study: Study, names: tuple[str, str], units: dict[str, str]) -> Panel:
    points = np.stack([study.estimates[name][study.converged] for name in names])
    points = points[:, np.isfinite(points).all(axis=0)]
    traces: list[Trace] = [Points("runs", points[0], points[1], BLUE, opacity=0.5)]
    order = list(study.fit.estimates)
    k = [order.index(name) for name in names]
    estimate = np.array([study.fit.params[name] for name in names])
    truth = np.array([study[name].truth for name in names])
    known = bool(np.isfinite(truth).all())
    at = truth if known else estimate
    if points.shape[1] > 2 and study.outline.reading == "jackknife":
        covariance = study.outline.factor * np.cov(points, bias=True)
        traces += trace_ellipse(estimate, covariance, BLUE, "95 % by the jackknife", "solid")
    elif points.shape[1] > 2:
        traces += trace_ellipse(points.mean(axis=1), np.cov(points), BLUE, "95 % of the runs", "solid")
    traces += trace_ellipse(at, study.fit.cov[np.ix_(k, k)], VERMILLION, "95 % by the fit", "dash")
    said, color = ("truth", GREEN) if known else ("estimate of the fit", VERMILLION)
    traces.append(Points(f"{said} (cross)", at[:1], at[1:], color, "cross", 11.0))
    return Panel(tuple(traces), Axis(add_unit(names[0], units)), Axis(add_unit(names[1], units)))


def _draw_minima(study: Study) -> Picture:
    """The criterion of each start above the best, in rising order."""
    known = np.flatnonzero(np.isfinite(study.values))
    order = known[np.argsort(study.values[known], kind="stable")]
    texts = tuple(f"run {study.numbers[k]}" for k in order)
    values, best = study.values[order], np.nanmin(study.values, initial=np.inf)
    values = np.where(values - best <= SAME * max(abs(best), 1.0), best, values)
    panel = draw_waterfall(values, np.asarray(study.converged[order], dtype=bool), texts)
    said = f"{int(study.converged.sum())} of {counted(study.numbers.size, 'start')} converged"
    title = f"{counted(order.size, 'start')} of {study.fit.model.name}"
    return arrange(title, [said], [(panel,)], f"Waterfall of the criterion: {said}.", row_height=300)


def _draw_scan(study: Study, scanned: list[str]) -> Picture:
    """The criterion over each scanned parameter."""
    units = {one.name: one.unit for one in study.fit.estimates.values() if one.unit}
    rows = []
    for name in scanned[:PANELS]:
        at = np.array([one[name] for one in study.contents.words])
        order = np.argsort(at, kind="stable")
        x, y = at[order], study.values[order]
        trace: Trace = Points("run", x, y, BLUE, size=6.0)
        if len(scanned) == 1:
            trace = Line("run", x, y, BLUE, marker="circle")
        rows.append((Panel((trace,), Axis(add_unit(name, units)), Axis("criterion")),))
    best = int(np.nanargmin(study.values)) if np.isfinite(study.values).any() else None
    lowest = "" if best is None else ", ".join(f"{n} = {write_value(study.contents.words[best][n])}" for n in scanned)
    over = f"{counted(study.numbers.size, 'run')} over {', '.join(scanned)}"
    alt = f"The criterion in {over}; lowest at {lowest or 'none'}."
    left_out = max(len(scanned) - PANELS, 0)
    title = f"scan of {study.fit.model.name}"
    return arrange(
        title, [f"lowest at {lowest}"] if lowest else [], rows, alt, left_out=left_out, what="parameter", row_height=200
    )
