from .exact import ExactPath
from .grid import Grid, default_grid
from .interpolation import hermite, linear
from .noise import FilteredNoise, Noise, StateSpaceNoise, WhiteNoise, formulas, is_noise, rename_parameters
from .paths import DiscreteNoise, NoiseMatrices, advance, discretize, initial_state, output
from .sampling import sample_path
from .smoothness import needed_smoothness
from .state_space import NoiseStateSpace, derivatives_available, parameter_names, realization_derivative, realize
from .streams import innovations, seed_number

__all__ = [
    "DiscreteNoise",
    "ExactPath",
    "FilteredNoise",
    "Grid",
    "Noise",
    "NoiseMatrices",
    "NoiseStateSpace",
    "StateSpaceNoise",
    "WhiteNoise",
    "advance",
    "default_grid",
    "derivatives_available",
    "discretize",
    "formulas",
    "hermite",
    "initial_state",
    "innovations",
    "is_noise",
    "linear",
    "needed_smoothness",
    "output",
    "parameter_names",
    "realization_derivative",
    "realize",
    "rename_parameters",
    "sample_path",
    "seed_number",
]
