"""A data set matched with a model: what drove the system, and which samples of which output count."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from daedal.data import Dataset, find_uniform_step, short
from daedal.errors import EstimationError, as_float, counted, is_real, nearest, quoted, show
from daedal.experiments.drive import Drive, match_data
from daedal.models import Model
from daedal.systems import System


@dataclass(frozen=True, eq=False)
class Series:
    """The samples of one output in one experiment; NaN where one is missing or not scored."""

    experiment: int
    output: str
    row: int  # of the output among those predicted
    places: np.ndarray  # of its times among all sample times of the experiment
    times: np.ndarray
    values: np.ndarray
    noise: np.ndarray | None = None  # standard deviation of each sample, where the data tell it

    @property
    def regular(self) -> bool:
        """Whether all intervals are alike, but for the jitter of a clock."""
        return self.times.size < 2 or find_uniform_step(self.times) is not None


@dataclass(frozen=True, eq=False)
class Experiment:
    """One data set and the model it belongs to, lined up.

    A simulation takes the system and its drive, a criterion the series to score, the filter the series as measurements.

    Attributes
    ----------
    outputs
        Outputs of the model that the data have, in the order of the model.
    series
        Their samples, of those that have any to score.
    factors
        Output → parameter of the model that its accuracy, as it is given, is multiplied by.
    """

    system: System
    data: Dataset
    drive: Drive
    outputs: tuple[str, ...]
    series: tuple[Series, ...]
    factors: Mapping[str, str] = field(default_factory=dict)


def list_datasets(verb: str, model: Any, data: Any) -> tuple[Dataset, ...]:
    """One or several data sets as a tuple; swapped arguments are told apart from wrong ones."""
    if isinstance(model, Dataset) or isinstance(data, (Model, System)):
        raise EstimationError(f"{verb} takes the model first and the data second.", "Exchange the two arguments.")
    listed = (data,) if isinstance(data, Dataset) else data
    if isinstance(listed, Sequence) and not isinstance(listed, str) and not listed:
        raise EstimationError(f"The list of Datasets that {verb} takes is empty.", "Give at least one Dataset.")
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise EstimationError(
            f"{verb} takes a Dataset, or a list of them, got {type(data).__name__}.",
            "Make one with Dataset(times, inputs=..., outputs=...) or read_csv(...).",
        )
    for one in listed:
        if not isinstance(one, Dataset):
            raise EstimationError(
                f"{verb} takes a list of Datasets, got one {type(one).__name__}.", "Give Datasets only."
            )
    return tuple(listed)


def match_experiments(
    system: System, data: Sequence[Dataset], transient: float = 0.0, factors: Mapping[str, str] | None = None
) -> tuple[Experiment, ...]:
    """Line up each data set with the model; the transient is simulated and not scored."""
    matched = (_match(system, one, number, transient) for number, one in enumerate(data))
    return tuple(replace(one, factors=factors or {}) for one in matched)


def check_transient(transient: Any) -> float:
    """A number of seconds from zero on."""
    if not is_real(transient) or isinstance(transient, bool) or not 0.0 <= as_float(transient) < np.inf:
        raise EstimationError(
            f"The transient must be a time from zero on, got {show(transient)}.", "Write for example transient=50.0."
        )
    return float(transient)


def _match(system: System, data: Dataset, number: int, transient: float) -> Experiment:
    model = system.model
    outputs = tuple(name for name in model.outputs if name in data.outputs)
    if not outputs:
        measured = next(iter(data.outputs), "")
        held = f", only {quoted(data.outputs)}" if data.outputs else ""
        raise EstimationError(
            f"The data '{data.name}' have no output of model '{model.name}'{held}.",
            nearest(measured, model.outputs) if model.outputs else "Declare outputs={'name': expression} in the model.",
        )
    drive = match_data(model, data)
    first = float(drive.times[0])
    if transient > 0.0 and transient >= drive.end - first:
        raise EstimationError(
            f"The transient of {short(transient)} is longer than the data '{data.name}', which last "
            f"{short(drive.end - first)}.",
            "Give a shorter transient: it counts from the first sample, in the time unit of the data.",
        )
    every = [_make_series(data, name, row, number, drive.times, first + transient) for row, name in enumerate(outputs)]
    series = tuple(one for one in every if np.isfinite(one.values).any())
    if not series:
        raise EstimationError(
            f"All samples of the data '{data.name}' that could be scored are missing (NaN).",
            f"Check how the file was read{', or give a shorter transient' * (transient > 0.0)}.",
        )
    return Experiment(system, data, drive, outputs, series)


def _make_series(data: Dataset, name: str, row: int, experiment: int, times: np.ndarray, begin: float) -> Series:
    samples = data.outputs[name]
    places = np.searchsorted(times, samples.times)
    reach = 1e-6 * float(np.median(np.diff(samples.times))) if samples.times.size > 1 else 0.0  # rounding of the times
    values = np.where(samples.times >= begin - reach, samples.values, np.nan)
    return Series(experiment, name, row, places, samples.times, values, samples.noise)


def check_enough(experiments: Sequence[Experiment], free: int) -> int:
    """The number of scored samples, which must reach the number of free parameters."""
    count = sum(int(np.isfinite(series.values).sum()) for one in experiments for series in one.series)
    if count < free:
        raise EstimationError(
            f"The data have {counted(count, 'scored sample')} for {counted(free, 'free number')}.",
            "Free fewer parameters, or give more data.",
        )
    return count
