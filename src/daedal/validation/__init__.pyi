from .comparison import Compared, Comparison, compare
from .determination import Direction, Identifiability, identifiability
from .profiles import Profile, ProfileCurve, profile
from .residuals import OutputResidual, Residuals, resid

__all__ = [
    "Compared", "Comparison", "Direction", "Identifiability", "OutputResidual", "Profile", "ProfileCurve", "Residuals",
    "compare", "identifiability", "profile", "resid",
]
