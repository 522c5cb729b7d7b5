"""Models and parameters: pure data."""

from daedal.models.assembly import assemble
from daedal.models.declarations import as_tuple, key_name
from daedal.models.formulas import Formulas
from daedal.models.model import Model
from daedal.models.parameter import Parameter, as_parameter
from daedal.models.port import Port, new_port
from daedal.models.transfer_function import TransferFunction
from daedal.models.values import evaluate, parameter_directions, parameter_followers, parameter_values

__all__ = [
    "Formulas",
    "Model",
    "Parameter",
    "Port",
    "TransferFunction",
    "as_parameter",
    "as_tuple",
    "assemble",
    "evaluate",
    "key_name",
    "new_port",
    "parameter_directions",
    "parameter_followers",
    "parameter_values",
]
