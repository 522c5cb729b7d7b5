"""Sections of the page of a fit, in their order: parameters, predictions, residuals, certainty, model, data, making."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
