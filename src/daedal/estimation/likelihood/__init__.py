"""`Likelihood` and its methods, and the choice among all criteria for those who name none."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
