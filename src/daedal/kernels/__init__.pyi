from .control.crossing import Control, Crossing, Stretches
from .costate import CostateMethod, CostateTable, run_costate
from .kalman.filter import run_filter
from .kalman.records import Events, Innovations, Keep, Matrices, Packed, State, Steady, pack
from .kalman.smoother import run_smoother
from .loops import Detours, Lookup, Turn
from .noise.normals import draw_normals
from .recall import RecallKernel, compile_recall
from .repeated import Layout, RepeatedScan, compile_repeated
from .scan import MapKernel, ScanKernel, compile_map, compile_scan
from .tape import Tape, read_tape

__all__ = [
    "Control", "CostateMethod", "CostateTable", "Crossing", "Detours", "Events", "Innovations", "Keep", "Layout",
    "Lookup", "MapKernel", "Matrices", "Packed", "RecallKernel", "RepeatedScan", "ScanKernel", "State", "Steady",
    "Stretches", "Tape", "Turn", "compile_map", "compile_recall", "compile_repeated", "compile_scan",
    "draw_normals", "pack", "read_tape", "run_costate", "run_filter", "run_smoother",
]
