"""Models from Modelica files."""

from daedal.modelica.reading import read_modelica

__all__ = ["read_modelica"]
