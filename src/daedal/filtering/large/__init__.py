"""Large models with few sources of noise: covariances in factors instead of as matrices."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
