"""`compare`: how well a fit, or a model as it is, predicts data that it was not made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from daedal.data import Dataset, FrozenMapping, Signal, frozen, index_times
from daedal.disturbances import make_seed
from daedal.errors import DaedalError, EstimationError, counted, interruptible, nearest, quoted, show
from daedal.estimation import (
    BEGINS,
    Fit,
    FittedProblem,
    describe,
    describe_cut,
    label_experiments,
    match_fit,
    measure_fit,
)
from daedal.experiments import describe_absent, unite_units
from daedal.linear import one_thread
from daedal.models import Model
from daedal.progress import Progress
from daedal.systems import System, build
from daedal.tables import add_unit, align_columns, make_frame, stack_frames, write_html
from daedal.validation.arguments import check_data, check_horizon
from daedal.validation.prediction import Predicted, predict_fit, predict_model
from daedal.validation.prediction_errors import compute_prediction_errors

if TYPE_CHECKING:
    from datetime import datetime

    import pandas

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
        known.
    uncertainty
        Standard deviation of the prediction over what is open of the estimates; None where it was not asked for,
        or cannot be told. The band of 95 % is predicted ± 1.96 √(deviation² + uncertainty²).
    scored
        Which samples count: not those that are missing or in the transient.
    steps_ahead
        Number of samples → the same so many steps ahead, from the samples before: for fits by `Likelihood`.
    prediction
        "simulated", "one step ahead", "10 steps ahead".
    origin
        The date at time 0, where the data tell it.
    """

    experiment: str
    output: str
    times: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    deviation: np.ndarray
    scored: np.ndarray
    prediction: str = "simulated"
    origin: "datetime | None" = None
    steps_ahead: "Mapping[int, Compared]" = field(default_factory=lambda: FrozenMapping({}))
    uncertainty: np.ndarray | None = None

    @property
    def band(self) -> np.ndarray:
        """Standard deviation of a sample about the prediction by all that is uncertain; NaN without a deviation."""
        return self.deviation if self.uncertainty is None else np.hypot(self.deviation, np.nan_to_num(self.uncertainty))

    @property
    def ahead(self) -> "Compared | None":
        """The prediction one step ahead, where there is one."""
        return self.steps_ahead.get(1)

    @property
    def fit_percent(self) -> float:
        """100 (1 − |y − ŷ| / |y − mean y|) over the scored samples."""
        return _compute_fit_percent([self])

    @property
    def rmse(self) -> float:
        """Root mean square of y − ŷ over the scored samples."""
        return _compute_rmse([self])

    @property
    def coverage(self) -> float:
        """Share of the scored samples that lie in the band of 95 %; NaN without one."""
        return _compute_coverage([self])


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
    relation
        What they are to the fit: "data of the fit", "held-out data", or "data" where a part is of the fit, or a model
        was not fitted.
    local
        Local parameters as estimated on these data.
    realizations, seed
        What the prediction was averaged over; None when the disturbances are zero.
    units
        Name, or "time" → text, as the model or the data declare them.
    inputs
        Experiment → input → Signal: what drove the system.

    Examples
    --------
    >>> from daedal import Dataset, Model, compare, der, symbols
    >>> x, k = symbols("x k")
    >>> rate, outputs = {"rate": der(x) == -k * x}, {"x": x}
    >>> decay = Model(name="x", equations=rate, unknowns=[x], outputs=outputs, parameters={k: 2.0}, initial={x: 1.0})
    >>> data = Dataset([0.0, 0.5, 1.0, 1.5], outputs={"x": [1.0, 0.61, 0.36, 0.23]})
    >>> judged = compare(decay.with_parameters({"k": 1.0}), data)
    >>> round(judged.fit_percent["x"], 1)
    98.1
    """

    model: str
    method: str
    relation: str
    series: tuple[Compared, ...]
    local: Mapping[str, float]
    realizations: int | None
    seed: int | None
    notes: tuple[str, ...]
    units: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, Mapping[str, Signal]] = field(default_factory=dict)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs that were compared."""
        return tuple(dict.fromkeys(one.output for one in self.series))

    @property
    def fit_percent(self) -> Mapping[str, float]:
        """Output → 100 (1 − |y − ŷ| / |y − mean y|)."""
        return FrozenMapping({name: _compute_fit_percent(self._of(name)) for name in self.outputs})

    @property
    def rmse(self) -> Mapping[str, float]:
        """Output → root mean square of y − ŷ."""
        return FrozenMapping({name: _compute_rmse(self._of(name)) for name in self.outputs})

    @property
    def coverage(self) -> Mapping[str, float]:
        """Output → share of the samples in the band of 95 %."""
        return FrozenMapping({name: _compute_coverage(self._of(name)) for name in self.outputs})

    @property
    def horizons(self) -> tuple[int, ...]:
        """How many steps ahead it was predicted, beside the simulation."""
        return tuple(self.series[0].steps_ahead)

    def describe_data(self) -> str:
        """The data with what they are to the fit: held-out data 'night'."""
        labels = quoted(dict.fromkeys(one.experiment for one in self.series))
        return labels if self.relation == "data" else f"{self.relation} {labels}"

    def to_pandas(self) -> "pandas.DataFrame":
        """Samples and predictions over `experiment`, `output`, `prediction` and `time`; dates if all data have them."""
        dated = all(one.origin is not None for one in self.series)
        every = [kind for one in self.series for kind in (one, *one.steps_ahead.values())]
        columns = ("measured", "predicted", "deviation", "scored")
        frames = {
            (one.experiment, one.output, one.prediction): make_frame(
                "time",
                index_times(one.times, one.origin if dated else None),
                {name: getattr(one, name) for name in columns},
            )
            for one in every
        }
        return stack_frames(["experiment", "output", "prediction"], frames, self.units)

    def _of(self, output: str) -> list[Compared]:
        return [one for one in self.series if one.output == output]

    def __getitem__(self, key: Any) -> Compared:
        output, experiment = (key[0], show(key[1], str)) if isinstance(key, tuple) and len(key) == 2 else (key, None)
        output = show(output, str)
        series = self._of(output)
        if not series:
            raise EstimationError(f"The comparison has no output '{output}'.", nearest(output, self.outputs))
        labels = [one.experiment for one in series]
        if experiment is None and len(series) > 1:
            raise EstimationError(
                f"'{output}' was measured in {len(series)} experiments.",
                f"Write comparison['{output}', '{labels[0]}'].",
            )
        if experiment is not None and experiment not in labels:
            raise EstimationError(f"There is no experiment '{experiment}'.", nearest(experiment, labels))
        return series[labels.index(experiment) if experiment is not None else 0]

    def __str__(self) -> str:
        return "\n".join(self._list_lines())

    def _list_lines(self) -> list[str]:
        labels = list(dict.fromkeys(one.experiment for one in self.series))
        count = sum(int(one.scored.sum()) for one in self.series)
        banded = any(np.isfinite(one.deviation).any() for one in self.series)
        rows = [["", "fit", "RMSE", "in the 95 % band"]]
        for name in self.outputs:
            rows.append(_make_row(f"{add_unit(name, self.units)}, simulated", self._of(name)))
            for steps in self.horizons:
                ahead = [one.steps_ahead[steps] for one in self._of(name)]
                rows.append(_make_row(f"  {ahead[0].prediction}", ahead))
            if len(labels) > 1:
                rows += [_make_row(f"  {one.experiment}", [one]) for one in self._of(name)]
        lines = [
            f"comparison of '{self.model}'{self.method} with {self.describe_data()}: {counted(count, 'sample')}",
            *align_columns(rows if banded else [row[:3] for row in rows]),
        ]
        if self.local:
            lines.append(f"  {', '.join(f'{name} = {value:.5g}' for name, value in self.local.items())}")
        return [*lines, *(f"  {note}" for note in self.notes)]

    def _repr_html_(self) -> str:
        return write_html(self._list_lines())

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.outputs)

    __repr__ = __str__


