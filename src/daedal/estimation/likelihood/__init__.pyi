from .choice import choose_criterion
from .likelihood import Likelihood

__all__ = ["Likelihood", "choose_criterion"]
