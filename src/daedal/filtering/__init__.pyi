from .evolution import Evolution
from .experiment import InitialCondition, InitialState, Innovated, LinearExperiment, make_linear_experiments
from .formulas import Point
from .open_values import forget_start
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
    "forget_start",
    "make_linear_experiments",
]
