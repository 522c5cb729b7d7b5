from .fits import draw_ellipses, draw_forest
from .predictions import draw_scatter, draw_steps
from .residuals import draw_quantiles
from .table import NOT_DRAWN, PICTURES, Drawn, find_pictures

__all__ = [
    "Drawn", "NOT_DRAWN", "PICTURES", "draw_ellipses", "draw_forest", "draw_quantiles", "draw_scatter",
    "draw_steps", "find_pictures",
]
