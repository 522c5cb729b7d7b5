"""What a page about a fit rests on, computed once; what cannot be had is a sentence that says why."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from daedal.analysis import is_linear
from daedal.data import Dataset, FrozenMapping, Signal
from daedal.errors import DaedalError, RefusalError, ReportError, list_entries, show
from daedal.estimation import Fit, continue_data, describe, find_continued, label_experiments, match_fit
from daedal.experiments import find_declared_outputs, list_datasets
from daedal.filtering import StateEstimate, estimate_states
from daedal.report.pictures import Subject, make_subject
from daedal.simulation import simulate
from daedal.validation import (
    Comparison,
    Identifiability,
    Profile,
    Residuals,
    compare,
    identifiability,
    profile,
    resid,
)

STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500)  # ahead, as far as the record is five times as long
MOST_STATES = 3  # that residuals are drawn over
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Evidence:
    """About a fit: on its own data, on unseen data, and what validation says; `missing` tells why something is not."""

    fit: Fit
    intervals: Mapping[str, tuple[float, float]]
    own: Comparison | None
    unseen: Comparison | None
    steps: Comparison | None
    own_residuals: Residuals | None
    unseen_residuals: Residuals | None
    identifiability: Identifiability | None
    profile: Profile | None
    states: StateEstimate | None
    subject: Subject | None  # the linear system that the model is, or is at a steady state
    beside: Mapping[str, Mapping[str, Signal]]  # what residuals may depend on, by name and experiment
    validation: tuple[Dataset, ...]
    others: tuple[Fit, ...]
    others_unseen: tuple[Comparison | None, ...]
    missing: Mapping[str, str]

    @property
    def residuals(self) -> Residuals | None:
        """On unseen data where there are any."""
        return self.unseen_residuals or self.own_residuals

    @property
    def shown(self) -> Comparison | None:
        """On unseen data where there are any."""
        return self.unseen or self.own

    def find_interval(self, name: str) -> tuple[tuple[float, float], str]:
        """The interval of 95 %, from the profile ("P") where there is one, otherwise Wald's ("W")."""
        if self.profile is not None and name in self.profile.curves:
            low, high = self.profile.curves[name].interval
            return (low, high), "P"
        return self.intervals[name], "W"


def gather_evidence(
    fit: Fit, validation: Any, profiled: Sequence[str], states: Sequence[str], others: Sequence[Fit]
) -> Evidence:
    """All of it; a validation set that does not suit the model is refused, other trouble is told on the page."""
    missing: dict[str, str] = {}

    def attempt(what: str, make: Callable[[], Result], *, remedied: bool = True) -> Result | None:
        try:
            return make()
        except DaedalError as error:
            missing[what] = str(error) if remedied else error.sentence
            return None

    sets = () if validation is None else _check_validation(fit, validation)
    unseen = compare(fit, sets, uncertainty=True) if sets else None
    own = attempt("own", lambda: compare(fit, fit.data, uncertainty=not sets))
    measured = sets or fit.data
    steps = None
    if fit.criterion.condition is None and not fit.model.disturbances:
        own, unseen = (None if one is None else _repeat_simulation(one) for one in (own, unseen))
    else:
        steps = attempt("ahead", lambda: _look_ahead(fit, measured, _choose_steps(measured)))
    if steps is not None and _simulates(unseen or own):
        if sets and own is not None:
            near = attempt("ahead", lambda: _look_ahead(fit, fit.data, (1,)))
            own = own if near is None else _add_ahead(own, near)
        unseen = None if unseen is None else _add_ahead(unseen, steps)
        own = _add_ahead(own, steps) if own is not None and not sets else own
    return Evidence(
        fit=fit,
        intervals=fit.conf_int(),
        own=own,
        unseen=unseen,
        steps=steps,
        own_residuals=attempt("residuals", lambda: resid(fit)),
        unseen_residuals=attempt("residuals", lambda: resid(fit, sets)) if sets else None,
        identifiability=attempt("identifiability", lambda: identifiability(fit)),
        profile=profile(fit, list(profiled)) if profiled else None,
        states=estimate_states(fit, measured[0], variables=list(states)) if states else None,
        subject=attempt("linear", lambda: make_subject(fit), remedied=False),
        beside=_list_beside(fit, measured, unseen or own),
        validation=sets,
        others=tuple(others),
        others_unseen=tuple(attempt(f"fit {k}", lambda o=one: compare(o, sets)) for k, one in enumerate(others))
        if sets
        else (),
        missing=missing,
    )


