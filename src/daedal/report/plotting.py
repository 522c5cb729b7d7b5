"""`plot`: a picture of any result, as a plotly figure (`figure.show()`, `figure.write_html("file.html")`)."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from daedal.data import Dataset, Signal
from daedal.errors import ReportError, nearest, quoted
from daedal.simulation import Trajectory
from daedal.symbolic import Expression

if TYPE_CHECKING:
    import plotly.graph_objects as go

PANELS = 8  # without a choice, as many as can be read on a screen


def plot(result: Trajectory | Dataset, names: Iterable[Any] | None = None) -> "go.Figure":
    """Draw a Trajectory or a Dataset over time, one panel per signal.

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
        curves = {name: (result.times, result.values[name], "lines", "linear") for name in ranked}
        held = {name: _input(s) for name, s in result.inputs.items() if s.intersample == "zoh"}
        stopped = "" if result.status.ok else f": {result.status.sentence}"
        figure = _panels(f"trajectory of {result.model}{stopped}", curves | held, names)
        return figure.update_xaxes(range=[result.t0, result.times[-1]]) if held else figure
    if isinstance(result, Dataset):
        measured = {name: (s.times, s.values, "markers", "linear") for name, s in result.outputs.items()}
        return _panels(result.name, measured | {name: _input(s) for name, s in result.inputs.items()}, names)
    raise ReportError(
        f"plot draws a Trajectory or a Dataset, got {type(result).__name__}.", "Give what simulate or read_csv returns."
    )


def _input(signal: Signal) -> tuple[np.ndarray, np.ndarray, str, str]:
    return signal.times, signal.values, "lines", "hv" if signal.intersample == "zoh" else "linear"


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


def _panels(title: str, curves: dict[str, Any], names: Iterable[Any] | None) -> "go.Figure":
    from plotly.subplots import make_subplots

    shown = _chosen(names, curves)
    if not shown:
        raise ReportError("There is nothing to draw.", f"Choose among {quoted(curves)}.")
    figure = make_subplots(rows=len(shown), cols=1, shared_xaxes=True, vertical_spacing=0.25 / max(len(shown), 5))
    for row, name in enumerate(shown, start=1):
        times, values, mode, shape = curves[name]
        line = {"shape": shape, "width": 1.5}
        figure.add_scatter(x=times, y=values, mode=mode, line=line, marker={"size": 4}, name=name, row=row, col=1)
        figure.update_yaxes(title_text=name, row=row, col=1)
    figure.update_xaxes(title_text="time", row=len(shown), col=1)
    left_out = len(curves) - len(shown)
    more = f" ({left_out} more signals not drawn)" if left_out and names is None else ""
    return figure.update_layout(
        title=title + more, showlegend=False, height=140 + 150 * len(shown), template="plotly_white"
    )
