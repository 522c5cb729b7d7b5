"""Particle filters of nonlinear models with disturbances: likelihood, score and information with their noise."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
