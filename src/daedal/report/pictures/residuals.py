"""Pictures of what predictions leave: correlations, over time, their distribution."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from daedal.data import Signal
from daedal.errors import ReportError, quoted
from daedal.estimation import Autoregression, CorrelationTest, find_contiguous, fit_autoregression
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
    write_p,
    write_value,
)
from daedal.report.picture import Axis, Band, Bars, Line, Panel, Picture, Points, Rule, Trace
from daedal.validation import OutputResidual, Residuals

Names = Iterable[Any] | None
COLUMNS = 3  # of small panels
MOST = 6  # outputs in one picture
MOST_AGAINST, MOST_BESIDE = 3, 6  # outputs, and quantities that their residuals are drawn over
POINTS = 300  # dots in one panel
PARTS = 8  # of the samples in their order, each with a mean
SURE = 3.5  # standard errors of one of these means that are worth a word
PIECE, LONGEST_PIECE = 8, 96  # samples of a piece whose spectrum is averaged, at least and at most
OVERLAP = 0.947  # share of independent periodograms among those of a Hann window that overlap by half
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
        traces += [Rule("95 % of normal residuals of this size", end, GREY, vertical=False) for end in (-width, width)]
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
    ends = (float(lags[0]) - 0.8, float(lags[-1]) + 0.8)
    width = np.concatenate([test.band[:1], test.band, test.band[-1:]])  # behind the whole of the first and last bar
    band = Band("band of 95 % of all lags", np.array([ends[0], *lags, ends[1]]), -width, width, GREY, 0.25)
    traces: list[Trace] = [band]
    for name, chosen, color in (("inside", inside, BLUE), ("outside", ~inside, VERMILLION)):
        if chosen.any():
            traces.append(Bars(name, lags[chosen], test.correlation[chosen], color, hatched=color == VERMILLION))
    p = "" if np.isnan(test.p_value) else f", {write_p(test.p_value)}"
    return Panel(tuple(traces), Axis(axis, range=ends), Axis("correlation"), f"{title}{p}")


def draw_distribution(residuals: Residuals, names: Names) -> Picture:
    """What was tested, in order, against the quantiles of a normal distribution; and its histogram."""
    from scipy.special import ndtri

    ordered: list[Trace] = []
    counted: list[Trace] = []
    shown = list(residuals.outputs)[:MOST] if names is None else choose_names(names, residuals.outputs, "output")
    for number, name in enumerate(shown):
        values, style = _join_tested(residuals[name]), choose_style(number)
        values = np.sort(values)
        values = values / (float(np.sqrt(np.mean(values**2))) or 1.0)
        kept = _thin_ends(values.size)
        theory = ndtri((np.arange(values.size) + 0.5) / values.size)
        ordered.append(Points(name, theory[kept], values[kept], style.color, style.marker, 5.0))
        bins = min(40, max(8, int(np.sqrt(values.size))))
        heights, edges = np.histogram(values, bins=bins, range=(-FAR, FAR), density=True)
        counted.append(Line(name, edges, np.append(heights, 0.0), style.color, style.dash, 2.0, steps=True))
    grid = np.linspace(-FAR, FAR, 81)
    ordered.append(Line("normal distribution", np.array([-FAR, FAR]), np.array([-FAR, FAR]), INK, "dash"))
    counted.append(Line("normal distribution", grid, np.exp(-0.5 * grid**2) / np.sqrt(2.0 * np.pi), INK, "dash"))
    size = Axis("residual by its root mean square")
    panels = (
        Panel(tuple(ordered), Axis("quantile of a normal distribution"), size),
        Panel(tuple(counted), size, Axis("density")),
    )
    return arrange(
        "distribution of the residuals", [f"by {residuals.method}"], [panels],
        "Quantiles and histogram of the residuals beside those of a normal distribution.",
        left_out=len(residuals.outputs) - len(shown) if names is None else 0, what="output", row_height=280,
    )  # fmt: skip


def _join_tested(one: OutputResidual) -> np.ndarray:
    """What was tested, of all experiments, without gaps."""
    values = np.concatenate(list(one.tested.values()))
    return values[np.isfinite(values)]


def draw_spectrum(residuals: Residuals, names: Names) -> Picture:
    """The spectrum of each residual in units of its accuracy: that of white noise as declared is 1 everywhere.

    Averaged over periodograms of pieces with a Hann window that overlap by half (Welch); the band holds 95 % of white
    noise of that size at each frequency, by χ² with twice as many degrees of freedom as there are pieces, less
    what the overlap takes (P. D. Welch, IEEE Trans. Audio Electroacoust. 15 (1967) 70–73).
    """
    from scipy.special import chdtri

    shown = list(residuals.outputs)[:MOST] if names is None else choose_names(names, residuals.outputs, "output")
    traces: list[Trace] = []
    said, loosest = [], np.inf
    for number, name in enumerate(shown):
        omega, power, freedom = _estimate_spectrum(residuals[name])
        if not omega.size:
            continue
        style, loosest = choose_style(number), min(loosest, freedom)
        traces.append(Line(name, omega, power, style.color, style.dash, 2.0, marker=style.marker))
        peak = int(np.argmax(power))
        said.append(f"{name} at most {write_value(float(power[peak]), 3)} at {write_value(float(omega[peak]), 3)}")
    if not traces:
        raise ReportError(
            f"The residuals of '{residuals.model}' have too few regular samples for a spectrum.",
            f"It needs {2 * PIECE} of them in a row.",
        )
    ends = np.array([min(one.x[0] for one in traces), max(one.x[-1] for one in traces)])  # type: ignore[attr-defined]
    low, high = (np.full(2, chdtri(loosest, 1.0 - level) / loosest) for level in (0.025, 0.975))
    band = Band("95 % of white noise of its accuracy", ends, low, high, GREY)
    rule = Rule("white noise of its accuracy", 1.0, INK, vertical=False)
    clock = f"rad/{residuals.units['time']}" if "time" in residuals.units else "rad per unit of time"
    panel = Panel(
        (band, *traces, rule), Axis(f"frequency [{clock}]", log=True), Axis("spectrum, by its accuracy", log=True)
    )
    return arrange(
        f"spectrum of the residuals of {residuals.model}",
        [f"by {residuals.method}", "1: white noise as large as declared; above it more is left, below it less"],
        [(panel,)],
        f"Spectra of the residuals in units of their accuracies: {', '.join(said)}.",
        left_out=len(residuals.outputs) - len(shown) if names is None else 0, what="output", row_height=280,
    )  # fmt: skip


def _estimate_spectrum(one: OutputResidual) -> tuple[np.ndarray, np.ndarray, float]:
    """ω > 0, mean power there (1: white noise of variance 1), its degrees of freedom; empty of too few samples."""
    runs = [run for label in one.tested for run in _list_runs(one.times[label], one.tested[label])]
    longest = max((run.size for _, run in runs), default=0)
    size = min(max(longest // 8, PIECE if longest >= 2 * PIECE else 0), LONGEST_PIECE)
    if size < PIECE:
        return np.zeros(0), np.zeros(0), 0.0
    step = next(step for step, run in runs if run.size == longest)
    window = np.hanning(size + 2)[1:-1]
    powers = []
    for other, run in runs:
        if abs(other - step) > 1e-6 * step:
            continue
        pieces = [run[first : first + size] for first in range(0, run.size - size + 1, size // 2)]
        powers += [np.abs(np.fft.rfft(window * piece)) ** 2 / np.sum(window**2) for piece in pieces]
    omega = 2.0 * np.pi * np.fft.rfftfreq(size, step)
    last = omega.size - (size % 2 == 0)  # at half the sampling rate there is one degree of freedom, not two
    return omega[1:last], np.mean(powers, axis=0)[1:last], 2.0 * len(powers) * OVERLAP if len(powers) > 1 else 2.0


def _list_runs(times: np.ndarray, values: np.ndarray) -> list[tuple[float, np.ndarray]]:
    """Stretches without a gap and with one step, each with that step."""
    known = np.flatnonzero(np.isfinite(values))
    if known.size < 2:
        return []
    step = float(np.median(np.diff(times[known])))
    breaks = np.flatnonzero((np.diff(known) > 1) | (np.abs(np.diff(times[known]) - step) > 1e-3 * step)) + 1
    return [(step, values[part]) for part in np.split(known, breaks) if step > 0.0]


def draw_against(residuals: Residuals, signals: Mapping[str, Mapping[str, Signal]], names: Names) -> Picture | None:
    """Each residual over other quantities, with means of parts that hold as many samples each; None without any.

    `signals` has the quantities by name and experiment. A mean that is far from zero tells of something that the model
    lacks, as a rule of something nonlinear. Its standard error respects how long the residual remembers itself.
    """
    known = residuals.outputs
    outputs = list(known)[:MOST_AGAINST] if names is None else choose_names(names, known, "output")
    panels: list[Panel] = []
    told: list[str] = []
    for name in outputs:
        memory = _model_memory(residuals[name])
        drawn = [
            _draw_dependence(residuals, name, other, signals[other], memory, told)
            for other in list(signals)[:MOST_BESIDE]
        ]
        panels += [panel for panel in drawn if panel is not None]
    if not panels:
        return None
    rows = [tuple(panels[k : k + COLUMNS]) for k in range(0, len(panels), COLUMNS)]
    said = "; ".join(told) if told else "no mean of a part is far from zero"
    notes = [f"by {residuals.method}", "bars: means of equal parts of the samples ± 1.96 standard errors", said]
    return arrange(
        f"residuals of {residuals.model} against other quantities", notes, rows,
        f"Residuals over inputs, outputs and states: {said}.",
        left_out=len(signals) - len(list(signals)[:MOST_BESIDE]), what="quantity", row_height=190,
    )  # fmt: skip


def _model_memory(one: OutputResidual) -> Autoregression:
    """The autoregression of what was tested."""
    return fit_autoregression([run[part] for run in one.tested.values() for part in find_contiguous(run)])


def _draw_dependence(
    residuals: Residuals,
    name: str,
    other: str,
    signals: Mapping[str, Signal],
    memory: Autoregression,
    told: list[str],
) -> Panel | None:
    """The panel of one pair; what is beyond chance goes to what is told."""
    one, x, y = residuals[name], np.zeros(0), np.zeros(0)
    labels = [label for label in one.tested if label in signals]
    for label in labels:
        x, y = np.append(x, _read_signal(signals[label], one.times[label])), np.append(y, one.tested[label])
    known = np.isfinite(x) & np.isfinite(y)
    lengths, places = [one.tested[label].size for label in labels], np.flatnonzero(known)
    x, y = x[known], y[known]
    if x.size < 2 * PARTS or not np.ptp(x) > 0.0:
        return None
    step = max(1, -(-x.size // POINTS))
    parts = [part for part in _split_evenly(x) if part.size > 1]
    middles = np.array([x[part].mean() for part in parts])
    means = np.array([y[part].mean() for part in parts])
    scatter = np.array([y[part].var(ddof=1) for part in parts])
    errors = _compute_errors(memory, [places[part] for part in parts], lengths, scatter)
    far = float(np.max(np.abs(means) / np.where(errors > 0.0, errors, np.inf)))
    if far > SURE:
        # A test of correlation sees straight lines alone: where it finds nothing, this must not seem to contradict it.
        hidden = ", though no correlation shows it" if other in one.inputs and one.inputs[other].passed else ""
        told.append(f"{name} depends on {other}{hidden}: a mean is {far:.1f} standard errors off")
    bars = np.column_stack([means - NORMAL * errors, means + NORMAL * errors, np.full(len(parts), np.nan)]).ravel()
    traces: tuple[Trace, ...] = (
        Points("residual", x[::step], y[::step], BLUE, opacity=0.35),
        Line("mean ± 1.96 standard errors", np.repeat(middles, 3), bars, VERMILLION, width=2.5, joined=len(parts)),
        Points("mean of a part", middles, means, VERMILLION, "diamond", 6.0),
        Rule("zero", 0.0, INK, vertical=False, dash="dot"),
    )
    unit = residuals.units.get(other.removeprefix("predicted "), "")
    return Panel(traces, Axis(f"{other} [{unit}]" if unit else other), Axis(f"{name}, by its accuracy"))


def _compute_errors(
    memory: Autoregression, parts: list[np.ndarray], lengths: list[int], scatter: np.ndarray
) -> np.ndarray:
    """The standard error of the mean of each part, given the places of its samples in experiments of these lengths.

    That of the stationary autoregression, and more where a part scatters more than that does.
    """
    weights = np.zeros((len(parts), sum(lengths)))
    for row, part in zip(weights, parts, strict=True):
        row[part] = 1.0 / part.size
    variances = np.zeros(len(parts))
    for own in np.split(weights, np.cumsum(lengths)[:-1], axis=1):
        variances += np.sum(memory.long_run(own) ** 2, axis=1)
    alone = float(memory.long_run(np.ones(1))[0] ** 2)  # the variance of one sample
    return np.sqrt(variances * np.maximum(scatter / alone, 1.0)) if alone > 0.0 else np.zeros(len(parts))


def _split_evenly(x: np.ndarray) -> list[np.ndarray]:
    """Places of parts with as many samples each, or, of an input that has few levels, of each level."""
    levels = np.unique(x)
    if levels.size <= PARTS:
        return [np.flatnonzero(x == level) for level in levels]
    return np.array_split(np.argsort(x, kind="stable"), PARTS)


def _read_signal(signal: Signal, times: np.ndarray) -> np.ndarray:
    """Its values where it is known."""
    known = (times >= signal.start) & (times <= signal.end)
    values = np.full(times.size, np.nan)
    values[known] = signal(times[known])
    return values


def _thin_ends(count: int) -> np.ndarray:
    """Places of at most some hundred of so many values in order: all of the first and last, fewer between."""
    if count <= 600:
        return np.arange(count)
    between = np.linspace(100, count - 101, 400).astype(int)
    return np.unique(np.concatenate([np.arange(100), between, np.arange(count - 100, count)]))
