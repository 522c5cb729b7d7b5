from .growth import refuse_growth, refuse_suspicious
from .information import assess_information
from .stages import Outcome, search
from .uncertainty import Uncertainty, assess_uncertainty
from .verdicts import Verdict, verdict

__all__ = [
    "Outcome",
    "Uncertainty",
    "Verdict",
    "assess_information",
    "assess_uncertainty",
    "refuse_growth",
    "refuse_suspicious",
    "search",
    "verdict",
]
