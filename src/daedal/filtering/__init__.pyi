from .evolution import Evolution
from .experiment import InitialCondition, InitialState, Innovated, LinearExperiment, Outlook, make_linear_experiments
from .nonlinear import (
    DiscreteModel, ExtendedFilter, Information, Laplace, LinedUp, Linearized, NonlinearExperiment, Normals, are_same,
    estimate_nonlinear_states, find_path, find_paths, line_up, make_nonlinear_experiment, refuse_unsuitable,
    regrid, run_extended_filter, settle_steps, simulate_outputs,
)
from .open_values import forget_start
from .parameter_point import Point
from .states import StateEstimate, estimate_states

__all__ = [
    "DiscreteModel", "Evolution", "ExtendedFilter", "Information", "InitialCondition", "InitialState", "Innovated",
    "Laplace", "LinearExperiment", "Linearized", "LinedUp", "NonlinearExperiment", "Normals", "Outlook", "Point",
    "StateEstimate", "are_same", "estimate_nonlinear_states", "estimate_states", "find_path", "find_paths",
    "forget_start", "line_up", "make_linear_experiments", "make_nonlinear_experiment", "refuse_unsuitable", "regrid",
    "run_extended_filter", "settle_steps", "simulate_outputs",
]
