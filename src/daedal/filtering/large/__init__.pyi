from .discretization import Step, discretize, make_reset
from .low_rank_filter import Measurements, Stretch, Swept, run_low_rank_filter

__all__ = ["Measurements", "Step", "Stretch", "Swept", "discretize", "make_reset", "run_low_rank_filter"]
