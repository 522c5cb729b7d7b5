"""Solutions of a System over time."""

from daedal.simulation.ensemble import Ensemble, ensemble
from daedal.simulation.ida import IDA
from daedal.simulation.lanes import Failure, Lanes
from daedal.simulation.simulate import simulate
from daedal.simulation.trajectory import Status, Trajectory

__all__ = ["IDA", "Ensemble", "Failure", "Lanes", "Status", "Trajectory", "ensemble", "simulate"]
