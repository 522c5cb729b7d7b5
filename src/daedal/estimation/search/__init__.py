"""How it is minimised, and what the minimum is worth: stages, minimizers, uncertainty, information, verdicts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
