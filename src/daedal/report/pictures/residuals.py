"""Pictures of what predictions leave: correlations, over time, their distribution."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from daedal.errors import quoted
from daedal.estimation import CorrelationTest
from daedal.report.layout import (
    BLUE,
    GREY,
    INK,
    NORMAL,
    STYLES,
    VERMILLION,
    arrange,
    choose_names,
    choose_style,
    choose_time_axis,
    write_value,
)
from daedal.report.picture import Axis, Band, Bars, Line, Panel, Picture, Points, Rule, Trace
from daedal.validation import Residuals

Names = Iterable[Any] | None
MOST = 6  # outputs in one picture
FAR = 4.0  # standard deviations to each side of a histogram


def draw_residuals(residuals: Residuals, names: Names) -> Picture:
    """For each output its autocorrelation, and its correlation with each input, in the bands of 95 % of all lags."""
    outputs = choose_names(names, residuals.outputs, "output")
    inputs = list(dict.fromkeys(key for name in outputs for key in residuals[name].inputs))
    rows = []
    for name in outputs:
        one = residuals[name]
        own = _draw_correlation(one.whiteness, "lag (samples)", f"{name}: autocorrelation")
        others = [
            _draw_correlation(one.inputs[key], f"lag (samples), past of {key} to the right", f"{name}: with {key}")
            if key in one.inputs
            else None
            for key in inputs
        ]
        rows.append((own, *others))
    title = f"residuals of {residuals.model}"
    told = [
        f"by {residuals.method}; data {quoted(residuals.experiments)}",
        "a test rejects where a bar leaves its band",
    ]
    alt = f"Correlations of the residuals of {residuals.model}: " + "; ".join(
        f"{name}: {residuals[name].sentence}" for name in outputs
    )
    left_out = len(residuals.outputs) - len(outputs) if names is None else 0
    return arrange(title, told, rows, f"{alt}.", left_out=left_out, what="output", row_height=190)


def draw_residuals_over_time(residuals: Residuals, names: Names) -> Picture:
    """What was tested, over time: residuals in units of their accuracy, of a likelihood the innovations."""
    outputs = choose_names(names, residuals.outputs, "output")
    axis = choose_time_axis([residuals.origins.get(name) for name in residuals.experiments])
    rows = []
    for name in outputs:
        traces: list[Trace] = []
        for number, (experiment, values) in enumerate(residuals[name].tested.items()):
            style = STYLES[number % len(STYLES)]
            times = axis.place(residuals[name].times[experiment], residuals.origins.get(experiment))
            traces.append(Points(experiment, times, values, style.color, style.marker))
        known = np.concatenate(list(residuals[name].tested.values()))
        width = NORMAL * float(np.sqrt(np.nanmean(known**2))) if np.isfinite(known).any() else 0.0
        traces += [Rule("95 % of normal ones of this size", end, GREY, vertical=False) for end in (-width, width)]
        label = f"{name}, in units of its accuracy"
        rows.append((Panel(tuple(traces), Axis(axis.name(residuals.units)), Axis(label)),))
    title = (
        f"innovations of {residuals.model}" if "Likelihood" in residuals.method else f"residuals of {residuals.model}"
    )
    shares = []
    for name in outputs:
        values = np.concatenate(list(residuals[name].tested.values()))
        values = values[np.isfinite(values)]
        size = float(np.sqrt(np.mean(values**2))) if values.size else 0.0
        shares.append(f"{name} of size {write_value(size, 3)}")
    alt = f"{title} over time, in units of their accuracy: {', '.join(shares)}."
    left_out = len(residuals.outputs) - len(outputs) if names is None else 0
    told = [f"by {residuals.method}; data {quoted(residuals.experiments)}"]
    return arrange(title, told, rows, alt, linked=True, left_out=left_out, what="output")


def _draw_correlation(test: CorrelationTest, axis: str, title: str) -> Panel:
    lags = np.asarray(test.lags, dtype=float)
    inside = np.abs(test.correlation) <= test.band
    band = Band("band of 95 % of all lags", lags, -test.band, test.band, GREY, 0.25)
    traces: list[Trace] = [band]
    for name, chosen, color in (("inside", inside, BLUE), ("outside", ~inside, VERMILLION)):
        if chosen.any():
            traces.append(Bars(name, lags[chosen], test.correlation[chosen], color, hatched=color == VERMILLION))
    p = "" if np.isnan(test.p_value) else f", p = {test.p_value:.2g}"
    return Panel(tuple(traces), Axis(axis), Axis("correlation"), f"{title}{p}")


def draw_quantiles(residuals: Residuals) -> Picture:
    """What was tested, in order, against the quantiles of a normal distribution; and its histogram."""
    from scipy.stats import norm

    ordered: list[Trace] = []
    counted: list[Trace] = []
    for number, (name, one) in enumerate(list(residuals.outputs.items())[:MOST]):
        values, style = np.concatenate(list(one.tested.values())), choose_style(number)
        values = np.sort(values[np.isfinite(values)])
        values = values / (float(np.sqrt(np.mean(values**2))) or 1.0)
        kept = _thin_ends(values.size)
        theory = norm.ppf((np.arange(values.size) + 0.5) / values.size)
        ordered.append(Points(name, theory[kept], values[kept], style.color, style.marker, 5.0))
        bins = min(40, max(8, int(np.sqrt(values.size))))
        heights, edges = np.histogram(values, bins=bins, range=(-FAR, FAR), density=True)
        counted.append(Line(name, edges, np.append(heights, 0.0), style.color, style.dash, 2.0, steps=True))
    grid = np.linspace(-FAR, FAR, 81)
    ordered.append(Line("normal distribution", np.array([-FAR, FAR]), np.array([-FAR, FAR]), INK, "dash"))
    counted.append(Line("normal distribution", grid, norm.pdf(grid), INK, "dash"))
    size = Axis("residual by its root mean square")
    panels = (
        Panel(tuple(ordered), Axis("quantile of a normal distribution"), size),
        Panel(tuple(counted), size, Axis("density")),
    )
    return arrange(
        "distribution of the residuals", [f"by {residuals.method}"], [panels],
        "Quantiles and histogram of the residuals beside those of a normal distribution.",
        left_out=len(residuals.outputs) - len(ordered) + 1, what="output", row_height=280,
    )  # fmt: skip


def _thin_ends(count: int) -> np.ndarray:
    """Places of at most some hundred of so many values in order: all of the first and last, fewer between."""
    if count <= 600:
        return np.arange(count)
    between = np.linspace(100, count - 101, 400).astype(int)
    return np.unique(np.concatenate([np.arange(100), between, np.arange(count - 100, count)]))
