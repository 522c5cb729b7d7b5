from .bootstraps import BlockBootstrap, ParametricBootstrap
from .designs import LeaveOut, MonteCarlo, Scan, Starts
from .kind import Outline, Run, StudyKind, check_kind, describe_kind, read_kind, spell_kind
from .replicas import simulate_data

__all__ = [
    "BlockBootstrap", "LeaveOut", "MonteCarlo", "Outline", "ParametricBootstrap", "Run", "Scan", "Starts",
    "StudyKind", "check_kind", "describe_kind", "read_kind", "simulate_data", "spell_kind",
]
