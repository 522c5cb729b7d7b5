"""The page that an engineer forwards: one HTML file about a result, with everything in it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
