"""Pages of the delay paper: reference and samples, fitted outputs, and the trade between mean and variance."""

from typing import TYPE_CHECKING

import numpy as np

from daedal.papers.reactor.estimates import Drawn, Sweep
from daedal.papers.reactor.experiment import FREE, TIMES, make_reactor, simulate_reference
from daedal.report import make_panels
from daedal.simulation import simulate

if TYPE_CHECKING:
    import plotly.graph_objects as go

FINE = np.linspace(0.0, 10.0, 401)
DRAWN = (0.0, 0.5, 0.9, 1.0)


def draw_samples(sweep: Sweep) -> "go.Figure":
    """Figure 1."""
    import plotly.graph_objects as go

    figure = go.Figure()
    figure.add_scatter(x=FINE, y=simulate_reference(FINE), name="reference", line={"color": "#1f77b4"})
    return _title(_add_samples(figure, sweep), "Figure 1: reference output and perturbed samples")


def draw_fitted_outputs(sweep: Sweep) -> "go.Figure":
    """Figure 2."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for gamma in DRAWN:
        values = dict(zip(FREE, sweep.estimates[sweep.at(gamma)].tolist(), strict=True))
        run = simulate(make_reactor(), FINE, t0=0.0, values=values, variables=["y"])
        figure.add_scatter(x=FINE, y=run["y"], name=f"gamma = {gamma:g}")
    return _title(_add_samples(figure, sweep), "Figure 2: outputs at the estimates")


def draw_mean_and_variance(sweep: Sweep, errors: Drawn, title: str, *, exact: bool) -> "go.Figure":
    """Figures 3 and 4: of the squared error over realizations, against γ."""
    figure = make_panels(2, shared_xaxes=True)
    rows = ((1, errors.mean, sweep.expectation, "mean"), (2, errors.variance, sweep.variance, "variance"))
    for row, drawn, known, name in rows:
        label = f"{errors.count} realizations"
        figure.add_scatter(x=sweep.gammas, y=drawn, name=label, line={"color": "#d62728"}, row=row, col=1)
        if exact:
            dots = {"name": "from the moments", "line": {"color": "#444444", "dash": "dot"}}
            figure.add_scatter(x=sweep.gammas, y=known, row=row, col=1, **dots)
        figure.update_yaxes(title_text=f"{name} of the error", row=row, col=1)
    figure.update_xaxes(title_text="gamma", row=2, col=1)
    return _title(figure, title)


def _add_samples(figure: "go.Figure", sweep: Sweep) -> "go.Figure":
    marker = {"symbol": "x", "color": "#d62728"}
    figure.add_scatter(x=TIMES, y=sweep.mean, name="samples", mode="markers", marker=marker)
    figure.update_xaxes(title_text="time")
    return figure.update_yaxes(title_text="y")


def _title(figure: "go.Figure", title: str) -> "go.Figure":
    return figure.update_layout(title=title, template="plotly_white", height=560)
