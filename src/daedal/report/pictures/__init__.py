"""What each result looks like: a table of pictures for every noun, each a function of the result and of names."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
