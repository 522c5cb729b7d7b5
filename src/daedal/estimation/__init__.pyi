from .arguments import Arguments, prepare_objective
from .continuation import continue_data, describe_cut, find_continued
from .cost import Cost, evaluate
from .criteria.criterion import (
    Capabilities, Criterion, Evaluation, Forecast, Objective, Part, describe, describe_for_reading, fail_at,
)
from .criteria.mean_variance import MeanVariance, MeanVarianceObjective
from .criteria.measurement_moments import MeasurementMoments
from .criteria.output_error import OutputError
from .criteria.simulation_pem import SimulationPEM
from .fitting import fit, measure_fit
from .intervals import compute_variance_factors, compute_variances, list_rivals
from .likelihood.likelihood import Likelihood
from .problem.autoregression import Autoregression, find_contiguous, fit_autoregression
from .problem.coordinates import Coordinate, Coordinates, label_experiments
from .problem.problem import Problem
from .problem.starts import Grid, LatinHypercube, draw_hypercube, list_starts
from .refit import BEGINS, FittedProblem, free_estimates, match_fit, predict_outputs, restore_objective
from .result import Course, Estimate, Fit, Making, ProjectRecord
from .search.correlation import CorrelationTest, Spent, independence, spend_nothing, whiteness
from .search.curvature import compute_covariance, invert_squares
from .search.information import Information, compute_information
from .search.minimizers import LeastSquares, Minimizer, Minimum, TrustRegion, choose_minimizer, factor_quadratic
from .search.verdicts import LOOSE, LOST, Verdict
from .storage import identify_fit, load, pack_fit, unpack_fit

__all__ = [
    "Arguments", "Autoregression", "BEGINS", "Capabilities", "Coordinate", "Coordinates", "CorrelationTest", "Cost",
    "Course", "Criterion", "Estimate", "Evaluation", "Fit", "FittedProblem", "Forecast", "Grid", "Information",
    "LOOSE", "LOST", "LatinHypercube", "LeastSquares", "Likelihood", "MeanVariance", "MeanVarianceObjective",
    "Making", "MeasurementMoments", "Minimizer", "Minimum", "Objective", "OutputError", "Part", "Problem",
    "ProjectRecord", "SimulationPEM", "Spent", "TrustRegion", "Verdict", "choose_minimizer", "compute_covariance",
    "compute_information", "compute_variance_factors", "compute_variances", "continue_data", "describe",
    "describe_cut", "describe_for_reading", "draw_hypercube", "evaluate", "factor_quadratic", "fail_at",
    "find_contiguous", "find_continued", "fit",
    "fit_autoregression", "free_estimates", "identify_fit", "independence", "invert_squares", "label_experiments",
    "list_rivals", "list_starts", "load", "match_fit", "measure_fit", "pack_fit", "predict_outputs",
    "prepare_objective", "restore_objective", "spend_nothing", "unpack_fit", "whiteness",
]
