from .ahead import look_ahead
from .bootstrap import MEMORIES, Collapse, ParticleRun, run_particles
from .guided import Guide, GuidedRun, make_guide, run_guided
from .pilot import line_up_lanes
from .pooling import PooledRuns, find_units, limit_gains
from .streams import Stream, measure_runs, run_in_groups

__all__ = [
    "MEMORIES", "Collapse", "Guide", "GuidedRun", "ParticleRun", "PooledRuns", "Stream", "find_units",
    "limit_gains", "line_up_lanes", "look_ahead", "make_guide", "measure_runs", "run_guided", "run_in_groups",
    "run_particles",
]
