"""Pictures over time: trajectories, ensembles, states, data, signals; several of them in one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from daedal.data import Dataset, Samples, Signal
from daedal.errors import ReportError, counted, list_entries
from daedal.filtering import StateEstimate
from daedal.report.layout import (
    GREY,
    INK,
    NORMAL,
    STYLES,
    Style,
    TimeAxis,
    arrange,
    choose_names,
    choose_style,
    choose_time_axis,
    describe_range,
)
from daedal.report.picture import Axis, Band, Line, Panel, Picture, Points, Trace
from daedal.simulation import Ensemble, Trajectory
from daedal.tables import add_unit

if TYPE_CHECKING:
    from datetime import datetime

MANY = 20  # realizations from which on they are quantiles, not lines
QUANTILES = ((0.05, 0.95, 0.18), (0.25, 0.75, 0.3))  # of the bands, and how opaque each is
SPLINE = 10  # points between two samples of a spline


@dataclass(frozen=True, eq=False)
class Layer:
    """One result: what it is called, the traces of each panel by name, units, and where time begins and ends."""

    title: str
    told: tuple[str, ...]
    panels: Mapping[str, tuple[Trace, ...]]
    units: Mapping[str, str]
    span: tuple[float, float] | None = None
    origin: "datetime | None" = None


def draw_signals(result: Any, names: Iterable[Any] | None) -> Picture:
    """One panel for each signal; the results of a list share the panels of the same name."""
    results = list_entries(result) if isinstance(result, Sequence) else [result]
    if results is None:
        raise ReportError("There are more results than any picture has room for.", "Draw some of them.")
    if not results:
        raise ReportError("The list of results to draw is empty.", "Write plot([trajectory, data]).")
    layers = _make_layers(results)
    axis = choose_time_axis([layer.origin for layer in layers])
    shared: dict[str, list[Trace]] = {}
    for layer in layers:
        for name, traces in layer.panels.items():
            shared.setdefault(name, []).extend(_place(trace, axis, layer.origin) for trace in traces)
    common = sorted(shared, key=lambda name: -sum(name in layer.panels for layer in layers))
    units = _unite_units(layers)
    shown = choose_names(names, {name: shared[name] for name in common})
    spans = [axis.place(np.array(layer.span), layer.origin) for layer in layers if layer.span]
    complete = len(spans) == len(layers)
    span = (min(first for first, _ in spans), max(last for _, last in spans)) if complete else None
    time = Axis(axis.name(units), range=span)
    rows = [(Panel(tuple(shared[name]), time, Axis(add_unit(name, units))),) for name in shown]
    title = "; ".join(dict.fromkeys(layer.title for layer in layers))
    told = dict.fromkeys(note for layer in layers for note in layer.told)
    alt = f"{title}: " + ", ".join(describe_range(name, _gather(shared[name]), units.get(name, "")) for name in shown)
    left_out = len(shared) - len(shown) if names is None else 0
    return arrange(title, told, rows, f"{alt}.", linked=True, left_out=left_out)


def _place(trace: Any, axis: TimeAxis, origin: "datetime | None") -> Trace:
    return replace(trace, x=axis.place(trace.x, origin))


def _gather(traces: Sequence[Any]) -> np.ndarray:
    """All values of a panel."""
    return np.concatenate([v for t in traces for v in ((t.lower, t.upper) if isinstance(t, Band) else (t.y,))])


def _unite_units(layers: Sequence[Layer]) -> dict[str, str]:
    """Of all layers; what shares a panel, and time, must have one."""
    units: dict[str, str] = {}
    for layer in layers:
        for name, unit in layer.units.items():
            if units.setdefault(name, unit) != unit:
                raise ReportError(
                    f"'{name}' has the unit '{units[name]}' in one of the results and '{unit}' in another.",
                    "Convert one of them, or draw them apart.",
                )
    return units


def _make_layers(results: Sequence[Any]) -> list[Layer]:
    """Samples are dark points and curves have colours; several of one kind are counted and told apart."""
    seen: dict[type, int] = {}
    styled = {True: 0, False: 0}  # by whether they are samples
    layers = []
    for one in results:
        kind = type(one)
        if kind not in LAYERS:
            raise ReportError(
                f"In a list, plot draws {', '.join(kind.__name__ for kind in LAYERS)}, got {kind.__name__}.",
                "Draw other results on their own.",
            )
        seen[kind] = seen.get(kind, 0) + 1
        several = sum(type(other) is kind for other in results) > 1
        measured = kind in (Dataset, Samples)
        style = choose_style(styled[measured])
        styled[measured] += 1
        layers.append(LAYERS[kind](one, style, f" {seen[kind]}" if several else ""))
    return layers


def _layer_trajectory(result: Trajectory, style: Style, mark: str) -> Layer:
    ranked = dict.fromkeys([*result.outputs, *result.values])
    panels: dict[str, tuple[Trace, ...]] = {
        name: _draw_course(result.times, result.values[name], style, f"simulated{mark}") for name in ranked
    }
    held = {name: signal for name, signal in result.inputs.items() if signal.intersample == "zoh"}
    panels |= {name: (draw_signal(signal, f"input{mark}"),) for name, signal in held.items()}
    count = result.realizations or 1
    title = f"trajectory of {result.model}" if count == 1 else f"{count} realizations of {result.model}"
    stopped = "" if result.status.ok else result.status.sentence
    told = (result.solver, "quantiles of the realizations" if count >= MANY else "", stopped)
    span = (result.t0, float(result.times[-1])) if held else None
    return Layer(title, told, panels, result.units, span, result.origin)


def _draw_course(times: np.ndarray, values: np.ndarray, style: Style, name: str) -> tuple[Trace, ...]:
    """One line; a line for each of a few realizations; of many, their quantiles."""
    if values.ndim == 1:
        return (Line(name, times, values, style.color, style.dash),)
    count = len(values)
    if count < MANY:
        apart = np.full((count, 1), np.nan)
        x, y = np.tile(np.append(times, times[-1]), count), np.hstack([values, apart]).ravel()
        faint = 1.0 if count == 1 else 0.6
        return (Line(f"{name}, each realization", x, y, style.color, "solid", 1.0, opacity=faint, joined=count),)
    levels = [level for low, high, _ in QUANTILES for level in (low, high)]
    known = np.where(np.isnan(values).all(axis=0), 0.0, values)  # where all stopped there is nothing to order
    found = np.where(np.isnan(values).all(axis=0), np.nan, np.nanquantile(known, [*levels, 0.5], axis=0))
    bands = [
        Band(f"{name}, {100 * low:g}–{100 * high:g} %", times, found[2 * k], found[2 * k + 1], style.color, opacity)
        for k, (low, high, opacity) in enumerate(QUANTILES)
    ]
    return (*bands, Line(f"{name}, median", times, found[-1], style.color, style.dash))


def _layer_ensemble(result: Ensemble, style: Style, mark: str) -> Layer:
    panels = {name: _draw_moments(result, name, style, mark) for name in result.mean}
    title = f"mean of {counted(result.realizations, 'realization')} of {result.model}"
    failed = f"{counted(len(result.failures), 'realization')} failed" if result.failures else ""
    return Layer(title, (result.solver, failed), panels, result.units, origin=result.origin)


def _draw_moments(result: Ensemble, name: str, style: Style, mark: str) -> tuple[Trace, ...]:
    """The mean in a band of one standard deviation to each side; of several sets of values, the means alone."""
    mean, deviation = result.mean[name], np.sqrt(result.variance[name])
    if mean.ndim > 1:
        styles = [STYLES[k % len(STYLES)] for k in range(len(mean))]
        return tuple(
            Line(f"mean{mark} with values {k + 1}", result.times, values, one.color, one.dash)
            for k, (values, one) in enumerate(zip(mean, styles, strict=True))
        )
    band = Band(f"mean{mark} ± one standard deviation", result.times, mean - deviation, mean + deviation, style.color)
    return band, Line(f"mean{mark}", result.times, mean, style.color, style.dash)


def _layer_states(result: StateEstimate, style: Style, mark: str) -> Layer:
    """The mean in the band of 95 %, broken where the samples say nothing."""
    panels: dict[str, tuple[Trace, ...]] = {}
    for name, mean in result.mean.items():
        width = np.where(np.isfinite(result.std[name]), NORMAL * result.std[name], np.nan)
        band = Band(f"band of 95 %{mark}", result.times, mean - width, mean + width, style.color)
        known = np.where(np.isfinite(width), mean, np.nan)
        panels[name] = (band, Line(f"{result.kind}{mark}", result.times, known, style.color, style.dash))
    told = {
        "smoothed": "each from all samples",
        "filtered": "each from the samples up to its time",
        "predicted": "each from the samples before it",
    }
    title = f"{result.kind} states of {result.model}"
    return Layer(title, (told[result.kind],), panels, result.units, origin=result.origin)


def _layer_dataset(result: Dataset, style: Style, mark: str) -> Layer:
    measured = {name: (_draw_samples(s, style, f"measured{mark}"),) for name, s in result.outputs.items()}
    driving = {name: (draw_signal(s, f"input{mark}"),) for name, s in result.inputs.items()}
    missing = sum(int(np.isnan(s.values).sum()) for s in result.outputs.values())
    told = (
        counted(result.times.size, "time"),
        f"{counted(missing, 'sample')} missing" if missing else "",
        "" if result.origin is None else f"since {result.origin}",
    )
    return Layer(f"data {result.name}", told, measured | driving, result.units, origin=result.origin)


def _layer_signal(result: Signal, _style: Style, mark: str) -> Layer:
    between = {"zoh": "each value held", "foh": "straight lines between", "spline": "a cubic spline between"}
    told = (counted(result.times.size, "sample"), between[result.intersample])
    return Layer("signal", told, {"value": (draw_signal(result, f"signal{mark}"),)}, {})


def _layer_samples(result: Samples, style: Style, mark: str) -> Layer:
    return Layer(
        "samples",
        (counted(result.times.size, "sample"),),
        {"value": (_draw_samples(result, style, f"measured{mark}"),)},
        {},
    )


def _draw_samples(samples: Samples, style: Style, name: str) -> Points:
    color = INK if style is STYLES[0] else style.color
    return Points(name, samples.times, samples.values, color, style.marker)


def draw_signal(signal: Signal, name: str) -> Line:
    """A signal as what it does between its samples."""
    if signal.intersample == "spline":
        places = np.arange((signal.times.size - 1) * SPLINE + 1) / SPLINE
        times = np.interp(places, np.arange(signal.times.size), signal.times)
        return Line(name, times, np.asarray(signal(times)), GREY)
    return Line(name, signal.times, signal.values, GREY, steps=signal.intersample == "zoh")


LAYERS: Mapping[type, Callable[[Any, Style, str], Layer]] = {
    Trajectory: _layer_trajectory,
    Ensemble: _layer_ensemble,
    StateEstimate: _layer_states,
    Dataset: _layer_dataset,
    Signal: _layer_signal,
    Samples: _layer_samples,
}
