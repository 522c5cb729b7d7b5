"""Solutions of a System over time."""

from daedal.simulation.ida import IDA
from daedal.simulation.simulate import simulate
from daedal.simulation.trajectory import Status, Trajectory

__all__ = ["IDA", "Status", "Trajectory", "simulate"]
