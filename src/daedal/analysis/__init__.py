"""What the equations of a model determine: incidence, matching, index, singularities."""

from daedal.analysis.aliases import Alias, eliminate_aliases, substitute_aliases, user_names
from daedal.analysis.descriptor import Descriptor, descriptor
from daedal.analysis.equations import Equations, Incidence, derivative_symbols, incidence
from daedal.analysis.linearization import linearize
from daedal.analysis.signature import Offsets, signature_offsets
from daedal.analysis.singularity import singular_error
from daedal.analysis.structure import Choice, Structure, analyze, choices, offsets_or_error, structure_of
from daedal.analysis.transfer_functions import transfer_function
from daedal.analysis.well_posedness import Finding, Margin, WellPosedness, check_noise

__all__ = [
    "Alias",
    "Choice",
    "Descriptor",
    "Equations",
    "Finding",
    "Incidence",
    "Margin",
    "Offsets",
    "Structure",
    "WellPosedness",
    "analyze",
    "check_noise",
    "choices",
    "derivative_symbols",
    "descriptor",
    "eliminate_aliases",
    "incidence",
    "linearize",
    "offsets_or_error",
    "signature_offsets",
    "singular_error",
    "structure_of",
    "substitute_aliases",
    "transfer_function",
    "user_names",
]
