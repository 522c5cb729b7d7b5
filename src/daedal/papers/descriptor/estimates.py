"""Stiffness and inertia of the drive from many simulated data sets, by three methods on the same data.

- maximum likelihood: section 5 of the paper, the load torque is part of the model;
- output error: what the paper's own program did (K = 0): the load torque is ignored;
- maximum likelihood, noise too: gain and pole of the load torque and both sensor accuracies are unknown besides.

The paper leaves the accuracy of the estimates out. Here each estimate comes with a standard error, and the truth lies
in its 95 % interval, or not: over E data sets about 0.95 E times, if standard errors mean what they say.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from daedal.estimation import Fit, Likelihood, OutputError, fit
from daedal.papers.descriptor.experiment import (
    FREE,
    INTERVAL,
    NOISE_FREE,
    NOISE_TRUTH,
    SEED,
    TRUTH,
    make_drive,
    simulate_data_sets,
)
from daedal.papers.kept_pieces import MakeAll, make_all_anew, refuse_interrupted
from daedal.simulation import Lanes

LIKELIHOOD = "maximum likelihood"
OUTPUT_ERROR = "output error"
NOISE_TOO = "maximum likelihood, noise too"
METHODS = (LIKELIHOOD, OUTPUT_ERROR, NOISE_TOO)
LEVEL = 0.95

# Steps as long as half an interval move estimates by output error by 2e-4, against standard errors of 0.03.
SOLVER = Lanes(step=INTERVAL / 2)


@final
@dataclass(frozen=True)
class Size:
    """How many data sets there are, and from how many of them the noise is estimated too."""

    data_sets: int
    noise_too: int

    def __str__(self) -> str:
        return f"E = {self.data_sets} data sets, {self.noise_too} of them with unknown noise"


@final
@dataclass(frozen=True)
class Summary:
    """One parameter by one method: how far estimates are off, and how far they think they are.

    `standard_error` is that of the mean, `reported` the mean of the standard errors that come with the estimates.
    """

    count: int
    mean: float
    standard_error: float
    bias: float
    rmse: float
    reported: float
    coverage: float
    coverage_error: float  # standard deviation of the coverage, if it were LEVEL


@final
@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates by one method.

    Attributes
    ----------
    parameters
        Names, the order of the columns below.
    values, std_errors
        (data set, parameter)
    covered
        Whether the interval contains the truth, (data set, parameter).
    cov
        The covariance of each estimate, (data set, parameter, parameter).
    failures
        How many searches did not converge.
    """

    parameters: tuple[str, ...]
    values: np.ndarray
    std_errors: np.ndarray
    covered: np.ndarray
    cov: np.ndarray
    failures: int

    def summary(self, parameter: str) -> Summary:
        """How good the estimates of one parameter are."""
        k = self.parameters.index(parameter)
        values, truth, count = self.values[:, k], find_truth(parameter), len(self.values)
        return Summary(
            count=count,
            mean=float(values.mean()),
            standard_error=float(values.std(ddof=1) / np.sqrt(count)),
            bias=float(values.mean() - truth),
            rmse=float(np.sqrt(np.mean((values - truth) ** 2))),
            reported=float(np.mean(self.std_errors[:, k])),
            coverage=float(np.mean(self.covered[:, k])),
            coverage_error=float(np.sqrt(LEVEL * (1 - LEVEL) / count)),
        )


def estimate(size: Size, make_all: MakeAll = make_all_anew) -> Mapping[str, Estimates]:
    """Method → estimates, from data sets that are the realizations of a simulation."""
    return {method: _fit_data_sets(method, size, make_all) for method in METHODS}


def find_truth(parameter: str) -> float:
    """What the data were simulated with."""
    return {**TRUTH, **NOISE_TRUTH}[parameter]


def _fit_data_sets(method: str, size: Size, make_all: MakeAll) -> Estimates:
    count = size.noise_too if method == NOISE_TOO else size.data_sets
    name, parameters = method.replace(" ", "_").replace(",", ""), tuple(_choose_options(method)["free"])
    rows = make_all(name, f"{__name__}:fit_data_set", [[method, number, size.data_sets] for number in range(count)])
    columns = {key: np.array([row[key] for row in rows]) for key in ("values", "std_errors", "covered", "cov")}
    return Estimates(parameters=parameters, failures=sum(not row["ok"] for row in rows), **columns)


def _choose_options(method: str) -> dict[str, Any]:
    if method == OUTPUT_ERROR:
        return {"free": FREE, "criterion": OutputError(), "solver": SOLVER}
    return {"free": {**FREE, **NOISE_FREE} if method == NOISE_TOO else FREE, "criterion": Likelihood()}


def fit_data_set(method: str, number: int, data_sets: int) -> dict[str, Any]:
    """One row of `Estimates`, and whether the search converged."""
    options, data = _choose_options(method), simulate_data_sets(data_sets).to_dataset(number)
    one = refuse_interrupted(fit(make_drive(), data, rng=SEED, **options))
    parameters = tuple(options["free"])
    return {
        "values": [one.params[name] for name in parameters],
        "std_errors": [one.std_errors[name] for name in parameters],
        "covered": _check_coverage(one, parameters),
        "cov": one.cov.tolist(),
        "ok": one.status.ok,
    }


def _check_coverage(one: Fit, parameters: tuple[str, ...]) -> list[bool]:
    intervals = one.conf_int(LEVEL)
    return [intervals[name][0] <= find_truth(name) <= intervals[name][1] for name in parameters]
