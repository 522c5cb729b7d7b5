"""States of nonlinear models: smoothed around the most probable path, filtered and predicted by the extended filter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.data import Dataset
from daedal.errors import EstimationError
from daedal.experiments import Experiment, check_covered, match_experiments
from daedal.filtering.experiment import InitialCondition
from daedal.filtering.nonlinear.discrete_model import DiscreteModel, make_nonlinear_experiment
from daedal.filtering.nonlinear.extended_filter import Law, Smoothed, run_extended_filter, see_law
from daedal.filtering.nonlinear.lineup import leave_kinks, line_up, refuse_unsuitable
from daedal.filtering.nonlinear.path_starts import are_same, find_paths
from daedal.filtering.parameter_point import Point
from daedal.systems import System


@final
@dataclass(frozen=True, eq=False)
class NonlinearStates:
    """Mean and standard deviation of the wanted variables, (query, variable), and what to know of them."""

    mean: np.ndarray
    std: np.ndarray
    notes: tuple[str, ...]


def estimate_nonlinear_states(
    system: System,
    data: Dataset,
    values: Mapping[str, float],
    condition: InitialCondition,
    variables: Sequence[str],
    kind: str,
    horizon: float | None,
    queries: np.ndarray,
) -> NonlinearStates:
    """Variables of a nonlinear model at the queries; see `estimate_states`."""
    system = leave_kinks(system)
    refuse_unsuitable(system, "estimate_states", "Leave it out")
    experiment = match_experiments(system, [data])[0]
    check_covered(experiment.drive.signals, experiment.drive.start, float(queries[-1]), EstimationError)
    origins = queries if horizon is None else np.maximum(queries - horizon, experiment.drive.start)
    discrete, opened = _line_up(experiment, values, condition, variables, np.union1d(queries, origins))
    grid, notes = discrete.experiment.grid, []
    points = grid.find_points(queries)
    ends = find_paths(discrete) if kind == "smoothed" or opened else []
    if opened:
        notes.append(f"at the start {', '.join(opened)} {'is' if len(opened) == 1 else 'are'} estimated too")
    if kind == "smoothed":
        if not are_same(ends):
            notes.append(
                "several paths explain the data about as well: this is the most probable one, its band is its own"
            )
        law = _take(Smoothed(ends[0]).law, points)
    else:
        extended = run_extended_filter(discrete, ends[0] if ends else None)
        if horizon is not None:
            law = extended.look_ahead(grid.find_points(origins), points)
        else:
            law = _take(extended.filtered if kind == "filtered" else extended.predicted, points)
        notes.append("by the extended Kalman filter")
    mean, std = see_law(discrete, law, points)
    own = [discrete.experiment.program.outputs.index(name) for name in variables]
    return NonlinearStates(mean[:, own], std[:, own], tuple(notes))


def _take(law: Law, points: np.ndarray) -> Law:
    return Law(law.mean[points], law.tops[points], law.covariance[points])


def _line_up(
    experiment: Experiment,
    values: Mapping[str, float],
    condition: InitialCondition,
    variables: Sequence[str],
    queries: np.ndarray,
) -> tuple[DiscreteModel, tuple[str, ...]]:
    """With steps that suit the data, and the variables among what is seen."""
    lined = line_up(experiment, values, condition)
    wanted = [name for name in dict.fromkeys(variables) if name not in experiment.outputs]
    finer = make_nonlinear_experiment(
        lined.source, values, lined.method, lined.longest, lined.spread, wanted=wanted, queries=queries
    )
    return finer.at(Point(experiment.system.model, values, ())), lined.opened
