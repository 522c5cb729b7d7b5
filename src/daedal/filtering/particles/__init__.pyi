from .bootstrap import Collapse, ParticleRun, run_particles
from .pilot import line_up_lanes
from .pooling import PooledRuns

__all__ = ["Collapse", "ParticleRun", "PooledRuns", "line_up_lanes", "run_particles"]
