from .discrete_model import DiscreteModel, NonlinearExperiment, make_nonlinear_experiment
from .information import Information
from .laplace import Laplace
from .lineup import LinedUp, line_up, refuse_unsuitable, settle_steps
from .measurements import Measurements
from .noise_cells import CellNoise, NoiseMatrices
from .path import Linearized, Normals, find_path
from .path_starts import are_same, compare_with_rest, find_paths, is_curved
from .program import InnovationProgram, compile_innovations
from .start import Spread, StartLaw

__all__ = [
    "CellNoise", "DiscreteModel", "Information", "InnovationProgram", "Laplace", "LinedUp", "Linearized",
    "Measurements", "NoiseMatrices", "NonlinearExperiment", "Normals", "Spread", "StartLaw", "are_same",
    "compare_with_rest", "compile_innovations", "find_path", "find_paths", "is_curved", "line_up",
    "make_nonlinear_experiment", "refuse_unsuitable", "settle_steps",
]
