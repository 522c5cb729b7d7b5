"""Pictures of predictions: over time, sample against sample, over how many steps ahead."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from daedal.estimation import measure_fit
from daedal.report.layout import (
    BLUE,
    INK,
    NORMAL,
    PANELS,
    SKY,
    STYLES,
    arrange,
    choose_names,
    choose_style,
    choose_time_axis,
)
from daedal.report.picture import Axis, Band, Line, Panel, Picture, Points, Trace
from daedal.tables import add_unit
from daedal.validation import Compared, Comparison

Names = Iterable[Any] | None
COLUMNS = 3  # of small panels
MOST = 6  # outputs in one picture
POINTS = 1500  # dots in one panel


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


def draw_scatter(comparison: Comparison) -> Picture:
    """Measured against simulated: on the diagonal both are the same."""
    outputs = list(comparison.outputs)
    panels = []
    for name in outputs[:MOST]:
        series = [one for one in comparison.series if one.output == name]
        measured = np.concatenate([one.measured[one.scored] for one in series])
        predicted = np.concatenate([one.predicted[one.scored] for one in series])
        step = max(1, -(-measured.size // POINTS))
        both = np.concatenate([measured, predicted])
        ends = np.array([both.min(), both.max()]) if both.size else np.array([0.0, 1.0])
        traces = (
            Points("samples", predicted[::step], measured[::step], BLUE, size=4.0, opacity=0.5),
            Line("measured = simulated", ends, ends, INK, "dash", 1.0),
        )
        label = add_unit(name, comparison.units)
        panels.append(Panel(traces, Axis(f"simulated {label}"), Axis(f"measured {label}")))
    rows = [tuple(panels[k : k + COLUMNS]) for k in range(0, len(panels), COLUMNS)]
    said = write_percents({name: comparison.fit_percent[name] for name in outputs[:MOST]})
    return arrange(
        "measured against simulated", [comparison.describe_data()], rows,
        f"Measured against simulated samples, which would all lie on the diagonal: fit {said}.",
        left_out=len(outputs) - len(panels), what="output", row_height=240,
    )  # fmt: skip


def draw_steps(steps: Comparison) -> Picture:
    """Fit over the number of samples that are looked ahead: where the model stops to know."""
    horizons = np.array(steps.horizons, dtype=float)
    traces: list[Trace] = []
    outputs = list(steps.outputs)
    for number, name in enumerate(outputs[:MOST]):
        series, style = [one for one in steps.series if one.output == name], choose_style(number)
        percents = np.array([_pool_fit([one.steps_ahead[k] for one in series]) for k in steps.horizons])
        traces.append(Line(name, horizons, percents, style.color, style.dash, 2.0, marker=style.marker))
        simulated = np.full(2, steps.fit_percent[name])
        traces.append(Line(f"{name}, simulated", horizons[[0, -1]], simulated, style.color, "dot", 1.0))
    panel = Panel(tuple(traces), Axis("samples ahead", log=True), Axis("fit [%]"))
    told = [steps.describe_data(), "dotted: simulated from the inputs alone"]
    alt = "Fit over the number of samples ahead, which falls to that of a simulation."
    return arrange(
        "fit over how many samples ahead",
        told,
        [(panel,)],
        alt,
        left_out=len(outputs[MOST:]),
        what="output",
        row_height=260,
    )


def _pool_fit(series: Sequence[Compared]) -> float:
    measured = np.concatenate([one.measured[one.scored] for one in series])
    return measure_fit(measured, np.concatenate([one.predicted[one.scored] for one in series]))
