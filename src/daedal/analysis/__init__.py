"""What the equations of a model determine: incidence, matching, index, singularities."""

from daedal.analysis.aliases import Alias, eliminate_aliases, substitute_aliases, user_names
from daedal.analysis.equations import Equations, Incidence, derivative_symbols, incidence
from daedal.analysis.signature import Offsets, signature_offsets
from daedal.analysis.singularity import singular_error
from daedal.analysis.structure import Choice, Structure, analyze, choices, offsets_or_error, structure_of

__all__ = [
    "Alias",
    "Choice",
    "Equations",
    "Incidence",
    "Offsets",
    "Structure",
    "analyze",
    "choices",
    "derivative_symbols",
    "eliminate_aliases",
    "incidence",
    "offsets_or_error",
    "signature_offsets",
    "singular_error",
    "structure_of",
    "substitute_aliases",
    "user_names",
]
