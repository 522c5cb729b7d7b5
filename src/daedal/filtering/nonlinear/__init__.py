"""Likelihood and states of nonlinear models with disturbances: one discrete system driven by independent normals."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
