"""Pages of the pendulum paper: box plots as in its Figure 1, both costs as in its Figure 2."""

from typing import TYPE_CHECKING

import numpy as np

from daedal.papers.pendulum.estimates import Estimates
from daedal.papers.pendulum.experiment import GRID, TRUTH
from daedal.papers.pendulum.smoothness import Smoothness
from daedal.papers.result_files import title_figure

if TYPE_CHECKING:
    import plotly.graph_objects as go

COLORS = {3: ("#d62728", "#1f77b4", "#2ca02c"), 5: ("#d62728", "#ff9896", "#1f77b4", "#9ecae1", "#2ca02c")}
WIDTH = 0.16  # of a box; the numbers of samples are 1 apart


def draw_estimates(estimates: Estimates) -> "go.Figure":
    """A box per method and number of samples; the line is the median, the diamond the mean."""
    import plotly.graph_objects as go

    figure = go.Figure()
    counts = estimates.size.samples
    colors = COLORS[len(estimates.methods)]
    for number, (method, color) in enumerate(zip(estimates.methods, colors, strict=True)):
        places = np.arange(len(counts)) + (number - (len(colors) - 1) / 2) * WIDTH
        values = [estimates.values[samples, method] for samples in counts]
        figure.add_box(
            x=np.repeat(places, estimates.size.data_sets),
            y=np.concatenate(values),
            name=method,
            width=0.85 * WIDTH,
            boxpoints="outliers",
            marker={"color": color, "size": 3},
        )
        figure.add_scatter(
            x=places,
            y=[column.mean() for column in values],
            name=f"mean of {method}",
            mode="markers",
            showlegend=False,
            marker={"symbol": "diamond", "size": 9, "color": color, "line": {"color": "black", "width": 1}},
        )
    figure.add_hline(y=TRUTH, line_dash="dot", annotation_text=f"truth {TRUTH}", annotation_position="bottom left")
    figure.update_xaxes(
        title_text="number of samples N", tickvals=list(range(len(counts))), ticktext=[str(n) for n in counts]
    )
    figure.update_yaxes(title_text=estimates.reading.quantity)
    return title_figure(figure, f"Figure 1, {estimates.reading.title}", str(estimates.size))


def draw_costs(smoothness: Smoothness) -> "go.Figure":
    """The cost over the drag with fixed and with fresh innovations."""
    import plotly.graph_objects as go

    figure = go.Figure()
    figure.add_scatter(x=GRID, y=smoothness.fresh, name="fresh noise at each value", line={"color": "#d62728"})
    figure.add_scatter(x=GRID, y=smoothness.fixed, name="fixed noise", line={"color": "#1f77b4"})
    figure.add_vline(x=TRUTH, line_dash="dot", annotation_text=f"truth {TRUTH}")
    figure.update_xaxes(title_text="drag k (kg/m)")
    figure.update_yaxes(title_text="cost (rad²)", exponentformat="power")
    return title_figure(figure, "Figure 2, cost of one data set", "M = 20 realizations, 10 s")
