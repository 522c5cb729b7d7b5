from .flat_model import read_modelica

__all__ = ["read_modelica"]
