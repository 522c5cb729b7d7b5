from .curves import Curve, GridRow, disturbance_places, grid_row
from .discretization import Discretization, Point
from .program import (
    ACCEPTED,
    UNFINISHED,
    Directions,
    Program,
    Shape,
    StepBuilder,
    compile_program,
    reorder_pivots,
)
from .radau import NODES, ORDER, Method
from .schedule import ALIGNED, Schedule, Stops, node_values, regular_steps, steps_between, stops
from .tableau import RUNGE_KUTTA
from .tangents import Moving

__all__ = [
    "ACCEPTED",
    "ALIGNED",
    "NODES",
    "ORDER",
    "RUNGE_KUTTA",
    "UNFINISHED",
    "Curve",
    "Directions",
    "Discretization",
    "GridRow",
    "Method",
    "Moving",
    "Point",
    "Program",
    "Schedule",
    "Shape",
    "StepBuilder",
    "Stops",
    "compile_program",
    "disturbance_places",
    "grid_row",
    "node_values",
    "regular_steps",
    "reorder_pivots",
    "steps_between",
    "stops",
]
