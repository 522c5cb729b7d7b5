from .evolution import Evolution
from .experiment import InitialCondition, InitialState, Innovated, LinearExperiment, Outlook, make_linear_experiments
from .nonlinear import (
<<<<<<< HEAD
    Collapse, DiscreteModel, NonlinearExperiment, ParticleRun, PooledRuns, make_nonlinear_experiment, run_particles,
=======
    DiscreteModel, Information, Laplace, LinedUp, Linearized, NonlinearExperiment, Normals, are_same, find_path,
    find_paths, line_up, make_nonlinear_experiment, refuse_unsuitable, settle_steps,
>>>>>>> laplace
)
from .open_values import forget_start
from .parameter_point import Point
from .states import StateEstimate, estimate_states

__all__ = [
<<<<<<< HEAD
    "Collapse", "DiscreteModel", "Evolution", "InitialCondition", "InitialState", "Innovated", "LinearExperiment",
    "NonlinearExperiment", "Outlook", "ParticleRun", "Point", "PooledRuns", "StateEstimate", "estimate_states",
    "forget_start", "make_linear_experiments", "make_nonlinear_experiment", "run_particles",
=======
    "DiscreteModel", "Evolution", "Information", "InitialCondition", "InitialState", "Innovated", "Laplace", "LinedUp",
    "LinearExperiment", "Linearized", "NonlinearExperiment", "Normals", "Outlook", "Point", "StateEstimate", "are_same",
    "estimate_states", "find_path", "find_paths", "forget_start", "line_up", "make_linear_experiments",
    "make_nonlinear_experiment", "refuse_unsuitable", "settle_steps",
>>>>>>> laplace
]
