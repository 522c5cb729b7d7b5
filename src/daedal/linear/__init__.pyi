from .dual import Dual, block_diagonal, constant, stacked
from .elimination import SymbolicFactors, factorize
from .factorization import semidefinite_factor, semidefinite_factor_derivative
from .matrix_exponential import exponential, exponential_slopes
from .realization import controllable_form, output_rows, output_rows_derivative, smoothness
from .staircase_form import Staircase, staircase
from .standard_form import SingularPencilError, StandardForm, balance, motion, reduce_to_standard_form
from .stationary import stationary_covariance, stationary_covariance_derivative
from .threads import one_thread
from .units import natural_units
from .van_loan_integrals import noise_scale, scaled_van_loan, van_loan, van_loan_derivative, van_loan_slopes

__all__ = [
    "Dual",
    "SingularPencilError",
    "Staircase",
    "StandardForm",
    "SymbolicFactors",
    "balance",
    "block_diagonal",
    "constant",
    "controllable_form",
    "exponential",
    "exponential_slopes",
    "factorize",
    "motion",
    "natural_units",
    "noise_scale",
    "one_thread",
    "output_rows",
    "output_rows_derivative",
    "reduce_to_standard_form",
    "scaled_van_loan",
    "semidefinite_factor",
    "semidefinite_factor_derivative",
    "smoothness",
    "stacked",
    "staircase",
    "stationary_covariance",
    "stationary_covariance_derivative",
    "van_loan",
    "van_loan_derivative",
    "van_loan_slopes",
]
