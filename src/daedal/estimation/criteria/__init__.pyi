from .choice import choose_criterion
from .criterion import (
    Capabilities, Criterion, Evaluation, Expected, Forecast, Objective, Part, PriorPart, check_criterion, count_samples,
    describe, fail_at, list_outputs,
)
from .likelihood import Likelihood
from .mean_variance import MeanVariance
from .measurement_moments import MeasurementMoments
from .output_error import OutputError
from .simulation_pem import SimulationPEM

__all__ = [
    "Capabilities", "Criterion", "Evaluation", "Expected", "Forecast", "Likelihood", "MeanVariance",
    "MeasurementMoments", "Objective", "OutputError", "Part", "PriorPart", "SimulationPEM", "check_criterion",
    "choose_criterion", "count_samples", "describe", "fail_at", "list_outputs",
]
