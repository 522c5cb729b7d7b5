from .content import identify_fit
from .files import load, pack_fit, save, unpack_fit

__all__ = ["identify_fit", "load", "pack_fit", "save", "unpack_fit"]
