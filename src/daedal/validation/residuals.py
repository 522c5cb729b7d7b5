"""`resid`: what a fit leaves unexplained, and whether anything in it could still be explained."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from daedal.data import Dataset, FrozenMapping, index_times
from daedal.errors import EstimationError, counted, interruptible, look_up, quoted
from daedal.estimation import (
    Autoregression,
    CorrelationTest,
    Fit,
    Spent,
    describe,
    independence,
    label_experiments,
    match_fit,
    whiteness,
)
from daedal.experiments import describe_absent, unite_units
from daedal.linear import one_thread
from daedal.progress import Progress
from daedal.tables import add_unit, align_columns, make_frame, stack_frames, write_html
from daedal.validation.arguments import check_data, check_fit
from daedal.validation.influence import Influence, find_influence
from daedal.validation.prediction import Predicted, predict_fit

if TYPE_CHECKING:
    from datetime import datetime

    import pandas

LAGS = 25  # at most, without a longer filter
SAMPLES_PER_LAG = 10
RESPECTED = "; the standard errors respect that"  # as long as nothing else is wrong
FEW = 30  # samples below which p-values are rough


@final
@dataclass(frozen=True, eq=False)
class OutputResidual:
    """The residual of one output, experiment by experiment, and what tests say about it.

    Attributes
    ----------
    times, values
        Experiment → (time,); values are y − ŷ, NaN where a sample is missing or not scored.
    tested
        Experiment → (time,), the series that was tested: in units of the accuracy, whitened where the fit whitens; of
        other data than those of the fit, less what errors of its estimates explain.
    whiteness
        Autocorrelation, and the test that there is none.
    inputs
        Input → correlation of the residual with its past (positive lags), present and future, both filtered by what
        whitens the residual, and the test that there is none.
    sentence
        What that means.
    """

    output: str
    times: Mapping[str, np.ndarray]
    values: Mapping[str, np.ndarray]
    tested: Mapping[str, np.ndarray]
    whiteness: CorrelationTest
    inputs: Mapping[str, CorrelationTest]
    sentence: str

    @property
    def white(self) -> bool:
        """Whether the residual passes the test of whiteness."""
        return self.whiteness.passed

    @property
    def independent(self) -> bool:
        """Whether it passes the test of independence of every input."""
        return all(test.passed for test in self.inputs.values())

    @property
    def rmse(self) -> float:
        """Root mean square of y − ŷ."""
        return float(np.sqrt(np.nanmean(np.concatenate(list(self.values.values())) ** 2)))


@final
@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals of all outputs with their tests; `residuals["y"]` is one of them.

    `origins` has the date at time 0 of experiments whose data tell it.

    Examples
    --------
    >>> from daedal import Dataset, Model, der, fit, resid, symbols
    >>> x, k = symbols("x k")
    >>> rate, outputs = {"rate": der(x) == -k * x}, {"x": x}
    >>> decay = Model(name="x", equations=rate, unknowns=[x], outputs=outputs, parameters={k: 2.0}, initial={x: 1.0})
    >>> times = [0.1 * k for k in range(40)]
    >>> errors = [0.01 * (-1) ** (k * (k + 1) // 2) for k in range(40)]
    >>> data = Dataset(times, outputs={"x": [2.718281828 ** -t + e for t, e in zip(times, errors)]})
    >>> left = resid(fit(decay, data, free=["k"]))
    >>> left["x"].white
    False
    """

    model: str
    method: str
    experiments: tuple[str, ...]
    outputs: Mapping[str, OutputResidual]
    notes: tuple[str, ...]
    units: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, "datetime"] = field(default_factory=dict)

    def __getitem__(self, name: Any) -> OutputResidual:
        return look_up(self.outputs, name, EstimationError, "The residuals have no output")

    def to_pandas(self) -> "pandas.DataFrame":
        """Residuals, and as they were tested, over `experiment`, `output` and `time`; dates if all data have them."""
        origins = self.origins if len(self.origins) == len(self.experiments) else {}
        frames = {
            (experiment, name): make_frame(
                "time",
                index_times(times, origins.get(experiment)),
                {"residual": one.values[experiment], "tested": one.tested[experiment]},
            )
            for name, one in self.outputs.items()
            for experiment, times in one.times.items()
        }
        return stack_frames(["experiment", "output"], frames, self.units)

    def __str__(self) -> str:
        return "\n".join(self._list_lines())

    def _list_lines(self) -> list[str]:
        inputs = list(dict.fromkeys(name for one in self.outputs.values() for name in one.inputs))
        rows = [["", "RMSE", "lags", "p white", *(f"p independent of {name}" for name in inputs)]]
        for name, one in self.outputs.items():
            tests = [_format_p(one.inputs[key]) if key in one.inputs else "—" for key in inputs]
            rows.append(
                [
                    add_unit(name, self.units),
                    f"{one.rmse:.4g}",
                    str(one.whiteness.lags.size),
                    _format_p(one.whiteness),
                    *tests,
                ]
            )
        return [
            f"residuals of '{self.model}' by {self.method} on {quoted(self.experiments)}",
            *align_columns(rows),
            *(f"  {name}: {one.sentence}" for name, one in self.outputs.items()),
            *(f"  {note}" for note in self.notes),
        ]

    def _repr_html_(self) -> str:
        return write_html(self._list_lines())

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.outputs)

    __repr__ = __str__