@interruptible
@one_thread
def compare(
    fit: Fit | Model | System,
    data: Dataset | Sequence[Dataset],
    *,
    horizon: float | Sequence[float] | None = None,
    uncertainty: bool = False,
    rng: int | np.random.Generator | None = None,
) -> Comparison:
    """Predict the outputs of data, as a rule of data that were held out, and say how well that went.

    Data that continue an experiment of the fit, as the second part of `Dataset.split` does (the same name and inputs,
    later samples), are simulated from where that experiment starts; others begin at the initial values of the fit.
    Local parameters are estimated again on the data, from several starts. What was done is among the notes.

    Parameters
    ----------
    fit
        A Fit: it predicts as its criterion does, `SimulationPEM` by the mean over realizations, `Likelihood` by
        simulation and one step ahead, from a start that it estimates from the data. Or a Model or System:
        disturbances are zero.
    data
        A Dataset, or a list of them; the transient of the fit's criterion is simulated, not scored.
    horizon
        How many samples ahead to predict, or a list such as [1, 10]: for fits by `Likelihood` and linear models. The
        simulation, np.inf, is always shown.
    uncertainty
        Whether the band of 95 % holds what is open of a fit's estimates too, by the delta method.
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
      x, simulated  98.1 %  0.005507
    """
    sets = check_data("compare", fit, data)
    steps = check_horizon(horizon, sets)
    if not isinstance(uncertainty, (bool, np.bool_)):
        raise EstimationError(f"uncertainty must be True or False, got {show(uncertainty)}.", "Leave it out.")
    if not isinstance(fit, Fit):
        return _compare_model(fit, sets, steps)
    with Progress(f"comparing '{fit.model.name}':", remedy="compare fewer samples") as progress:
        progress.stage("lining up fit and data")
        fitted = match_fit(fit, sets, None if rng is None else make_seed(rng))
        predicted = predict_fit(fitted, steps)
    space = fitted.problem.coordinates
    local = {
        item.name: float(value)
        for item, value in zip(space.items, space.natural(fitted.point), strict=True)
        if item.experiment is not None
    }
    realizations = predicted[0].forecast.realizations
    series, untold = _list_compared(predicted, sets, steps), []
    if uncertainty:
        series, untold = _add_uncertainty(fitted, predicted, series)
    return Comparison(
        model=fit.model.name,
        method=f" by {describe(fit.criterion)}",
        relation=_find_relation(fit, sets),
        series=series,
        local=FrozenMapping(local),
        realizations=realizations,
        seed=None if realizations is None else fitted.problem.seed,
        notes=(
            *fitted.notes,
            *_note_missing(fit.model, predicted),
            *_note_undefined(series),
            *untold,
            *describe_absent(fit.model, sets),
        ),
        units=unite_units(fit.model, sets),
        inputs=_list_inputs(sets),
    )


