"""Matrix algorithms."""

from daedal.linear.dual import Dual
from daedal.linear.elimination import SymbolicFactors, factorize
from daedal.linear.exponential import exponential
from daedal.linear.factorization import semidefinite_factor, semidefinite_factor_derivative
from daedal.linear.realization import controllable_form, output_rows, output_rows_derivative, smoothness
from daedal.linear.staircase import Staircase, staircase
from daedal.linear.stationary import stationary_covariance, stationary_covariance_derivative
from daedal.linear.van_loan import noise_scale, scaled_van_loan, van_loan, van_loan_derivative, van_loan_slopes

__all__ = [
    "Dual",
    "Staircase",
    "SymbolicFactors",
    "controllable_form",
    "exponential",
    "factorize",
    "noise_scale",
    "output_rows",
    "output_rows_derivative",
    "scaled_van_loan",
    "semidefinite_factor",
    "semidefinite_factor_derivative",
    "smoothness",
    "staircase",
    "stationary_covariance",
    "stationary_covariance_derivative",
    "van_loan",
    "van_loan_derivative",
    "van_loan_slopes",
]
