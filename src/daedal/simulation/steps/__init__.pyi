from .curves import Curve, GridRow, find_disturbance_places, make_grid_row, walk_disturbances
from .discretization import Discretization, Point
from .lane import Slots, explain_failure
from .program import (
    ACCEPTED, GAVE_UP, UNFINISHED, Directions, Program, Shape, StepBuilder, compile_program, reorder_pivots,
    stack_observed,
)
from .radau import NODES, ORDER, Method
from .schedule import (
    ALIGNED, Schedule, Stops, expand_inputs, find_stops, join_steps, make_regular_steps, tabulate_nodes,
)
from .switching import compile_switching
from .tableau import RUNGE_KUTTA
from .tangents import Moving

__all__ = [
    "ACCEPTED", "ALIGNED", "Curve", "Directions", "Discretization", "GAVE_UP", "GridRow", "Method", "Moving",
    "NODES", "ORDER", "Point", "Program", "RUNGE_KUTTA", "Schedule", "Shape", "Slots", "StepBuilder", "Stops",
    "UNFINISHED", "compile_program", "compile_switching", "expand_inputs", "explain_failure",
    "find_disturbance_places", "find_stops", "join_steps", "make_grid_row", "make_regular_steps", "reorder_pivots",
    "stack_observed", "tabulate_nodes", "walk_disturbances",
]