def _list_inputs(sets: tuple[Dataset, ...]) -> Mapping[str, Mapping[str, Signal]]:
    return FrozenMapping({label: one.inputs for label, one in zip(label_experiments(sets), sets, strict=True)})


def _add_uncertainty(
    fitted: FittedProblem, predicted: list[Predicted], series: tuple[Compared, ...]
) -> tuple[tuple[Compared, ...], list[str]]:
    """The series with what estimates leave open, or a note why not."""
    try:
        errors = compute_prediction_errors(fitted, predicted)
    except DaedalError as error:
        return series, [
            f"the band leaves the uncertainty of the estimates out: {error.sentence[:1].lower()}{error.sentence[1:]}"
        ]
    return tuple(replace(one, uncertainty=frozen(e)) for one, e in zip(series, errors, strict=True)), []


def _find_relation(fit: Fit, sets: tuple[Dataset, ...]) -> str:
    own = [any(one == other for other in fit.data) for one in sets]
    return "data of the fit" if all(own) else "data" if any(own) else "held-out data"


def _note_missing(model: Model, predicted: list[Predicted]) -> list[str]:
    """What the band does not contain."""
    ignoring = [one for one in predicted if one.forecast.spread is None]
    if ignoring:
        return ["disturbances are zero: the 95 % band holds measurement noise only"] if model.disturbances else []
    silent = dict.fromkeys(one.series.output for one in predicted if np.isnan(one.noise).any())
    if not silent:
        return []
    return [f"no measurement noise is declared for {quoted(silent)}: the band holds the disturbances alone"]


def _note_undefined(series: tuple[Compared, ...]) -> list[str]:
    """Which predictions are no numbers, and why."""
    lost = {
        one.output: float(one.times[one.scored][~np.isfinite(one.predicted[one.scored])][0])
        for one in reversed(series)
        if not np.isfinite(one.predicted[one.scored]).all()
    }
    return [
        f"{quoted([name])}, simulated: from {when:g} on, disturbed runs leave where the equations are defined (the root"
        " or logarithm of something negative), so that their mean is no number; bound what is inside, as in"
        " np.sqrt(np.maximum(h, 0.0))"
        for name, when in lost.items()
    ]


