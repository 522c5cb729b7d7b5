from .discrete_model import DiscreteModel, NonlinearExperiment, make_nonlinear_experiment
from .extended_filter import ExtendedFilter, Law, run_extended_filter, simulate_outputs
from .information import Information
from .laplace import Laplace
from .lineup import (
    LinedUp, find_crossed, leave_kinks, line_up, list_borders_met, refuse_unsuitable, settle_steps,
)
from .measurements import Measurements
from .noise_cells import CellNoise, NoiseMatrices
from .path import Linearized, Normals, find_path, simulate_path
from .path_starts import are_same, compare_with_rest, find_paths, is_curved, regrid
from .program import InnovationProgram, compile_innovations
from .start import Spread, StartLaw
from .state_estimates import NonlinearStates, estimate_nonlinear_states

__all__ = [
    "CellNoise", "DiscreteModel", "ExtendedFilter", "Information", "InnovationProgram", "Laplace", "Law",
    "Linearized", "LinedUp", "Measurements", "NoiseMatrices", "NonlinearExperiment", "NonlinearStates", "Normals",
    "Spread", "StartLaw", "are_same", "compare_with_rest", "compile_innovations", "estimate_nonlinear_states",
    "find_crossed", "find_path", "find_paths", "is_curved", "leave_kinks", "line_up", "list_borders_met",
    "make_nonlinear_experiment", "refuse_unsuitable", "regrid", "run_extended_filter", "settle_steps",
    "simulate_outputs", "simulate_path",
]
