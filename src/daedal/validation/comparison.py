"""`compare`: how well a fit, or a model as it is, predicts data that it was not made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from daedal.data import Dataset, FrozenMapping, frozen
from daedal.disturbances import seed_number
from daedal.errors import EstimationError, counted, nearest, quoted
from daedal.estimation import Fit, Likelihood, again, describe, experiment_labels, measure_fit
from daedal.linear import one_thread
from daedal.models import Model
from daedal.systems import System, build
from daedal.validation.arguments import aligned, checked_data
from daedal.validation.prediction import Predicted, fit_predictions, model_predictions

NORMAL = 1.959963984540054  # 97.5 % of a normal distribution lie below


@final
@dataclass(frozen=True, eq=False)
class Compared:
    """One output of one experiment, arrays (time,).

    Attributes
    ----------
    measured, predicted
        The samples (NaN where missing), and what the model says to them.
    deviation
        Standard deviation of a sample about the prediction: disturbances and measurement noise; NaN when neither is
        known. The band of 95 % is predicted ± 1.96 deviation.
    scored
        Which samples count: not those that are missing or in the transient.
    ahead
        The same one step ahead, from the samples before each: for fits by `Likelihood`.
    """

    experiment: str
    output: str
    times: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    deviation: np.ndarray
    scored: np.ndarray
    ahead: "Compared | None" = None

    @property
    def fit_percent(self) -> float:
        """100 (1 − |y − ŷ| / |y − mean y|) over the scored samples."""
        return _percent([self])

    @property
    def rmse(self) -> float:
        """Root mean square of y − ŷ over the scored samples."""
        return _rmse([self])

    @property
    def coverage(self) -> float:
        """Share of the scored samples that lie in the band of 95 %; NaN without one."""
        return _coverage([self])


@final
@dataclass(frozen=True, eq=False)
class Comparison:
    """Prediction against measurement.

    Attributes
    ----------
    fit_percent, rmse, coverage
        Output → fit in per cent, root mean square error, and the share of samples in the band of 95 % (NaN without
        one), over all experiments.
    series
        Every output of every experiment; `comparison["y"]`, or `comparison["y", "night"]` where there are several.
    local
        Local parameters as estimated on these data.
    realizations, seed
        What the prediction was averaged over; None when the disturbances are zero.
    """

    model: str
    method: str
    series: tuple[Compared, ...]
    local: Mapping[str, float]
    realizations: int | None
    seed: int | None
    notes: tuple[str, ...]

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs that were compared."""
        return tuple(dict.fromkeys(each.output for each in self.series))

    @property
    def fit_percent(self) -> Mapping[str, float]:
        """Output → 100 (1 − |y − ŷ| / |y − mean y|)."""
        return FrozenMapping({name: _percent(self._of(name)) for name in self.outputs})

    @property
    def rmse(self) -> Mapping[str, float]:
        """Output → root mean square of y − ŷ."""
        return FrozenMapping({name: _rmse(self._of(name)) for name in self.outputs})

    @property
    def coverage(self) -> Mapping[str, float]:
        """Output → share of the samples in the band of 95 %."""
        return FrozenMapping({name: _coverage(self._of(name)) for name in self.outputs})

    def _of(self, output: str) -> list[Compared]:
        return [each for each in self.series if each.output == output]

    def __getitem__(self, key: Any) -> Compared:
        output, experiment = (key[0], str(key[1])) if isinstance(key, tuple) and len(key) == 2 else (key, None)
        found = self._of(str(output))
        if not found:
            raise EstimationError(f"The comparison has no output '{output}'.", nearest(str(output), self.outputs))
        labels = [each.experiment for each in found]
        if experiment is None and len(found) > 1:
            raise EstimationError(
                f"'{output}' was measured in {len(found)} experiments.", f"Write comparison['{output}', '{labels[0]}']."
            )
        if experiment is not None and experiment not in labels:
            raise EstimationError(f"There is no experiment '{experiment}'.", nearest(experiment, labels))
        return found[labels.index(experiment) if experiment is not None else 0]

    def __str__(self) -> str:
        labels = list(dict.fromkeys(each.experiment for each in self.series))
        count = sum(int(each.scored.sum()) for each in self.series)
        banded = any(np.isfinite(share) for share in self.coverage.values())
        rows = [["", "fit", "RMSE", "in the 95 % band"]]
        for name in self.outputs:
            rows.append(_row(name, self._of(name)))
            ahead = [each.ahead for each in self._of(name) if each.ahead is not None]
            if ahead:
                rows.append(_row("  one step ahead", ahead))
            if len(labels) > 1:
                rows += [_row(f"  {each.experiment}", [each]) for each in self._of(name)]
        lines = [
            f"comparison of '{self.model}'{self.method} with {quoted(labels)}: {counted(count, 'sample')}",
            *aligned(rows if banded else [row[:3] for row in rows]),
        ]
        if self.local:
            lines.append(f"  {', '.join(f'{name} = {value:.5g}' for name, value in self.local.items())}")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    __repr__ = __str__