def _compare_model(model: Any, sets: tuple[Dataset, ...], steps: tuple[int, ...]) -> Comparison:
    if not isinstance(model, (Model, System)):
        raise EstimationError(
            f"compare takes a Fit or a Model first, got {type(model).__name__}.", "Give what fit(...) returns."
        )
    system = model if isinstance(model, System) else build(model)
    predicted = predict_model(system, sets, steps)
    ignored = system.model.disturbances and not steps
    return Comparison(
        model=system.model.name,
        method="",
        relation="data",
        series=_list_compared(predicted, sets, steps),
        local=FrozenMapping({}),
        realizations=None,
        seed=None,
        notes=(
            *(("disturbances are zero",) if ignored else ()),
            *([BEGINS] if steps else describe_cut(sets)),
            *describe_absent(system.model, sets),
        ),
        units=unite_units(system.model, sets),
        inputs=_list_inputs(sets),
    )


def _list_compared(
    predicted: list[Predicted], sets: tuple[Dataset, ...], steps: tuple[int, ...]
) -> tuple[Compared, ...]:
    labels = label_experiments(sets)
    return tuple(_compare_series(one, labels[one.series.experiment], steps) for one in predicted)


def _compare_series(one: Predicted, label: str, steps: tuple[int, ...]) -> Compared:
    forecast = one.forecast
    near = _make_compared(one, label, forecast.mean, forecast.spread)
    if forecast.simulated is None:
        return near
    ahead = {1: near} if not steps else {k: _make_compared(one, label, *forecast.further[k]) for k in steps}
    named = {k: replace(series, prediction=name_horizon(k)) for k, series in ahead.items()}
    return replace(_make_compared(one, label, *forecast.simulated), steps_ahead=FrozenMapping(named))


def name_horizon(steps: int) -> str:
    """So many steps ahead, in words."""
    return "one step ahead" if steps == 1 else f"{steps} steps ahead"


def _make_compared(one: Predicted, label: str, mean: np.ndarray, spread: np.ndarray | None) -> Compared:
    deviation = np.hypot(0.0 if spread is None else spread, np.nan_to_num(one.noise))
    return Compared(
        experiment=label,
        output=one.series.output,
        times=one.series.times,
        measured=one.data.outputs[one.series.output].values,
        predicted=frozen(mean.copy()),
        deviation=frozen(np.where(deviation > 0.0, deviation, np.nan)),
        scored=np.isfinite(one.series.values),
        origin=one.data.origin,
    )


def _pool(series: Sequence[Compared]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Measured, predicted and standard deviation about it of all scored samples."""
    columns = [(one.measured[one.scored], one.predicted[one.scored], one.band[one.scored]) for one in series]
    y, predicted, deviation = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    return y, predicted, deviation


def _compute_fit_percent(series: Sequence[Compared]) -> float:
    y, predicted, _ = _pool(series)
    return measure_fit(y, predicted)


def _compute_rmse(series: Sequence[Compared]) -> float:
    y, predicted, _ = _pool(series)
    return float(np.sqrt(np.mean((y - predicted) ** 2))) if y.size else float("nan")


def _compute_coverage(series: Sequence[Compared]) -> float:
    y, predicted, deviation = _pool(series)
    if not np.isfinite(predicted).all():  # of what could be predicted alone, a share would flatter
        return float("nan")
    known = np.isfinite(deviation)
    inside = np.abs(y - predicted)[known] <= NORMAL * deviation[known]
    return float(np.mean(inside)) if inside.size else float("nan")


def _make_row(name: str, series: Sequence[Compared]) -> list[str]:
    percent, share, error = _compute_fit_percent(series), _compute_coverage(series), _compute_rmse(series)
    return [
        name,
        f"{percent:.1f} %" if np.isfinite(percent) else "—",
        f"{error:.4g}" if np.isfinite(error) else "—",
        f"{100.0 * share:.1f} %" if np.isfinite(share) else "—",
    ]
