"""Which pictures there are of each noun, by name; the first is drawn where nothing is said."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from daedal.analysis import Descriptor, Structure, WellPosedness
from daedal.data import Dataset, Samples, Signal
from daedal.disturbances import FilteredNoise, StateSpaceNoise, WhiteNoise
from daedal.estimation import Cost, Fit
from daedal.filtering import StateEstimate
from daedal.lti import TransferFunction
from daedal.models import Model
from daedal.order import Candidate, OrderSearch, OrderSearches
from daedal.priors import LogNormal, Normal, Uniform
from daedal.report.drawings import Drawing, Formulas
from daedal.report.picture import Picture
from daedal.report.pictures.diagrams import draw_diagram, draw_equations, draw_formula
from daedal.report.pictures.fits import (
    draw_correlations,
    draw_cost,
    draw_estimates,
    draw_fit,
    draw_innovations,
    draw_pairs,
)
from daedal.report.pictures.linear import draw_bode, draw_poles, draw_step
from daedal.report.pictures.linear_systems import draw_excitation
from daedal.report.pictures.noise import (
    draw_fit_spectra,
    draw_model_spectra,
    draw_noise,
    draw_prior,
    draw_well_posedness,
)
from daedal.report.pictures.orders import draw_order_search, draw_order_searches
from daedal.report.pictures.predictions import draw_comparison, draw_scatter, draw_steps
from daedal.report.pictures.profiles import draw_identifiability, draw_profile
from daedal.report.pictures.residuals import draw_distribution, draw_residuals, draw_residuals_over_time, draw_spectrum
from daedal.report.pictures.searches import draw_course, draw_minima, draw_realizations, draw_starts
from daedal.report.pictures.signals import draw_signals
from daedal.report.pictures.structures import draw_model_structure, draw_structure
from daedal.report.pictures.studies import draw_study
from daedal.simulation import Ensemble, Trajectory
from daedal.studies import Study
from daedal.symbolic import Equation, Expression
from daedal.validation import Comparison, Identifiability, Profile, Residuals

Drawn = Picture | Drawing | Formulas
Pictures = Mapping[str, Callable[[Any, Any], Drawn]]

OVER_TIME: Pictures = {"signals": draw_signals}
LINEAR: Pictures = {"bode": draw_bode, "poles": draw_poles, "step": draw_step}
SPECTRUM: Pictures = {"spectrum": draw_noise}
DENSITY: Pictures = {"density": draw_prior}
FORMULA: Pictures = {"formula": draw_formula}
PICTURES: Mapping[type, Pictures] = {
    **dict.fromkeys((Trajectory, Ensemble, StateEstimate, Signal, Samples), OVER_TIME),
    Dataset: {**OVER_TIME, "excitation": draw_excitation},
    Fit: {
        "fit": draw_fit,
        "estimates": draw_estimates,
        "correlations": draw_correlations,
        "pairs": draw_pairs,
        "starts": draw_starts,
        "minima": draw_minima,
        "course": draw_course,
        "realizations": draw_realizations,
        "innovations": draw_innovations,
        **LINEAR,
        "disturbances": draw_fit_spectra,
    },
    Comparison: {"comparison": draw_comparison, "scatter": draw_scatter, "horizons": draw_steps},
    Residuals: {
        "correlations": draw_residuals,
        "innovations": draw_residuals_over_time,
        "distribution": draw_distribution,
        "spectrum": draw_spectrum,
    },
    Profile: {"profiles": draw_profile},
    Identifiability: {"directions": draw_identifiability},
    OrderSearch: {"candidates": draw_order_search},
    OrderSearches: {"candidates": draw_order_searches},
    Study: {"runs": draw_study},
    Cost: {"residuals": draw_cost},
    Model: {
        "diagram": draw_diagram,
        "equations": draw_equations,
        "structure": draw_model_structure,
        **LINEAR,
        "disturbances": draw_model_spectra,
    },
    Structure: {"incidence": draw_structure},
    WellPosedness: {"variances": draw_well_posedness},
    **dict.fromkeys((Descriptor, TransferFunction, Candidate), LINEAR),
    **dict.fromkeys((WhiteNoise, FilteredNoise, StateSpaceNoise), SPECTRUM),
    **dict.fromkeys((Normal, LogNormal, Uniform), DENSITY),
    **dict.fromkeys((Equation, Expression), FORMULA),
}

NOT_DRAWN: Mapping[str, tuple[str, str]] = {
    "System": ("it is a Model made ready to run", "Draw system.model, or what simulate(system, ...) returns."),
    "Parameter": ("it is one number and its bounds", "Draw its prior, or a fit: plot(fit, 'estimates')."),
    "Estimate": ("it is one number and its error", "Draw all of them: plot(fit, 'estimates')."),
    "Project": ("it says what to do", "Draw what its commands return."),
    "Port": ("it is a place of a part", "Draw the assembled model: plot(model)."),
    **dict.fromkeys(
        ("OutputError", "SimulationPEM", "MeanVariance", "Likelihood", "MeasurementMoments"),
        ("it says how to fit", "Draw what fit(..., criterion=...) returns."),
    ),
    **dict.fromkeys(("IDA", "Lanes"), ("it says how to simulate", "Draw what simulate(..., solver=...) returns.")),
    **dict.fromkeys(("Grid", "LatinHypercube"), ("it says where to start", "Draw the fit: plot(fit, 'starts').")),
    **dict.fromkeys(("RefinedIV", "SparseSplines"), ("it says how to search", "Draw what select_order returns.")),
    **dict.fromkeys(
        ("BlockBootstrap", "LeaveOut", "MonteCarlo", "ParametricBootstrap", "Scan", "Starts"),
        ("it says what to study", "Draw what study(fit, ...) returns."),
    ),
}


def find_pictures(result: Any) -> Pictures | None:
    """The pictures of a result, or of the results of a list; None where there are none."""
    if isinstance(result, Sequence) and not isinstance(result, str):
        return OVER_TIME
    return PICTURES.get(type(result))
