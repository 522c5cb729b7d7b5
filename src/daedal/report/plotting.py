"""`plot`: a picture of any result, as a plotly figure (`figure.show()`, `figure.write_html("file.html")`)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from daedal.data import Dataset, Signal
from daedal.errors import ReportError, counted
from daedal.estimation import Fit
from daedal.filtering import StateEstimate
from daedal.order import OrderSearch, OrderSearches
from daedal.report.layout import BAND, TimeAxis, choose_names, choose_time_axis, frame, make_panels
from daedal.report.study_pictures import draw_study
from daedal.report.validation_pictures import DRAWERS, NORMAL
from daedal.simulation import Ensemble, Trajectory
from daedal.studies import Study
from daedal.tables import add_unit
from daedal.validation import Comparison, Identifiability, Profile, Residuals

if TYPE_CHECKING:
    from datetime import datetime

    import plotly.graph_objects as go

REALIZATIONS = 50  # lines in one panel that can still be told apart


class _Curve(NamedTuple):
    """A trace in plotly's words: the mode is lines or markers, the shape linear or hv (steps), a band is filled."""

    times: np.ndarray
    values: np.ndarray
    mode: str = "lines"
    shape: str = "linear"
    band: bool = False


class _Picture(NamedTuple):
    """One result: title, the curves of each panel by name, units, the span of time where they go beyond it, origin."""

    title: str
    panels: Mapping[str, list[_Curve]]
    units: Mapping[str, str]
    span: tuple[float, float] | None = None
    origin: "datetime | None" = None


OverTime: TypeAlias = Trajectory | Ensemble | StateEstimate | Dataset
Finding: TypeAlias = Fit | Comparison | Residuals | Profile | Identifiability | OrderSearch | OrderSearches | Study


def plot(result: OverTime | Sequence[OverTime] | Finding, names: Iterable[Any] | None = None) -> "go.Figure":
    """Draw any result: signals over time, one panel each, or what a fit and its validation found.

    Parameters
    ----------
    result
        A Trajectory, an Ensemble or a Dataset. Of many realizations, the first 50 lie together; of an Ensemble, the
        mean in a band of one standard deviation to each side (of several sets of values, the means alone); of a
        StateEstimate, the mean in a band of 95 %. The results
        of a list share the panels of the same name: simulated signals are lines, measured ones are markers.
        A Fit: samples, prediction and residual. A Comparison: samples and prediction in the band of 95 %. Residuals:
        auto- and cross-correlations with their bands. A Profile: the criterion along each parameter. An
        Identifiability: singular values and directions. An OrderSearch: BIC of the candidates; OrderSearches: of
        each output. A Study: estimates against each other and shares of runs, minima of starts, a scan. Time is dates
        where every result has an origin.
    names
        Names or symbols of the signals (by default the outputs, then the others), of the outputs of a Fit, Comparison
        or Residuals, of the parameters of a Profile or Identifiability; without a choice, as many as fit.

    Examples
    --------
    >>> from daedal import Dataset
    >>> figure = plot(Dataset([0.0, 1.0, 2.0], outputs={"y": [0.0, 1.0, 4.0]}))
    >>> len(figure.data)
    1
    """
    if isinstance(result, Study):
        return draw_study(result, names)
    if type(result) in DRAWERS:
        return DRAWERS[type(result)](result, names)
    pictures = [_draw(one) for one in (result if isinstance(result, Sequence) else [result])]
    if not pictures:
        raise ReportError("The list of results to draw is empty.", "Write plot([trajectory, data]).")
    axis = choose_time_axis([picture.origin for picture in pictures])
    shared: dict[str, list[_Curve]] = {}
    for picture in pictures:
        for name, curves in picture.panels.items():
            drawn = [curve._replace(times=axis.place(curve.times, picture.origin)) for curve in curves]
            shared[name] = shared.get(name, []) + drawn
    common = sorted(shared, key=lambda name: -sum(name in picture.panels for picture in pictures))
    title = "; ".join(picture.title for picture in pictures)
    units = _unite_units(pictures)
    figure = _draw_panels(title, {name: shared[name] for name in common}, names, units, axis)
    spans = [axis.place(np.array(picture.span), picture.origin) for picture in pictures if picture.span]
    if len(spans) < len(pictures):
        return figure
    return figure.update_xaxes(range=[min(first for first, _ in spans), max(last for _, last in spans)])


def _unite_units(pictures: Sequence[_Picture]) -> dict[str, str]:
    """Of all pictures; what shares a panel, and time, must have one."""
    units: dict[str, str] = {}
    for picture in pictures:
        for name, unit in picture.units.items():
            if units.setdefault(name, unit) != unit:
                raise ReportError(
                    f"'{name}' has the unit '{units[name]}' in one of the results and '{unit}' in another.",
                    "Convert one of them, or draw them apart.",
                )
    return units


