from .accuracy import (
    Accuracies, check_accuracies, check_count, check_told, factor_covariance, find_correlated, find_declared_outputs,
    guess_scales, list_relative, refuse_relative, separate_outputs, sum_log_determinants,
)
from .drive import (
    Drive, check_covered, check_smooth, describe_absent, describe_defaults, find_measured, match_drive, unite_units,
)
from .experiment import Experiment, Series, check_enough, check_transient, list_datasets, match_experiments

__all__ = [
    "Accuracies", "Drive", "Experiment", "Series", "check_accuracies", "check_count", "check_covered", "check_enough",
    "check_smooth", "check_told", "check_transient", "describe_absent", "describe_defaults", "factor_covariance",
    "find_correlated", "find_declared_outputs", "find_measured", "guess_scales", "list_datasets", "list_relative",
    "match_drive", "match_experiments", "refuse_relative", "separate_outputs", "sum_log_determinants", "unite_units",
]
