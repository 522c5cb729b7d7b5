from .assembly import assemble
from .declarations import as_tuple, key_name
from .formulas import Formulas
from .model import Model
from .parameter import Parameter, as_parameter
from .port import Port, name_ports, new_port
from .values import evaluate, parameter_directions, parameter_followers, parameter_values

__all__ = [
    "Formulas",
    "Model",
    "Parameter",
    "Port",
    "as_parameter",
    "as_tuple",
    "assemble",
    "evaluate",
    "key_name",
    "name_ports",
    "new_port",
    "parameter_directions",
    "parameter_followers",
    "parameter_values",
]
