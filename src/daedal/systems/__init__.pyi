from .consistency import Sizes, find_groups, make_units, measure_sizes, round_to_power
from .history import start_from_history
from .influence import moves_the_mean
from .initial_sensitivity import differentiate_initial_values
from .initial_modes import fill_exogenous, settle_modes, solve_sliding
from .initialization import InitialValues, find_initial_values, find_places
from .reduction import DelayedValue, Reduction
from .regularity import solve_in_any_units
from .sliding import Sliding, find_sliding
from .switched_reduction import refuse_impacts, refuse_loops, trace_definitions
from .switching import Bend, Known, Switch, Switching, Table, split_line, take_out_switches
from .system import SYSTEM_FUNCTIONS, System, build, describe_dead_point, keep_kinks
from .zero_delays import remove_zero_delays

__all__ = [
    "Bend", "DelayedValue", "InitialValues", "Known", "Reduction", "SYSTEM_FUNCTIONS", "Sizes", "Sliding", "Switch",
    "Switching", "System", "Table", "build", "describe_dead_point", "differentiate_initial_values", "fill_exogenous",
    "find_groups", "find_initial_values", "find_places", "find_sliding", "keep_kinks", "make_units", "measure_sizes",
    "moves_the_mean", "refuse_impacts", "refuse_loops", "remove_zero_delays", "round_to_power", "settle_modes",
    "solve_in_any_units", "solve_sliding", "split_line", "start_from_history", "take_out_switches", "trace_definitions",
]
