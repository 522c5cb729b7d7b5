"""Pictures of predictions: over time, sample against sample, over how many steps ahead."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from daedal.errors import ReportError, counted
from daedal.estimation import measure_fit
from daedal.report.layout import (
    BLUE,
    INK,
    NORMAL,
    PANELS,
    PURPLE,
    SKY,
    STYLES,
    TimeAxis,
    arrange,
    choose_names,
    choose_style,
    choose_time_axis,
)
from daedal.report.picture import Axis, Band, Line, Panel, Picture, Points, Trace
from daedal.report.pictures.signals import draw_signal
from daedal.tables import add_unit
from daedal.validation import Compared, Comparison

Names = Iterable[Any] | None
COLUMNS = 3  # of small panels
MOST = 6  # outputs in one picture
INPUTS = 4  # below the outputs of one experiment
POINTS = 1500  # dots in one panel


def draw_comparison(comparison: Comparison, names: Names) -> Picture:
    """Samples and simulation of each output in each experiment, in the band of 95 %, and the inputs below them."""
    series, left_out = list_series(comparison, names, PANELS)
    return _draw_series(comparison, series, left_out)


def draw_experiment(comparison: Comparison, experiment: str, names: Names) -> Picture:
    """The same of one experiment."""
    series, left_out = list_series(comparison, names, PANELS)
    return _draw_series(comparison, [one for one in series if one.experiment == experiment], left_out)


def _draw_series(comparison: Comparison, series: list[Compared], left_out: int) -> Picture:
    axis = choose_time_axis([one.origin for one in series])
    time = Axis(axis.name(comparison.units))
    rows, undrawn = [], 0
    labels = list(dict.fromkeys(one.experiment for one in series))
    count = len(series) + sum(len(comparison.inputs.get(label, {})) for label in labels)
    room = INPUTS if len(labels) == 1 or count <= PANELS else 0
    for label in labels:
        mine = [one for one in series if one.experiment == label]
        for one in mine:
            times = axis.place(one.times, one.origin)
            traces = draw_samples(one, times)
            others = [ahead for ahead in one.steps_ahead.values() if ahead.prediction != one.prediction]
            for style, ahead in zip(STYLES[1:] * (1 + len(others)), others, strict=False):
                traces.append(Line(ahead.prediction, times, ahead.predicted, style.color, style.dash, 1.2))
            rows.append((Panel(tuple(traces), time, Axis(label_series(comparison, one))),))
        driven = _draw_inputs(comparison, mine, axis)
        undrawn += len(driven) - len(driven[:room])
        rows += [(Panel((line,), time, Axis(title)),) for line, title in driven[:room]]
    percents, shares, data = _sum_up(comparison, series)
    said = f"simulated {write_percents(percents)}"
    covered = [f"{name} {100 * share:.1f} %" for name, share in shares.items() if np.isfinite(share)]
    told = [
        f"{comparison.method.strip() or 'the model as it is'}; {data}",
        f"in the band of 95 %: {', '.join(covered[:PANELS])}" if covered else "",
        f"{counted(undrawn, 'input')} not drawn" if undrawn else "",
    ]
    title = f"comparison of {comparison.model}: {said}"
    alt = f"Measured and predicted samples of {comparison.model} on {data}: {said}."
    linked = len(labels) == 1
    return arrange(title, told, rows, alt, linked=linked, left_out=left_out, what="output")


def _sum_up(comparison: Comparison, series: list[Compared]) -> tuple[dict[str, float], dict[str, float], str]:
    """Fits and shares in the band of the outputs that are drawn, and what they are of: of one experiment, its own."""
    labels = list(dict.fromkeys(one.experiment for one in series))
    drawn = dict.fromkeys(one.output for one in series)
    if len(labels) == 1 < len({one.experiment for one in comparison.series}):
        percents, shares = (
            {one.output: getattr(one, field) for one in series} for field in ("fit_percent", "coverage")
        )
        return percents, shares, f"{comparison.relation} '{labels[0]}'"
    percents = {name: value for name, value in comparison.fit_percent.items() if name in drawn}
    shares = {name: value for name, value in comparison.coverage.items() if name in drawn}
    return percents, shares, comparison.describe_data()


def _draw_inputs(comparison: Comparison, mine: list[Compared], axis: TimeAxis) -> list[tuple[Line, str]]:
    """What drove one experiment while it was compared, each with the title of its axis."""
    label = mine[0].experiment
    start, end = min(one.times[0] for one in mine), max(one.times[-1] for one in mine)
    several = len({one.experiment for one in comparison.series}) > 1
    drawn = []
    for name, signal in comparison.inputs.get(label, {}).items():
        line = _cut_line(draw_signal(signal, "input"), start, end)
        title = add_unit(name, comparison.units)
        placed = replace(line, x=axis.place(line.x, mine[0].origin))
        drawn.append((placed, f"{title}, {label}" if several else title))
    return drawn


def _cut_line(line: Line, start: float, end: float) -> Line:
    """The part between two times, with what the line is there."""
    inside = (line.x > start) & (line.x < end)
    if line.steps:
        held = np.clip(np.searchsorted(line.x, [start, end], side="right") - 1, 0, line.x.size - 1)
        first, last = line.y[held]
    else:
        first, last = np.interp([start, end], line.x, line.y)
    return replace(line, x=np.array([start, *line.x[inside], end]), y=np.array([first, *line.y[inside], last]))


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
    """Bands, samples and prediction in one panel; samples that do not count are pale."""
    traces: list[Trace] = []
    if np.isfinite(one.band).any():
        width = NORMAL * one.band
        band = f"95 % band, {one.prediction}"
        traces.append(Band(band, times, one.predicted - width, one.predicted + width, SKY, 0.3))
    if one.uncertainty is not None and np.isfinite(one.uncertainty).any():
        width = NORMAL * one.uncertainty
        known = "95 % band by the parameters alone"
        traces.append(Band(known, times, one.predicted - width, one.predicted + width, PURPLE, 0.55))
    pale = None if bool(np.all(one.scored | np.isnan(one.measured))) else ~one.scored
    traces.append(Points("measured", times, one.measured, INK, pale=pale))
    return [*traces, Line(one.prediction, times, one.predicted, BLUE)]


def draw_scatter(comparison: Comparison, names: Names) -> Picture:
    """Measured against simulated: on the diagonal both are the same."""
    known = dict.fromkeys(comparison.outputs)
    outputs = list(known)[:MOST] if names is None else choose_names(names, known, "output")
    panels = []
    for name in outputs:
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
    said = write_percents({name: comparison.fit_percent[name] for name in outputs})
    return arrange(
        "measured against simulated", [comparison.describe_data()], rows,
        f"Measured against simulated samples, which would all lie on the diagonal: fit {said}.",
        left_out=len(known) - len(outputs) if names is None else 0, what="output", row_height=240,
    )  # fmt: skip


def draw_steps(comparison: Comparison, names: Names) -> Picture:
    """Fit over the number of samples that are looked ahead: where the model stops to know."""
    if not comparison.horizons:
        raise ReportError(
            f"The comparison of '{comparison.model}' looks no samples ahead.", "Write compare(..., horizon=[1, 10])."
        )
    horizons = np.array(comparison.horizons, dtype=float)
    known = dict.fromkeys(comparison.outputs)
    outputs = list(known)[:MOST] if names is None else choose_names(names, known, "output")
    traces: list[Trace] = []
    for number, name in enumerate(outputs):
        series, style = [one for one in comparison.series if one.output == name], choose_style(number)
        percents = np.array([_pool_fit([one.steps_ahead[k] for one in series]) for k in comparison.horizons])
        traces.append(Line(name, horizons, percents, style.color, style.dash, 2.0, marker=style.marker))
        simulated, reach = np.full(2, comparison.fit_percent[name]), horizons[[0, -1]] * [0.9, 1.1]
        traces.append(Line(f"{name}, simulated", reach, simulated, style.color, "dot", 1.0 + 0.1 * number))
    panel = Panel(tuple(traces), Axis("samples ahead", log=True), Axis("fit [%]"))
    told = [comparison.describe_data(), "dotted: simulated from the inputs alone"]
    ends = [
        f"{name} from {traces[2 * k].y[0]:.1f} % to {traces[2 * k].y[-1]:.1f} %"  # type: ignore[attr-defined]
        for k, name in enumerate(outputs)
    ]
    alt = f"Fit over {comparison.horizons[0]} to {comparison.horizons[-1]} samples ahead: {', '.join(ends)}."
    return arrange(
        "fit over how many samples ahead", told, [(panel,)], alt,
        left_out=len(known) - len(outputs) if names is None else 0, what="output", row_height=260,
    )  # fmt: skip


def _pool_fit(series: Sequence[Compared]) -> float:
    measured = np.concatenate([one.measured[one.scored] for one in series])
    return measure_fit(measured, np.concatenate([one.predicted[one.scored] for one in series]))
