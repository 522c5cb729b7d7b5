"""The question put to data: what is free, which samples count and how accurate they are, where to start."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
