"""Pages of the order paper: step and frequency responses of system 4 by what the methods make of it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from daedal.lti import TransferFunction
from daedal.papers.order.estimates import Pursued
from daedal.papers.order.experiment import READINGS, SYSTEMS
from daedal.papers.result_files import title_figure
from daedal.report import make_panels

if TYPE_CHECKING:
    import plotly.graph_objects as go

COLORS = {"truth": "#444444", "proposed": "#1f77b4", "γ = 10": "#d62728", "γ = 5": "#ff7f0e", "RefinedIV()": "#2ca02c"}
DASHES = {"truth": "solid", "proposed": "dash", "γ = 10": "dot", "γ = 5": "dashdot", "RefinedIV()": "longdash"}
FREQUENCIES = np.geomspace(0.03, 30.0, 200)  # rad/s
STEP_END = 8.0  # seconds


def make_transfer_functions(coefficients: Mapping[str, np.ndarray]) -> dict[str, TransferFunction]:
    """The truth and what was found, from coefficients with falling powers; u has the coefficient one."""
    truth = np.array(SYSTEMS[3].a[::-1])
    return {
        name: TransferFunction([1.0], np.trim_zeros(a, "f")) for name, a in {"truth": truth, **coefficients}.items()
    }


def compute_step_response(system: TransferFunction, times: np.ndarray) -> np.ndarray:
    """The output for an input that jumps from zero to one."""
    from scipy.signal import lti, step

    return step(lti([1.0], np.asarray(system.denominator)), T=times)[1]


def draw_step_responses(pursuits: Sequence[Pursued]) -> "go.Figure":
    """Figure 1, without noise; a panel for each reading."""
    times = np.linspace(0.0, STEP_END, 201)
    figure = make_panels(1, 2, subplot_titles=[f"input in {one.reading.unit}" for one in pursuits])
    limit = 1.5 / SYSTEMS[3].a[0]
    for column, one in enumerate(pursuits, start=1):
        for name, system in make_transfer_functions(one.quiet).items():
            # Some of what basis pursuit finds is not stable.
            values = np.clip(compute_step_response(system, times), -limit, limit)
            _draw_line(figure, 1, column, times, values, name)
    figure.update_xaxes(title_text="time (s)")
    figure.update_yaxes(title_text="step response", row=1, col=1)
    return title_figure(figure, "Figure 1: step responses of system 4", "estimated without noise, n = 6", 460, top=120)


def draw_frequency_responses(
    pursuits: Sequence[Pursued], searched: Mapping[str, np.ndarray] | None = None
) -> "go.Figure":
    """Figure 2 (without noise) or, with searches by reading, Figure 3 (with noise): gain and phase."""
    titles = [f"input in {one.reading.unit}" for one in pursuits]
    figure = make_panels(2, 2, shared_xaxes=True, subplot_titles=titles)
    for column, one in enumerate(pursuits, start=1):
        drawn = dict(one.quiet if searched is None else one.noisy)
        if searched is not None:
            drawn["RefinedIV()"] = searched[one.reading.name]
        for name, system in make_transfer_functions(drawn).items():
            values = system.response(1j * FREQUENCIES)
            _draw_line(figure, 1, column, FREQUENCIES, 20 * np.log10(np.abs(values)), name)
            _draw_line(figure, 2, column, FREQUENCIES, np.degrees(np.unwrap(np.angle(values))), name, legend=False)
        highest = READINGS[column - 1].factor
        for row in (1, 2):
            figure.add_vrect(0.1 * highest, highest, row=row, col=column, opacity=0.12, fillcolor="gray", line_width=0)  # type: ignore[arg-type]
    figure.update_xaxes(type="log")
    figure.update_xaxes(title_text="frequency (rad/s)", row=2)
    figure.update_yaxes(title_text="gain (dB)", row=1, col=1)
    figure.update_yaxes(title_text="phase (degree)", row=2, col=1)
    number, noise = (2, "without noise") if searched is None else (3, "from one data set with noise")
    subtitle = f"estimated {noise}, n = 6; grey: frequencies of the input"
    return title_figure(figure, f"Figure {number}: frequency responses of system 4", subtitle, 720, top=120)


def _draw_line(
    figure: "go.Figure", row: int, column: int, x: np.ndarray, y: np.ndarray, name: str, legend: bool = True
) -> None:
    line = {"color": COLORS[name], "dash": DASHES[name], "width": 2}
    shown = legend and column == 1
    figure.add_scatter(x=x, y=y, name=name, legendgroup=name, showlegend=shown, line=line, row=row, col=column)
