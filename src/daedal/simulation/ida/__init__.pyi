from .projection import Projection
from .solver import IDA
from .switched import SwitchedIntegration

__all__ = ["IDA", "Projection", "SwitchedIntegration"]
