"""What a fit is worth: prediction of other data, residuals, intervals from profiles, what the data determine."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
