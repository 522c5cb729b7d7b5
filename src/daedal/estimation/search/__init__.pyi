from .correlation import CorrelationTest, Spent, independence, spend_nothing, whiteness
from .curvature import compute_covariance, find_directions, invert_squares
from .growth import refuse_growth, refuse_suspicious
from .information import Information, assess_information, compute_information
from .minimizers import LeastSquares, Minimizer, Minimum, TrustRegion, choose_minimizer, factor_quadratic
from .posterior import add_priors, list_priors, sum_log_densities
from .scores import AKAIKE, estimate_scores, model_residual
from .scoring import NoisyScoring
from .stages import NoStartError, Outcome, forgive_failures, search
from .trials import Trial, choose_steps
from .uncertainty import Uncertainty, assess_uncertainty, evaluate_raw
from .verdicts import LOOSE, LOST, Verdict, judge_estimate, judge_interval

__all__ = [
    "AKAIKE", "CorrelationTest", "Information", "LOOSE", "LOST", "LeastSquares", "Minimizer", "Minimum", "NoStartError",
    "NoisyScoring", "Outcome", "Spent", "Trial", "TrustRegion", "Uncertainty", "Verdict", "add_priors",
    "assess_information", "assess_uncertainty",
    "choose_minimizer", "choose_steps", "compute_covariance", "compute_information", "estimate_scores", "evaluate_raw",
    "factor_quadratic", "find_directions", "forgive_failures", "independence", "invert_squares", "judge_estimate",
    "judge_interval",
    "list_priors", "model_residual", "refuse_growth", "refuse_suspicious", "search",
    "spend_nothing", "sum_log_densities", "whiteness",
]
