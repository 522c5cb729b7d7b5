"""CasADi functions as SIMD machine code, one trajectory per vector lane.

A CasADi function becomes a straight-line tape (`tape`), the tape LLVM text on vectors (`lowering`, `loops`) with the
library's own vector mathematics (`vector_math`), and the text machine code kept on disk (`compiler`, `cache`).
`normals` are random numbers from a counter, made the same way.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
