"""The page of each noun: what stands in its head, its sections, and `write_report`, which chooses among them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
