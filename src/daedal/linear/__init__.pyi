from .dual import Dual, lift, stack, stack_diagonally
from .eigenvalues import find_eigenvalues
from .elimination import SymbolicFactors, factorize
from .factorization import differentiate_factor, factor_semidefinite, invert_semidefinite
from .low_rank import LowRank, find_columns
from .matrix_exponential import exponential, exponential_slopes, trace_squarings
from .realization import count_output_derivatives, differentiate_output_rows, list_output_rows, make_controllable_form
from .staircase_form import Staircase, reduce_to_staircase
from .standard_form import (
    SingularPencilError, StandardForm, balance, differentiate_standard_form, reduce_to_standard_form,
)
from .stationary import differentiate_lyapunov, solve_lyapunov
from .threads import one_thread
from .units import equilibrate, find_natural_units, list_rates
from .van_loan_integrals import compute_noise_scale, scaled_van_loan, van_loan, van_loan_derivative, van_loan_slopes

__all__ = [
    "Dual", "LowRank", "SingularPencilError", "Staircase", "StandardForm", "SymbolicFactors", "balance",
    "compute_noise_scale", "count_output_derivatives", "differentiate_factor", "differentiate_lyapunov",
    "differentiate_output_rows", "differentiate_standard_form", "equilibrate", "exponential", "exponential_slopes",
    "factor_semidefinite", "factorize", "find_columns", "find_eigenvalues", "find_natural_units",
    "invert_semidefinite", "lift",
    "list_output_rows", "list_rates", "make_controllable_form",
    "one_thread", "reduce_to_staircase", "reduce_to_standard_form",
    "scaled_van_loan", "solve_lyapunov", "stack", "stack_diagonally", "trace_squarings", "van_loan",
    "van_loan_derivative", "van_loan_slopes",
]
