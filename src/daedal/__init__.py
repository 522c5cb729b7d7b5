"""daedal: unknown parameters and states of physical models from data, when part of what drives them was never measured.

The names below are the public surface. They are loaded when they are first used, so that importing daedal stays quick.
"""

import lazy_loader

__version__ = "0.1.0"  # its only home: the build reads it here

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
