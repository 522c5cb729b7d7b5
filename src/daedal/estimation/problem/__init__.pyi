from .accuracy import Accuracies, check_accuracies, correlated, first_scales
from .autoregression import Autoregression, contiguous, fit_autoregression
from .coordinates import Coordinate, Coordinates, experiment_labels, finite_bounds, freed, make_coordinates
from .delay_bounds import check_delay_bounds, delays_beyond_data
from .delay_starts import with_delay_starts
from .experiments import (
    Experiment,
    Series,
    check_enough,
    checked_transient,
    checked_whiten,
    datasets,
    match_experiments,
)
from .problem import Problem
from .segments import STATE, Segments, cut_segments, free_states, node_names, piece_model
from .starts import Grid, LatinHypercube, given_point, hypercube, start_points
from .visibility import check_visible, mean_movers
from .weights import Weighing

__all__ = [
    "STATE",
    "Accuracies",
    "Autoregression",
    "Coordinate",
    "Coordinates",
    "Experiment",
    "Grid",
    "LatinHypercube",
    "Problem",
    "Segments",
    "Series",
    "Weighing",
    "check_accuracies",
    "check_delay_bounds",
    "check_enough",
    "check_visible",
    "checked_transient",
    "checked_whiten",
    "contiguous",
    "correlated",
    "cut_segments",
    "datasets",
    "delays_beyond_data",
    "experiment_labels",
    "finite_bounds",
    "first_scales",
    "fit_autoregression",
    "free_states",
    "freed",
    "given_point",
    "hypercube",
    "make_coordinates",
    "match_experiments",
    "mean_movers",
    "node_names",
    "piece_model",
    "start_points",
    "with_delay_starts",
]
