from .evolution import Evolution
from .experiment import InitialCondition, InitialState, Innovated, LinearExperiment, Outlook, make_linear_experiments
from .nonlinear import (
    DiscreteModel, ExtendedFilter, Information, Laplace, Linearized, LinedUp, NonlinearExperiment, Normals, are_same,
    compare_with_rest, estimate_nonlinear_states, find_crossed, find_path, find_paths, leave_kinks, line_up,
    list_borders_met, make_nonlinear_experiment, refuse_unsuitable, regrid, run_extended_filter, settle_steps,
    simulate_outputs, simulate_path,
)
from .open_values import forget_start, measure_shown
from .parameter_point import Point
from .particles import (
    MEMORIES, Collapse, GuidedRun, ParticleRun, PooledRuns, Stream, find_units, limit_gains, line_up_lanes,
    look_ahead, make_guide, measure_runs, run_guided, run_in_groups, run_particles,
)
from .states import StateEstimate, estimate_states

__all__ = [
    "MEMORIES", "Collapse", "DiscreteModel", "Evolution", "ExtendedFilter", "GuidedRun", "Information",
    "InitialCondition", "InitialState", "Innovated", "Laplace", "LinearExperiment", "Linearized", "LinedUp",
    "NonlinearExperiment", "Normals", "Outlook", "ParticleRun", "Point", "PooledRuns", "StateEstimate", "Stream",
    "are_same", "compare_with_rest", "estimate_nonlinear_states", "estimate_states", "find_crossed", "find_path",
    "find_paths", "find_units", "forget_start", "leave_kinks", "limit_gains", "line_up", "line_up_lanes",
    "list_borders_met", "look_ahead", "make_guide", "make_linear_experiments", "make_nonlinear_experiment",
    "measure_runs", "measure_shown",
    "refuse_unsuitable", "regrid", "run_extended_filter", "run_guided", "run_in_groups", "run_particles",
    "settle_steps", "simulate_outputs", "simulate_path",
]
