"""From a Model to a System: index reduction, numerical check of the structure, consistent initial values."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
