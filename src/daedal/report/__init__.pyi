from .layout import BAND, make_panels
from .plotting import plot

__all__ = ["BAND", "make_panels", "plot"]
