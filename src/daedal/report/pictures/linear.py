"""Pictures of linear systems: Bode diagram, poles and zeros, step response; of a fit with bands of 95 %.

Bands are those of the delta method: with J the derivative of a quantity g by the estimates θ (central differences over
a hundredth of their standard errors) and C their covariance, Monte-Carlo error included, g is uncertain by √(J C Jᵀ).
The gain in decibels and the phase are real and imaginary part of log G, d log G = dG / G.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from daedal.errors import ReportError, counted
from daedal.report.layout import GREY, NORMAL, STYLES, arrange, choose_names, choose_style, write_value
from daedal.report.picture import Axis, Band, Line, Panel, Picture, Points, Rule, Trace, Zone
from daedal.report.pictures.fits import trace_ellipse
from daedal.report.pictures.linear_systems import SHARE, Subject, System, make_subject

Names = Iterable[Any] | None
POINTS = 160  # frequencies
TIMES = 241
DECIBEL = 20.0 / np.log(10.0)


def _list_pairs(subject: Subject, names: Names) -> tuple[list[tuple[str, str]], int]:
    """Output and input of what is drawn, and how many pairs are left out."""
    system = subject.system
    if not system.inputs or not system.outputs:
        what = "inputs" if not system.inputs else "outputs"
        raise ReportError(f"'{subject.name}' has no {what}, so nothing responds.", f"Declare {what} in the model.")
    chosen = choose_names(names, dict.fromkeys(system.outputs), "output")
    pairs = [(output, source) for output in chosen for source in system.inputs]
    return pairs[: len(STYLES)], max(len(pairs) - len(STYLES), 0)


def _choose_frequencies(system: System) -> np.ndarray:
    """From a tenth of the slowest pole to ten times the fastest."""
    rates = np.abs(system.poles)
    rates = rates[rates > 1e-9 * rates.max(initial=0.0)]
    low, high = (float(rates.min()), float(rates.max())) if rates.size else (1.0, 1.0)
    high = min(high, 1e8 * low)
    return np.geomspace(low / 10.0, high * 10.0, POINTS)


def write_frequency(units: Mapping[str, str]) -> str:
    """The axis of frequencies in radians per unit of time."""
    return f"frequency [rad/{units['time']}]" if "time" in units else "frequency [rad per unit of time]"


def draw_bode(result: Any, names: Names) -> Picture:
    """Gain and phase over frequency, of each pair of an input and an output."""
    subject = make_subject(result)
    pairs, left_out = _list_pairs(subject, names)
    omega = _choose_frequencies(subject.system)
    gains: list[Trace] = []
    phases: list[Trace] = []
    if subject.excited is not None and subject.excited[1] < omega[-1] and subject.excited[2] > omega[0]:
        source, low, high = subject.excited
        label = f"{100 * SHARE:.0f} % of the variance of {source}"
        zone = Zone(label, max(low, float(omega[0])), min(high, float(omega[-1])), GREY)
        gains.append(zone)
        phases.append(zone)
    widest = 0.0
    for number, (output, source) in enumerate(pairs):
        style, label = choose_style(number), f"{source} → {output}"
        values = subject.system.respond(omega, output, source)
        if not np.abs(values).max() > 0.0:
            continue
        slopes = subject.differentiate(lambda one, o=output, s=source: one.respond(omega, o, s))
        with np.errstate(divide="ignore", invalid="ignore"):
            gain, phase = 20.0 * np.log10(np.abs(values)), np.degrees(np.unwrap(np.angle(values)))
            logs = None if slopes is None else slopes / values
        spreads = (None, None) if logs is None else (subject.spread(logs.real), subject.spread(logs.imag))
        for traces, curve, spread, factor in (
            (gains, gain, spreads[0], DECIBEL),
            (phases, phase, spreads[1], 180.0 / np.pi),
        ):
            if spread is not None:
                width = NORMAL * factor * spread
                traces.append(Band(f"95 %, {label}", omega, curve - width, curve + width, style.color))
                widest = max(widest, float(np.nanmax(width))) if traces is gains else widest
            traces.append(Line(label, omega, curve, style.color, style.dash))
    if not any(isinstance(trace, Line) for trace in gains):
        raise ReportError(f"No input of '{subject.name}' reaches an output that is drawn.", "Draw another output.")
    across = Axis(write_frequency(subject.units), log=True)
    rows = [(Panel(tuple(gains), across, Axis("gain [dB]")),), (Panel(tuple(phases), across, Axis("phase [°]")),)]
    known = subject.covariance is not None
    alt = f"Gain and phase of {subject.name}: " + "; ".join(
        describe_peak(trace) for trace in gains if isinstance(trace, Line)
    )
    alt += f"; the band of 95 % is at most {write_value(widest, 2)} dB to each side" if known else ""
    told = [*subject.told, "bands by the delta method" if known else ""]
    return arrange(
        f"frequency response of {subject.name}", told, rows, f"{alt}.", linked=True, left_out=left_out, what="pair",
        row_height=210,
    )  # fmt: skip


def describe_peak(line: Line) -> str:
    """Where a gain is highest: u → y at most 20 dB at 3 rad per unit of time."""
    peak = int(np.argmax(line.y))
    return f"{line.name} at most {write_value(float(line.y[peak]), 3)} dB, at {write_value(float(line.x[peak]), 3)}"


def draw_poles(result: Any, names: Names) -> Picture:
    """Poles and zeros in the plane, with ellipses of 95 %."""
    subject = make_subject(result)
    found = subject.system.poles
    poles: Any = np.where(np.abs(found) > 1e-9 * np.abs(found).max(initial=0.0), found, 0.0)  # rounded integrators
    if not poles.size:
        raise ReportError(f"'{subject.name}' has no poles: nothing in it takes time.", "Draw its step response.")
    traces: list[Trace] = []
    traces += _draw_roots(subject, poles, lambda one: one.poles, "poles", 0)
    told = list(subject.told)
    if subject.system.inputs and subject.system.outputs:
        pairs, _ = _list_pairs(subject, names)
        for number, (output, source) in enumerate(pairs[: len(STYLES) - 1], start=1):
            try:
                zeros = subject.system.find_zeros(output, source)
            except ReportError:
                told.append(f"{source} → {output} differentiates, its zeros are not drawn")
                continue
            if zeros.size:
                label = f"zeros {source} → {output}"
                traces += _draw_roots(
                    subject, zeros, lambda one, o=output, s=source: one.find_zeros(o, s), label, number
                )
    unit = f" [1/{subject.units['time']}]" if "time" in subject.units else " [1/unit of time]"
    traces.append(Rule("border of stability", 0.0, GREY, dash="dot"))
    panel = Panel(tuple(traces), Axis(f"real part{unit}"), Axis(f"imaginary part{unit}"))
    slowest = poles[np.argmin(np.abs(poles.real))]
    right = int(np.sum(poles.real > 0.0))
    where = write_value(float(slowest.real)) + (f" ± {write_value(abs(slowest.imag))}i" if slowest.imag else "")
    alt = (
        f"{counted(poles.size, 'pole')} of {subject.name}, {right or 'none'} to the right of zero; the one nearest to "
        f"the imaginary axis at {where}."
    )
    return arrange(f"poles and zeros of {subject.name}", told, [(panel,)], alt, row_height=380)


def _draw_roots(
    subject: Subject, roots: Any, find: Callable[[System], np.ndarray], label: str, number: int
) -> list[Trace]:
    """Crosses for poles and circles for zeros, each with its ellipse."""
    style = choose_style(number)
    marker = "x" if number == 0 else "circle-open"
    traces: list[Trace] = [Points(label, roots.real, roots.imag, style.color, marker, 10.0)]
    slopes: Any = subject.differentiate(lambda one: match_roots(roots, find(one)))
    if slopes is None or subject.covariance is None:
        return traces
    for k, root in enumerate(roots):
        plane = np.stack([slopes[:, k].real, slopes[:, k].imag])
        covariance = plane @ subject.covariance @ plane.T
        if not np.trace(covariance) > 1e-24 * abs(root) ** 2:  # it does not depend on what was estimated
            continue
        center = np.array([root.real, root.imag])
        traces += trace_ellipse(center, covariance, style.color, f"95 % of {label}", style.dash)
    return traces


def match_roots(roots: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The other roots in the order of these, each nearest to its own."""
    from scipy.optimize import linear_sum_assignment

    if roots.size != others.size:
        raise ValueError("other roots")
    _, order = linear_sum_assignment(np.abs(roots[:, None] - others))
    return others[order]


