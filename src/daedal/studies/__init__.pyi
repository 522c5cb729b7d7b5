from .kinds.bootstraps import BlockBootstrap, ParametricBootstrap
from .charter import Charter, Row, write_charter
from .kinds.designs import LeaveOut, MonteCarlo, Scan, Starts
from .driving import choose_crew, make_missing
from .journal import open_journal
from .kinds.kind import Outline, Run, StudyKind
from .kinds.replicas import simulate_data
from .result import Spread, Study
from .studying import load, merge, study

__all__ = [
    "BlockBootstrap", "Charter", "LeaveOut", "MonteCarlo", "Outline", "ParametricBootstrap", "Row", "Run", "Scan",
    "Spread", "Starts", "Study", "StudyKind", "choose_crew", "load", "make_missing", "merge", "open_journal",
    "simulate_data", "study", "write_charter",
]
