"""`plot`: a picture of any result."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from daedal.errors import ReportError, interruptible, is_one_of, nearest, show
from daedal.report.drawings import Drawing, Formulas
from daedal.report.pictures import NOT_DRAWN, find_pictures

if TYPE_CHECKING:
    from daedal.report.interactive import InteractiveFigure
    from daedal.report.static import StaticFigure

BACKENDS = ("plotly", "matplotlib")


@interruptible
def plot(
    result: Any,
    names: Iterable[Any] | str | None = None,
    *,
    picture: str | None = None,
    backend: Literal["plotly", "matplotlib"] = "plotly",
) -> "InteractiveFigure | StaticFigure | Drawing | Formulas":
    """Draw any result; the figure saves itself, `plot(result).save("figure.svg")` (or .html, .png, .pdf).

    Parameters
    ----------
    result
        What to draw; or a list of trajectories, data and the like, which share the panels of the same name.
    names
        Names or symbols of the signals (by default the outputs, then the others), outputs, parameters or estimates to
        draw; without a choice, as many as fit. A text is the name of a picture: `plot(fit, "correlations")`.
    picture
        Which of several pictures, the first where nothing is said: see below.
    backend
        "plotly", a plotly figure to zoom and to point at (`figure.show()`); or "matplotlib", a matplotlib figure
        for papers (extra `matplotlib`). Both have `figure.save(path)` and `figure.alt`, the picture in a sentence.

    Notes
    -----
    Trajectory, Ensemble, StateEstimate, Dataset, Signal, Samples: "signals". Of 20 realizations or more, quantiles.
    Dataset: "excitation", the variance of inputs below each frequency. Time is dates where every result has an origin.
    Traces of more than 4000 points are thinned so that nothing that could be seen is lost.

    Fit: "fit" (samples, prediction, residual), "estimates", "correlations", "pairs" (ellipses), "starts", "minima",
    "course" (of the search), "realizations" (Monte-Carlo error), "innovations"; "bode", "poles", "step", of nonlinear
    models linearised at the steady state of the mean input, with bands of 95 % by the delta method; "disturbances",
    their spectra.

    Model: "diagram" (parts and connections, or inputs, equations and outputs), "equations" (typeset), "structure",
    "bode", "poles", "step", "disturbances". The first two are an SVG and MathML, not a plotly figure, and save
    themselves alike. Equation, Expression: "formula". Structure: "incidence". WellPosedness: "variances". Descriptor,
    TransferFunction, Candidate: "bode", "poles", "step". Declarations of noise: "spectrum". Priors: "density".

    Comparison: "comparison", "scatter", "horizons" (fit over steps ahead). Residuals: "correlations", "innovations",
    "distribution", "spectrum". Profile: "profiles". Identifiability: "directions". OrderSearch, OrderSearches:
    "candidates". Study: "runs". Cost: "residuals".

    Examples
    --------
    >>> from daedal import Dataset
    >>> figure = plot(Dataset([0.0, 1.0, 2.0], outputs={"y": [0.0, 1.0, 4.0]}))
    >>> len(figure.data)
    1
    >>> figure.alt
    'data data: y from 0 to 4.'
    """
    drawn = draw(result, names, picture)
    if not is_one_of(backend, BACKENDS):
        raise ReportError(f"backend must be 'plotly' or 'matplotlib', got {show(backend)}.", "Leave it out.")
    if isinstance(drawn, (Drawing, Formulas)):
        return drawn.to_matplotlib() if backend == "matplotlib" else drawn
    if backend == "matplotlib":
        from daedal.report import static

        return static.render(drawn)
    from daedal.report import interactive

    return interactive.render(drawn)


def draw(result: Any, names: Iterable[Any] | str | None = None, picture: str | None = None) -> Any:
    """What `plot` shows of a result, described and not yet drawn; the arguments are those of `plot`.

    A `Picture`; of a diagram or of equations, a `Drawing` or `Formulas`.
    """
    if isinstance(names, str):
        names, picture = None, names if picture is None else picture
    pictures = find_pictures(result)
    if pictures is None:
        kind = type(result).__name__
        if kind in NOT_DRAWN:
            raise ReportError(f"There is no picture of {kind}: {NOT_DRAWN[kind][0]}.", NOT_DRAWN[kind][1])
        raise ReportError(
            f"plot draws a Trajectory, an Ensemble, a StateEstimate, a Dataset or a list of them, a model and what "
            f"analysis, a fit, its validation, an order search or a study found, got {kind}.",
            "Give what simulate, ensemble, estimate_states, read_csv, fit, compare, resid, profile, identifiability, "
            "select_order or study returns.",
        )
    chosen = next(iter(pictures)) if picture is None else show(picture, str)
    if chosen not in pictures:
        kind = type(result).__name__
        known = nearest(chosen, pictures, "Its pictures are")
        raise ReportError(
            f"A {kind} has no picture '{chosen}'.", f"{known} Names of what to draw are a list: plot(result, ['x'])."
        )
    return pictures[chosen](result, names)
