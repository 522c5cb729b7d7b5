from .discretization import Discretization, Point
from .pilot import BRIEF, MEANINGLESS, PATIENT, Effort, Plan, Task, sample_interval
from .program import ACCEPTED, Directions, Program, Shape, StepBuilder, reordered
from .radau import NODES, Method
from .schedule import Curve, Schedule, node_values
from .search import plan, step_error
from .tableau import RUNGE_KUTTA
from .tangents import Moving

__all__ = [
    "ACCEPTED",
    "BRIEF",
    "MEANINGLESS",
    "NODES",
    "PATIENT",
    "RUNGE_KUTTA",
    "Curve",
    "Directions",
    "Discretization",
    "Effort",
    "Method",
    "Moving",
    "Plan",
    "Point",
    "Program",
    "Schedule",
    "Shape",
    "StepBuilder",
    "Task",
    "node_values",
    "plan",
    "reordered",
    "sample_interval",
    "step_error",
]
