"""CasADi functions as SIMD machine code, one trajectory per vector lane; loops over matrices as machine code.

A CasADi function becomes a straight-line tape (`tape`), the tape vector instructions (`lowering`) with the library's
own vector functions (`math`) in loops over lanes and steps (`loops`), called with checked arrays (`scan`, `recall`).
Filters and costates, whose sizes are known at run time only, are nested loops (`kalman`, `costate`, `nested_loops`);
random numbers come from a counter (`noise`). One `emitter` writes all LLVM text, which becomes machine code kept on
disk (`compiler`, `cache`).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
