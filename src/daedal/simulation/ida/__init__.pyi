from .path import ContinuousPath
from .projection import Projection
from .solver import IDA
from .switched import SwitchedIntegration

__all__ = ["ContinuousPath", "IDA", "Projection", "SwitchedIntegration"]
