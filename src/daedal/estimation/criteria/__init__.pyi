from .criterion import (
    Capabilities, Criterion, Evaluation, Expected, Forecast, Objective, Part, PriorPart, check_criterion, count_samples,
    describe, describe_for_reading, fail_at, list_outputs,
)
from .mean_variance import MeanVariance
from .measurement_moments import MeasurementMoments
from .output_error import OutputError
from .simulation_pem import SimulationPEM
from .simulations import REALIZATIONS, Simulations, make_simulations
from .singular import refuse_singular

__all__ = [
    "REALIZATIONS", "Capabilities", "Criterion", "Evaluation", "Expected", "Forecast", "MeanVariance",
    "MeasurementMoments", "Objective", "OutputError", "Part", "PriorPart", "SimulationPEM", "Simulations",
    "check_criterion", "count_samples", "describe", "describe_for_reading", "fail_at", "list_outputs",
    "make_simulations", "refuse_singular",
]
