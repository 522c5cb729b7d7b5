"""Order and coefficients of linear systems straight from data."""

from daedal.order.refined_iv import RefinedIV
from daedal.order.result import Candidate, OrderSearch
from daedal.order.select_order import select_order
from daedal.order.sparse_splines import SparseSplines

__all__ = ["Candidate", "OrderSearch", "RefinedIV", "SparseSplines", "select_order"]
