"""What a fit is worth: prediction of other data, residuals, intervals from profiles, what the data determine."""

from daedal.validation.comparison import Compared, Comparison, compare
from daedal.validation.correlation import CorrelationTest
from daedal.validation.identifiability import Direction, Identifiability, identifiability
from daedal.validation.profile import Profile, ProfileCurve, profile
from daedal.validation.residuals import OutputResidual, Residuals, resid

__all__ = [
    "Compared",
    "Comparison",
    "CorrelationTest",
    "Direction",
    "Identifiability",
    "OutputResidual",
    "Profile",
    "ProfileCurve",
    "Residuals",
    "compare",
    "identifiability",
    "profile",
    "resid",
]
