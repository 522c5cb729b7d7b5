from .autoregression import Autoregression, find_contiguous, fit_autoregression, fit_autoregressions
from .coordinates import Coordinate, Coordinates, declare_free, has_finite_bounds, label_experiments, make_coordinates
from .delay_bounds import check_delay_bounds, list_long_delays
from .delay_starts import add_delay_starts
from .problem import Problem
from .segments import STATE, Segment, Segments, choose_free_states, cut_segments, make_piece_model, name_nodes
from .singular_zeros import find_crossed_zeros
from .starts import Grid, LatinHypercube, draw_hypercube, follow_point, list_starts, read_point
from .visibility import check_visible, find_mean_movers
from .weights import Weighing, check_whiten

__all__ = [
    "Autoregression", "Coordinate", "Coordinates", "Grid", "LatinHypercube", "Problem", "STATE", "Segment", "Segments",
    "Weighing", "add_delay_starts", "check_delay_bounds", "check_visible", "check_whiten", "choose_free_states",
    "cut_segments", "declare_free", "draw_hypercube", "find_contiguous", "find_crossed_zeros", "find_mean_movers",
    "fit_autoregression", "fit_autoregressions", "follow_point", "has_finite_bounds", "label_experiments",
    "list_long_delays", "list_starts", "make_coordinates", "make_piece_model", "name_nodes", "read_point",
]