@one_thread
def compare(
    fit: Fit | Model | System, data: Dataset | Sequence[Dataset], *, rng: int | np.random.Generator | None = None
) -> Comparison:
    """Predict the outputs of data, as a rule of data that were held out, and say how well that went.

    Parameters
    ----------
    fit
        A Fit: it predicts as its criterion does, `SimulationPEM` by the mean over realizations, `Likelihood` by
        simulation and one step ahead, from a start that it estimates from the data. Local parameters are
        estimated again on the data, everything else stays. Or a Model or System: disturbances are zero.
    data
        A Dataset, or a list of them; the transient of the fit's criterion is simulated, not scored.
    rng
        Seed or Generator of the realizations; by default the seed of the fit, for other data with other numbers.

    Examples
    --------
    >>> from daedal import Dataset, Model, der, symbols
    >>> x, k = symbols("x k")
    >>> decay = Model(
    ...     name="decay", equations={"rate": der(x) == -k * x}, unknowns=[x], outputs={"x": x}, parameters={k: 1.0},
    ...     initial={x: 1.0},
    ... )
    >>> print(compare(decay, Dataset([0.0, 0.5, 1.0, 1.5], outputs={"x": [1.0, 0.61, 0.36, 0.23]})))
    comparison of 'decay' with 'data': 4 samples
            fit      RMSE
      x  98.1 %  0.005507
    """
    if not isinstance(fit, Fit):
        return _of_model(fit, checked_data("compare", fit, data))
    sets = checked_data("compare", fit, data)
    found = again(fit, sets, None if rng is None else seed_number(rng))
    predicted = fit_predictions(found)
    space = found.problem.coordinates
    local = {
        item.name: float(value)
        for item, value in zip(space.items, space.natural(found.point), strict=True)
        if item.experiment is not None
    }
    realizations = getattr(fit.criterion, "realizations", None)
    return Comparison(
        model=fit.model.name,
        method=f" by {describe(fit.criterion)}",
        series=_series(predicted, sets),
        local=FrozenMapping(local),
        realizations=realizations,
        seed=None if realizations is None else found.problem.seed,
        notes=(*found.notes, *_remarks(predicted if realizations else []), *_ignored(fit, realizations)),
    )


def _ignored(fit: Fit, realizations: int | None) -> tuple[str, ...]:
    """What the band does not contain."""
    if realizations is not None or not fit.model.disturbances or isinstance(fit.criterion, Likelihood):
        return ()
    return ("disturbances are zero: the 95 % band holds measurement noise only",)


def _of_model(model: Any, sets: tuple[Dataset, ...]) -> Comparison:
    if not isinstance(model, (Model, System)):
        raise EstimationError(
            f"compare takes a Fit or a Model first, got {type(model).__name__}.", "Give what fit(...) returns."
        )
    system = model if isinstance(model, System) else build(model)
    predicted = model_predictions(system, sets)
    return Comparison(
        model=system.model.name,
        method="",
        series=_series(predicted, sets),
        local=FrozenMapping({}),
        realizations=None,
        seed=None,
        notes=("disturbances are zero",) if system.model.disturbances else (),
    )


def _series(predicted: list[Predicted], sets: tuple[Dataset, ...]) -> tuple[Compared, ...]:
    labels = experiment_labels(sets)
    return tuple(_compared(each, labels[each.series.experiment]) for each in predicted)


def _compared(each: Predicted, label: str) -> Compared:
    if each.simulated is None or each.simulated_spread is None:
        return _one(each, label, each.mean, each.spread)
    ahead = _one(each, label, each.mean, each.spread)
    return replace(_one(each, label, each.simulated, each.simulated_spread), ahead=ahead)


def _one(each: Predicted, label: str, mean: np.ndarray, spread: np.ndarray) -> Compared:
    series = each.series
    deviation = np.hypot(spread, np.nan_to_num(each.noise))
    return Compared(
        experiment=label,
        output=series.output,
        times=series.times,
        measured=each.experiment.data.outputs[series.output].values,
        predicted=frozen(mean.copy()),
        deviation=frozen(np.where(deviation > 0.0, deviation, np.nan)),
        scored=np.isfinite(series.values),
    )


def _remarks(predicted: list[Predicted]) -> list[str]:
    """What the band over realizations leaves out."""
    silent = dict.fromkeys(each.series.output for each in predicted if np.isnan(each.noise).any())
    if not silent:
        return []
    return [f"no measurement noise is declared for {quoted(silent)}: the band holds the disturbances alone"]


def _pooled(series: Sequence[Compared]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Measured, predicted and deviation of all scored samples."""
    columns = [(one.measured[one.scored], one.predicted[one.scored], one.deviation[one.scored]) for one in series]
    y, predicted, deviation = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    return y, predicted, deviation


def _percent(series: Sequence[Compared]) -> float:
    y, predicted, _ = _pooled(series)
    return measure_fit(y, predicted)


def _rmse(series: Sequence[Compared]) -> float:
    y, predicted, _ = _pooled(series)
    return float(np.sqrt(np.mean((y - predicted) ** 2))) if y.size else float("nan")


def _coverage(series: Sequence[Compared]) -> float:
    y, predicted, deviation = _pooled(series)
    known = np.isfinite(deviation)
    inside = np.abs(y - predicted)[known] <= NORMAL * deviation[known]
    return float(np.mean(inside)) if inside.size else float("nan")


def _row(name: str, series: Sequence[Compared]) -> list[str]:
    percent, share = _percent(series), _coverage(series)
    return [
        name,
        f"{percent:.1f} %" if np.isfinite(percent) else "—",
        f"{_rmse(series):.4g}",
        f"{100.0 * share:.1f} %" if np.isfinite(share) else "—",
    ]
