from .aliases import Alias, eliminate_aliases, substitute_aliases, user_names
from .descriptor_matrices import Descriptor, descriptor
from .equations import Equations, Incidence, derivative_symbols, incidence
from .linear_form import MATRICES, LinearForm, extract_linear_form, is_linear
from .linearization import linearize
from .polynomial_part import ZERO, find_polynomial_part
from .signature import Offsets, signature_offsets
from .singularity import singular_error
from .structure import Choice, Structure, analyze, choices, offsets_or_error, structure_of
from .transfer_functions import transfer_function
from .well_posedness import Finding, Margin, WellPosedness, check_noise

__all__ = [
    "MATRICES",
    "ZERO",
    "Alias",
    "Choice",
    "Descriptor",
    "Equations",
    "Finding",
    "Incidence",
    "LinearForm",
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
    "extract_linear_form",
    "find_polynomial_part",
    "incidence",
    "is_linear",
    "linearize",
    "offsets_or_error",
    "signature_offsets",
    "singular_error",
    "structure_of",
    "substitute_aliases",
    "transfer_function",
    "user_names",
]
