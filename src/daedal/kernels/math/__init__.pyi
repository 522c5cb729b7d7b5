from .functions import FUNCTIONS, define_function
from .logarithmic import normal_logarithm
from .rounding import sign
from .trigonometric import sine_and_cosine_of_turns

__all__ = ["FUNCTIONS", "define_function", "normal_logarithm", "sign", "sine_and_cosine_of_turns"]
