"""Pictures that only a page needs: pairs of estimates, scatter, quantiles, steps ahead, fits side by side."""

from collections.abc import Mapping, Sequence

import numpy as np

from daedal.estimation import Fit, measure_fit
from daedal.report.layout import BLUE, GREY, INK, PANELS, arrange, choose_style
from daedal.report.page.rules import write_percent
from daedal.report.picture import Axis, Line, Panel, Picture, Points, Trace
from daedal.tables import add_unit
from daedal.validation import Compared, Comparison, Residuals

COLUMNS = 3  # of small panels
MOST = 6  # outputs in one picture
PARAMETERS = 12  # side by side
POINTS = 1500  # dots in one panel
RADIUS = 2.447746830680816  # of the ellipse that holds 95 % of two normal variables: √5.991
FAR = 4.0  # standard deviations to each side of a histogram


def draw_ellipses(fit: Fit) -> Picture | None:
    """The 95 % ellipses of the pairs that are correlated most."""
    names, matrix = list(fit.estimates), np.abs(np.nan_to_num(fit.correlation))
    pairs = sorted(((matrix[i, j], j, i) for i in range(len(names)) for j in range(i)), reverse=True)[:COLUMNS]
    pairs = [pair for pair in pairs if pair[0] > 0.0]
    if not pairs:
        return None
    turn, panels = np.linspace(0.0, 2.0 * np.pi, 121), []
    for _, a, b in pairs:
        values, vectors = np.linalg.eigh(fit.cov[np.ix_([a, b], [a, b])])
        circle = RADIUS * (vectors * np.sqrt(np.maximum(values, 0.0))) @ np.array([np.cos(turn), np.sin(turn)])
        one, other = (fit.estimates[names[k]] for k in (a, b))
        traces = (
            Line("95 % of both together", one.value + circle[0], other.value + circle[1], BLUE),
            Points("estimate", np.array([one.value]), np.array([other.value]), INK, "cross", 9.0),
        )
        panels.append(Panel(traces, Axis(_label(one.name, one.unit)), Axis(_label(other.name, other.unit))))
    said = ", ".join(f"{names[a]} and {names[b]} {value:.2f}" for value, a, b in pairs)
    title = "pairs of estimates that are correlated most"
    return arrange(
        title, [], [tuple(panels)], f"Ellipses of 95 % of pairs of estimates, correlated by: {said}.", row_height=260
    )


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
    said = ", ".join(f"{name} {write_percent(comparison.fit_percent[name])}" for name in outputs[:MOST])
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


def draw_quantiles(residuals: Residuals) -> Picture:
    """What was tested, in order, against the quantiles of a normal distribution; and its histogram."""
    from scipy.special import ndtri

    ordered: list[Trace] = []
    counted: list[Trace] = []
    for number, (name, one) in enumerate(list(residuals.outputs.items())[:MOST]):
        values, style = np.concatenate(list(one.tested.values())), choose_style(number)
        values = np.sort(values[np.isfinite(values)])
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
        left_out=len(residuals.outputs) - len(ordered) + 1, what="output", row_height=280,
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
            traces.append(Points(label, np.array([value]), np.array([float(number)]), style.color, style.marker, 9.0))
            traces.append(Line("interval of 95 %", ends, np.full(2, float(number)), GREY, width=3.0))
        unit = next(one.estimates[name].unit for one in fits.values() if name in one.estimates)
        numbers = tuple(str(k + 1) for k in range(len(fits)))
        panels.append(Panel(tuple(traces), Axis(_label(name, unit)), Axis("fit", labels=numbers, descending=True)))
    rows = [tuple(panels[k : k + COLUMNS]) for k in range(0, len(panels), COLUMNS)]
    alt = f"Estimates of {len(fits)} fits with their intervals of 95 %, for {len(panels)} parameters."
    return arrange(
        "estimates side by side", [], rows, alt, left_out=len(names) - len(panels), what="parameter",
        row_height=60 + 26 * min(len(fits), PANELS),
    )  # fmt: skip


def _pool_fit(series: Sequence[Compared]) -> float:
    measured = np.concatenate([one.measured[one.scored] for one in series])
    return measure_fit(measured, np.concatenate([one.predicted[one.scored] for one in series]))


def _thin_ends(count: int) -> np.ndarray:
    """Places of at most some hundred of so many values in order: all of the first and last, fewer between."""
    if count <= 600:
        return np.arange(count)
    between = np.linspace(100, count - 101, 400).astype(int)
    return np.unique(np.concatenate([np.arange(100), between, np.arange(count - 100, count)]))


def _label(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name
