from .autoregression import Autoregression, contiguous, fit_autoregression
from .coordinates import Coordinate, Coordinates, experiment_labels, finite_bounds, freed, make_coordinates
from .delay_bounds import check_delay_bounds, delays_beyond_data
from .delay_starts import with_delay_starts
from .problem import Problem
from .segments import STATE, Segments, cut_segments, free_states, node_names, piece_model
from .starts import Grid, LatinHypercube, given_point, hypercube, start_points
from .visibility import check_visible, mean_movers
from .weights import Weighing, checked_whiten

__all__ = [
    "STATE",
    "Autoregression",
    "Coordinate",
    "Coordinates",
    "Grid",
    "LatinHypercube",
    "Problem",
    "Segments",
    "Weighing",
    "check_delay_bounds",
    "check_visible",
    "checked_whiten",
    "contiguous",
    "cut_segments",
    "delays_beyond_data",
    "experiment_labels",
    "finite_bounds",
    "fit_autoregression",
    "free_states",
    "freed",
    "given_point",
    "hypercube",
    "make_coordinates",
    "mean_movers",
    "node_names",
    "piece_model",
    "start_points",
    "with_delay_starts",
]
