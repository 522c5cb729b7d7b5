from .assembly import assemble
from .declarations import as_name, as_tuple
from .model import Model
from .parameter import Parameter, as_parameter
from .parameter_formulas import ParameterFormulas
from .parameter_values import differentiate_parameters, evaluate_expressions, evaluate_parameters, find_followers
from .port import Port, make_port, name_ports

__all__ = [
    "Model", "Parameter", "ParameterFormulas", "Port", "as_name", "as_parameter", "as_tuple", "assemble",
    "differentiate_parameters", "evaluate_expressions", "evaluate_parameters", "find_followers", "make_port",
    "name_ports",
]