def _list_beside(fit: Fit, data: Sequence[Dataset], comparison: Comparison | None) -> dict[str, dict[str, Signal]]:
    """Inputs, predicted outputs, and states that are no outputs themselves, as functions of time."""
    labels = label_experiments(data)
    listed: dict[str, dict[str, Signal]] = {}
    for label, one in zip(labels, data, strict=True):
        for name, signal in one.inputs.items():
            listed.setdefault(name, {})[label] = signal
    for one in comparison.series if comparison is not None else ():
        known = np.isfinite(one.predicted)
        if known.sum() > 1:
            times, places = np.unique(one.times[known], return_index=True)
            signal = Signal(times, one.predicted[known][places], "foh")
            listed.setdefault(f"predicted {one.output}", {})[one.experiment] = signal
    shown = {str(value) for value in fit.model.outputs.values()}
    states = [name for name in fit.model.unknown_names if f"der({name})" in _write_equations(fit) and name not in shown]
    if states:
        with suppress(RefusalError):  # such pictures are left out
            for label, (one, values) in zip(labels, _list_simulated(fit, data), strict=True):
                with suppress(RefusalError):
                    times = np.union1d([one.t0], one.times)  # which may begin long before the first sample
                    run = simulate(fit.model.with_parameters(values), times, inputs=one.inputs)
                    for name in states[:MOST_STATES]:
                        listed.setdefault(name, {})[label] = Signal(run.times, run[name], "foh")
    return listed


def _list_simulated(fit: Fit, data: Sequence[Dataset]) -> list[tuple[Dataset, dict[str, float]]]:
    """Each of the data from where a simulation of it begins, and what the parameters are in it."""
    fitted = match_fit(fit, data)
    values = [fitted.problem.coordinates.values(fitted.point, number) for number in range(len(data))]
    if fitted.own or fit.criterion.condition is None:
        return list(zip(fitted.problem.data, values, strict=True))
    places = [find_continued(fit, one) for one in data]  # a filter begins with the data, a simulation where the fit did
    known = [own if place is None else dict(fit.values(place)) for own, place in zip(values, places, strict=True)]
    return list(zip(continue_data(fit, data), known, strict=True))


def _write_equations(fit: Fit) -> str:
    return "\n".join(map(str, fit.model.equations.values()))


def _repeat_simulation(comparison: Comparison) -> Comparison:
    """Without disturbances, the best prediction from the samples before is the simulation."""
    series = tuple(replace(one, steps_ahead=FrozenMapping({1: one})) for one in comparison.series)
    return replace(comparison, series=series)


def _add_ahead(comparison: Comparison, near: Comparison) -> Comparison:
    """With predictions one step ahead that another comparison with the same data has."""
    ahead = [near[one.output, one.experiment].ahead for one in comparison.series]
    pairs = zip(comparison.series, ahead, strict=True)
    series = tuple(one if two is None else replace(one, steps_ahead=FrozenMapping({1: two})) for one, two in pairs)
    return replace(comparison, series=series)


def _simulates(comparison: Comparison | None) -> bool:
    return comparison is not None and not comparison.horizons


def _check_validation(fit: Fit, validation: Any) -> tuple[Dataset, ...]:
    entries = validation if isinstance(validation, Dataset) else list_entries(validation)
    if entries is None or entries == []:
        raise ReportError(
            f"validation must be a Dataset, or a list of them, got {show(validation)}.",
            "Write write_report(fit, path, validation=data), or leave it out.",
        )
    sets = list_datasets("write_report", fit.model, entries)
    for one in sets:
        known = [name for name in one.outputs if name in fit.model.outputs]
        if not known:
            raise ReportError(
                f"The validation data '{one.name}' have none of the outputs of '{fit.model.name}', so nothing can be "
                "compared.",
                f"Give data with {' or '.join(map(repr, fit.model.outputs))} among their outputs.",
            )
    return sets


def _choose_steps(data: Sequence[Dataset]) -> tuple[int, ...]:
    shortest = min(one.sample_times.size for one in data)
    return tuple(k for k in STEPS if 5 * k <= shortest) or (1,)


def _look_ahead(fit: Fit, data: Sequence[Dataset], steps: Sequence[int]) -> Comparison:
    """Predictions from the samples before, by the fit or, where it simulates, by the exact filter of its model."""
    if fit.criterion.condition is not None:
        return compare(fit, data, horizon=list(steps))
    word = describe(fit.criterion).partition("(")[0]
    if any(item.experiment is not None for item in fit.coordinates.items) or not is_linear(fit.model, forced=True):
        raise ReportError(
            f"{word} simulates, and a prediction from the samples before would need a filter, which is exact for "
            "linear models with the same parameters in all data alone.",
            "Fit with Likelihood() to have one.",
        )
    silent = [name for one in data for name in one.outputs if name in fit.model.outputs]
    declared = find_declared_outputs(fit.model, tuple(data))
    if lacking := sorted(set(silent) - set(declared)):
        raise ReportError(
            f"{word} simulates, and a prediction from the samples before needs the measurement noise of "
            f"{lacking[0]!r}.",
            "Declare measurement_noise in the model.",
        )
    return compare(fit.model, data, horizon=list(steps))
