from .fits import draw_forest
from .linear import draw_bode, draw_poles, draw_step, match_roots
from .linear_systems import SHARE, Subject, draw_excitation, make_subject
from .predictions import draw_experiment
from .residuals import draw_against
from .table import NOT_DRAWN, PICTURES, Drawn, find_pictures

__all__ = [
    "Drawn", "NOT_DRAWN", "PICTURES", "SHARE", "Subject", "draw_against", "draw_bode", "draw_excitation",
    "draw_experiment", "draw_forest", "draw_poles", "draw_step", "find_pictures", "make_subject", "match_roots",
]
