"""Linear time-invariant systems driven by signals: transfer functions, filtered signals, forced responses."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
