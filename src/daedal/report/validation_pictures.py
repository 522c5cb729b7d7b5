"""Pictures of a fit and of what validation says about it."""

from collections.abc import Callable, Iterable, Mapping
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from daedal.errors import quoted
from daedal.estimation import CorrelationTest, Fit
from daedal.order import OrderSearch, OrderSearches
from daedal.report.layout import BAND, PANELS, choose_names, choose_time_axis, frame, make_panels
from daedal.tables import add_unit
from daedal.validation import (
    Compared,
    Comparison,
    Identifiability,
    Profile,
    ProfileCurve,
    Residuals,
    compare,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go

NORMAL = 1.959963984540054
MEASURED, PREDICTED, BOUND = "#444444", "#1f77b4", "#d62728"
AHEAD = ("#2ca02c", "#ff7f0e", "#9467bd", "#8c564b")  # one after the other
Names = Iterable[Any] | None


def draw_fit(fit: Fit, names: Names) -> "go.Figure":
    """Samples and prediction of each output (one step ahead, where the fit predicts so), the residual below."""
    comparison = compare(fit, fit.data)
    series, left_out = _list_series(comparison, names, PANELS // 2)
    series = [one.ahead or one for one in series]
    axis = choose_time_axis([one.origin for one in series])
    figure = make_panels(2 * len(series))
    for k, one in enumerate(series):
        times = axis.place(one.times, one.origin)
        _draw_samples(figure, one, times, 2 * k + 1, _make_label(comparison, one))
        residual = np.where(one.scored, one.measured - one.predicted, np.nan)
        style = {"mode": "markers", "marker": {"size": 3, "color": MEASURED}}
        figure.add_scatter(x=times, y=residual, name=f"residual of {one.output}", row=2 * k + 2, col=1, **style)
        unit = f" [{comparison.units[one.output]}]" if one.output in comparison.units else ""
        figure.update_yaxes(title_text=f"residual{unit}", row=2 * k + 2, col=1)
        figure.update_xaxes(matches=_name_axis(2 * k + 2), row=2 * k + 1, col=1)
    figure.update_xaxes(title_text=axis.name(comparison.units), row=2 * len(series), col=1)
    kind = series[0].prediction
    title = f"fit of {fit.model.name}: {_write_percents(fit.fit_percent)} ({kind}, {comparison.relation})"
    return frame(figure, title, 2 * len(series), left_out, "output")


def draw_comparison(comparison: Comparison, names: Names) -> "go.Figure":
    """Samples and simulation of each output in each experiment, in the band of 95 %; steps ahead, a line more each."""
    series, left_out = _list_series(comparison, names, PANELS)
    axis = choose_time_axis([one.origin for one in series])
    figure = make_panels(len(series))
    for row, one in enumerate(series, start=1):
        times = axis.place(one.times, one.origin)
        _draw_samples(figure, one, times, row, _make_label(comparison, one))
        for color, ahead in zip(cycle(AHEAD), one.steps_ahead.values(), strict=False):
            line = {"color": color, "width": 1, "dash": "dot"}
            style = {"name": ahead.prediction, "mode": "lines", "line": line}
            figure.add_scatter(x=times, y=ahead.predicted, row=row, col=1, **style)
    figure.update_xaxes(title_text=axis.name(comparison.units), row=len(series), col=1)
    said = f"comparison of {comparison.model} with {comparison.describe_data()}"
    title = f"{said}: simulated {_write_percents(comparison.fit_percent)}"
    return frame(figure, title, len(series), left_out, "output")


def draw_residuals(residuals: Residuals, names: Names) -> "go.Figure":
    """For each output its autocorrelation, and its correlation with each input, in the bands of 95 % of all lags.

    Red where the test rejects, which it does where a bar leaves its band.
    """
    outputs = choose_names(names, residuals.outputs, "output")
    inputs = list(dict.fromkeys(key for name in outputs for key in residuals[name].inputs))
    figure = make_panels(len(outputs), 1 + len(inputs), titled=True)
    for row, name in enumerate(outputs, start=1):
        one = residuals[name]
        _draw_bars(figure, one.whiteness, row, 1, f"autocorrelation, p = {one.whiteness.p_value:.2g}")
        figure.update_yaxes(title_text=name, row=row, col=1)
        for column, key in enumerate(inputs, start=2):
            if key in one.inputs:
                _draw_bars(figure, one.inputs[key], row, column, f"with {key}, p = {one.inputs[key].p_value:.2g}")
    title = f"residuals of {residuals.model} on {quoted(residuals.experiments)}"
    return frame(figure, title, len(outputs), len(residuals.outputs) - len(outputs), "output")


def draw_profile(profile: Profile, names: Names) -> "go.Figure":
    """The criterion along each parameter; dashed the threshold, dotted the interval."""
    shown = choose_names(names, profile.curves, "parameter")
    figure = make_panels(len(shown), titled=True)
    for row, name in enumerate(shown, start=1):
        _draw_profile(figure, profile[name], row, add_unit(name, profile.units))
    title = f"profiles of {profile.model}, intervals of {100 * profile.level:g} %"
    return frame(figure, title, len(shown), len(profile.curves) - len(shown), "parameter")


def draw_order_search(search: OrderSearch, _names: Names) -> "go.Figure":
    """BIC above the lowest of each candidate, one line for each input order, the chosen one marked."""
    figure = make_panels(1)
    _draw_candidates(figure, search, 1)
    figure.update_xaxes(title_text="order", dtick=1, row=1, col=1)
    return frame(figure, f"order search by {search.method}", 1, 0)


def draw_order_searches(searches: OrderSearches, names: Names) -> "go.Figure":
    """The same for each output, one panel each."""
    shown = choose_names(names, searches.searches, "output")
    figure = make_panels(len(shown), shared_xaxes=True)
    for row, name in enumerate(shown, start=1):
        _draw_candidates(figure, searches[name], row, f"{name}: ")
    figure.update_xaxes(title_text="order", dtick=1, row=len(shown), col=1)
    methods = dict.fromkeys(searches[name].method for name in shown)
    title = f"order search by {', '.join(methods)} for each output"
    return frame(figure, title, len(shown), len(searches.searches) - len(shown) if names is None else 0, "output")


def _draw_candidates(figure: "go.Figure", search: OrderSearch, row: int, owner: str = "") -> None:
    candidates = [candidate for candidate in search.candidates if np.isfinite(candidate.bic)]
    lowest = min(candidate.bic for candidate in candidates)
    for order in sorted({candidate.input_order for candidate in candidates}):
        mine = [candidate for candidate in candidates if candidate.input_order == order]
        x, y = [candidate.order for candidate in mine], [candidate.bic - lowest for candidate in mine]
        figure.add_scatter(x=x, y=y, name=f"input order {order}", mode="lines+markers", row=row, col=1)
    marker = {"size": 14, "color": BOUND, "symbol": "circle-open", "line": {"width": 2}}
    chosen = {"x": [search.order], "y": [search.chosen.bic - lowest]}
    figure.add_scatter(**chosen, name="chosen", mode="markers", marker=marker, row=row, col=1)
    figure.update_yaxes(title_text=f"{owner}BIC above the lowest", row=row, col=1)


def draw_identifiability(result: Identifiability, names: Names) -> "go.Figure":
    """Singular values, and below them the components of each direction, the least determined first."""
    components = {name: None for direction in result.directions for name in direction.weights}
    shown = list(components) if names is None else choose_names(names, components, "parameter")
    worst = result.directions[::-1][: PANELS - 1]
    figure = make_panels(1 + len(worst))
    numbers = [str(k + 1) for k in range(len(result.directions))]
    figure.add_bar(
        x=numbers, y=result.singular_values, name="singular values", marker={"color": MEASURED}, row=1, col=1
    )
    figure.update_yaxes(title_text="singular value", type="log", row=1, col=1)
    figure.update_xaxes(type="category", row=1, col=1)
    for row, direction in enumerate(worst, start=2):
        weights = [direction.weights[name] for name in shown]
        color = PREDICTED if direction.verdict == "determined" else BOUND
        number = str(len(result.directions) + 2 - row)
        figure.add_bar(x=shown, y=weights, name=f"direction {number}", marker={"color": color}, row=row, col=1)
        figure.update_yaxes(title_text=f"direction {number}", range=[-1.05, 1.05], row=row, col=1)
        figure.update_xaxes(type="category", row=row, col=1)
    title = f"identifiability of {result.model}: condition number {result.condition:.3g}"
    return frame(figure, title, 1 + len(worst), len(result.directions) - len(worst), "direction")


DRAWERS: Mapping[type, Callable[..., "go.Figure"]] = {
    Fit: draw_fit,
    Comparison: draw_comparison,
    Residuals: draw_residuals,
    Profile: draw_profile,
    Identifiability: draw_identifiability,
    OrderSearch: draw_order_search,
    OrderSearches: draw_order_searches,
}


def _list_series(comparison: Comparison, names: Names, most: int) -> tuple[list[Compared], int]:
    """What to draw, and how much is left out for lack of room."""
    outputs = comparison.outputs if names is None else choose_names(names, dict.fromkeys(comparison.outputs), "output")
    wanted = [one for name in outputs for one in comparison.series if one.output == name]
    shown = wanted[:most] if names is None else wanted
    return shown, len(wanted) - len(shown)


def _make_label(comparison: Comparison, one: Compared) -> str:
    several = len({series.experiment for series in comparison.series}) > 1
    name = add_unit(one.output, comparison.units)
    return f"{name}, {one.experiment}" if several else name


def _write_percents(percents: Mapping[str, float]) -> str:
    shown = [f"{name} {percent:.1f} %" for name, percent in list(percents.items())[:PANELS]]
    return ", ".join(shown)


def _name_axis(row: int) -> str:
    return "x" if row == 1 else f"x{row}"


def _draw_samples(figure: "go.Figure", one: Compared, times: np.ndarray, row: int, label: str) -> None:
    """Band, samples and prediction in one panel; samples that do not count are pale."""
    place: dict[str, Any] = {"row": row, "col": 1}
    if np.isfinite(one.deviation).any():
        width = NORMAL * np.nan_to_num(one.deviation)
        around = np.concatenate([one.predicted + width, (one.predicted - width)[::-1]])
        there_and_back = np.concatenate([times, times[::-1]])
        figure.add_scatter(x=there_and_back, y=around, name="band of 95 %", line={"width": 0}, **BAND, **place)
    opacity = np.where(one.scored, 1.0, 0.3)
    marker = {"size": 4, "color": MEASURED, "opacity": opacity}
    figure.add_scatter(x=times, y=one.measured, name="measured", mode="markers", marker=marker, **place)
    line = {"color": PREDICTED, "width": 1.5}
    figure.add_scatter(x=times, y=one.predicted, name="predicted", mode="lines", line=line, **place)
    figure.update_yaxes(title_text=label, **place)


def _draw_bars(figure: "go.Figure", test: CorrelationTest, row: int, column: int, title: str) -> None:
    place: dict[str, Any] = {"row": row, "col": column}
    there_and_back = np.concatenate([test.lags, test.lags[::-1]])
    around = np.concatenate([test.band, -test.band[::-1]])
    figure.add_scatter(x=there_and_back, y=around, name="band of 95 % of all lags", line={"width": 0}, **BAND, **place)
    color = PREDICTED if test.passed else BOUND
    figure.add_bar(x=test.lags, y=test.correlation, name=title, marker={"color": color}, **place)
    figure.update_xaxes(title_text=f"lag ({title})", **place)


def _draw_profile(figure: "go.Figure", curve: ProfileCurve, row: int, label: str) -> None:
    place: dict[str, Any] = {"row": row, "col": 1}
    line = {"color": PREDICTED, "width": 1.5}
    figure.add_scatter(x=curve.values, y=curve.cost, name=curve.name, mode="lines+markers", line=line, **place)
    threshold = [curve.threshold] * 2
    dashed = {"color": BOUND, "dash": "dash", "width": 1}
    figure.add_scatter(x=curve.values[[0, -1]], y=threshold, name="threshold", mode="lines", line=dashed, **place)
    ends = [end for end, is_open in zip(curve.interval, curve.open, strict=True) if not is_open]
    for end in ends:
        dotted = {"color": MEASURED, "dash": "dot", "width": 1}
        figure.add_scatter(x=[end] * 2, y=[0.0, curve.threshold], name="end", mode="lines", line=dotted, **place)
    figure.update_yaxes(title_text="criterion − minimum", **place)
    figure.update_xaxes(title_text=label, **place)
