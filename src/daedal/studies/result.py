"""`Study`: what many runs say about the estimates of a fit."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from daedal.data import FrozenMapping
from daedal.errors import StudyError, is_one_of, is_real, look_up, show
from daedal.estimation import Coordinate, Fit
from daedal.simulation import Status
from daedal.studies.charter import CONVERGED
from daedal.studies.fit_runs import ALONE
from daedal.studies.intervals import find_bca, find_percentiles
from daedal.studies.journal import Contents
from daedal.studies.kinds import Outline

if TYPE_CHECKING:
    import pandas

Method = Literal["percentile", "bca"]


@final
@dataclass(frozen=True)
class Spread:
    """What the runs say about one estimate, from those that converged.

    Attributes
    ----------
    estimate
        That of the fit.
    mean, std, bias
        Of the estimates of the runs; the bias from the truth, where that is known, otherwise from the estimate. Of a
        jackknife, standard error and bias of the estimate.
    truth, rmse, reported, coverage, coverage_error
        Where the truth is known: that, the root mean square error, the mean of the standard errors that the runs
        report, how many of their intervals of 95 % hold the truth, and the standard error of that share; else NaN.
    """

    estimate: float
    mean: float
    std: float
    bias: float
    truth: float = np.nan
    rmse: float = np.nan
    reported: float = np.nan
    coverage: float = np.nan
    coverage_error: float = np.nan


@final
@dataclass(frozen=True, eq=False)
class Study:
    """What `study` found, and what `load` and `merge` read.

    Attributes
    ----------
    fit
        The fit that the study is about.
    kind
        What the runs are, as it was typed.
    outline
        What they say.
    runs
        How many there are to be.
    seed
        Of all random numbers.
    status
        Whether all runs are there.

    Examples
    --------
    >>> from daedal import Dataset, Model, Parameter, Starts, der, fit, study, symbols
    >>> x, k = symbols("x k")
    >>> rate, outputs = {"rate": der(x) == -k * x}, {"x": x}
    >>> decay = Model(name="x", equations=rate, unknowns=[x], outputs=outputs, parameters={k: 2.0}, initial={x: 1.0})
    >>> data = Dataset([0.0, 0.5, 1.0, 1.5], outputs={"x": [1.0, 0.61, 0.36, 0.23]})
    >>> found = study(fit(decay, data, free={"k": Parameter(2.0, lower=0.1, upper=9.0)}), Starts(3), rng=1)
    >>> found.estimates["k"].round(3)
    array([0.999, 0.999, 0.999])
    """

    fit: Fit
    kind: str
    outline: Outline
    runs: int
    seed: int
    status: Status
    contents: Contents

    @property
    def numbers(self) -> np.ndarray:
        """The runs that are there, counted from 0."""
        return self.contents.numbers

    @cached_property
    def converged(self) -> np.ndarray:
        """Which of them ended in a minimum, (run,)."""
        return np.array([one == CONVERGED for one in self.contents.status], dtype=bool)

    @property
    def failures(self) -> Mapping[int, str]:
        """Run → why it did not converge."""
        told = zip(self.numbers.tolist(), self.contents.status, self.contents.messages, strict=True)
        return FrozenMapping({number: message for number, status, message in told if status != CONVERGED})

    @property
    def estimates(self) -> Mapping[str, np.ndarray]:
        """Name → what each run estimated, (run,); NaN where it did not."""
        return self._list_columns(0)

    @property
    def std_errors(self) -> Mapping[str, np.ndarray]:
        """Name → the standard error that each run reported, (run,)."""
        return self._list_columns(1)

    @property
    def steps(self) -> Mapping[str, np.ndarray]:
        """Name → each run's estimate as a linear function of its data, from that of the fit, (run,)."""
        return self._list_columns(4)

    @property
    def values(self) -> np.ndarray:
        """The criterion at the end of each run, (run,)."""
        return self.contents.values[:, 0] if self.contents.values.size else np.full(self.numbers.size, np.nan)

    @property
    def intervals(self) -> Mapping[str, tuple[np.ndarray, np.ndarray]]:
        """Name → ends of the interval of 95 % that each run reported, each (run,)."""
        low, high = self._list_columns(2), self._list_columns(3)
        return FrozenMapping({name: (low[name], high[name]) for name in low})

    def _list_columns(self, place: int) -> Mapping[str, np.ndarray]:
        names = list(self.fit.estimates)
        table, begin = self.contents.values, ALONE + place * len(names)
        if not table.size:
            return FrozenMapping({name: np.full(self.numbers.size, np.nan) for name in names})
        return FrozenMapping({name: table[:, begin + k] for k, name in enumerate(names)})

    def __getitem__(self, name: Any) -> Spread:
        return look_up(self.spreads, name, StudyError, "The study has no estimate")

    def __iter__(self) -> Iterator[str]:
        return iter(self.fit.estimates)

    @cached_property
    def spreads(self) -> Mapping[str, Spread]:
        """Name → what the runs say about an estimate."""
        return FrozenMapping({name: self._measure(name) for name in self.fit.estimates})

    def _select(self, column: np.ndarray) -> np.ndarray:
        """Of the runs that converged, what is known."""
        return column[self.converged & np.isfinite(column)]

    def _measure(self, name: str) -> Spread:
        values, estimate = self._select(self.estimates[name]), self.fit.params[name]
        count = values.size
        mean = float(values.mean()) if count else np.nan
        std = float(values.std(ddof=1)) if count > 1 else np.nan
        if self.outline.reading == "jackknife":
            factor = self.outline.factor
            std = float(np.sqrt(factor * np.mean((values - mean) ** 2))) if count > 1 else np.nan
            return Spread(estimate, mean, std, factor * (mean - estimate))
        if name not in self.outline.truth:
            return Spread(estimate, mean, std, mean - estimate)
        truth = self.outline.truth[name]
        return Spread(estimate, mean, std, mean - truth, truth, *self._judge(name, values, truth))

    def _judge(self, name: str, values: np.ndarray, truth: float) -> tuple[float, float, float, float]:
        low, high = (end[self.converged] for end in self.intervals[name])
        known = np.isfinite(low) & np.isfinite(high)
        if not values.size:
            return np.nan, np.nan, np.nan, np.nan
        held = (low[known] <= truth) & (truth <= high[known])
        share = float(held.mean()) if held.size else np.nan
        # Of (held + 2)/(n + 4), which is not zero where all intervals hold the truth.
        likely = (held.sum() + 2.0) / (held.size + 4.0)
        errors = self._select(self.std_errors[name])
        return (
            float(np.sqrt(np.mean((values - truth) ** 2))),
            float(errors.mean()) if errors.size else np.nan,
            share,
            float(np.sqrt(likely * (1.0 - likely) / (held.size + 4.0))),
        )

    def conf_int(self, level: float = 0.95, method: Method = "percentile") -> Mapping[str, tuple[float, float]]:
        """Name → interval of an estimate from the spread of bootstrap runs.

        `method="bca"` corrects percentiles for bias and skewness. With few runs intervals are wider.
        """
        if not is_real(level) or not 0.0 < level < 1.0:
            raise StudyError(f"The level must lie between 0 and 1, got {show(level)}.", "Write level=0.95.")
        if not is_one_of(method, ("percentile", "bca")):
            raise StudyError(
                f"The method of an interval must be 'percentile' or 'bca', got {show(method)}.", "Write method='bca'."
            )
        if self.outline.reading != "bootstrap":
            raise StudyError(
                f"The spread of {self.kind} is not that of a bootstrap, so it gives no interval.",
                "Make a study of ParametricBootstrap() or BlockBootstrap(length=...).",
            )
        return FrozenMapping(
            {item.name: self._find_interval(item, float(level), method) for item in self.fit.coordinates.items}
        )

    def _find_interval(self, item: Coordinate, level: float, method: str) -> tuple[float, float]:
        """What is beyond a bound is cut off."""
        values = self._select(self.estimates[item.name])
        if method == "percentile":
            low, high = find_percentiles(values, level, item.logarithmic)
        else:
            steps = self._select(self.steps[item.name])
            low, high = find_bca(values, steps, self.fit.params[item.name], level, item.logarithmic)
        return float(np.maximum(low, item.lower)), float(np.minimum(high, item.upper))

    def to_pandas(self) -> "pandas.DataFrame":
        """One row a `run`: how it ended, what tells it from others, estimates, their errors, and the criterion."""
        from daedal.tables import make_frame

        words = [one or {} for one in self.contents.words]
        columns: dict[str, Any] = {"status": self.contents.status}
        labels = {key: None for one in words for key in one}
        columns |= {key: [one.get(key) for one in words] for key in labels if key not in self.fit.estimates}
        columns |= dict(self.estimates)
        columns |= {f"std_error of {name}": column for name, column in self.std_errors.items()}
        columns |= {"value": self.values, "message": self.contents.messages}
        units = {one.name: one.unit for one in self.fit.estimates.values() if one.unit}
        return make_frame("run", self.numbers, columns, units)

    def timings(self) -> "pandas.DataFrame":
        """One row a `run`: the seconds that it took, and where."""
        from daedal.tables import make_frame

        return make_frame("run", self.numbers, {"seconds": self.contents.seconds, "host": self.contents.hosts})

    def summary(self) -> str:
        """One table: what the runs say about each estimate, and which of them failed."""
        from daedal.studies.table import list_lines

        return "\n".join(list_lines(self))

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from daedal.studies.table import list_lines
        from daedal.tables import write_html

        return write_html(list_lines(self))

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.fit.estimates)

    __repr__ = __str__
