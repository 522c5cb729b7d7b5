"""Switches: where the equations of a model change their form, taken out before the index is reduced."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
