from .evolution import Evolution
from .experiment import InitialCondition, InitialState, Innovated, LinearExperiment, Outlook, make_linear_experiments
from .nonlinear import DiscreteModel, NonlinearExperiment, make_nonlinear_experiment
from .open_values import forget_start
from .parameter_point import Point
from .states import StateEstimate, estimate_states

__all__ = [
    "DiscreteModel", "Evolution", "InitialCondition", "InitialState", "Innovated", "LinearExperiment",
    "NonlinearExperiment", "Outlook", "Point", "StateEstimate", "estimate_states", "forget_start",
    "make_linear_experiments", "make_nonlinear_experiment",
]
