from .reading import read_modelica

__all__ = ["read_modelica"]
