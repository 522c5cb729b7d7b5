from .history import start_from_history
from .influence import moves_the_mean
from .initial_sensitivity import differentiate_initial_values
from .initialization import InitialValues, find_initial_values, find_places
from .reduction import DelayedValue, Reduction
from .system import SYSTEM_FUNCTIONS, System, build, describe_dead_point
from .zero_delays import remove_zero_delays

__all__ = [
    "DelayedValue", "InitialValues", "Reduction", "SYSTEM_FUNCTIONS", "System", "build", "describe_dead_point",
    "differentiate_initial_values", "find_initial_values", "find_places", "moves_the_mean", "remove_zero_delays",
    "start_from_history",
]