def _draw(result: Any) -> _Picture:
    if isinstance(result, Trajectory):
        ranked = dict.fromkeys([*result.outputs, *result.values])
        curves = {name: [_draw_lines(result.times, result.values[name])] for name in ranked}
        held = {name: [_make_curve(s)] for name, s in result.inputs.items() if s.intersample == "zoh"}
        stopped = "" if result.status.ok else f": {result.status.sentence}"
        span = (result.t0, float(result.times[-1])) if held else None
        return _Picture(f"{_name_subject(result)}{stopped}", curves | held, result.units, span, result.origin)
    if isinstance(result, Ensemble):
        moments = {name: _draw_moments(result, name) for name in result.mean}
        title = f"mean of {counted(result.realizations, 'realization')} of {result.model}"
        return _Picture(title, moments, result.units, origin=result.origin)
    if isinstance(result, StateEstimate):
        bands = {name: _draw_band(result, name) for name in result.mean}
        title = f"{result.kind} states of {result.model}, in bands of 95 %"
        return _Picture(title, bands, result.units, origin=result.origin)
    if isinstance(result, Dataset):
        measured = {name: [_Curve(s.times, s.values, mode="markers")] for name, s in result.outputs.items()}
        driving = {name: [_make_curve(s)] for name, s in result.inputs.items()}
        title = result.name if result.origin is None else f"{result.name}, since {result.origin}"
        return _Picture(title, measured | driving, result.units, origin=result.origin)
    raise ReportError(
        f"plot draws a Trajectory, an Ensemble, a StateEstimate, a Dataset or a list of them, or what a fit, its "
        f"validation or an order search found, got {type(result).__name__}.",
        "Give what simulate, ensemble, estimate_states, read_csv, fit, compare, resid, profile, identifiability or "
        "select_order returns.",
    )


def _draw_moments(result: Ensemble, name: str) -> list[_Curve]:
    """The mean in a band of one standard deviation to each side; of several sets of values, the means alone."""
    mean, deviation = result.mean[name], np.sqrt(result.variance[name])
    if mean.ndim > 1:
        return [_Curve(result.times, values) for values in mean]
    around = np.concatenate([mean + deviation, (mean - deviation)[::-1]])
    there_and_back = np.concatenate([result.times, result.times[::-1]])
    return [_Curve(there_and_back, around, band=True), _Curve(result.times, mean)]


def _draw_band(result: StateEstimate, name: str) -> list[_Curve]:
    """The mean in the band of 95 %, broken where the samples say nothing."""
    mean, width = result.mean[name], NORMAL * result.std[name]
    known = np.isfinite(width)
    upper, lower = (mean + sign * np.where(known, width, np.nan) for sign in (1.0, -1.0))
    there_and_back = np.concatenate([result.times[known], result.times[known][::-1]])
    around = np.concatenate([upper[known], lower[known][::-1]])
    return [_Curve(there_and_back, around, band=True), _Curve(result.times, np.where(known, mean, np.nan))]


def _name_subject(result: Trajectory) -> str:
    count = result.realizations or 1
    drawn = f"{REALIZATIONS} of {count}" if count > REALIZATIONS else str(count)
    return f"trajectory of {result.model}" if count == 1 else f"{drawn} realizations of {result.model}"


def _draw_lines(times: np.ndarray, values: np.ndarray) -> _Curve:
    """One line, or one for each of the first realizations: a NaN at the end of each keeps them apart."""
    if values.ndim == 1:
        return _Curve(times, values)
    shown = values[:REALIZATIONS]
    apart = np.full((len(shown), 1), np.nan)
    return _Curve(np.tile(np.append(times, times[-1]), len(shown)), np.hstack([shown, apart]).ravel())


def _make_curve(signal: Signal) -> _Curve:
    return _Curve(signal.times, signal.values, shape="hv" if signal.intersample == "zoh" else "linear")


def _draw_panels(
    title: str,
    curves: Mapping[str, list[_Curve]],
    names: Iterable[Any] | None,
    units: Mapping[str, str],
    axis: TimeAxis,
) -> "go.Figure":
    shown = choose_names(names, curves)
    figure = make_panels(len(shown), shared_xaxes=True)
    for row, name in enumerate(shown, start=1):
        for curve in curves[name]:
            line = {"shape": curve.shape, "width": 0 if curve.band else 1.5}
            style = {"mode": curve.mode, "line": line, "marker": {"size": 4}, **(BAND if curve.band else {})}
            figure.add_scatter(x=curve.times, y=curve.values, name=name, row=row, col=1, **style)
        figure.update_yaxes(title_text=add_unit(name, units), row=row, col=1)
    figure.update_xaxes(title_text=axis.name(units), row=len(shown), col=1)
    return frame(figure, title, len(shown), len(curves) - len(shown) if names is None else 0)
