from .aliases import Alias, eliminate_aliases, make_namer, substitute_aliases
from .descriptor_matrices import Descriptor, check_points, descriptor, evaluate_descriptor
from .equations import Equations, Incidence, find_incidence
from .linear_form import MATRICES, LinearForm, extract_linear_form, is_linear
from .linearization import linearize
from .polynomial_part import ZERO, find_polynomial_part
from .signature import Offsets, find_offsets
from .structure import Choice, Structure, analyze, check_model, list_choices, make_structure, require_offsets
from .well_posedness import Finding, Margin, WellPosedness, check_noise

__all__ = [
    "Alias", "Choice", "Descriptor", "Equations", "Finding", "Incidence", "LinearForm", "MATRICES", "Margin", "Offsets",
    "Structure", "WellPosedness", "ZERO", "analyze", "check_model", "check_noise", "check_points", "descriptor",
    "eliminate_aliases", "evaluate_descriptor", "extract_linear_form", "find_incidence", "find_offsets",
    "find_polynomial_part", "is_linear", "linearize", "list_choices", "make_namer", "make_structure", "require_offsets",
    "substitute_aliases",
]
