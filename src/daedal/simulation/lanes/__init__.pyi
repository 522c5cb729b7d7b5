from .blocks import BLOCK, in_blocks
from .lane_run import LaneRun, prepare_lanes
from .march import CASADI
from .moments import Moments, collect_moments, project_lanes, simulate_single_lane
from .noise import LanePaths, check_smoothness, disturbance_grid, refuse_exact, sources
from .pilot import BRIEF, PATIENT, Effort, Trial, choose, difference, sample_interval
from .run import ESCAPED, MEANINGLESS, Consume, Failure, Plan, Run, find_failures, long_steps, refuse_long_steps
from .scenario import Paths, Scenario, Values

__all__ = [
    "BLOCK",
    "BRIEF",
    "CASADI",
    "ESCAPED",
    "MEANINGLESS",
    "PATIENT",
    "Consume",
    "Effort",
    "Failure",
    "LanePaths",
    "LaneRun",
    "Moments",
    "Paths",
    "Plan",
    "Run",
    "Scenario",
    "Trial",
    "Values",
    "check_smoothness",
    "choose",
    "collect_moments",
    "difference",
    "disturbance_grid",
    "find_failures",
    "in_blocks",
    "long_steps",
    "prepare_lanes",
    "project_lanes",
    "refuse_exact",
    "refuse_long_steps",
    "sample_interval",
    "simulate_single_lane",
    "sources",
]
