"""What follows from the estimates: time constants, frequencies and damping of poles, static gains, formulas.

Errors are propagated by the delta method: with J the slopes of a quantity by the estimates and C their covariance, its
standard error is √(J C Jᵀ). A pole p has dp from the same; for a pair, ω = |p| and ζ = −Re p / |p| have

    dω = Re(p̄ dp) / |p|,   dζ = −Re dp / |p| + Re p Re(p̄ dp) / |p|³.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedal.errors import RefusalError
from daedal.estimation import Fit
from daedal.models import evaluate_parameters
from daedal.report.layout import NORMAL
from daedal.report.page import Evidence, Html, fold, join, list_remarks, make_table, tag, write_minus
from daedal.report.pictures import Subject, match_roots
from daedal.symbolic import Expression
from daedal.tables import format_error, format_number

FIRST = 12  # rows before the others are folded
STILL = 1e-9  # of the fastest pole: a pole at zero, rounded
EXACT = 1e-9  # of a value: an error that is rounding
STEP = 0.01  # of a standard error, over which slopes of formulas are taken


@dataclass(frozen=True)
class Quantity:
    """A number that follows from the estimates; its error is NaN where that is not known."""

    name: str
    value: float
    error: float
    unit: str


def write_derived(evidence: Evidence) -> Html:
    """A table of all of them, or why there is none."""
    quantities = list_quantities(evidence)
    remarks = []
    if evidence.subject is None and "linear" in evidence.missing:
        remarks.append(f"No poles and gains: {evidence.missing['linear']}")
    if not quantities:
        return list_remarks(remarks)
    rows = [_write_row(one) for one in quantities]
    heads = ["quantity", "value", "std error", "95 % interval", "unit"]
    tables: list[Any] = [make_table(heads, rows[:FIRST], texts=(0, 4), label="derived quantities")]
    if len(rows) > FIRST:
        more = make_table(heads, rows[FIRST:], texts=(0, 4), label="more derived quantities")
        tables.append(fold(f"{len(rows) - FIRST} more quantities", more))
    told = [] if evidence.subject is None else [one for one in evidence.subject.told if "linearised" in one]
    said = tag("p", *(f"{one[:1].upper()}{one[1:]}. " for one in told), "Errors by the delta method.", class_="soft")
    return join([tag("h3", "What follows from them"), *tables, said, list_remarks(remarks)])


def list_quantities(evidence: Evidence) -> list[Quantity]:
    """Of poles, gains and formulas."""
    found = list(_list_formulas(evidence.fit))
    if evidence.subject is not None:
        found += [*_list_poles(evidence.subject), *_list_gains(evidence.subject)]
    return found


def _write_row(one: Quantity) -> list[str]:
    if one.error <= EXACT * abs(one.value):
        return [one.name, write_minus(f"{one.value:.5g}"), "—", "by the equations alone", one.unit or "—"]
    known = bool(np.isfinite(one.error))
    ends = (one.value - NORMAL * one.error, one.value + NORMAL * one.error)
    return [
        one.name,
        write_minus(format_number(one.value, one.error)) if known else write_minus(f"{one.value:.5g}"),
        f"± {format_error(one.error)}" if known else "—",
        " … ".join(write_minus(format_number(end, one.error)) for end in ends) if known else "—",
        one.unit or "—",
    ]


def _find_error(subject: Subject, slopes: np.ndarray | None) -> float:
    spread = subject.spread(slopes)
    return float("nan") if spread is None else float(spread)


def _list_poles(subject: Subject) -> Iterator[Quantity]:
    """A time constant of each real pole, frequency and damping of each pair; integrators have neither."""
    poles = np.asarray(subject.system.poles, dtype=complex)
    slopes: Any = subject.differentiate(lambda one: match_roots(poles, np.asarray(one.poles, dtype=complex)))
    clock = subject.units.get("time", "")
    largest = float(np.abs(poles).max(initial=0.0))
    order = sorted(range(poles.size), key=lambda k: (abs(poles[k]), -poles[k].imag))
    reals = [k for k in order if abs(poles[k].imag) <= STILL * largest and abs(poles[k]) > STILL * largest]
    pairs = [k for k in order if poles[k].imag > STILL * largest]
    for number, k in enumerate(reals, start=1):
        p, d = float(poles[k].real), None if slopes is None else slopes[:, k].real
        word = "time constant" if p < 0.0 else "time constant of growth"
        name = word if len(reals) == 1 else f"{word} {number} (pole {write_minus(f'{p:.4g}')})"
        yield Quantity(name, 1.0 / abs(p), _find_error(subject, None if d is None else d / p**2), clock)
    for number, k in enumerate(pairs, start=1):
        p, d = complex(poles[k]), None if slopes is None else slopes[:, k]
        size = abs(p)
        radial = None if d is None else (np.conj(p) * d).real / size
        mark = "" if len(pairs) == 1 else f" {number}"
        unit = f"rad/{clock}" if clock else ""
        yield Quantity(f"natural frequency{mark}", size, _find_error(subject, radial), unit)
        damped = None if d is None or radial is None else -d.real / size + p.real * radial / size**2
        yield Quantity(f"damping ratio{mark}", -p.real / size, _find_error(subject, damped), "1")


def _list_gains(subject: Subject) -> Iterator[Quantity]:
    """Of each output by each input at rest, unless an integrator has none."""
    system, rest = subject.system, np.zeros(1)
    poles = np.abs(np.asarray(system.poles))
    if poles.size and poles.min() <= STILL * poles.max():
        return
    for output in system.outputs:
        for source in system.inputs:
            try:
                gain = float(system.respond(rest, output, source)[0].real)
            except RefusalError:
                continue
            if not np.isfinite(gain) or gain == 0.0:
                continue
            slopes = subject.differentiate(lambda one, o=output, s=source: np.real(one.respond(rest, o, s)))
            unit = _divide_units(subject.units.get(output, ""), subject.units.get(source, ""))
            name = f"static gain {source} → {output}"
            yield Quantity(name, gain, _find_error(subject, None if slopes is None else slopes[:, 0]), unit)


def _divide_units(above: str, below: str) -> str:
    if not below:
        return above
    compound = any(sign in below for sign in " /*.·")
    return f"{above or '1'}/({below})" if compound else f"{above or '1'}/{below}"


def _list_formulas(fit: Fit) -> Iterator[Quantity]:
    """Parameters of the model that are formulas of estimated ones, at the values of the first experiment."""
    names = [item.parameter for item in fit.coordinates.items if item.experiment is None]
    formulas = {
        name: one
        for name, one in fit.model.parameters.items()
        if isinstance(one.value, Expression) and name not in names
    }
    if not formulas:
        return
    places = [k for k, item in enumerate(fit.coordinates.items) if item.experiment is None]
    total = fit.total_cov
    errors = np.sqrt(np.diag(total)[places])  # infinite where nothing is known, NaN at a bound
    base = {name: fit.values(0)[name] for name in names}
    here = evaluate_parameters(fit.model, base)
    slopes = {name: np.zeros(len(names)) for name in formulas}
    for k, (name, error) in enumerate(zip(names, errors, strict=True)):
        step = STEP * error if np.isfinite(error) and error > 0.0 else 1e-4 * max(abs(base[name]), 1e-3)
        declared = fit.model.parameters[name]
        ends = [min(max(base[name] + sign * step, declared.lower), declared.upper) for sign in (-1.0, 1.0)]
        less, more = (evaluate_parameters(fit.model, base | {name: end}) for end in ends)
        for formula, row in slopes.items():
            row[k] = (more[formula] - less[formula]) / (ends[1] - ends[0])
    known = np.nan_to_num(total[np.ix_(places, places)], nan=0.0, posinf=0.0)
    for name, row in slopes.items():
        if row.any():
            lost = bool(np.any(np.isinf(errors) & (row != 0.0))) or fit.status.interrupted
            error = float("nan") if lost else float(np.sqrt(row @ known @ row))
            yield Quantity(name, float(here[name]), error, formulas[name].unit)
