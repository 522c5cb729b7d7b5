"""Pages of the descriptor paper: transfer functions, the scatter of estimates, and a torque that nobody measured."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import chi2, norm

from daedal.papers.descriptor.estimates import LEVEL, LIKELIHOOD, OUTPUT_ERROR, Estimates, Size
from daedal.papers.descriptor.experiment import LOAD, TRUTH, UNITS
from daedal.papers.descriptor.states import FILTERED, SMOOTHED, StateErrors
from daedal.papers.descriptor.structure import FREQUENCIES, DriveStructure
from daedal.papers.descriptor.tables import TITLES
from daedal.papers.result_files import title_figure
from daedal.report import BAND, make_panels
from daedal.simulation import Trajectory

if TYPE_CHECKING:
    import plotly.graph_objects as go

COLORS = {LIKELIHOOD: "#1f77b4", OUTPUT_ERROR: "#d62728"}
PALETTE = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f")
SPAN = (10.0, 20.0)  # seconds that are drawn, long enough for two jumps of the voltage
DATA_SET = 0  # the one that is drawn


def draw_transfer_functions(structure: DriveStructure) -> "go.Figure":
    """Gains from the equations (lines) and the standard form (dots); below, how far they are apart."""
    figure = make_panels(2, shared_xaxes=True)
    sparse = slice(None, None, 20)
    for color, (source, variable) in zip(PALETTE, structure.direct, strict=True):
        name = f"{source} → {variable}"
        gain, other = (np.abs(response[source, variable]) for response in (structure.direct, structure.standard))
        apart = np.maximum(structure.difference(source, variable), 1e-17)  # a logarithm has no zero
        common = {"legendgroup": name, "name": name, "line": {"color": color}, "col": 1}
        figure.add_scatter(x=FREQUENCIES, y=gain, row=1, **common)
        dots = {**common, "showlegend": False, "mode": "markers", "marker": {"color": color, "size": 6}}
        figure.add_scatter(x=FREQUENCIES[sparse], y=other[sparse], row=1, **dots)
        figure.add_scatter(x=FREQUENCIES, y=apart, row=2, showlegend=False, **common)
    figure.update_xaxes(type="log")
    figure.update_xaxes(title_text="frequency (rad/s)", row=2, col=1)
    figure.update_yaxes(type="log", exponentformat="power")
    figure.update_yaxes(title_text="gain", row=1, col=1)
    figure.update_yaxes(title_text="relative difference", row=2, col=1)
    subtitle = f"lines: the {len(structure.matrices.equations)} equations; dots: the standard form"
    return title_figure(figure, "Transfer functions of the drive", subtitle, 720)


def draw_estimates(estimates: Mapping[str, Estimates], size: Size) -> "go.Figure":
    """Stiffness against inertia, one dot a data set; the ellipse is what the standard errors promise."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for method in (OUTPUT_ERROR, LIKELIHOOD):
        one, color = estimates[method], COLORS[method]
        stiffness, inertia = one.values.T
        figure.add_scatter(x=stiffness, y=inertia, name=method, mode="markers", marker={"color": color, "size": 5})
        x, y = trace_ellipse(np.array(list(TRUTH.values())), one.cov.mean(axis=0))
        figure.add_scatter(x=x, y=y, name="95 % by its standard errors", line={"color": color})
    marker = {"symbol": "cross", "size": 12, "color": "black"}
    names = list(TRUTH)
    figure.add_scatter(x=[TRUTH[names[0]]], y=[TRUTH[names[1]]], name="truth", mode="markers", marker=marker)
    figure.update_xaxes(title_text=f"stiffness of the shaft ({UNITS[names[0]]})")
    figure.update_yaxes(title_text=f"inertia of the disc ({UNITS[names[1]]})")
    return title_figure(figure, "Estimates from the same data", f"one dot for each of {size.data_sets} data sets", 640)


def trace_ellipse(center: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The border of the region that holds 95 % of a normal distribution in the plane."""
    angle = np.linspace(0.0, 2 * np.pi, 181)
    radius = np.sqrt(chi2.ppf(LEVEL, 2))
    x, y = center[:, None] + radius * np.linalg.cholesky(covariance) @ np.stack([np.cos(angle), np.sin(angle)])
    return x, y


def draw_torques(data: Trajectory, errors: Mapping[str, StateErrors]) -> "go.Figure":
    """Torque in the shaft and load torque of one data set: truth, smoothed estimate, band of 95 %."""
    figure = make_panels(3, shared_xaxes=True)
    smoothed = errors[SMOOTHED]
    shown = (smoothed.times >= SPAN[0]) & (smoothed.times <= SPAN[1])
    times = smoothed.times[shown]
    for row, variable in ((1, "shaft.tau"), (3, LOAD)):
        truth = data[variable][DATA_SET, 1:][shown]
        mean = truth + smoothed.errors[variable][DATA_SET, shown]
        _draw_band(figure, row, times, mean, _measure_width(smoothed, variable, shown))
        _draw_line(figure, row, times, truth, "truth", "#444444")
        _draw_line(figure, row, times, mean, "smoothed", COLORS[LIKELIHOOD])
        figure.update_yaxes(title_text=f"{TITLES[variable]} (N m)", row=row, col=1)
    for kind, color in ((FILTERED, "#ff9896"), (SMOOTHED, COLORS[LIKELIHOOD])):
        width = _measure_width(errors[kind], "shaft.tau", shown)
        _draw_line(figure, 2, times, errors[kind].errors["shaft.tau"][DATA_SET, shown], kind, color)
        for border in (width, -width):
            _draw_line(figure, 2, times, border, f"95 %, {kind}", color, dash="dot")
    figure.update_yaxes(title_text="error (N m)", row=2, col=1)
    figure.update_xaxes(title_text="time (s)", row=3, col=1)
    subtitle = "black: truth; blue: smoothed, red: filtered, from rotor speed and motor current; grey, dotted: 95 %"
    return title_figure(figure, "Torques that nobody measured", subtitle, 860).update_layout(showlegend=False)


def _measure_width(errors: StateErrors, variable: str, shown: np.ndarray) -> np.ndarray:
    return norm.ppf((1 + LEVEL) / 2) * errors.deviations[variable][DATA_SET, shown]


def _draw_band(figure: "go.Figure", row: int, times: np.ndarray, mean: np.ndarray, width: np.ndarray) -> None:
    around = np.concatenate([mean + width, (mean - width)[::-1]])
    there_and_back = np.concatenate([times, times[::-1]])
    figure.add_scatter(x=there_and_back, y=around, name="band of 95 %", line={"width": 0}, row=row, col=1, **BAND)


def _draw_line(
    figure: "go.Figure", row: int, times: np.ndarray, values: np.ndarray, name: str, color: str, dash: str = "solid"
) -> None:
    line = {"color": color, "width": 1.5, "dash": dash}
    figure.add_scatter(x=times, y=values, name=name, mode="lines", line=line, row=row, col=1)
