"""`plot`: a picture of any result, as a plotly figure (`figure.show()`, `figure.write_html("file.html")`)."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from daedal.data import Dataset, Signal
from daedal.errors import ReportError, nearest, quoted
from daedal.simulation import Trajectory
from daedal.symbolic import Expression

if TYPE_CHECKING:
    import plotly.graph_objects as go

PANELS = 8  # without a choice, as many as can be read on a screen
REALIZATIONS = 50  # lines in one panel that can still be told apart


class _Curve(NamedTuple):
    """What one panel shows, in plotly's words: the mode is lines or markers, the shape linear or hv (steps)."""

    times: np.ndarray
    values: np.ndarray
    mode: str = "lines"
    shape: str = "linear"


def plot(result: Trajectory | Dataset, names: Iterable[Any] | None = None) -> "go.Figure":
    """Draw a Trajectory or a Dataset over time, one panel per signal; of many realizations, the first 50 lie together.

    Parameters
    ----------
    result
        What to draw.
    names
        Names or symbols of the signals; by default the outputs, then the others, as many as fit.

    Examples
    --------
    >>> from daedal import Dataset
    >>> figure = plot(Dataset([0.0, 1.0, 2.0], outputs={"y": [0.0, 1.0, 4.0]}))
    >>> len(figure.data)
    1
    """
    if isinstance(result, Trajectory):
        ranked = dict.fromkeys([*result.outputs, *result.values])
        curves = {name: _lines(result.times, result.values[name]) for name in ranked}
        held = {name: _input(s) for name, s in result.inputs.items() if s.intersample == "zoh"}
        stopped = "" if result.status.ok else f": {result.status.sentence}"
        figure = _panels(f"{_subject(result)}{stopped}", curves | held, names)
        return figure.update_xaxes(range=[result.t0, result.times[-1]]) if held else figure
    if isinstance(result, Dataset):
        measured = {name: _Curve(s.times, s.values, mode="markers") for name, s in result.outputs.items()}
        return _panels(result.name, measured | {name: _input(s) for name, s in result.inputs.items()}, names)
    raise ReportError(
        f"plot draws a Trajectory or a Dataset, got {type(result).__name__}.", "Give what simulate or read_csv returns."
    )


def _subject(result: Trajectory) -> str:
    count = result.realizations or 1
    drawn = f"{REALIZATIONS} of {count}" if count > REALIZATIONS else str(count)
    return f"trajectory of {result.model}" if count == 1 else f"{drawn} realizations of {result.model}"


def _lines(times: np.ndarray, values: np.ndarray) -> _Curve:
    """One line, or one for each of the first realizations: a NaN at the end of each keeps them apart."""
    if values.ndim == 1:
        return _Curve(times, values)
    shown = values[:REALIZATIONS]
    apart = np.full((len(shown), 1), np.nan)
    return _Curve(np.tile(np.append(times, times[-1]), len(shown)), np.hstack([shown, apart]).ravel())


def _input(signal: Signal) -> _Curve:
    return _Curve(signal.times, signal.values, shape="hv" if signal.intersample == "zoh" else "linear")


def _chosen(names: Iterable[Any] | None, curves: Mapping[str, Any]) -> list[str]:
    if names is None:
        return list(curves)[:PANELS]
    if isinstance(names, (str, Expression)) or not isinstance(names, Iterable):
        raise ReportError(f"The names to draw must be a list, got {names!r}.", "Write plot(result, ['x', 'y']).")
    chosen = [str(name) for name in names]
    for name in chosen:
        if name not in curves:
            raise ReportError(f"There is no signal '{name}' to draw.", nearest(name, curves))
    return chosen


def _panels(title: str, curves: dict[str, _Curve], names: Iterable[Any] | None) -> "go.Figure":
    from plotly.subplots import make_subplots

    shown = _chosen(names, curves)
    if not shown:
        raise ReportError("There is nothing to draw.", f"Choose among {quoted(curves)}.")
    figure = make_subplots(rows=len(shown), cols=1, shared_xaxes=True, vertical_spacing=0.25 / max(len(shown), 5))
    for row, name in enumerate(shown, start=1):
        curve = curves[name]
        style = {"mode": curve.mode, "line": {"shape": curve.shape, "width": 1.5}, "marker": {"size": 4}}
        figure.add_scatter(x=curve.times, y=curve.values, name=name, row=row, col=1, **style)
        figure.update_yaxes(title_text=name, row=row, col=1)
    figure.update_xaxes(title_text="time", row=len(shown), col=1)
    left_out = len(curves) - len(shown)
    more = f" ({left_out} more signals not drawn)" if left_out and names is None else ""
    return figure.update_layout(
        title=title + more, showlegend=False, height=140 + 150 * len(shown), template="plotly_white"
    )
