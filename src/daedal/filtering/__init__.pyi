from .evolution import Evolution
from .experiment import InitialCondition, InitialState, Innovated, LinearExperiment, linear_experiments
from .formulas import Point
from .open_values import innovations_without_start
from .states import StateEstimate, estimate_states

__all__ = [
    "Evolution",
    "InitialCondition",
    "InitialState",
    "Innovated",
    "LinearExperiment",
    "Point",
    "StateEstimate",
    "estimate_states",
    "innovations_without_start",
    "linear_experiments",
]
