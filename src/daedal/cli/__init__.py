"""The command `daedal`: one verb a file, and nothing is loaded before a verb needs it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
