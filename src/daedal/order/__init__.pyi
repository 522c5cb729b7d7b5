from .basis_pursuit import pursue_basis
from .greedy_sparsity import on_support
from .output_error import polish
from .penalized_splines import SplineEquation, sparse_equation, spline_equation, thinned
from .record import Record, make_record
from .refined_iv import RefinedIV
from .response import Shape, compute_response
from .result import Candidate, OrderSearch
from .search import select_order
from .sparse_splines import PRINTED_KNOTS, SparseSplines, nearest_solution

__all__ = [
    "PRINTED_KNOTS",
    "Candidate",
    "OrderSearch",
    "Record",
    "RefinedIV",
    "Shape",
    "SparseSplines",
    "SplineEquation",
    "compute_response",
    "make_record",
    "nearest_solution",
    "on_support",
    "polish",
    "pursue_basis",
    "select_order",
    "sparse_equation",
    "spline_equation",
    "thinned",
]
