"""Pictures of what validation says about a fit: predictions, residuals, profiles, directions."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from daedal.errors import counted, quoted
from daedal.estimation import CorrelationTest
from daedal.report.layout import (
    BLUE,
    GREY,
    INK,
    NORMAL,
    PANELS,
    SKY,
    STYLES,
    VERMILLION,
    arrange,
    choose_names,
    choose_time_axis,
    write_value,
)
from daedal.report.picture import Axis, Band, Bars, Cells, Line, Panel, Picture, Points, Rule, Trace
from daedal.tables import add_unit
from daedal.validation import Compared, Comparison, Identifiability, Profile, ProfileCurve, Residuals

Names = Iterable[Any] | None


def draw_comparison(comparison: Comparison, names: Names) -> Picture:
    """Samples and simulation of each output in each experiment, in the band of 95 %; steps ahead, a line more each."""
    series, left_out = list_series(comparison, names, PANELS)
    axis = choose_time_axis([one.origin for one in series])
    rows = []
    for one in series:
        times = axis.place(one.times, one.origin)
        traces = draw_samples(one, times)
        for style, ahead in zip(STYLES[1:] * (1 + len(one.steps_ahead)), one.steps_ahead.values(), strict=False):
            traces.append(Line(ahead.prediction, times, ahead.predicted, style.color, style.dash, 1.2))
        rows.append((Panel(tuple(traces), Axis(axis.name(comparison.units)), Axis(label_series(comparison, one))),))
    said = f"simulated {write_percents(comparison.fit_percent)}"
    covered = [f"{name} {100 * share:.1f} %" for name, share in comparison.coverage.items() if np.isfinite(share)]
    told = [
        f"{comparison.method.strip() or 'the model as it is'}; {comparison.describe_data()}",
        f"in the band of 95 %: {', '.join(covered[:PANELS])}" if covered else "",
    ]
    title = f"comparison of {comparison.model}: {said}"
    alt = f"Measured and predicted samples of {comparison.model} on {comparison.describe_data()}: {said}."
    linked = len({one.experiment for one in series}) == 1
    return arrange(title, told, rows, alt, linked=linked, left_out=left_out, what="output")


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


def draw_profile(profile: Profile, names: Names) -> Picture:
    """The criterion along each parameter with its threshold, the interval, and the parabola of the curvature."""
    shown = choose_names(names, profile.curves, "parameter")
    rows = [(_draw_curve(profile[name], add_unit(name, profile.units)),) for name in shown]
    level = f"{100 * profile.level:g} %"
    parts = [f"{name} {_write_interval(profile[name])}" for name in shown]
    title = f"profiles of {profile.model}, intervals of {level}"
    alt = f"The criterion along each parameter of {profile.model}; intervals of {level}: {', '.join(parts)}."
    told = [", ".join(parts), "" if profile.status.ok else profile.status.sentence]
    left_out = len(profile.curves) - len(shown) if names is None else 0
    return arrange(title, told, rows, alt, left_out=left_out, what="parameter", row_height=190)


def _write_interval(curve: ProfileCurve) -> str:
    ends = [
        f"{'open at ' if is_open else ''}{write_value(end)}" if np.isfinite(end) else "open"
        for end, is_open in zip(curve.interval, curve.open, strict=True)
    ]
    return f"{ends[0]} … {ends[1]}"


def _draw_curve(curve: ProfileCurve, label: str) -> Panel:
    traces: list[Trace] = [
        Line("criterion above its minimum", curve.values, curve.cost, BLUE, marker="circle"),
    ]
    half = 0.5 * (curve.wald[1] - curve.wald[0])
    if np.isfinite(half) and half > 0.0:
        near = np.linspace(curve.values[0], curve.values[-1], 81)
        parabola = curve.threshold * ((near - curve.estimate) / half) ** 2
        near = near[parabola <= 1.5 * max(curve.threshold, float(np.nanmax(curve.cost)))]
        parabola = curve.threshold * ((near - curve.estimate) / half) ** 2
        traces.append(Line("parabola of the curvature", near, parabola, GREY, "dot"))
    traces.append(Rule("threshold", curve.threshold, VERMILLION, vertical=False))
    for end, is_open in zip(curve.interval, curve.open, strict=True):
        if not is_open and np.isfinite(end):
            traces.append(Rule("end of the interval", end, INK, dash="dot"))
    traces.append(Rule("estimate", curve.estimate, GREY, dash="solid"))
    return Panel(tuple(traces), Axis(label), Axis("above minimum"))


def draw_identifiability(result: Identifiability, names: Names) -> Picture:
    """Singular values, and the components of each direction as cells, the least determined below."""
    components = {name: None for direction in result.directions for name in direction.weights}
    shown = list(components) if names is None else choose_names(names, components, "parameter")
    directions = result.directions
    values = np.array([[direction.weights[name] for name in shown] for direction in directions])
    texts = tuple(tuple(f"{value:.2f}" for value in row) for row in values)
    numbers = tuple(f"{k + 1}: {direction.verdict}" for k, direction in enumerate(directions))
    ranks = np.arange(len(directions), dtype=float)
    determined = np.array([direction.verdict == "determined" for direction in directions])
    sizes = np.asarray(result.singular_values, dtype=float)
    bars = [Bars("determined", ranks[determined], sizes[determined], BLUE)] if determined.any() else []
    bars += (
        [Bars("not determined", ranks[~determined], sizes[~determined], VERMILLION, True)]
        if (~determined).any()
        else []
    )
    counts = tuple(str(k + 1) for k in range(len(directions)))
    upper = Panel(tuple(bars), Axis("direction", labels=counts), Axis("singular value", log=bool(np.any(sizes > 0.0))))
    cells = Cells("component", values, texts, -1.0, 1.0)
    lower = Panel((cells,), Axis("parameter", labels=tuple(shown)), Axis("direction", labels=numbers, descending=True))
    title = f"identifiability of {result.model}: condition number {write_value(result.condition, 3)}"
    worst = directions[-1]
    strongest = max(shown, key=lambda name: abs(worst.weights[name]))
    alt = (
        f"Of {counted(len(directions), 'direction')} of the parameters of {result.model}, {int(determined.sum())} are "
        f"determined; the least determined one points mostly along {strongest}."
    )
    height = max(150, 26 * len(directions) + 40)
    return arrange(title, [], [(upper,), (lower,)], alt, row_height=height)


def list_series(comparison: Comparison, names: Names, most: int) -> tuple[list[Compared], int]:
    """What to draw, and how much is left out for lack of room."""
    outputs = comparison.outputs if names is None else choose_names(names, dict.fromkeys(comparison.outputs), "output")
    wanted = [one for name in outputs for one in comparison.series if one.output == name]
    shown = wanted[:most] if names is None else wanted
    return shown, len(wanted) - len(shown)


def label_series(comparison: Comparison, one: Compared) -> str:
    """The output with its unit, and the experiment where there are several."""
    several = len({series.experiment for series in comparison.series}) > 1
    name = add_unit(one.output, comparison.units)
    return f"{name}, {one.experiment}" if several else name


def write_percents(percents: Mapping[str, float]) -> str:
    """Fit of each output, as many as are drawn: speed 92.4 %."""
    return ", ".join(
        f"{name} {percent:.1f} %" if np.isfinite(percent) else f"{name} —"
        for name, percent in list(percents.items())[:PANELS]
    )


def draw_samples(one: Compared, times: np.ndarray) -> list[Trace]:
    """Band, samples and prediction in one panel; samples that do not count are pale."""
    traces: list[Trace] = []
    if np.isfinite(one.deviation).any():
        width = NORMAL * one.deviation
        band = f"95 % of samples about what is {one.prediction}"
        traces.append(Band(band, times, one.predicted - width, one.predicted + width, SKY, 0.35))
    pale = None if bool(np.all(one.scored | np.isnan(one.measured))) else ~one.scored
    traces.append(Points("measured", times, one.measured, INK, pale=pale))
    return [*traces, Line(one.prediction, times, one.predicted, BLUE)]


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
