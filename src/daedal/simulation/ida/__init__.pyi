from .path import RealizedPath
from .projection import Projection
from .solver import IDA, Run

__all__ = ["IDA", "Projection", "RealizedPath", "Run"]
