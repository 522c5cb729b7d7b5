"""Published experiments reproduced, a folder for each paper: `daedal reproduce NAME`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
