from .arguments import Asked, prepared
from .cost import Cost, evaluate
from .criteria.criterion import Evaluation, Objective, describe
from .criteria.likelihood import Likelihood, LikelihoodObjective
from .criteria.mean_objective import AVERAGED, SINGLE
from .criteria.mean_variance import MeanVariance, MeanVarianceObjective
from .criteria.measurement_moments import MeasurementMoments
from .criteria.output_error import OutputError
from .criteria.simulation_pem import SimulationPEM
from .fitting import fit, measure_fit
from .problem.accuracy import Accuracies, check_accuracies
from .problem.autoregression import Autoregression, contiguous, fit_autoregression
from .problem.coordinates import Coordinate, Coordinates, experiment_labels
from .problem.experiments import Experiment, Series, datasets, match_experiments
from .problem.starts import Grid, LatinHypercube
from .refit import Again, again, objective_again, weighing_again
from .result import Estimate, Fit
from .search.information import compute_information
from .search.minimizers import LeastSquares, trust_region
from .search.uncertainty import invert_squares, sandwich
from .search.verdicts import LOOSE, LOST, Verdict
from .storage import load

__all__ = [
    "AVERAGED",
    "LOOSE",
    "LOST",
    "SINGLE",
    "Accuracies",
    "Again",
    "Asked",
    "Autoregression",
    "Coordinate",
    "Coordinates",
    "Cost",
    "Estimate",
    "Evaluation",
    "Experiment",
    "Fit",
    "Grid",
    "LatinHypercube",
    "LeastSquares",
    "Likelihood",
    "LikelihoodObjective",
    "MeanVariance",
    "MeanVarianceObjective",
    "MeasurementMoments",
    "Objective",
    "OutputError",
    "Series",
    "SimulationPEM",
    "Verdict",
    "again",
    "check_accuracies",
    "compute_information",
    "contiguous",
    "datasets",
    "describe",
    "evaluate",
    "experiment_labels",
    "fit",
    "fit_autoregression",
    "invert_squares",
    "load",
    "match_experiments",
    "measure_fit",
    "objective_again",
    "prepared",
    "sandwich",
    "trust_region",
    "weighing_again",
]
