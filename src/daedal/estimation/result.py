"""`Fit`: estimates with their uncertainty, and how they came about."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from daedal.data import Dataset, FrozenMapping
from daedal.errors import EstimationError, is_real, look_up, show
from daedal.estimation.criteria import Criterion
from daedal.estimation.problem import Autoregression, Coordinates
from daedal.estimation.search import Verdict, sum_log_densities
from daedal.models import Model
from daedal.simulation import Lanes, Status
from daedal.tables import format_error, format_number, write_html

if TYPE_CHECKING:
    import pandas

LEAST_SHARE = 0.01  # from the data: with less of it, Student's distribution is the normal one


@final
@dataclass(frozen=True)
class Estimate:
    """One estimated number.

    `std_error` is what data and priors leave open (infinite: not determined; NaN: at a bound), `monte_carlo_error` what
    a finite number of realizations adds to it (zero without any). `verdict` says in words how far the data determine
    it. Of a parameter with a prior, `from_data` is the share of the prior's variance that the data have removed,
    1 − std_error²/variance of the prior, from 0 to 1; None without a prior, and at a bound. `freedom` is that of
    Student's distribution where noise with a memory had to be estimated from few samples; None where all count. `pull`
    is how fast the criterion grows away from the bound that a parameter is at (by its logarithm on a log scale), and
    `power` which power of itself one that went to zero on a log scale acts by (2: the size of a noise).
    `description` is the model's.

    Examples
    --------
    >>> from daedal import Dataset, Model, der, fit, symbols
    >>> x, k = symbols("x k")
    >>> rate, outputs = {"rate": der(x) == -k * x}, {"x": x}
    >>> decay = Model(name="x", equations=rate, unknowns=[x], outputs=outputs, parameters={k: 2.0}, initial={x: 1.0})
    >>> data = Dataset([0.0, 0.5, 1.0, 1.5], outputs={"x": [1.0, 0.61, 0.36, 0.23]})
    >>> k = fit(decay, data, free=["k"])["k"]
    >>> round(k.value, 3), round(k.std_error, 3), k.at_bound
    (0.999, 0.011, False)
    """

    name: str
    value: float
    std_error: float
    monte_carlo_error: float
    start: float
    lower: float
    upper: float
    scale: str
    unit: str
    at_bound: bool
    verdict: Verdict
    from_data: float | None = None
    freedom: float | None = None
    pull: float = 0.0
    power: float = 1.0
    description: str = ""

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        error = "" if np.isnan(self.std_error) else f" ± {format_error(self.std_error)}"
        what = f" ({self.description})" if self.description else ""
        return f"{self.name} = {format_number(self.value, self.std_error)}{error}{unit}{what}: {self.verdict}"

    def _repr_html_(self) -> str:
        return write_html([str(self)])


@final
@dataclass(frozen=True)
class LocalMinimum:
    """One of the minima that different starts ended in."""

    value: float
    params: Mapping[str, float]
    count: int  # starts that ended here; 0 where `fit` has looked for it by itself


@final
@dataclass(frozen=True)
class Attempt:
    """What one start led to: where the search from it ended, or why it could not begin.

    `value` is that of the criterion there, None where the model could not be simulated at the start (`failure` says
    why) or where the search was interrupted. Later stages go on from the best alone.
    """

    start: Mapping[str, float]
    value: float | None
    params: Mapping[str, float]  # where it ended; empty where it did not
    converged: bool
    evaluations: int
    failure: str = ""


@final
@dataclass(frozen=True, eq=False)
class Course:
    """The evaluations that led to an estimate, one by one: from the start that ended best, then in later stages.

    Attributes
    ----------
    stages : array (evaluation,)
        0 from the start on, then counted; values of different stages cannot be compared.
    values : array (evaluation,)
        Of the criterion; infinite where the model could not be simulated.
    params : array (evaluation, parameter)
        In the order of `Fit.estimates`.
    """

    stages: np.ndarray
    values: np.ndarray
    params: np.ndarray

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Course) and all(
            np.array_equal(getattr(self, name), getattr(other, name), equal_nan=True)
            for name in ("stages", "values", "params")
        )

    def __hash__(self) -> int:
        return hash((self.values.tobytes(), self.params.tobytes()))


@final
@dataclass(frozen=True)
class Making:
    """When a fit was made, how long that took, and what it took to advance in time.

    Attributes
    ----------
    date
        Day and time of its end, UTC, as ISO 8601 writes it.
    seconds
        Of processor time, over all threads of the process.
    steps
        Method and steps of the simulation, in words; empty where the criterion does not tell.
    step_error
        What shorter steps would change, relative to the largest values, where they were chosen; None where it is not
        estimated, and where nothing is simulated.
    versions
        Package → version.
    """

    date: str
    seconds: float
    steps: str
    step_error: float | None
    versions: Mapping[str, str]


@final
@dataclass(frozen=True)
class ProjectRecord:
    """The project file that a fit was made from: its text, and what else would be needed to make it again.

    Attributes
    ----------
    file
        Where the project is, seen from the folder of the result.
    digests
        File, seen from the folder of the project → SHA-256: the model, the data, the notes.
    changes
        What the command line changed: "set", parameter → value, and "free", names.
    versions
        Package → version.
    """

    file: str
    title: str
    author: str
    text: str
    digests: Mapping[str, str]
    changes: Mapping[str, Any]
    versions: Mapping[str, str]


@final
@dataclass(frozen=True, eq=False)
class Fit:
    """What `fit` found.

    Attributes
    ----------
    model
        The model with the estimated values of all shared parameters, and what was fixed alike in all experiments.
    estimates
        Name → `Estimate`; `fit["k"]` is one of them.
    cov
        Covariance of the estimates, (parameter, parameter) in the order of `params`, from data and priors.
    monte_carlo_cov
        The same for the error of averaging over a finite number of realizations.
    value
        The minimum of the criterion: half the sum of squared residuals in units of their accuracy, and what priors add.
    fit_percent
        Output → 100 (1 − |y − ŷ| / |y − mean y|) over all experiments.
    loglik, aic, bic
        None where they would mean nothing: when the criterion is not a likelihood; `aic` and `bic` also with priors.
    minima
        The minima that the starts ended in, best first.
    status
        How the search ended.
    attempts
        What each start led to, in their order.
    project
        The project file that it was made from, where it was.
    course
        The evaluations that led to the estimates; None in files from before they were kept.
    averaged
        What the criterion averaged over, "realizations" or "particles", and how many; None where it does not, and in
        files from before that was kept.
    making
        When it was made, at what cost, with which steps; None in files from before that was kept.

    Examples
    --------
    >>> from daedal import Dataset, Model, der, fit, symbols
    >>> x, k = symbols("x k")
    >>> rate, outputs = {"rate": der(x) == -k * x}, {"x": x}
    >>> decay = Model(name="x", equations=rate, unknowns=[x], outputs=outputs, parameters={k: 2.0}, initial={x: 1.0})
    >>> data = Dataset([0.0, 0.5, 1.0, 1.5], outputs={"x": [1.0, 0.61, 0.36, 0.23]})
    >>> found = fit(decay, data, free=["k"])
    >>> round(found["k"].value, 3), [round(end, 2) for end in found.conf_int()["k"]]
    (0.999, [0.96, 1.03])
    """

    model: Model
    data: tuple[Dataset, ...]
    criterion: Criterion
    estimates: Mapping[str, Estimate]
    coordinates: Coordinates
    point: np.ndarray
    curvature: np.ndarray
    cov: np.ndarray
    monte_carlo_cov: np.ndarray
    value: float
    samples: int
    fit_percent: Mapping[str, float]
    scales: Mapping[str, float]
    filters: Mapping[str, Autoregression]
    loglik: float | None
    aic: float | None
    bic: float | None
    minima: tuple[LocalMinimum, ...]
    status: Status
    notes: tuple[str, ...]
    seed: int
    evaluations: int
    solver: Lanes | None = None
    attempts: tuple[Attempt, ...] = ()
    project: ProjectRecord | None = None
    course: Course | None = None
    averaged: tuple[str, int] | None = None
    making: Making | None = None

    @property
    def params(self) -> Mapping[str, float]:
        """Name → estimated value."""
        return FrozenMapping({name: one.value for name, one in self.estimates.items()})

    @property
    def std_errors(self) -> Mapping[str, float]:
        """Name → standard error from data and priors."""
        return FrozenMapping({name: one.std_error for name, one in self.estimates.items()})

    @property
    def correlation(self) -> np.ndarray:
        """Correlation matrix of the estimates; NaN where a variance is infinite or unknown."""
        deviation = np.sqrt(np.diag(self.cov))
        with np.errstate(invalid="ignore"):
            return self.cov / np.outer(deviation, deviation)

    @property
    def total_cov(self) -> np.ndarray:
        """`cov` and `monte_carlo_cov` together; of what has no known Monte-Carlo error, `cov` alone."""
        return self.cov + np.where(np.isfinite(self.monte_carlo_cov), self.monte_carlo_cov, 0.0)

    @property
    def log_posterior(self) -> float | None:
        """`loglik` plus the logarithm of the prior densities of the estimates; None without a likelihood."""
        return (
            None if self.loglik is None else self.loglik + sum_log_densities(self.model, self.coordinates, self.point)
        )

    def conf_int(self, level: float = 0.95) -> Mapping[str, tuple[float, float]]:
        """Name → interval that covers the truth with this probability, data and Monte-Carlo error together.

        Symmetric in the value, or in its logarithm for a parameter on a log scale, as long as nothing is at a bound: a
        parameter there may leave it, and others then move along. Other minima that the data allow are inside, what is
        beyond a bound is not. NaN where a fit was interrupted. `profile` follows the criterion instead.
        """
        from daedal.estimation.intervals import compute_intervals

        return FrozenMapping(compute_intervals(self, level))

    def quantile(self, level: float, name: str) -> float:
        """Half the width of an interval of this level, in standard errors of one estimate (Student's distribution)."""
        from scipy.special import stdtrit

        if not is_real(level) or not 0.0 < level < 1.0:
            raise EstimationError(f"The level must lie between 0 and 1, got {show(level)}.", "Write level=0.95.")
        return float(stdtrit(min(self._freedom, self._limit_freedom(self[name])), 0.5 + level / 2.0))

    @property
    def _freedom(self) -> float:
        """Of Student's distribution: the samples less the numbers that they determine.

        What priors contribute to a variance is not estimated, by Satterthwaite's rule: with the share s from the data,
        freedom grows by 1/s². That of the estimate that owes most to the data holds for all.
        """
        shares = [1.0 if one.from_data is None else one.from_data for one in self.estimates.values()]
        return max(self.samples - sum(shares), 1) / max(*shares, LEAST_SHARE) ** 2

    @staticmethod
    def _limit_freedom(one: Estimate) -> float:
        """What an estimate of the noise leaves, which has its part in the share from the data alone."""
        share = 1.0 if one.from_data is None else max(one.from_data, LEAST_SHARE)
        return np.inf if one.freedom is None else one.freedom / share**2

    def values(self, experiment: int = 0) -> Mapping[str, float]:
        """Parameter → number in one experiment: estimates, local ones of that experiment, and what was fixed."""
        if not isinstance(experiment, Integral) or not is_real(experiment) or not 0 <= experiment < len(self.data):
            raise EstimationError(
                f"The fit has no experiment {show(experiment)}.", f"They are counted from 0 to {len(self.data) - 1}."
            )
        return FrozenMapping(self.coordinates.values(self.point, int(experiment)))

    def __getitem__(self, name: Any) -> Estimate:
        return look_up(self.estimates, name, EstimationError, "The fit has no estimate")

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimates)

    def to_pandas(self) -> "pandas.DataFrame":
        """Estimates over `parameter`: values, errors, intervals of 95 %, start, bounds, unit, verdict, description."""
        from daedal.tables import make_frame

        intervals, entries = self.conf_int(), list(self.estimates.values())
        fields = ("value", "std_error", "monte_carlo_error", "start", "lower", "upper", "unit", "verdict")
        columns = {name: [getattr(one, name) for one in entries] for name in fields}
        for k, side in enumerate(("interval_lower", "interval_upper")):
            columns[side] = [intervals[one.name][k] for one in entries]
        columns["description"] = [one.description for one in entries]
        return make_frame("parameter", list(self.estimates), columns)

    def save(self, path: str | Path) -> None:
        """Write everything to a netCDF file, which `load` reads back."""
        from daedal.estimation.storage import save

        save(self, path)

    def summary(self) -> str:
        """One table: values, errors, intervals, starts, bounds, and how the search ended."""
        from daedal.estimation.table import list_lines

        return "\n".join(list_lines(self))

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from daedal.estimation.table import list_lines

        return write_html(list_lines(self))

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.estimates)

    __repr__ = __str__