def draw_step(result: Any, names: Names) -> Picture:
    """The answer to an input that jumps from zero to one, of each pair of an input and an output."""
    subject = make_subject(result)
    pairs, left_out = _list_pairs(subject, names)
    times = _choose_times(subject.system)
    shown = list(dict.fromkeys(output for output, _ in pairs))
    rows, ends = [], []
    for output in shown:
        traces: list[Trace] = []
        for number, source in enumerate(source for other, source in pairs if other == output):
            style, label = choose_style(number), f"step of {source}"
            curve = subject.system.step(times, output, source)
            slopes = subject.differentiate(lambda one, o=output, s=source: one.step(times, o, s))
            spread = subject.spread(slopes)
            if spread is not None:
                width = NORMAL * spread
                traces.append(Band(f"95 %, {label}", times, curve - width, curve + width, style.color))
            traces.append(Line(label, times, curve, style.color, style.dash))
            ends.append(f"{output} to {write_value(float(curve[-1]), 3)} after a step of {source}")
        unit = f" [{subject.units[output]}]" if output in subject.units else ""
        clock = f"time [{subject.units['time']}]" if "time" in subject.units else "time"
        rows.append((Panel(tuple(traces), Axis(clock), Axis(f"{output}{unit}")),))
    alt = f"Step responses of {subject.name}: by the end {', '.join(ends)}."
    told = [*subject.told, "bands by the delta method" if subject.covariance is not None else ""]
    return arrange(
        f"step response of {subject.name}", told, rows, alt, linked=True, left_out=left_out, what="pair", row_height=210
    )


def _choose_times(system: System) -> np.ndarray:
    """Until the slowest answer has died down, or, where none does, a few times the slowest pole."""
    poles = system.poles
    rates = np.abs(poles.real)
    decays = rates[(poles.real < 0.0) & (rates > 1e-9 * np.abs(poles).max(initial=0.0))]
    sizes = np.abs(poles)[np.abs(poles) > 1e-9 * np.abs(poles).max(initial=0.0)]
    growing = bool(np.any(poles.real > 1e-9 * np.abs(poles).max(initial=0.0)))
    slowest = float(decays.min()) if decays.size and not growing else float(sizes.min(initial=np.inf))
    end = 6.0 / slowest if np.isfinite(slowest) else 1.0
    return np.linspace(0.0, end + 2.0 * system.longest_delay, TIMES)
