from .evolution import Evolution
from .experiment import InitialCondition, InitialState, Innovated, LinearExperiment, Outlook, make_linear_experiments
from .nonlinear import (
    Collapse, DiscreteModel, NonlinearExperiment, ParticleRun, PooledRuns, make_nonlinear_experiment, run_particles,
)
from .open_values import forget_start
from .parameter_point import Point
from .states import StateEstimate, estimate_states

__all__ = [
    "Collapse", "DiscreteModel", "Evolution", "InitialCondition", "InitialState", "Innovated", "LinearExperiment",
    "NonlinearExperiment", "Outlook", "ParticleRun", "Point", "PooledRuns", "StateEstimate", "estimate_states",
    "forget_start", "make_linear_experiments", "make_nonlinear_experiment", "run_particles",
]
