"""The ensemble engine: many trajectories march together, one per SIMD lane."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
