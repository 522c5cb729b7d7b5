"""Projects: one file that binds a model, data and a question, and what it says in Python."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
