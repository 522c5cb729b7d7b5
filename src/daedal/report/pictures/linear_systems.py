"""What is linear, seen from outside: responses, poles and zeros, and how they change with the estimates of a fit."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from daedal.analysis import Descriptor, descriptor, find_polynomial_part, is_linear, linearize
from daedal.data import Dataset, Signal
from daedal.errors import RefusalError, ReportError, quoted
from daedal.estimation import Fit
from daedal.lti import TransferFunction, compute_response
from daedal.models import Model
from daedal.order import Candidate
from daedal.report.layout import STYLES, arrange, choose_names, choose_style
from daedal.report.picture import Axis, Line, Panel, Picture, Trace
from daedal.report.pictures.fits import describe_fit, describe_values

STEP, LEAST = 0.01, 1e-7  # of a standard error, over which derivatives are taken, and of a value at least
FAR = 1e6  # times the fastest pole: a zero beyond is one at infinity, rounded
GRID = 4096  # samples of an input of which the spectrum is taken, at least
PER_INTERVAL = 4  # of them between two samples of the input: fewer would take high frequencies for low ones
MOST_SAMPLES = 2**20  # of them, unless the input itself has more
MOST_DRAWN = 2000  # frequencies of one curve
SHARE = 0.95  # of the variance of an input that its frequencies are shown of


class System(Protocol):
    """A linear system between inputs and outputs."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Their names."""
        ...

    @property
    def outputs(self) -> tuple[str, ...]:
        """Their names."""
        ...

    @property
    def poles(self) -> Any:
        """Complex numbers, in rad per unit of time."""
        ...

    @property
    def longest_delay(self) -> float:
        """By how much an input acts later."""
        ...

    def respond(self, frequencies: np.ndarray, output: str, source: str) -> np.ndarray:
        """G(iω)."""
        ...

    def find_zeros(self, output: str, source: str) -> Any:
        """Of the transfer function between the two."""
        ...

    def step(self, times: np.ndarray, output: str, source: str) -> np.ndarray:
        """The output for an input that jumps from zero to one at time zero."""
        ...


