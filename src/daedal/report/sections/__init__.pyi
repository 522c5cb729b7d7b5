from .certainty import write_certainty
from .data import write_data
from .derived import list_quantities
from .making import write_making
from .model import write_model
from .parameters import write_parameters
from .predictions import SEEN, draw_compared, draw_small, write_comparison, write_description
from .residuals import write_residuals

__all__ = [
    "SEEN", "draw_compared", "draw_small", "list_quantities", "write_certainty", "write_comparison",
    "write_data", "write_description", "write_making", "write_model", "write_parameters", "write_residuals",
]
