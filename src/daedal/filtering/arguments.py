"""The arguments of `estimate_states`, checked: whose states, which variables, when."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from daedal.analysis import check_noise
from daedal.data import Dataset, increasing, short
from daedal.errors import DataError, EstimationError, as_float, is_one_of, is_real, list_entries, nearest, show
from daedal.filtering.experiment import InitialCondition, name_row
from daedal.models import Model, as_name
from daedal.symbolic import Expression, jet
from daedal.systems import System, build


@runtime_checkable
class Estimated(Protocol):
    """What is taken of a fit."""

    @property
    def model(self) -> Model: ...
    @property
    def data(self) -> tuple[Dataset, ...]: ...
    @property
    def criterion(self) -> Any: ...
    def values(self, experiment: int = 0) -> Mapping[str, float]: ...


def read_subject(model: Any, data: Any) -> tuple[System, Mapping[str, float], InitialCondition]:
    """The system, the values of its parameters, and what is known of the start."""
    if isinstance(model, Dataset) or isinstance(data, (Model, System)):
        raise EstimationError(
            "estimate_states takes the model or fit first and the data second.", "Exchange the two arguments."
        )
    if isinstance(model, (Model, System)):
        return (model if isinstance(model, System) else build(model)), {}, InitialCondition()
    # Asked for its attributes, an array of dates raises an error of its own.
    if isinstance(model, np.ndarray) or not isinstance(model, Estimated):
        raise EstimationError(
            f"estimate_states takes a Model or a Fit first, got {type(model).__name__}.", "Give what fit(...) returns."
        )
    system = build(model.model)
    for number, own in enumerate(model.data):
        if own is data or own == data:
            return system, model.values(number), model.criterion.condition or InitialCondition()
    # Other data begin elsewhere: what the model holds at its start says nothing about them.
    return system, {}, InitialCondition(released=True)


def check_arguments(data: Any, kind: Any, horizon: Any) -> None:
    """Refuse what cannot be asked for."""
    if not isinstance(data, Dataset):
        raise EstimationError(
            f"estimate_states takes one Dataset, got {type(data).__name__}.", "Call it for each experiment."
        )
    if not is_one_of(kind, ("filtered", "smoothed", "predicted")):
        raise EstimationError(
            f"The kind of a state estimate must be 'filtered', 'smoothed' or 'predicted', got {show(kind)}.",
            "Write kind='smoothed'.",
        )
    if horizon is None:
        return
    if not is_real(horizon) or isinstance(horizon, bool) or not 0.0 < as_float(horizon) < np.inf:
        raise EstimationError(f"The horizon must be a positive time, got {show(horizon)}.", "Write horizon=1.0.")
    if kind != "predicted":
        raise EstimationError(f"A horizon belongs to kind='predicted', got kind={kind!r}.", "Leave one of them out.")


def choose_rows(model: Model, variables: Any) -> tuple[dict[str, str], tuple[str, ...]]:
    """Variable → key of its row, and what was left out: what has no finite variance, unless it was asked for."""
    if variables is None:
        verdict = check_noise(model, variables=list(model.unknown_names))
        rough = {finding.variable for finding in verdict.findings if finding.role != "output"}
        left = [name for name in model.unknown_names if name not in rough]
        note = (f"without finite variance, and left out: {', '.join(sorted(rough))}",) if rough else ()
        _refuse_ill_posed(model, [finding for finding in verdict.findings if finding.role == "output"])
        return {name: name_row(name) for name in left}, note
    if (entries := list_entries(variables)) is None:
        example = str(variables) if isinstance(variables, (str, Expression)) else "x"
        raise EstimationError(
            f"The variables of estimate_states must be a list, got {show(variables)}.",
            f"Write variables=['{example}'].",
        )
    names = list(dict.fromkeys(str(as_name(variable)) for variable in entries))
    if not names:
        raise EstimationError("The list of variables is empty.", "Leave it out for all unknowns.")
    known = {**model.names, **dict.fromkeys(model.outputs, "output")}
    rows = {}
    for name in names:
        role = known.get(name, known.get(jet(name)[0]))
        if role is None or role == "parameter":
            what = "is a parameter" if role else "is nothing"
            raise EstimationError(
                f"'{name}' {what} of model '{model.name}' and has no course in time.",
                nearest(name, [other for other, role in known.items() if role != "parameter"]),
            )
        rows[name] = name if name in model.outputs else name_row(name)
    _refuse_ill_posed(model, check_noise(model, variables=_list_checkable(model, names)).findings)
    return rows, ()


def _list_checkable(model: Model, names: Sequence[str]) -> list[str] | None:
    """Those that are not outputs, which are checked in any case."""
    return [name for name in names if name not in model.outputs] or None


def _refuse_ill_posed(model: Model, findings: Sequence[Any]) -> None:
    if findings:
        first = findings[0]
        raise EstimationError(f"States of model '{model.name}' cannot be estimated: {first.sentence}", first.remedy)


def choose_times(data: Dataset, times: Any) -> np.ndarray:
    """Those given, if the data have begun by then; by default those of the samples."""
    if times is None:
        return data.sample_times
    try:
        asked = increasing(times)
    except DataError as error:
        raise EstimationError(f"The states cannot be estimated: {error.sentence}", error.remedy) from None
    if asked[0] < data.t0:
        raise EstimationError(
            f"States are asked for at {short(float(asked[0]))}, before the data begin at {short(data.t0)}.",
            "Ask for later times, or give the data an earlier start t0.",
        )
    return asked
