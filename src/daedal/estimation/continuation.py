"""Where other data than those of a fit begin: at a state that the fit knows, at its initial values, or to be estimated.

Data continue an experiment of the fit if they have its name and its inputs and begin after its last sample, as the
second part of `Dataset.split` does; without inputs, the first sample must follow the last within the longest interval
between two samples. A criterion that simulates then begins where that experiment does, with the values that it has
there, and only the samples of the data count. Nothing else is taken for a continuation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from daedal.data import Dataset, short
from daedal.errors import RefusalError, quoted
from daedal.estimation.problem import Coordinates, draw_hypercube, has_finite_bounds
from daedal.estimation.result import Fit
from daedal.models import Model
from daedal.simulation import simulate
from daedal.symbolic import Expression, list_plain_symbols

MORE_STARTS = 5  # between the bounds of local parameters
SAME = 1e-9  # of an interval: times this close are the same time


def find_continued(fit: Fit, data: Dataset) -> int | None:
    """The experiment of the fit that these data continue."""
    for number, own in enumerate(fit.data):
        begin, end = data.sample_times[0], own.sample_times[-1]
        if own.name != data.name or dict(own.inputs) != dict(data.inputs) or begin <= end:
            continue
        longest = np.max(np.diff(own.sample_times), initial=0.0)
        if data.inputs or begin - end <= longest * (1.0 + SAME):
            return number
    return None


def continue_data(fit: Fit, data: Sequence[Dataset]) -> tuple[Dataset, ...]:
    """The data, those that continue an experiment of the fit starting where that does."""
    places = [find_continued(fit, one) for one in data]
    return tuple(
        one if place is None else replace(one, t0=fit.data[place].t0) for one, place in zip(data, places, strict=True)
    )


def list_initial_parameters(model: Model) -> dict[str, list[str]]:
    """Variable → parameters that its value at the start depends on."""
    used = {}
    for name, value in model.initial.items():
        symbols = list_plain_symbols(value.sx) if isinstance(value, Expression) else []
        used[name] = [symbol for symbol in symbols if symbol in model.parameters]
    return used


def list_local_starts(fit: Fit, space: Coordinates, data: Sequence[Dataset], seed: int) -> list[np.ndarray]:
    """From where local parameters are estimated on other data.

    Their mean over the experiments of the fit, their values in each, the state that these data continue, the other
    sign, and points between the bounds.
    """
    mean = space.start
    named = [fit.coordinates.values(fit.point, number) for number in range(len(fit.data))]
    points = [mean, *(_read_values(space, [values] * len(data)) for values in named)]
    points.append(_read_values(space, [_continue_values(fit, one) for one in data]))
    points.append(space.internal([-item.start if not item.logarithmic else item.start for item in space.items]))
    if any(map(has_finite_bounds, space.items)):
        points += draw_hypercube(space, MORE_STARTS, seed)
    lower, upper = space.bounds
    distinct: list[np.ndarray] = []
    for point in (np.clip(point, lower, upper) for point in points):
        if not any(np.allclose(point, other, rtol=1e-6, atol=0.0) for other in distinct):
            distinct.append(point)
    return distinct


def _read_values(space: Coordinates, values: Sequence[Mapping[str, float]]) -> np.ndarray:
    """φ of the values in each experiment; what they leave out keeps its start."""
    numbers = [values[item.experiment or 0].get(item.parameter, item.start) for item in space.items]
    usable = [
        number if not item.logarithmic or number > 0.0 else item.start
        for item, number in zip(space.items, numbers, strict=True)
    ]
    return space.internal(usable)


def _continue_values(fit: Fit, data: Dataset) -> Mapping[str, float]:
    """Parameters that are values at the start, as the state that these data continue has them."""
    place = find_continued(fit, data)
    alone = {
        name: own[0]
        for name, own in list_initial_parameters(fit.model).items()
        if own == [str(fit.model.initial[name])]
    }
    if place is None or not alone:
        return {}
    own = fit.data[place]
    inputs = {name: signal for name, signal in data.inputs.items() if name in {str(one) for one in fit.model.inputs}}
    try:
        at = simulate(fit.model.with_parameters(dict(fit.values(place))), [own.t0, data.t0], inputs=inputs)
    except RefusalError:
        return {}
    return {parameter: float(at[name][-1]) for name, parameter in alone.items()} if at.status.ok else {}


def describe_continued(fit: Fit, data: Sequence[Dataset]) -> list[str]:
    """Which of the data are simulated from where an experiment of the fit starts."""
    places = [find_continued(fit, one) for one in data]
    return [
        f"'{one.name}' continues data of the fit: simulated from their start on, {short(fit.data[place].t0)}"
        for one, place in zip(data, places, strict=True)
        if place is not None
    ]


def describe_reused(fit: Fit, data: Sequence[Dataset], local: Sequence[str] = ()) -> list[str]:
    """Which initial values of the fit are taken for data that begin anew."""
    if not data:
        return []
    estimated = {item.parameter for item in fit.coordinates.items if item.experiment is None}
    used = list_initial_parameters(fit.model)
    reused = {name: [one for one in own if one in estimated] for name, own in used.items()}
    shared = dict.fromkeys(f"{one} = {fit.params[one]:.5g}" for own in reused.values() for one in own)
    notes = [] if any(one in local for own in used.values() for one in own) else describe_cut(data)
    if shared:
        names = [name for name, own in reused.items() if own]
        notes.append(
            f"{quoted(names)} {'starts' if len(names) == 1 else 'start'} as in the fit, {', '.join(shared)}: "
            "local=[...] would estimate that on these data"
        )
    return notes


def describe_cut(data: Sequence[Dataset]) -> list[str]:
    """Data whose inputs are known before them, where the model starts all the same."""
    cut = [one for one in data if any(signal.start < one.t0 for signal in one.inputs.values())]
    return [f"'{one.name}' starts at the model's initial values at {short(one.t0)}; inputs begin before" for one in cut]
