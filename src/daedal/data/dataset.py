"""One experiment: what drove the system, and what was measured."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from daedal import data
from daedal.data.acceptance import (
    accept_samples,
    accept_signal,
    accept_units,
    check_names,
    check_noise_owners,
    check_preparation,
    choose_intersample,
    choose_start_time,
    unite_times,
)
from daedal.data.arrays import Array, FrozenMapping, about, ascending, frozen
from daedal.data.samples import Samples
from daedal.data.signal import IntersampleChoice, Signal
from daedal.errors import DataError, look_up, show

if TYPE_CHECKING:
    from datetime import datetime

    import pandas
    import xarray

    from daedal.data.conversion import Columns

NONE: Mapping[str, Any] = FrozenMapping({})


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Dataset:
    """One experiment: known inputs as functions of time, measured outputs as samples.

    Parameters
    ----------
    times : array (time,), optional
        Sample times of everything below that is given as an array; a time may repeat where an output was read several
        times. Dates, with or without a time zone, become seconds since the first, which is the `origin`. Without it,
        all output times together (without outputs, all input times).
    inputs : mapping of name to Signal or array (time,)
        What drove the system. An array is sampled at `times`.
    outputs : mapping of name to array (time,) or Samples
        What was measured; NaN is a missing sample. `Samples` have times of their own.
    t0 : float, optional
        Where the model starts, not after the first sample, which is the default.
    name : str
        How messages and tables call this experiment.
    intersample : {"foh", "zoh", "spline"}, or mapping of input to one of these
        What inputs given as arrays do between their samples, "foh" where a mapping leaves one out; a `Signal` knows it
        by itself.
    measurement_noise : mapping of output to array (time,) or number
        The standard deviation of each sample, or of all samples, of outputs given as arrays. It counts before the
        number that a model declares.
    origin : datetime, optional
        The date at time 0, where times are seconds since a date.
    units : mapping of name to text
        Of outputs, inputs and "time", for tables and pictures; where a model tells them too, they must be the same.
    preparation : list of texts
        What was done to the samples before, a sentence each, for reports; the methods below add theirs.

    Examples
    --------
    >>> from daedal.data import Dataset
    >>> data = Dataset([0.0, 0.5, 1.0], inputs={"u": [1, 1, 0]}, outputs={"y": [0.1, float("nan"), 0.4]}, name="step")
    >>> print(data)
    data 'step': output y; input u (foh)
    3 samples from 0 to 1, step 0.5, 1 missing, t0 = 0
    >>> data["u"]
    array([1., 1., 0.])
    >>> first, second = data.split(at=0.75)
    >>> second.outputs["y"]
    Samples(1 from 1 to 1)
    """

    times: Array
    inputs: Mapping[str, Signal]
    outputs: Mapping[str, Samples]
    t0: float
    name: str
    origin: "datetime | None"
    units: Mapping[str, str]
    preparation: tuple[str, ...]

    # Written out because more is accepted than is stored: arrays become signals and samples, which know their times.
    def __init__(
        self,
        times: ArrayLike | None = None,
        inputs: Mapping[str, Signal | ArrayLike] = NONE,
        outputs: Mapping[str, Samples | ArrayLike] = NONE,
        *,
        t0: float | None = None,
        name: str = "data",
        intersample: IntersampleChoice = "foh",
        measurement_noise: Mapping[str, ArrayLike] = NONE,
        origin: "datetime | str | None" = None,
        units: Mapping[str, str] = NONE,
        preparation: Iterable[str] = (),
    ) -> None:
        with about(f"data '{show(name, str)}'"):
            if isinstance(times, Mapping):
                raise DataError(
                    "the times come first but are a mapping.", "Write Dataset(times, inputs={...}, outputs={...})."
                )
            check_names(name, inputs, outputs)
            check_noise_owners(measurement_noise, outputs)
            origin = data.check_origin(origin) if origin is not None else None
            if times is not None and data.holds_timestamps(times):
                times, origin = data.count_seconds(times)
            grid = None if times is None else ascending(times)
            between = choose_intersample(intersample, inputs)
            signals = {key: accept_signal(key, given, grid, between[key]) for key, given in inputs.items()}
            samples = {
                key: accept_samples(key, given, grid, measurement_noise.get(key)) for key, given in outputs.items()
            }
            object.__setattr__(self, "times", unite_times(samples or signals) if grid is None else grid)
            object.__setattr__(self, "inputs", FrozenMapping(signals))
            object.__setattr__(self, "outputs", FrozenMapping(samples))
            object.__setattr__(self, "t0", choose_start_time(t0, self.sample_times[0]))
            object.__setattr__(self, "name", name)
            object.__setattr__(self, "origin", origin)
            object.__setattr__(self, "units", FrozenMapping(accept_units(units, (*outputs, *inputs))))
            object.__setattr__(self, "preparation", check_preparation(preparation))

    @property
    def sample_times(self) -> Array:
        """All times at which an output was sampled; without outputs, the times."""
        return unite_times(self.outputs) if self.outputs else frozen(np.unique(self.times))

    def __getitem__(self, name: str) -> Array:
        """The sample values of an output or input."""
        known: dict[str, Samples | Signal] = {**self.outputs, **self.inputs}
        return look_up(known, name, DataError, f"data '{self.name}' has no output or input").values

    def split(self, fraction: float | None = None, *, at: float | None = None) -> "tuple[Dataset, Dataset]":
        """Two data sets in time order: the first `fraction` of the samples and the rest, or before `at` and from it on.

        Inputs stay whole, so that both parts know what drove the system before and after. The second part starts at
        its first sample.
        """
        with about(f"data '{self.name}'"):
            cut = data.choose_split_time(self.sample_times, fraction, at)
            parts = {name: data.split_samples(name, samples, cut) for name, samples in self.outputs.items()}
        early, late = self.times[self.times < cut], self.times[self.times >= cut]
        first, second = ({name: pair[k] for name, pair in parts.items()} for k in (0, 1))
        # Given times need not reach into both parts when all outputs have their own.
        said = [(*self.preparation, f"Split: samples {side} {data.short(cut)}.") for side in ("before", "from")]
        return (
            replace(self, times=early if early.size else None, outputs=first, preparation=said[0]),
            replace(self, times=late if late.size else None, outputs=second, t0=None, preparation=said[1]),
        )

    def detrend(self, signals: Iterable[str] | None = None, order: int = 0) -> "Dataset":
        """The data with the mean (order 0) or a straight line of least squares (order 1) subtracted.

        From the samples of the named outputs and inputs, or of all; missing samples are left out of the trend.
        """
        chosen = data.choose_columns("signals", (*self.outputs, *self.inputs) if signals is None else signals)
        for name in chosen:
            self[name]  # refuses an unknown name
        with about(f"data '{self.name}'"):
            inputs = data.remove_trends(self.inputs, chosen, order)
            outputs = data.remove_trends(self.outputs, chosen, order)
        what = "A straight line of least squares was" if order else "The mean was"
        said = f"{what} subtracted from {', '.join(map(str, chosen))}."
        return replace(self, inputs=inputs, outputs=outputs, preparation=(*self.preparation, said))

    def resample(self, step: float) -> "Dataset":
        """The data with all outputs on one regular grid, from the first sample to the last.

        Where `step` is longer than the (median) sample interval of an output, each new sample is the mean of those
        within half a step of it, missing ones left out; at the two ends only one half has samples. Otherwise it lies
        on the straight line between its neighbours, and is missing when one of them is. Inputs are functions of time
        and stay as they are.
        """
        with about(f"data '{self.name}'"):
            grid = data.make_grid(self.sample_times[0], self.sample_times[-1], step)
        outputs = {name: data.resample(samples, grid, float(step)) for name, samples in self.outputs.items()}
        said = f"Outputs were resampled, {data.short(float(step))} apart."
        return replace(self, times=grid, outputs=outputs, preparation=(*self.preparation, said))

    def with_units(self, changes: "Mapping[str, str | None]") -> "Dataset":
        """Other units, merged by name; None removes one."""
        merged = {**self.units, **changes} if isinstance(changes, Mapping) else changes
        kept = {k: u for k, u in merged.items() if u is not None} if isinstance(merged, Mapping) else merged
        return replace(self, units=kept)

    def to_pandas(self) -> "pandas.DataFrame":
        """A frame with the time as index, and one column for each output and each input evaluated there.

        The index holds `times` and all output times, as dates where there is an origin; NaN where an output has no
        sample or an input is not known. `frame.attrs["units"]` has the units.
        """
        return data.make_frame(*data.align_times(self.times, self.inputs, self.outputs), self.origin, self.units)

    def to_xarray(self) -> "xarray.Dataset":
        """As `to_pandas`: one variable for each output and input, along the dimension "time"; dates are in UTC."""
        return data.make_xarray(*data.align_times(self.times, self.inputs, self.outputs), self.origin)

    @staticmethod
    def from_pandas(
        frame: "pandas.DataFrame",
        outputs: "Columns",
        inputs: "Columns" = (),
        *,
        time: Hashable | None = None,
        t0: float | None = None,
        name: str = "data",
        intersample: IntersampleChoice = "foh",
        measurement_noise: Mapping[str, str] = NONE,
    ) -> "Dataset":
        """A data set from columns of a frame; the time is the column `time`, or else the index: numbers or dates.

        `outputs` and `inputs` are lists of columns, or mappings from name to column; `measurement_noise` maps outputs
        to the columns with the standard deviations of their samples.
        """
        measured, known = data.choose_columns("outputs", outputs), data.choose_columns("inputs", inputs)
        with about(f"data '{show(name, str)}'"):
            times, origin = data.read_frame_times(frame, time)
            input_values = data.read_frame_columns(frame, known)
            output_values = data.read_frame_columns(frame, measured)
            noise = data.read_frame_columns(frame, data.choose_noise_columns(measurement_noise, measured))
        return Dataset(
            times, input_values, output_values, t0=t0, name=name, intersample=intersample, measurement_noise=noise,
            origin=origin,
        )  # fmt: skip

    @staticmethod
    def from_xarray(
        dataset: "xarray.Dataset",
        outputs: "Columns",
        inputs: "Columns" = (),
        *,
        time: str = "time",
        t0: float | None = None,
        name: str = "data",
        intersample: IntersampleChoice = "foh",
        measurement_noise: Mapping[str, str] = NONE,
    ) -> "Dataset":
        """A data set from variables of an xarray data set that depend on `time` alone; otherwise as `from_pandas`."""
        measured, known = data.choose_columns("outputs", outputs), data.choose_columns("inputs", inputs)
        with about(f"data '{show(name, str)}'"):
            times = data.read_xarray_times(dataset, time)
            input_values = data.read_xarray_columns(dataset, time, known)
            output_values = data.read_xarray_columns(dataset, time, measured)
            noise = data.read_xarray_columns(dataset, time, data.choose_noise_columns(measurement_noise, measured))
        return Dataset(
            times, input_values, output_values, t0=t0, name=name, intersample=intersample, measurement_noise=noise
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dataset):
            return NotImplemented
        same = self.name == other.name and self.t0 == other.t0 and np.array_equal(self.times, other.times)
        same = same and self.origin == other.origin and self.units == other.units
        return same and self.inputs == other.inputs and self.outputs == other.outputs

    def __hash__(self) -> int:
        return hash((self.name, self.t0, frozenset(self.inputs), frozenset(self.outputs)))

    def __reduce__(self) -> tuple[Any, ...]:
        options = {"t0": self.t0, "name": self.name, "origin": self.origin, "units": self.units}
        options["preparation"] = self.preparation
        return partial(Dataset, **options), (self.times, self.inputs, self.outputs)

    def __str__(self) -> str:
        from daedal.data.description import describe, describe_samples

        told = describe_samples(self.times, self.outputs, self.t0)
        since = "" if self.origin is None else f", since {self.origin}"
        units = ", ".join(f"{name} {unit}" for name, unit in self.units.items())
        said = f"{describe(self.name, self.inputs, self.outputs)}\n{told}{since}"
        return f"{said}\nunits: {units}" if units else said

    def _repr_html_(self) -> str:
        from daedal.tables import write_html

        return write_html(str(self).split("\n"))

    def _ipython_key_completions_(self) -> list[str]:
        return [*self.outputs, *self.inputs]

    def __repr__(self) -> str:
        return f"Dataset(name={self.name!r}, outputs={list(self.outputs)}, inputs={list(self.inputs)})"
