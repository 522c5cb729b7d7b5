"""Systems that look back: histories, the mesh of break points, the compiled method of steps, its adjoint.

Loaded only for models that have delays.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
