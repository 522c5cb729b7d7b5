"""CasADi functions as SIMD machine code, one trajectory per vector lane.

A CasADi function becomes a straight-line tape (`tape`), the tape LLVM text on vectors (`lowering`, `loops`) with the
library's own vector mathematics (`vector_math`), and the text machine code kept on disk (`compiler`, `cache`).
`normals` are random numbers from a counter, made the same way.
"""

from daedal.kernels.costate import CostateMethod, CostateTable, run_costate
from daedal.kernels.random import normals
from daedal.kernels.recall import RecallKernel, compile_recall
from daedal.kernels.scan import MapKernel, ScanKernel, compile_map, compile_scan

__all__ = [
    "CostateMethod",
    "CostateTable",
    "MapKernel",
    "RecallKernel",
    "ScanKernel",
    "compile_map",
    "compile_recall",
    "compile_scan",
    "normals",
    "run_costate",
]
