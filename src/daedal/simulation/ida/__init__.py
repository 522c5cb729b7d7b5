"""The reference solver: SUNDIALS IDA with projection, one trajectory at a time."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
