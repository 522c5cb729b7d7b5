from .ahead import look_ahead
from .bootstrap import Collapse, ParticleRun, run_particles
from .guided import Guide, GuidedRun, make_guide, run_guided
from .pilot import line_up_lanes
from .pooling import PooledRuns

__all__ = [
    "Collapse", "Guide", "GuidedRun", "ParticleRun", "PooledRuns", "line_up_lanes", "look_ahead", "make_guide",
    "run_guided", "run_particles",
]
