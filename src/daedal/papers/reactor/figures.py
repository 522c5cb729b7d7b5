"""Pages of the delay paper: reference and samples, fitted outputs, and the trade between mean and variance."""

from typing import TYPE_CHECKING

import numpy as np

from daedal.papers.reactor.estimates import Drawn, Sweep
from daedal.papers.reactor.experiment import FREE, TIMES, reactor, reference
from daedal.report import panels
from daedal.simulation import simulate

if TYPE_CHECKING:
    import plotly.graph_objects as go

FINE = np.linspace(0.0, 10.0, 401)
DRAWN = (0.0, 0.5, 0.9, 1.0)


def reference_and_samples(made: Sweep) -> "go.Figure":
    """Figure 1."""
    import plotly.graph_objects as go

    figure = go.Figure()
    figure.add_scatter(x=FINE, y=reference(FINE), name="reference", line={"color": "#1f77b4"})
    return _titled(_with_samples(figure, made), "Figure 1: reference output and perturbed samples")


def fitted_outputs(made: Sweep) -> "go.Figure":
    """Figure 2."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for gamma in DRAWN:
        values = dict(zip(FREE, made.estimates[made.at(gamma)].tolist(), strict=True))
        run = simulate(reactor(), FINE, t0=0.0, values=values, variables=["y"])
        figure.add_scatter(x=FINE, y=run["y"], name=f"gamma = {gamma:g}")
    return _titled(_with_samples(figure, made), "Figure 2: outputs at the estimates")


def mean_and_variance(made: Sweep, found: Drawn, title: str, *, exact: bool) -> "go.Figure":
    """Figures 3 and 4: of the squared error over realizations, against γ."""
    figure = panels(2, shared_xaxes=True)
    rows = ((1, found.mean, made.expectation, "mean"), (2, found.variance, made.variance, "variance"))
    for row, drawn, known, name in rows:
        label = f"{found.count} realizations"
        figure.add_scatter(x=made.gammas, y=drawn, name=label, line={"color": "#d62728"}, row=row, col=1)
        if exact:
            dots = {"name": "from the moments", "line": {"color": "#444444", "dash": "dot"}}
            figure.add_scatter(x=made.gammas, y=known, row=row, col=1, **dots)
        figure.update_yaxes(title_text=f"{name} of the error", row=row, col=1)
    figure.update_xaxes(title_text="gamma", row=2, col=1)
    return _titled(figure, title)


def _with_samples(figure: "go.Figure", made: Sweep) -> "go.Figure":
    marker = {"symbol": "x", "color": "#d62728"}
    figure.add_scatter(x=TIMES, y=made.mean, name="samples", mode="markers", marker=marker)
    figure.update_xaxes(title_text="time")
    return figure.update_yaxes(title_text="y")


def _titled(figure: "go.Figure", title: str) -> "go.Figure":
    return figure.update_layout(title=title, template="plotly_white", height=560)
