from .layout import BAND, panels
from .plotting import plot

__all__ = ["BAND", "panels", "plot"]
