from .choice import chosen_criterion
from .criterion import Criterion, Evaluation, Objective, Part, describe, outputs_of
from .likelihood import Likelihood
from .mean_objective import MeanObjective
from .mean_variance import MeanVariance
from .measurement_moments import MeasurementMoments
from .output_error import OutputError
from .simulation_pem import SimulationPEM

__all__ = [
    "Criterion",
    "Evaluation",
    "Likelihood",
    "MeanObjective",
    "MeanVariance",
    "MeasurementMoments",
    "Objective",
    "OutputError",
    "Part",
    "SimulationPEM",
    "chosen_criterion",
    "describe",
    "outputs_of",
]
