"""Noise declarations and their sampling.

Declaring costs nothing more than the declarations; what samples them is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from daedal.disturbances.noise import FilteredNoise, Noise, StateSpaceNoise, WhiteNoise

if TYPE_CHECKING:
    from daedal.disturbances.exact import ExactPath
    from daedal.disturbances.grid import Grid, default_grid
    from daedal.disturbances.interpolation import hermite, linear
    from daedal.disturbances.paths import DiscreteNoise, NoiseMatrices, advance, discretize, initial_state, output
    from daedal.disturbances.sampling import sample_path
    from daedal.disturbances.smoothness import needed_smoothness
    from daedal.disturbances.state_space import (
        NoiseStateSpace,
        derivatives_available,
        parameter_names,
        realization_derivative,
        realize,
    )
    from daedal.disturbances.streams import innovations, seed_number

_HOMES = {
    "exact": ("ExactPath",),
    "grid": ("Grid", "default_grid"),
    "interpolation": ("hermite", "linear"),
    "paths": ("DiscreteNoise", "NoiseMatrices", "advance", "discretize", "initial_state", "output"),
    "sampling": ("sample_path",),
    "smoothness": ("needed_smoothness",),
    "streams": ("innovations", "seed_number"),
    "state_space": (
        "NoiseStateSpace",
        "derivatives_available",
        "parameter_names",
        "realization_derivative",
        "realize",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

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
    "hermite",
    "initial_state",
    "innovations",
    "linear",
    "needed_smoothness",
    "output",
    "parameter_names",
    "realization_derivative",
    "realize",
    "sample_path",
    "seed_number",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'daedal.disturbances' has no attribute '{name}'")
    value = getattr(import_module(f"daedal.disturbances.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
