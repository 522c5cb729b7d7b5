from .blocks import BLOCK, UNIT, run_blocks
from .fan import Fan
from .lane_run import LaneRun, prepare_lanes
from .moments import Cut, Moments, collect_moments, keep_lanes, project_lanes, simulate_single_lane
from .noise import KeptPaths, LanePaths, check_smoothness, choose_disturbance_grid, make_sources, refuse_exact
from .pilot import BRIEF, PATIENT, Effort, Trial, choose, compare, find_sample_interval
from .run import (
    ESCAPED, MEANINGLESS, Consume, Failure, Plan, Run, RunInterrupted, StepWish, blame_long_steps, describe_steps,
    find_failures, refuse_long_steps,
)
from .scenario import Paths, Scenario, Values

__all__ = [
    "BLOCK", "BRIEF", "Consume", "Cut", "ESCAPED", "Effort", "Failure", "Fan", "KeptPaths", "LanePaths", "LaneRun",
    "MEANINGLESS", "Moments", "PATIENT", "Paths", "Plan", "Run", "RunInterrupted", "Scenario", "StepWish", "Trial",
    "UNIT", "Values", "blame_long_steps", "check_smoothness", "choose", "choose_disturbance_grid", "collect_moments",
    "compare", "describe_steps", "find_failures", "find_sample_interval", "keep_lanes", "make_sources",
    "prepare_lanes", "project_lanes", "refuse_exact", "refuse_long_steps", "run_blocks", "simulate_single_lane",
]
