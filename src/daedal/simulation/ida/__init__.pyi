from .projection import Projection
from .solver import IDA

__all__ = ["IDA", "Projection"]
