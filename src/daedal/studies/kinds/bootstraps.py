"""Bootstraps: what the error of a fit is like, from fits to data like those that it was made from.

Parametric: the fitted model makes the data, disturbances and measurement noise drawn anew. The error is that of the
declared model; where it is wrong, so is the error.

Blocks (Künsch 1989; circular, Politis and Romano 1992): residuals of the simulation with the estimates are cut into
blocks of the given length, beginning anywhere, the end joined to the beginning, and laid side by side in random order,

    y*_k = ŷ_k + r_{(s_b + k mod l) mod N},   k = 0 … N − 1,   s_b uniform,

so that correlations shorter than a block stay as they are, whatever made them; blocks several times as long as the
residuals remember will do. They are centred before: otherwise their mean would be an error of every data set. Where
blocks meet, residuals jump, which a criterion that predicts each sample from those before would take for something that
the system did: of such a fit there is none.

H. R. Künsch, The jackknife and the bootstrap for general stationary observations, Ann. Statist. 17 (1989) 1217–1241.
D. N. Politis, J. P. Romano, A circular block-resampling procedure for stationary data, in: Exploring the Limits of
Bootstrap, Wiley (1992) 263–270.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import final

import numpy as np

from daedal.data import Dataset, Samples, find_uniform_step, short
from daedal.disturbances import derive_seed
from daedal.errors import StudyError, as_float, is_real, show
from daedal.estimation import Fit, Forecast, match_fit, predict_outputs
from daedal.studies.kinds.kind import Outline, Run, check_other_data
from daedal.studies.kinds.replicas import simulate_data

SAME = 1e-6  # of the largest prediction


@final
@dataclass(frozen=True)
class ParametricBootstrap:
    """Data from the fitted model, with disturbances and measurement noise of their own in each run.

    Examples
    --------
    >>> ParametricBootstrap()
    ParametricBootstrap()
    """

    def outline(self, fit: Fit) -> Outline:
        """Any number of runs."""
        check_other_data(fit)
        simulate_data(fit.model, fit.data, _list_values(fit), 0, fit.scales, fit.filters)  # says what cannot be
        return Outline(reading="bootstrap")

    def make_run(self, fit: Fit, number: int, seed: int) -> Run:
        """Data of the model at the estimates."""
        own = derive_seed(seed, "data of a study", number)
        return Run(simulate_data(fit.model, fit.data, _list_values(fit), own, fit.scales, fit.filters))


def _list_values(fit: Fit) -> list[Mapping[str, float]]:
    return [fit.values(k) for k in range(len(fit.data))]


@final
@dataclass(frozen=True)
class BlockBootstrap:
    """The simulation with the estimates, and blocks of its residuals in random order; of regular samples.

    Fits that predict each sample from those before, as a likelihood with disturbances does, are refused.

    Parameters
    ----------
    length
        Of a block, in the time unit of the data: several times as long as residuals are correlated.

    Examples
    --------
    >>> BlockBootstrap(length=5.0)
    BlockBootstrap(length=5.0)
    """

    length: float

    def __post_init__(self) -> None:
        if not is_real(self.length) or isinstance(self.length, bool) or not 0.0 < as_float(self.length) < np.inf:
            raise StudyError(
                f"The length of a block must be a positive time, got {show(self.length)}.",
                "Write BlockBootstrap(length=5.0), several times as long as residuals are correlated.",
            )
        object.__setattr__(self, "length", float(self.length))

    def outline(self, fit: Fit) -> Outline:
        """Any number of runs; samples must be regular, and blocks shorter than the data."""
        check_other_data(fit)
        for data in fit.data:
            for name in fit.model.outputs:
                if name in data.outputs:
                    self._count(data, name)
            _check_common_times(fit, data)
        if fit.criterion.condition is not None and any(_learns(one) for one in _predict(fit)):
            raise StudyError(
                f"A block bootstrap lays residuals of a simulation side by side, but {type(fit.criterion).__name__} "
                "predicts each sample from those before, and would take the jumps between blocks for disturbances.",
                "Use ParametricBootstrap(), or fit by OutputError() for this study.",
            )
        return Outline(reading="bootstrap")

    def make_run(self, fit: Fit, number: int, seed: int) -> Run:
        """Blocks of residuals that begin elsewhere; outputs of one experiment are cut alike."""
        rng = np.random.default_rng(derive_seed(seed, "data of a study", number))
        forecasts = _predict(fit)
        return Run(
            [
                self._resample(data, [one for one in forecasts if one.series.experiment == k], rng)
                for k, data in enumerate(fit.data)
            ]
        )

    def _count(self, data: Dataset, name: str) -> int:
        """Samples of a block."""
        samples = data.outputs[name]
        step = find_uniform_step(samples.times)
        if step is None:
            raise StudyError(
                f"A block bootstrap needs regular samples, but those of '{name}' in the data '{data.name}' have "
                "intervals that differ.",
                "Use ParametricBootstrap(), or data.resample(step) before the fit.",
            )
        count = max(round(self.length / step), 1)
        if 2 * count > samples.times.size:
            raise StudyError(
                f"Blocks of {short(self.length)} are too long for '{name}' in the data '{data.name}', which last "
                f"{short(float(samples.times[-1] - samples.times[0]))}: there must be two of them at least.",
                "Give a shorter length, or use ParametricBootstrap().",
            )
        return count

    def _resample(self, data: Dataset, forecasts: Sequence[Forecast], rng: np.random.Generator) -> Dataset:
        if not forecasts:
            return data
        size = forecasts[0].series.times.size
        count = self._count(data, forecasts[0].series.output)
        scored = np.any([np.isfinite(one.residual) for one in forecasts], axis=0)
        begin = int(np.argmax(scored))  # a transient stays as it is
        usable = size - begin
        starts = rng.integers(usable, size=-(-usable // count))
        places = begin + ((starts[:, None] + np.arange(count)).ravel()[:usable]) % usable
        outputs = {one.series.output: _lay(data.outputs[one.series.output], one, begin, places) for one in forecasts}
        return replace(data, outputs={**data.outputs, **outputs})


def _learns(forecast: Forecast) -> bool:
    """Whether predictions follow the samples before, which a simulation from the start on does not."""
    if forecast.simulated is None:
        return True
    apart = np.abs(forecast.mean - forecast.simulated[0])
    return not bool(np.nanmax(apart, initial=0.0) <= SAME * np.nanmax(np.abs(forecast.mean), initial=0.0))


def _check_common_times(fit: Fit, data: Dataset) -> None:
    times = [samples.times for name, samples in data.outputs.items() if name in fit.model.outputs]
    if any(not np.array_equal(times[0], other) for other in times[1:]):
        raise StudyError(
            f"A block bootstrap cuts all outputs alike, but those of the data '{data.name}' have times of their own.",
            "Give them common times, with NaN where a sample is missing, or use ParametricBootstrap().",
        )


@lru_cache(maxsize=1)
def _predict(fit: Fit) -> tuple[Forecast, ...]:
    """What the estimates predict from the start on, once for all runs."""
    return predict_outputs(match_fit(fit))


def _lay(samples: Samples, forecast: Forecast, begin: int, places: np.ndarray) -> Samples:
    """Residuals of these places on the simulation; a missing sample moves with its block."""
    mean = forecast.mean if forecast.simulated is None else forecast.simulated[0]
    size = np.ones(mean.size) if samples.noise is None else _fill_noise(samples.times, samples.noise)
    residual = (samples.values - mean) / size
    centred = residual - np.nanmean(residual[begin:])
    values = samples.values.copy()
    values[begin:] = mean[begin:] + size[begin:] * centred[places]
    return Samples(samples.times, values, None if samples.noise is None else size)


def _fill_noise(times: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """A missing sample, which a block will fill, has the accuracy of neighbouring samples."""
    known = np.isfinite(noise) & (noise > 0.0)
    return np.where(known, noise, np.interp(times, times[known], noise[known])) if known.any() else noise
