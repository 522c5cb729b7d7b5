"""Sampled data: known signals, measured outputs, and the data sets that hold them.

`FrozenMapping`, `frozen`, `increasing` and `short` serve the other packages: what is stored read-only, times that are
checked, numbers in sentences.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
