"""The data of an order search, checked: one output, its inputs, and what is sampled when."""

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from daedal.data import Dataset, Signal
from daedal.errors import EstimationError, counted, list_entries, nearest, quoted, show
from daedal.experiments import check_covered
from daedal.lti import SignalFilter, make_signal_filter
from daedal.symbolic import NAME

POWER = 0.99  # share of the power of an input that lies where it excites
VARIES = 1e-12  # of its size: a signal that moves less is constant


@final
@dataclass(frozen=True, eq=False)
class Record:
    """Samples y (time,) of one output, NaN where missing, and its inputs from the start on, later by their delays."""

    data: Dataset
    output: str
    inputs: tuple[str, ...]
    times: np.ndarray
    y: np.ndarray
    delays: tuple[float, ...]

    @property
    def t0(self) -> float:
        """Where the record starts."""
        return float(self.data.t0)

    @cached_property
    def known(self) -> np.ndarray:
        """Which samples are there."""
        return np.isfinite(self.y)

    @property
    def count(self) -> int:
        """How many samples there are."""
        return int(self.known.sum())

    @property
    def span(self) -> float:
        """From the start to the last sample."""
        return float(self.times[-1]) - self.t0

    @cached_property
    def interval(self) -> float:
        """The usual time between samples."""
        return float(np.median(np.diff(self.times)))

    @cached_property
    def finest(self) -> float:
        """A short time between samples, of which there are still many."""
        return float(np.quantile(np.diff(self.times), 0.1))

    @cached_property
    def signals(self) -> tuple[Signal, ...]:
        """The inputs, delayed; before its first sample an input is what it is then."""
        return tuple(
            delay_signal(self.data.inputs[name], delay, self.t0, float(self.times[-1]))
            for name, delay in zip(self.inputs, self.delays, strict=True)
        )

    @cached_property
    def input_filter(self) -> SignalFilter:
        """The inputs through filters."""
        return make_signal_filter(self.signals, self.t0, self.times)

    @cached_property
    def output_filter(self) -> SignalFilter:
        """The output through filters, straight lines between its samples and from its first one back to the start."""
        times, values = self.times[self.known], self.y[self.known]
        if times[0] > self.t0:
            times, values = np.append(self.t0, times), np.append(values[0], values)
        if times[-1] < self.times[-1]:
            times, values = np.append(times, self.times[-1]), np.append(values, values[-1])
        return make_signal_filter([Signal(times, values, "foh")], self.t0, self.times)

    @cached_property
    def inputs_now(self) -> np.ndarray:
        """The inputs at the samples, (input, time)."""
        return np.stack([signal(self.times) for signal in self.signals])

    @cached_property
    def input_rates(self) -> np.ndarray:
        """Their derivatives at the samples, (input, time); zero for inputs that are held."""
        nothing = np.zeros(self.times.size)
        return np.stack([u(self.times, derivative=1) if u.derivatives else nothing for u in self.signals])

    @cached_property
    def inputs_at_start(self) -> np.ndarray:
        """The inputs where the record starts, (input,)."""
        return np.array([float(signal(self.t0)) for signal in self.signals])

    @cached_property
    def output_now(self) -> np.ndarray:
        """The output at the samples, straight lines where one is missing."""
        return np.interp(self.times, self.times[self.known], self.y[self.known])

    def delay(self, delays: Any) -> "Record":
        """The same with other delays."""
        wanted = tuple(float(delay) for delay in delays)
        if wanted == self.delays:
            return self
        return _keep(self, replace(self, delays=wanted), ("known", "interval", "finest", "output_filter", "output_now"))

    @cached_property
    def excited(self) -> float:
        """The angular frequency below which the inputs have nearly all their power."""
        times = np.linspace(self.t0, float(self.times[-1]), max(self.times.size, 16))
        window = np.hanning(times.size)
        edges = []
        for signal in self.signals:
            values = signal(times)
            power = np.cumsum(np.abs(np.fft.rfft((values - values.mean()) * window)) ** 2)
            edges.append(int(np.searchsorted(power, POWER * power[-1])))
        return 2.0 * np.pi * max(edges) / (times[-1] - times[0])

    @cached_property
    def idle(self) -> tuple[str, ...]:
        """Inputs that, delayed, do not vary during the record."""
        return tuple(name for name, values in zip(self.inputs, self.inputs_now, strict=True) if not varies(values))

    def until(self, count: int) -> "Record":
        """The same with the samples from number `count` on missing; what the inputs do is still made for all times."""
        early = replace(self, y=np.where(np.arange(self.times.size) < count, self.y, np.nan))
        return _keep(self, early, ("signals", "input_filter", "inputs_now", "input_rates", "inputs_at_start"))


