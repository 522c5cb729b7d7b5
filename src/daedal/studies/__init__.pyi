from .kinds.bootstraps import BlockBootstrap, ParametricBootstrap
from .charter import CONVERGED, Charter, Make, Row, write_charter
from .kinds.designs import LeaveOut, MonteCarlo, Scan, Starts
from .driving import choose_crew, make_missing
from .journal import count_runs, is_journal, open_journal, read_study
from .kinds.kind import Outline, Run, StudyKind
from .kinds.replicas import simulate_data
from .result import Spread, Study
from .studying import load, merge, study

__all__ = [
    "CONVERGED", "BlockBootstrap", "Charter", "LeaveOut", "Make", "MonteCarlo", "Outline", "ParametricBootstrap", "Row",
    "Run", "Scan", "Spread", "Starts", "Study", "StudyKind", "choose_crew", "count_runs", "is_journal", "load",
    "make_missing", "merge", "open_journal", "read_study", "simulate_data", "study", "write_charter",
]
