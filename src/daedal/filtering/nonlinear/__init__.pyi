from .discrete_model import DiscreteModel, NonlinearExperiment, make_nonlinear_experiment
from .measurements import Measurements
from .noise_cells import CellNoise, NoiseMatrices
from .program import InnovationProgram, compile_innovations

__all__ = [
    "CellNoise", "DiscreteModel", "InnovationProgram", "Measurements", "NoiseMatrices", "NonlinearExperiment",
    "compile_innovations", "make_nonlinear_experiment",
]
