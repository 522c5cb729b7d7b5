"""Where a data set meets a model: what drives the system, which samples count, and how accurate they are."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
