"""Models and parameters: pure data."""

from daedal.models.declarations import as_tuple, key_name
from daedal.models.model import Model
from daedal.models.parameter import Parameter, as_parameter
from daedal.models.values import evaluate, parameter_directions, parameter_followers, parameter_values

__all__ = [
    "Model",
    "Parameter",
    "as_parameter",
    "as_tuple",
    "evaluate",
    "key_name",
    "parameter_directions",
    "parameter_followers",
    "parameter_values",
]
