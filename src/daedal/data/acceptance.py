"""What a data set accepts: arrays become signals and samples, or the reason why not."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from daedal.data.arrays import Array, about, check_column, check_numbers, check_real, find_first, frozen, short
from daedal.data.samples import Samples
from daedal.data.signal import Intersample, IntersampleChoice, Signal
from daedal.errors import DataError, counted, list_entries, nearest, quoted, show


def check_names(name: object, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
    """Names are text, used once, and there is one at least."""
    if not isinstance(name, str):
        raise DataError(f"name must be text but the type is {type(name).__name__}.", "Write name='house', say.")
    _check_mapping("inputs", inputs)
    _check_mapping("outputs", outputs)
    if twice := [shared for shared in inputs if shared in outputs]:
        raise DataError(
            f"{quoted(twice)} {'is' if len(twice) == 1 else 'are'} both input and output.",
            "Use two names: an input drives the model, an output is compared with it.",
        )
    if not inputs and not outputs:
        raise DataError("there are no outputs and no inputs.", "Give outputs={'name': values}, inputs, or both.")


def accept_units(given: object, names: Iterable[str]) -> dict[str, str]:
    """Units by output, input or "time"."""
    known = [*names, "time"]
    for name, unit in check_units(given).items():
        if name not in known:
            raise DataError(f"there is no output or input '{name}' to give a unit.", nearest(str(name), known))
        if not isinstance(unit, str) or not unit.strip():
            raise DataError(f"the unit of '{name}' must be a text but is {unit!r}.", "Write 'm/s', or leave it out.")
    return dict(check_units(given))


def check_units(given: Any) -> Mapping[str, str]:
    """Units as a mapping."""
    if not isinstance(given, Mapping):
        raise DataError(
            f"units must be a mapping but the type is {type(given).__name__}.",
            "Write units={'speed': 'm/s', 'time': 's'}.",
        )
    return given


def check_preparation(given: Any) -> tuple[str, ...]:
    """Sentences, in the order of what was done."""
    entries = list_entries(given)
    if entries is None or not all(isinstance(one, str) for one in entries):
        raise DataError(
            f"preparation must be a list of texts, got {show(given)}.", 'Write preparation=["Outliers were removed."].'
        )
    return tuple(str(one) for one in entries)


def _check_mapping(label: str, given: object) -> None:
    if not isinstance(given, Mapping):
        raise DataError(
            f"{label} must be a mapping but the type is {type(given).__name__}.", f"Write {label}={{'name': values}}."
        )
    if wrong := [key for key in given if not isinstance(key, str)]:
        name = show(wrong[0], str)
        raise DataError(
            f"names of {label} must be text but {name} is of type {type(wrong[0]).__name__}.",
            f"Write {label}={{'{name}': values}}.",
        )


def choose_intersample(given: IntersampleChoice, inputs: Mapping[str, Any]) -> dict[str, Intersample]:
    """What each input does between its samples: one choice for all, or by name, straight lines where none is given."""
    if not isinstance(given, Mapping):
        return dict.fromkeys(inputs, given)
    for name in given:
        if name not in inputs:
            raise DataError(f"intersample is given for '{name}', which is no input.", nearest(str(name), inputs))
        if isinstance(inputs[name], Signal):
            raise DataError(
                f"intersample is given for input '{name}', but that is a Signal, which has its own.",
                "Leave it out of intersample, or give that input as an array.",
            )
    return {name: given.get(name, "foh") for name in inputs}


def accept_signal(name: str, given: Signal | ArrayLike, times: Array | None, intersample: Intersample) -> Signal:
    """An input as a function of time."""
    if isinstance(given, Signal):
        return given
    if isinstance(given, Samples):
        raise DataError(
            f"input '{name}' is given as Samples, which say nothing about the time between them.",
            "Give Signal(times, values, intersample=...).",
        )
    grid, values = _accept_values(f"input '{name}'", given, times, "Signal(times, values)")
    with about(f"input '{name}'"):
        return Signal(*_drop_replicates(grid, values), intersample)


def _drop_replicates(times: Array, values: Array) -> tuple[Array, Array]:
    """One value for each time, where several samples of an output have the same."""
    again = np.flatnonzero(np.diff(times) == 0) + 1
    differs = (values[again] != values[again - 1]) & ~(np.isnan(values[again]) & np.isnan(values[again - 1]))
    if (wrong := find_first(differs)) is not None:
        place = int(again[wrong])
        raise DataError(
            f"at the time {short(times[place])}, which several samples have, it is both {short(values[place - 1])} and "
            f"{short(values[place])}.",
            "Replicates of one experiment have the same inputs: give the others as a Dataset of their own, or repair "
            "the times.",
        )
    return np.delete(times, again), np.delete(values, again)


def check_noise_owners(given: object, outputs: Mapping[str, Any]) -> None:
    """Noise belongs to outputs that are given as arrays."""
    _check_mapping("measurement_noise", given)
    for name in cast(Mapping[str, Any], given):
        if name not in outputs:
            raise DataError(f"measurement_noise is given for '{name}', which is no output.", nearest(name, outputs))
        if isinstance(outputs[name], Samples):
            raise DataError(
                f"measurement_noise is given for output '{name}', but that is given as Samples.",
                "Write Samples(times, values, noise).",
            )


def accept_samples(
    name: str, given: Samples | ArrayLike, times: Array | None, noise: ArrayLike | None = None
) -> Samples:
    """An output as samples; one standard deviation may stand for all."""
    if isinstance(given, Samples):
        return given
    if isinstance(given, Signal):
        raise DataError(
            f"output '{name}' is given as a Signal, but outputs are compared at samples only.",
            "Give Samples(times, values).",
        )
    grid, values = _accept_values(f"output '{name}'", given, times, "Samples(times, values)")
    with about(f"output '{name}'"):
        if noise is None:
            return Samples(grid, values)
        deviations = check_numbers("measurement_noise", noise)
        return Samples(grid, values, np.full(values.size, deviations) if deviations.ndim == 0 else deviations)


def _accept_values(label: str, given: ArrayLike, times: Array | None, instead: str) -> tuple[Array, Array]:
    values = check_column(label, given)
    if times is None:
        raise DataError(f"{label} is an array but there are no times.", f"Give times=, or {instead} for this one.")
    if values.size != times.size:
        raise DataError(
            f"{label} has {counted(values.size, 'sample')} for {counted(times.size, 'time')}.",
            f"Give one value for each time, or {instead} with times of its own.",
        )
    return times, values


def unite_times(sampled: Mapping[str, Signal] | Mapping[str, Samples]) -> Array:
    """All sample times together."""
    return frozen(np.unique(np.concatenate([samples.times for samples in sampled.values()])))


def choose_start_time(t0: float | None, first: float) -> float:
    """Where the model starts: not after the first sample."""
    if t0 is None:
        return float(first)
    if (start := check_real("t0", t0)) > first:
        raise DataError(
            f"t0 = {short(start)} lies after the first sample at {short(first)}.",
            "The model must start at the first sample or before it.",
        )
    return start
