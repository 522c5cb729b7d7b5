from .costate import CostateMethod, CostateTable, run_costate
from .kalman import (
    EVERYTHING,
    MEANS,
    NOTHING,
    Events,
    Innovations,
    Matrices,
    Packed,
    State,
    Steady,
    pack,
    padded,
    room,
    run_filter,
    run_smoother,
)
from .noise.normals import normals
from .recall import RecallKernel, compile_recall
from .scan import MapKernel, ScanKernel, compile_map, compile_scan
from .tape import Tape, read_tape

__all__ = [
    "EVERYTHING",
    "MEANS",
    "NOTHING",
    "CostateMethod",
    "CostateTable",
    "Events",
    "Innovations",
    "MapKernel",
    "Matrices",
    "Packed",
    "RecallKernel",
    "ScanKernel",
    "State",
    "Steady",
    "Tape",
    "compile_map",
    "compile_recall",
    "compile_scan",
    "normals",
    "pack",
    "padded",
    "read_tape",
    "room",
    "run_costate",
    "run_filter",
    "run_smoother",
]
