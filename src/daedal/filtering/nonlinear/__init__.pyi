from .discrete_model import DiscreteModel, NonlinearExperiment, make_nonlinear_experiment
from .measurements import Measurements
from .noise_cells import CellNoise, NoiseMatrices
from .particle_runs import PooledRuns
from .particles import Collapse, ParticleRun, run_particles
from .program import InnovationProgram, compile_innovations

__all__ = [
    "CellNoise", "Collapse", "DiscreteModel", "InnovationProgram", "Measurements", "NoiseMatrices",
    "NonlinearExperiment", "ParticleRun", "PooledRuns", "compile_innovations", "make_nonlinear_experiment",
    "run_particles",
]
