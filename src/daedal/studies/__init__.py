"""Studies: many fits, kept in a journal as they are finished, by one process or many, on one machine or a cluster."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
