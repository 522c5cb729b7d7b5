from .functions import FUNCTIONS, definition, result_type
from .logarithmic import normal_logarithm
from .rounding import sign
from .trigonometric import sine_and_cosine_of_turns

__all__ = ["FUNCTIONS", "definition", "normal_logarithm", "result_type", "sign", "sine_and_cosine_of_turns"]