def _format_p(test: CorrelationTest) -> str:
    return "—" if np.isnan(test.p_value) else "< 0.0001" if test.p_value < 1e-4 else f"{test.p_value:.2g}"


@interruptible
@one_thread
def resid(fit: Fit, data: Dataset | Sequence[Dataset] | None = None) -> Residuals:
    """Test the residuals of a fit: are they white, and independent of the inputs?

    Where the fit whitens, the whitened residual is tested; of a fit by `Likelihood`, the innovations. Means are not
    subtracted: an offset is a model error too. Each test rejects a right model in 5 % of all cases, and rejects where
    its picture shows a correlation outside the band: past, present and future of an input count, a residual may be
    autocorrelated, and what the estimate has taken out of the data of the fit, or its errors bring into others, is
    allowed for.

    Parameters
    ----------
    fit
        What `fit` returned.
    data
        Other data than those of the fit; local parameters are then estimated again.

    Examples
    --------
    >>> from daedal import Dataset, Model, der, fit, symbols
    >>> x, k = symbols("x k")
    >>> decay = Model(
    ...     name="decay", equations={"rate": der(x) == -k * x}, unknowns=[x], outputs={"x": x}, parameters={k: 2.0},
    ...     initial={x: 1.0},
    ... )
    >>> times = np.arange(100) * 0.1
    >>> noise = 0.01 * np.random.default_rng(1).standard_normal(100)
    >>> found = fit(decay, Dataset(times, outputs={"x": np.exp(-times) + noise}), free=["k"])
    >>> resid(found)["x"].white
    True
    """
    check_fit("resid", fit, data)
    sets = fit.data if data is None else check_data("resid", fit, data)
    with Progress(f"residuals of '{fit.model.name}':", remedy="take fewer samples") as progress:
        progress.stage("lining up fit and data")
        fitted = match_fit(fit, None if data is None else sets)
        predicted = predict_fit(fitted)
    labels = label_experiments(sets)
    series = [one.series for one in predicted]
    influence = find_influence(fitted, series, [one.forecast.residual for one in predicted])
    outputs: dict[str, OutputResidual] = {}
    for name in dict.fromkeys(one.output for one in series):
        mine = [one for one in predicted if one.series.output == name]
        outputs[name] = _test_output(fit, mine, labels, influence)
    return Residuals(
        model=fit.model.name,
        method=describe(fit.criterion),
        experiments=tuple(labels),
        outputs=FrozenMapping(outputs),
        notes=(*fitted.notes, *_list_remarks(predicted), *describe_absent(fit.model, fitted.problem.data)),
        units=unite_units(fit.model, sets),
        origins=FrozenMapping(
            {label: one.origin for label, one in zip(labels, sets, strict=True) if one.origin is not None}
        ),
    )


def _test_output(fit: Fit, mine: list[Predicted], labels: list[str], influence: Influence) -> OutputResidual:
    output = mine[0].series.output
    whitened, residuals, spent = fit.filters.get(output), influence.select(output), influence.spend(output)
    errors = [one.series.values - one.forecast.mean for one in mine]
    lags = _count_lags(output, residuals, 0 if whitened is None else whitened.order)
    if whitened is None or not whitened.order:
        white = whiteness(residuals, lags, spent)
    elif influence.own:
        white = whiteness(residuals, lags, _spend_filter(whitened, spent, residuals, errors))
    else:
        plain = influence.select_whole(output)
        allowed = _spend_filter(whitened, spent, plain, errors, fit.samples)
        white = whiteness(allowed.remove(plain), lags, allowed)
    tests = {
        name: independence(residuals, values, lags, spent, whitened) for name, values in _list_inputs(mine).items()
    }
    keys = [labels[one.series.experiment] for one in mine]
    return OutputResidual(
        output=output,
        times=FrozenMapping(dict(zip(keys, (one.series.times for one in mine), strict=True))),
        values=FrozenMapping(dict(zip(keys, errors, strict=True))),
        tested=FrozenMapping(dict(zip(keys, (e * influence.units[output] for e in residuals), strict=True))),
        whiteness=white,
        inputs=FrozenMapping(tests),
        sentence=_describe_tests(fit, mine[0], white, tests),
    )


