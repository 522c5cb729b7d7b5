from .history import start_from_history
from .influence import moves_the_mean
from .initial_sensitivity import initial_sensitivities
from .initialization import InitialValues, initial_values, places
from .reduction import DelayedValue, Reduction
from .system import SYSTEM_FUNCTIONS, System, build, dead_point
from .zero_delays import without_zero_delays

__all__ = [
    "SYSTEM_FUNCTIONS",
    "DelayedValue",
    "InitialValues",
    "Reduction",
    "System",
    "build",
    "dead_point",
    "initial_sensitivities",
    "initial_values",
    "moves_the_mean",
    "places",
    "start_from_history",
    "without_zero_delays",
]
