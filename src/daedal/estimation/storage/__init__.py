"""Fits in files: what a fit is made of (`content`), as bytes (`netcdf`), on disk (`files`)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
