from .accuracy import (
    Accuracies,
    check_accuracies,
    check_count,
    correlated,
    declared_outputs,
    factor_covariance,
    first_scales,
    log_determinant,
    separate_outputs,
)
from .drive import Drive, check_covered, check_smooth, match_drive
from .experiment import Experiment, Series, check_enough, checked_transient, datasets, match_experiments

__all__ = [
    "Accuracies",
    "Drive",
    "Experiment",
    "Series",
    "check_accuracies",
    "check_count",
    "check_covered",
    "check_enough",
    "check_smooth",
    "checked_transient",
    "correlated",
    "datasets",
    "declared_outputs",
    "factor_covariance",
    "first_scales",
    "log_determinant",
    "match_drive",
    "match_experiments",
    "separate_outputs",
]
