"""From a Model to a System: index reduction, numerical check of the structure, consistent initial values."""

from daedal.systems.initial_sensitivity import initial_sensitivities
from daedal.systems.initialization import InitialValues, initial_values, places
from daedal.systems.reduction import Reduction
from daedal.systems.system import SYSTEM_FUNCTIONS, System, build, dead_point

__all__ = [
    "SYSTEM_FUNCTIONS",
    "InitialValues",
    "Reduction",
    "System",
    "build",
    "dead_point",
    "initial_sensitivities",
    "initial_values",
    "places",
]
