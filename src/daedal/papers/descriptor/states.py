"""What is not measured of the drive, estimated: speed of the disc, torque in the shaft, load torque (section 6).

An estimate comes as a mean and a standard deviation σ. With e what it is off, e²/σ² has the mean 1, and over E data
sets, which are independent, the mean of e²/σ² at one time has the distribution of χ²(E)/E: 95 of 100 times should lie
within its 95 % band. Neighbouring times are not independent, so that the mean over all times gets its standard error
from the scatter between data sets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
from scipy.stats import chi2, norm

from daedal.filtering import estimate_states
from daedal.models import Model
from daedal.papers.descriptor.estimates import LEVEL, Estimates
from daedal.papers.descriptor.experiment import STATES, make_drive
from daedal.progress import Progress
from daedal.simulation import Trajectory

FILTERED = "filtered"
SMOOTHED = "smoothed"
WITH_ESTIMATES = "smoothed, parameters estimated"
KINDS = (FILTERED, SMOOTHED, WITH_ESTIMATES)


@final
@dataclass(frozen=True)
class Calibration:
    """Whether standard deviations of one variable mean what they say.

    Attributes
    ----------
    mean, standard_error
        Of e²/σ² over all times and data sets; 1 is right.
    inside
        The share of times at which the mean of e²/σ² over the data sets lies in the χ² band.
    coverage
        The share of |e| below 1.96 σ.
    deviation
        The median of σ over time.
    """

    mean: float
    standard_error: float
    inside: float
    coverage: float
    deviation: float


@final
@dataclass(frozen=True, eq=False)
class StateErrors:
    """Errors of the estimates of some variables.

    Attributes
    ----------
    times
        (time,); at the start the drive is at rest, and there is nothing to estimate.
    errors, deviations
        Variable → e and σ, (data set, time).
    """

    times: np.ndarray
    errors: Mapping[str, np.ndarray]
    deviations: Mapping[str, np.ndarray]

    def calibration(self, variable: str) -> Calibration:
        """How e and σ fit together."""
        squares = (self.errors[variable] / self.deviations[variable]) ** 2
        count = len(squares)
        means = squares.mean(axis=1)
        lower, upper = compute_chi_square_band(count)
        at_times = squares.mean(axis=0)
        return Calibration(
            mean=float(means.mean()),
            standard_error=float(means.std(ddof=1) / np.sqrt(count)),
            inside=float(np.mean((at_times >= lower) & (at_times <= upper))),
            coverage=float(np.mean(squares <= norm.ppf((1 + LEVEL) / 2) ** 2)),
            deviation=float(np.median(self.deviations[variable])),
        )


def compute_chi_square_band(count: int) -> tuple[float, float]:
    """Between which values the mean of so many squares of standard normal numbers lies in 95 % of all cases."""
    lower, upper = chi2.ppf([(1 - LEVEL) / 2, (1 + LEVEL) / 2], count) / count
    return float(lower), float(upper)


def find_state_errors(data: Trajectory, estimates: Estimates) -> Mapping[str, StateErrors]:
    """Kind → errors in all data sets: with the true parameters, and with those estimated from the same data."""
    true = make_drive()
    fitted = [
        true.with_parameters(dict(zip(estimates.parameters, row.tolist(), strict=True))) for row in estimates.values
    ]
    known = [true] * len(fitted)
    return {
        FILTERED: _find_errors(data, known, "filtered", FILTERED),
        SMOOTHED: _find_errors(data, known, "smoothed", SMOOTHED),
        WITH_ESTIMATES: _find_errors(data, fitted, "smoothed", WITH_ESTIMATES),
    }


def _find_errors(
    data: Trajectory, models: Sequence[Model], kind: Literal["filtered", "smoothed"], title: str
) -> StateErrors:
    estimates = []
    with Progress(f"states, {title}: data set", end=len(models)) as progress:
        for number, model in enumerate(models):
            estimates.append(estimate_states(model, data.to_dataset(number), variables=STATES, kind=kind))
            progress(number)
    after = slice(1, None)
    return StateErrors(
        times=data.times[after],
        errors={
            name: np.stack([estimate.mean[name] - data[name][k] for k, estimate in enumerate(estimates)])[:, after]
            for name in STATES
        },
        deviations={name: np.stack([estimate.std[name] for estimate in estimates])[:, after] for name in STATES},
    )
