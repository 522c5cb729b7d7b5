from .basis_pursuit import pursue_basis
from .greedy_sparsity import solve_on_support
from .output_error import polish
from .penalized_splines import SplineEquation, keep_largest, make_spline_equation, sparsify_equation
from .record import Record, make_record
from .refined_iv import RefinedIV
from .response import Shape, compute_response
from .result import Candidate, OrderSearch, OrderSearches
from .search import select_order
from .sparse_splines import PRINTED_KNOTS, SparseSplines, find_nearest_solution

__all__ = [
    "Candidate", "OrderSearch", "OrderSearches", "PRINTED_KNOTS", "Record", "RefinedIV", "Shape", "SparseSplines",
    "SplineEquation", "compute_response", "find_nearest_solution", "keep_largest", "make_record",
    "make_spline_equation", "polish", "pursue_basis", "select_order", "solve_on_support", "sparsify_equation",
]
