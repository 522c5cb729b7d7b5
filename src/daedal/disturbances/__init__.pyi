from .exact import ExactPath
from .grid import Grid, choose_grid
from .noise import (
    FilteredNoise, Noise, StateSpaceNoise, WhiteNoise, is_noise, list_formulas, rename_parameters, scale_noise,
    stretch_noise,
)
from .paths import DiscreteNoise, NoiseMatrices, advance, compute_output, discretize, make_initial_state
from .sampling import sample_path
from .smoothness import find_needed_orders
from .state_space import (
    NoiseStateSpace, count_derivatives, differentiate_realization, differentiate_stationary, list_parameters, realize,
    solve_stationary,
)
from .streams import derive_seed, draw_innovations, make_seed

__all__ = [
    "DiscreteNoise", "ExactPath", "FilteredNoise", "Grid", "Noise", "NoiseMatrices", "NoiseStateSpace",
    "StateSpaceNoise", "WhiteNoise", "advance", "choose_grid", "compute_output", "count_derivatives", "derive_seed",
    "differentiate_realization", "differentiate_stationary", "discretize", "draw_innovations", "find_needed_orders",
    "is_noise", "list_formulas", "list_parameters", "make_initial_state", "make_seed", "realize", "rename_parameters",
    "sample_path", "scale_noise", "solve_stationary", "stretch_noise",
]