def _keep(record: Record, other: Record, names: tuple[str, ...]) -> Record:
    """The other, with what is the same in both made once."""
    other.__dict__.update({name: getattr(record, name) for name in names})
    return other


def delay_signal(signal: Signal, delay: float, start: float, end: float) -> Signal:
    """A signal that comes later, known from the start to the end of a record."""
    if delay == 0.0:
        return signal
    times, values = signal.times + delay, signal.values
    if times[0] > start:
        times, values = np.append(start, times), np.append(values[0], values)
    kept = max(int(np.searchsorted(times, end, side="left")) + 1, 4)
    return Signal(times[:kept], values[:kept], signal.intersample)


def make_record(verb: str, data: Any, output: Any, inputs: Any) -> Record:
    """Check a Dataset and choose its output and inputs."""
    if not isinstance(data, Dataset):
        raise EstimationError(
            f"{verb} takes a Dataset, got {type(data).__name__}.",
            "Make one with Dataset(times, inputs=..., outputs=...) or read_csv(...).",
        )
    name = _choose_output(verb, data, output)
    names = _choose_inputs(verb, data, inputs)
    for symbol in (name, *names):
        if not NAME.fullmatch(symbol):
            raise EstimationError(
                f"'{symbol}' cannot be the name of a variable of a model, which a transfer function becomes.",
                f"Rename it when reading: read_csv(..., outputs={{'y': '{symbol}'}}).",
            )
    samples = data.outputs[name]
    if samples.replicated:
        raise EstimationError(
            f"{verb} takes one sample of '{name}' for each time, but the data have replicates.",
            "Give their means; data.resample(step) makes them too.",
        )
    record = Record(data, name, names, samples.times, samples.values, (0.0,) * len(names))
    if record.count < 4:
        raise EstimationError(
            f"'{name}' has {counted(record.count, 'sample')} that can be used.",
            "Give more data; NaN counts as missing.",
        )
    _check_varies(f"The output '{name}'", samples.values[record.known], "Nothing can be learned from it.")
    for driver in names:
        signal = data.inputs[driver]
        inside = signal.values[(signal.times >= record.t0) & (signal.times <= record.times[-1])]
        _check_varies(f"The input '{driver}'", inside, "Excite the system, or leave this input out.")
        check_covered({driver: signal}, record.t0, float(record.times[-1]), EstimationError)
    _check_different(record)
    return record


def _check_different(record: Record) -> None:
    """No two inputs may be the same up to a factor."""
    sizes = np.linalg.norm(record.inputs_now, axis=1)
    rows = record.inputs_now / np.where(sizes > 0.0, sizes, 1.0)[:, None]
    for k, name in enumerate(record.inputs):
        for other in range(k):
            if abs(abs(float(rows[k] @ rows[other])) - 1.0) < VARIES:
                raise EstimationError(
                    f"The inputs '{record.inputs[other]}' and '{name}' are the same up to a factor: what each of them "
                    "does cannot be told apart.",
                    "Leave one out with inputs=[...].",
                )


def _choose_output(verb: str, data: Dataset, output: Any) -> str:
    if output is not None:
        name = show(output, str)
        if name not in data.outputs:
            raise EstimationError(f"The data have no output '{name}'.", nearest(name, data.outputs))
        return name
    if len(data.outputs) != 1:
        raise EstimationError(
            f"{verb} works on one output, and the data have {counted(len(data.outputs), 'output')}: "
            f"{quoted(data.outputs)}.",
            f"Choose one, output='{next(iter(data.outputs), 'y')}', or all: output={list(data.outputs)!r}.",
        )
    return next(iter(data.outputs))


def _choose_inputs(verb: str, data: Dataset, inputs: Any) -> tuple[str, ...]:
    if inputs is None:
        if not data.inputs:
            raise EstimationError(f"{verb} needs an input, and the data have none.", "Give inputs={'u': ...}.")
        return tuple(data.inputs)
    if (entries := list_entries(inputs)) is None:
        raise EstimationError(f"The inputs must be a list of names, got {show(inputs)}.", "Write inputs=['u'].")
    names = tuple(show(name, str) for name in entries)
    for name, count in Counter(names).items():
        if count > 1:
            raise EstimationError(f"The input '{name}' is named twice.", "Name each input once.")
        if name not in data.inputs:
            raise EstimationError(f"The data have no input '{name}'.", nearest(name, data.inputs))
    if not names:
        raise EstimationError("The list of inputs is empty.", "Leave it out for all inputs of the data.")
    return names


def varies(values: np.ndarray) -> bool:
    """Whether numbers differ by more than rounding."""
    return values.size > 0 and float(np.ptp(values)) > VARIES * float(np.max(np.abs(values)))


def _check_varies(what: str, values: np.ndarray, remedy: str) -> None:
    if not varies(values):
        raise EstimationError(f"{what} does not vary.", remedy)
