"""Arguments that the verbs of this package share."""

from collections.abc import Iterable, Sequence
from math import inf, nan
from typing import Any

from daedal.data import Dataset
from daedal.errors import EstimationError, as_float, is_real, list_entries, nearest, show
from daedal.estimation import Fit
from daedal.experiments import list_datasets
from daedal.models import Model
from daedal.symbolic import Expression
from daedal.systems import System


def check_fit(verb: str, given: Any, second: Any = None) -> Fit:
    """A Fit; what else was given is named, and a fit that came second is noticed."""
    if isinstance(given, Fit):
        return given
    if isinstance(second, Fit):
        raise EstimationError(f"{verb} takes the fit first and the data second.", "Exchange the two arguments.")
    if isinstance(given, Dataset) or (isinstance(given, Sequence) and given and isinstance(given[0], Dataset)):
        raise EstimationError(f"{verb} takes a Fit first, got data.", "Estimate first: fit(model, data, free=[...]).")
    if isinstance(given, (Model, System)):
        name = given.name if isinstance(given, Model) else given.model.name
        raise EstimationError(
            f"{verb} takes a Fit, got the model '{name}'.", "Estimate first: fit(model, data, free=[...])."
        )
    raise EstimationError(f"{verb} takes a Fit, got {type(given).__name__}.", "Give what fit(...) returns.")


def check_data(verb: str, subject: Any, data: Any) -> tuple[Dataset, ...]:
    """One or several data sets; swapped arguments are told apart from wrong ones."""
    if isinstance(data, (Fit, Model, System)):
        raise EstimationError(f"{verb} takes the fit first and the data second.", "Exchange the two arguments.")
    return list_datasets(verb, subject, data)


def check_horizon(horizon: Any, data: Sequence[Dataset]) -> tuple[int, ...]:
    """Numbers of samples, increasing; none where only the simulation, or nothing, was asked for."""
    if horizon is None:
        return ()
    entries = list_entries(horizon)
    listed = [horizon] if entries is None else entries
    numbers = [as_float(one) if is_real(one) and not isinstance(one, bool) else nan for one in listed]
    if not all(one >= 1.0 and (one == inf or one.is_integer()) for one in numbers):
        raise EstimationError(
            "The horizon must be a whole number of samples from 1 on, np.inf for the simulation, or a list of them, "
            f"got {show(horizon)}.",
            "Write horizon=[1, 10].",
        )
    steps = {int(one) for one in numbers if one < inf}
    for one in data:
        count = one.sample_times.size
        if steps and max(steps) >= count:
            raise EstimationError(
                f"The horizon of {max(steps)} samples is longer than the data '{one.name}', which have {count}.",
                "Give a shorter one; np.inf is the simulation.",
            )
    return tuple(sorted(steps))


def check_names(verb: str, names: Any, known: Iterable[str]) -> tuple[str, ...]:
    """Names or symbols of estimates; all of them without a choice."""
    listed = tuple(known)
    if names is None:
        return listed
    if (entries := list_entries(names)) is None:
        example = str(names) if isinstance(names, (str, Expression)) else "k"
        raise EstimationError(
            f"The names of {verb} must be a list, got {show(names)}.", f"Write {verb}(fit, ['{example}'])."
        )
    chosen = tuple(dict.fromkeys(show(name, str) for name in entries))
    for name in chosen:
        if name not in listed:
            raise EstimationError(f"The fit has no estimate '{name}'.", nearest(name, listed))
    if not chosen:
        raise EstimationError(f"The list of names of {verb} is empty.", "Leave it out for all estimates.")
    return chosen
