"""One step of a method as compiled code, and how long steps are: tableaus, programs, schedules, their search."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
