from .blocks import BLOCK, Consume, in_blocks
from .failure import Failure
from .march import CASADI, ESCAPED, ON_GRID, Paths, Reordering, Table, march_lanes, solved, table
from .moments import Moments, alone, collect_moments, projections
from .noise import GridRow, LanePaths, check_smoothness, disturbance_grid, disturbance_places, grid_row, sources
from .solver import AnyRun, LaneRun, Lanes, prepare
from .start import Lineup, Values

__all__ = [
    "BLOCK",
    "CASADI",
    "ESCAPED",
    "ON_GRID",
    "AnyRun",
    "Consume",
    "Failure",
    "GridRow",
    "LanePaths",
    "LaneRun",
    "Lanes",
    "Lineup",
    "Moments",
    "Paths",
    "Reordering",
    "Table",
    "Values",
    "alone",
    "check_smoothness",
    "collect_moments",
    "disturbance_grid",
    "disturbance_places",
    "grid_row",
    "in_blocks",
    "march_lanes",
    "prepare",
    "projections",
    "solved",
    "sources",
    "table",
]