@dataclass(frozen=True, eq=False)
class DescriptorSystem:
    """What the matrices of a descriptor form say."""

    matrices: Descriptor

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.matrices.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.matrices.outputs

    @property
    def poles(self) -> Any:
        return self.matrices.poles if self.matrices.states else np.zeros(0, dtype=complex)

    @property
    def longest_delay(self) -> float:
        return 0.0  # delays have no descriptor form

    def respond(self, frequencies: np.ndarray, output: str, source: str) -> np.ndarray:
        return self._transfer(tuple(frequencies))[:, self.outputs.index(output), self.inputs.index(source)]

    def _transfer(self, frequencies: tuple[float, ...]) -> np.ndarray:
        known = self._known
        if frequencies not in known:
            known[frequencies] = self.matrices.transfer(1j * np.array(frequencies))
        return known[frequencies]

    @cached_property
    def _known(self) -> dict[tuple[float, ...], np.ndarray]:
        return {}

    def _find_realization(self, output: str, source: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """A, b, c and d between the two."""
        form, one = self.matrices.standard_form(), self.matrices
        i, j, n = one.outputs.index(output), one.inputs.index(source), form.evolving
        direct = find_polynomial_part(one.G, one.H, form)
        if direct.orders[i, j] > 0:
            raise ReportError(
                f"Output '{output}' of '{one.model}' follows the derivative of input '{source}': it has no step "
                "response, and its zeros are not counted.",
                f"Filter it first, model.with_presampling_filter({{'{output}': ...}}), or draw its Bode diagram.",
            )
        through = float(direct.coefficients[0][i, j]) if form.index and direct.orders[i, j] == 0 else 0.0
        return form.A, (form.P @ one.G)[:n, [j]], (one.H @ form.Q)[[i], :n], through

    def find_zeros(self, output: str, source: str) -> Any:
        from scipy.linalg import eig

        A, b, c, d = self._find_realization(output, source)
        n = len(A)
        if not n:
            return np.zeros(0, dtype=complex)
        above = np.block([[A, b], [c, np.array([[d]])]])
        below = np.diag([*np.ones(n), 0.0])
        pairs: Any = eig(above, below, right=False, homogeneous_eigvals=True)
        alpha, beta = pairs
        finite = np.abs(alpha) < FAR * max(float(np.abs(self.poles).max(initial=0.0)), 1e-300) * np.abs(beta)
        return alpha[finite] / beta[finite]

    def step(self, times: np.ndarray, output: str, source: str) -> np.ndarray:
        from scipy.linalg import expm

        A, b, c, d = self._find_realization(output, source)
        n = len(A)
        whole = np.zeros((n + 1, n + 1))
        whole[:n, :n], whole[:n, [n]] = A, b
        advance = expm(whole * (times[1] - times[0]))
        state = np.zeros(n + 1)
        state[n] = 1.0
        values = np.empty(times.size)
        for k in range(times.size):
            values[k] = float((c @ state[:n])[0]) + d
            state = advance @ state
        return values


@dataclass(frozen=True, eq=False)
class TransferSystem:
    """What two polynomials say."""

    function: TransferFunction

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.function.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        return (self.function.output,)

    @property
    def poles(self) -> Any:
        return np.asarray(self.function.poles, dtype=complex)

    @property
    def longest_delay(self) -> float:
        return max(self.function.delay.values())

    def respond(self, frequencies: np.ndarray, output: str, source: str) -> np.ndarray:  # noqa: ARG002
        return np.asarray(self.function.response(1j * frequencies, source))

    def find_zeros(self, output: str, source: str) -> Any:  # noqa: ARG002
        return np.asarray(self.function.zeros(source), dtype=complex)

    def step(self, times: np.ndarray, output: str, source: str) -> np.ndarray:  # noqa: ARG002
        span = np.array([0.0, float(times[-1])])
        signals = {name: Signal(span, np.full(2, float(name == source)), "zoh") for name in self.inputs}
        return compute_response(self.function.monic, signals, 0.0, times)


@dataclass(frozen=True, eq=False)
class Subject:
    """A system with what is known about it: words, units, and how it changes with estimates."""

    name: str
    told: tuple[str, ...]
    system: System
    units: Mapping[str, str]
    changed: tuple[tuple[System, System], ...] = ()  # by each estimate: a step less, a step more
    steps: np.ndarray | None = None
    covariance: np.ndarray | None = None
    excited: tuple[str, float, float] | None = None

    def differentiate(self, compute: Callable[[System], np.ndarray]) -> np.ndarray | None:
        """By the estimates, (estimate, …); None where nothing is estimated, or a change is no longer defined."""
        if self.steps is None:
            return None
        try:
            slopes = [
                (compute(more) - compute(less)) / (2.0 * step)
                for (less, more), step in zip(self.changed, self.steps, strict=True)
            ]
        except (RefusalError, ValueError):
            return None
        return np.array(slopes) if slopes else None

    def spread(self, slopes: np.ndarray | None) -> np.ndarray | None:
        """√(J C Jᵀ) of real slopes (estimate, …)."""
        if slopes is None or self.covariance is None:
            return None
        variance = np.einsum("k...,kl,l...->...", slopes, self.covariance, slopes)
        return np.sqrt(np.maximum(variance, 0.0))


def make_subject(result: Any) -> Subject:
    """The linear system of a model, a fit, a descriptor form, a transfer function or a candidate of an order."""
    return SUBJECTS[type(result)](result)


def _describe_model(model: Model) -> Subject:
    return Subject(model.name, ("at the values of its parameters",), DescriptorSystem(descriptor(model)), model.units)


def _describe_fit(fit: Fit) -> Subject:
    """At the estimates of the first experiment, with the changes that bands are made of."""
    theta = np.array([one.value for one in fit.estimates.values()])
    total = fit.total_cov
    errors = np.sqrt(np.diag(total))
    names = list(fit.estimates)
    bound = [name for name in names if fit[name].at_bound]
    open_ = [name for name, error in zip(names, errors, strict=True) if np.isinf(error)]
    free = [k for k, error in enumerate(errors) if np.isfinite(error) and error > 0.0]

    linear = is_linear(fit.model)
    at = {} if linear else _find_operating_point(fit)

    def build(values: np.ndarray) -> System:
        numbers = fit.coordinates.values(fit.coordinates.internal(values), 0)
        if linear:
            return DescriptorSystem(descriptor(fit.model, numbers))
        return DescriptorSystem(descriptor(linearize(fit.model, at, numbers)))

    told = [describe_fit(fit), describe_values(fit), f"{quoted(bound)} held at the bound" if bound else ""]
    if not linear:
        means = ", ".join(f"{name} = {value:.4g}" for name, value in at.items())
        told.insert(1, f"linearised at the steady state{f' with {means}' if means else ''}")
    told.append(f"no band: {quoted(open_)} not determined" if open_ else "")
    system, changed, steps, covariance = build(theta), [], None, None
    if free and not open_:
        try:
            widths = np.maximum(STEP * errors, LEAST * np.abs(theta))
            ends = [theta + sign * widths[k] * (np.arange(theta.size) == k) for k in free for sign in (-1, 1)]
            both = [build(end) for end in ends]
            changed = list(zip(both[::2], both[1::2], strict=True))
            # Bounds may cut a step short.
            reached = [fit.coordinates.natural(fit.coordinates.internal(end)) for end in ends]
            steps = np.array([(reached[2 * i + 1][k] - reached[2 * i][k]) / 2.0 for i, k in enumerate(free)])
            covariance = total[np.ix_(free, free)]
        except RefusalError:
            told.append("no band: the model is not defined beside the estimates")
            changed, steps = [], None
    units = fit.model.units
    excited = find_excitation(fit.data[0], system.inputs)
    return Subject(fit.model.name, tuple(told), system, units, tuple(changed), steps, covariance, excited)


def _find_operating_point(fit: Fit) -> dict[str, float]:
    """Each input at its mean over the first experiment."""
    data, means = fit.data[0], {}
    for name in fit.model.input_names:
        if name in data.inputs:
            found = _sample_input(data, name)
            signal = data.inputs[name]
            only = float(np.clip(data.t0, signal.start, signal.end))
            means[name] = float(signal(only) if found is None else np.mean(found[1]))
    return means


def _describe_descriptor(one: Descriptor) -> Subject:
    return Subject(one.model, ("descriptor form",), DescriptorSystem(one), {})


def _describe_transfer(one: TransferFunction) -> Subject:
    return Subject("transfer function", (str(one),), TransferSystem(one), {})


def _describe_candidate(one: Candidate) -> Subject:
    if one.transfer_function is None:
        raise ReportError(f"The candidate has no transfer function: {one.failure}", "Draw another one.")
    told = (f"order {one.order}, input order {one.input_order}", str(one.transfer_function))
    return Subject("candidate", told, TransferSystem(one.transfer_function), {})


SUBJECTS: Mapping[type, Callable[[Any], Subject]] = {
    Subject: lambda subject: subject,
    Model: _describe_model,
    Fit: _describe_fit,
    Descriptor: _describe_descriptor,
    TransferFunction: _describe_transfer,
    Candidate: _describe_candidate,
}


def find_excitation(data: Dataset, inputs: Iterable[str]) -> tuple[str, float, float] | None:
    """The frequencies between which 95 % of the variance of the first input lies that varies."""
    for name in inputs:
        found = compute_excitation(data, name) if name in data.inputs else None
        if found is not None:
            omega, shares = found
            low, high = (float(omega[np.searchsorted(shares, edge)]) for edge in ((1 - SHARE) / 2, (1 + SHARE) / 2))
            return name, low, high
    return None


def compute_excitation(data: Dataset, name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """ω, and the share of the variance of an input up to each of them; None where it does not vary."""
    found = _sample_input(data, name)
    if found is None:
        return None
    length, values = found
    power = np.abs(np.fft.rfft(values - values.mean())[1:]) ** 2
    if not power.sum() > 0.0:
        return None
    return 2.0 * np.pi / length * np.arange(1, power.size + 1), np.cumsum(power) / power.sum()


def _sample_input(data: Dataset, name: str) -> tuple[float, np.ndarray] | None:
    """How long an input is known during the data, and its values at regular times, close enough for its own samples."""
    signal = data.inputs[name]
    start, end = max(signal.start, data.t0), min(signal.end, float(data.times[-1]))
    if end <= start:
        return None
    inside = signal.times[(signal.times >= start) & (signal.times <= end)]
    shortest = float(np.min(np.diff(inside), initial=end - start))
    wanted = min(PER_INTERVAL * (end - start) / shortest, max(MOST_SAMPLES, PER_INTERVAL * inside.size))
    count = 2 ** int(np.ceil(np.log2(max(wanted, GRID))))
    return end - start, np.asarray(signal(np.linspace(start, end, count, endpoint=False)))


def draw_excitation(data: Dataset, names: Iterable[Any] | None) -> Picture:
    """How much of the variance of each input lies below each frequency: what the data can tell anything about."""
    if not data.inputs:
        raise ReportError(f"The data '{data.name}' have no inputs.", "Draw their signals.")
    known = {name: found for name in data.inputs if (found := compute_excitation(data, name)) is not None}
    if not known:
        raise ReportError(f"No input of the data '{data.name}' varies.", "Draw their signals.")
    shown = list(known)[: len(STYLES)] if names is None else choose_names(names, known, "input that varies")
    most = max(float(known[name][0][np.searchsorted(known[name][1], 0.999)]) for name in shown)
    traces: list[Trace] = []
    told = []
    for number, name in enumerate(shown):
        (omega, shares), style = known[name], choose_style(number)
        near = int(np.searchsorted(omega, 1.5 * most, side="right"))
        drawn = np.unique(np.geomspace(1, near, min(near, MOST_DRAWN)).round().astype(int)) - 1
        curve = Line(name, omega[drawn], 100.0 * shares[drawn], style.color, style.dash, 2.0 + 0.1 * number, steps=True)
        traces.append(curve)
        told.append(f"{name} up to {omega[np.searchsorted(shares, (1 + SHARE) / 2)]:.3g}")
    unit = f"rad/{data.units['time']}" if "time" in data.units else "rad per unit of time"
    said = f"{50 * (1 + SHARE):g} % of the variance: {', '.join(told)} {unit}"
    ends = (min(float(known[name][0][0]) for name in shown), 1.5 * most)
    across = Axis(f"frequency [{unit}]", log=True, range=ends)
    panel = Panel(tuple(traces), across, Axis("variance below [%]", range=(0.0, 102.0)))
    return arrange(
        f"excitation of data {data.name}", [said], [(panel,)],
        f"Share of the variance of each input below each frequency; {said}.",
        left_out=len(known) - len(shown) if names is None else 0, what="input", row_height=240,
    )  # fmt: skip