def _spend_filter(
    whitened: Autoregression, spent: Spent, residuals: list[np.ndarray], errors: list[np.ndarray], before: int = 0
) -> Spent:
    """A filter that was made from these residuals has used them up like other estimates, or `before` from as many."""
    innovations = np.concatenate([whitened.whiten(e) for e in errors])
    everything = np.concatenate(residuals)
    unit = np.sqrt(np.nanmean(innovations**2) / np.nanmean(everything**2))
    slopes = [_delay_errors(e, whitened.order) / unit for e in errors]
    return spent.add(slopes, before / max(int(np.isfinite(everything).sum()), 1))


def _delay_errors(errors: np.ndarray, order: int) -> np.ndarray:
    """The errors 1 … order samples before each, (lag, time): the slopes of a filter's coefficients."""
    filled = np.concatenate([np.zeros(order), np.nan_to_num(errors)])
    return np.array([filled[order - k : filled.size - k] for k in range(1, order + 1)])


def _list_inputs(mine: list[Predicted]) -> dict[str, list[np.ndarray]]:
    """Every measured input at the samples, those that the model does not have too: it may lack just them."""

    def is_known(one: Predicted, name: str) -> bool:
        signal = one.data.inputs.get(name)
        return signal is not None and signal.start <= one.series.times[0] and one.series.times[-1] <= signal.end

    names = [name for name in mine[0].data.inputs if all(is_known(one, name) for one in mine)]
    return {name: [one.data.inputs[name](one.series.times) for one in mine] for name in names}


def _count_lags(output: str, residuals: list[np.ndarray], order: int) -> int:
    """Few enough for the number of samples, and beyond the filter."""
    count = sum(int(np.isfinite(e).sum()) for e in residuals)
    longest = max(e.size for e in residuals)
    if count < 3 or longest < 2:
        raise EstimationError(
            f"The residual of '{output}' has {counted(count, 'scored sample')}, too few for a test.", "Give more data."
        )
    wanted = max(min(LAGS, count // SAMPLES_PER_LAG), min(order + 10, count // 2) if order else 1)
    return min(wanted, longest - 1)


def _describe_tests(fit: Fit, one: Predicted, white: CorrelationTest, tests: Mapping[str, CorrelationTest]) -> str:
    told = _describe_whiteness(fit, one, white)
    right = all(test.passed for test in tests.values())
    parts = [told if right else told.removesuffix(RESPECTED).replace(f"{RESPECTED}, and", ";")]
    depends = [name for name, test in tests.items() if not test.passed]
    ahead = [name for name in depends if tests[name].outside.max() < 0]
    still = [name for name, test in tests.items() if not np.isfinite(test.p_value)]
    free = [name for name in tests if name not in depends and name not in still]
    depends = [name for name in depends if name not in ahead]
    if free:
        parts.append(f"independent of {quoted(free)}")
    if depends:
        parts.append(f"depends on {quoted(depends)}, so the model misses part of what that does")
    if ahead:
        parts.append(f"depends on the future of {quoted(ahead)} alone: feedback acts on it, or its clock is late")
    if still:
        parts.append(f"nothing can be said about {quoted(still)}, which varies too little or has too few samples")
    return "; ".join(parts)


def _describe_whiteness(fit: Fit, one: Predicted, white: CorrelationTest) -> str:
    subject = "the whitened residual" if fit.filters else "the residual"
    if one.forecast.simulated is not None:  # one step ahead
        return _describe_innovations(white)
    if np.isnan(white.p_value):
        return f"{subject} is zero"
    if white.passed:
        return f"{subject} is white"
    told = f"{subject} is autocorrelated"
    if fit.filters:
        return f"{told}: the filter leaves something, a higher order (whiten=...) may use it"
    if one.forecast.realizations is not None:
        use = "whiten=True would" if one.series.regular else "Likelihood, which needs no regular samples, may"
        return f"{told}, as what the disturbances do beyond their mean stays in it{RESPECTED}, and {use} use it"
    if fit.model.disturbances:
        ignoring = type(fit.criterion).__name__
        return f"{told}: {ignoring} ignores the disturbances, which stay in it{RESPECTED}"
    return f"{told}: disturbances or dynamics that the model lacks act on the output{RESPECTED}"


def _describe_innovations(white: CorrelationTest) -> str:
    if white.passed:
        return "the innovations are white"
    return (
        "the innovations are autocorrelated: the model's dynamics or disturbances leave something unexplained, and its "
        "standard errors are too small"
    )


def _list_remarks(predicted: list[Predicted]) -> list[str]:
    notes = []
    irregular = dict.fromkeys(one.series.output for one in predicted if not one.series.regular)
    if irregular:
        notes.append(f"the samples of {quoted(irregular)} are irregular: lags count samples, not time")
    counts: dict[str, int] = {}
    for one in predicted:
        counts[one.series.output] = counts.get(one.series.output, 0) + int(np.isfinite(one.forecast.residual).sum())
    few = [name for name, count in counts.items() if count < FEW]
    if few:
        notes.append(f"{quoted(few)} has fewer than {FEW} samples: p-values are rough")
    return notes
