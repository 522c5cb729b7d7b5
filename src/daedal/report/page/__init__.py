"""What every page has: one HTML file, its head and foot, figures in it, evidence and the rules of verdicts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
