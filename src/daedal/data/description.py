"""The two lines that `print(data)` shows."""

from collections.abc import Mapping

import numpy as np

from daedal.data.arrays import Array, find_uniform_step, short
from daedal.data.samples import Samples
from daedal.data.signal import Signal

ROUNDING = 1e-6  # of a step: what digits of the times in a file leave out


def describe(name: str, inputs: Mapping[str, Signal], outputs: Mapping[str, Samples]) -> str:
    """Names: data 'house': output indoor; inputs Ta, Ps (foh)."""
    return f"data '{name}': {_list_names('output', list(outputs))}; {_list_names('input', _name_inputs(inputs))}"


def describe_samples(times: Array, outputs: Mapping[str, Samples], t0: float) -> str:
    """Counts and ranges: 2016 samples from 0 to 503.75, step 0.25, 3 missing, t0 = 0."""
    if not outputs:
        return f"{_describe_extent(times)}, t0 = {short(t0)}"
    grids = [samples.times for samples in outputs.values()]
    if all(np.array_equal(grids[0], grid) for grid in grids):
        return f"{_describe_extent(grids[0])}{_describe_missing(*outputs.values())}, t0 = {short(t0)}"
    descriptions = [
        f"{name} {_describe_extent(samples.times)}{_describe_missing(samples)}" for name, samples in outputs.items()
    ]
    return f"{'; '.join(descriptions)}; t0 = {short(t0)}"


def _list_names(word: str, names: list[str]) -> str:
    if not names:
        return f"no {word}s"
    return f"{word}{'s' if len(names) > 1 else ''} {', '.join(names)}"


def _name_inputs(inputs: Mapping[str, Signal]) -> list[str]:
    """The intersample behaviour follows each input, or only the last when all behave alike."""
    kinds = [signal.intersample for signal in inputs.values()]
    last = len(kinds) - 1
    alike = len(set(kinds)) == 1
    return [name if alike and k < last else f"{name} ({kinds[k]})" for k, name in enumerate(inputs)]


def _describe_extent(times: Array) -> str:
    if times.size == 1:
        return f"1 sample at {short(times[0])}"
    return f"{times.size} samples from {short(times[0])} to {short(times[-1])}, {_describe_spacing(times)}"


def _describe_spacing(times: Array) -> str:
    step = find_uniform_step(times)
    if step is None:
        return "irregular"
    off = float(np.abs(np.diff(times) - step).max())
    return f"step {short(step)}" if off <= ROUNDING * step else f"step {step:.4g}, off by up to {off:.1g}"


def _describe_missing(*columns: Samples) -> str:
    missing = sum(int(np.isnan(samples.values).sum()) for samples in columns)
    told = [f"{missing} missing"] if missing else []
    told += ["replicates"] * any(samples.replicated for samples in columns)
    told += ["noise of each"] * any(samples.noise is not None for samples in columns)
    return "".join(f", {word}" for word in told)
