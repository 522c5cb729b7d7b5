"""Whether one simulation through all data means anything: how much it amplifies a small change of its start.

With Φ(t) = ∂x(t)/∂x(0) over the free states, the growth is the largest eigenvalue of a Φ(t), which does not depend on
the units of the states. Beyond e²⁰ or so, half of the digits of every later sample are noise, and a fit that shoots
once through the data has nothing to go by.
"""

from collections.abc import Mapping
from math import ceil, log

import numpy as np

from daedal.errors import EstimationError, RefusalError
from daedal.estimation.criteria import Evaluation, Objective
from daedal.estimation.problem import STATE, Problem, choose_free_states, make_piece_model, name_nodes
from daedal.experiments import match_experiments
from daedal.simulation import Lanes, Request, collect_moments, make_request, prepare
from daedal.systems import System, build

SUSPICIOUS = 1e4  # size of a prediction relative to that of the data
HARMFUL = 20.0  # logarithm of the growth
PER_SEGMENT = 6.0  # logarithm of the growth that one segment may have
STEPS = 500  # of the simulation that measures it, through which stable modes must not grow


def refuse_suspicious(objective: Objective, first: Evaluation) -> None:
    """Look for growth where the first simulation failed or left the data far behind."""
    if not first.ok or any(_is_suspicious(part.prediction, part.series.values) for part in first.parts):
        refuse_growth(objective.problem)


def refuse_growth(problem: Problem) -> None:
    """Name the growth where it is harmful, and what to do."""
    system, space = problem.system, problem.coordinates
    for number, experiment in enumerate(match_experiments(system, problem.data)):
        drive = experiment.drive
        exponent = _measure_growth(system, make_request(system, drive), space.values(space.start, number))
        if exponent > HARMFUL:
            raise EstimationError(
                f"From {drive.start:g} to {drive.end:g} model '{system.model.name}' multiplies a small change of its "
                f"start by e^{exponent:.0f}, so that one simulation through all data says nothing.",
                _suggest_remedy(system, exponent),
            )


def _suggest_remedy(system: System, exponent: float) -> str:
    if system.reduction.delays:  # pieces would have no past
        return "Start nearer to the data: other start values, delays shorter than the data, or a shorter record."
    return f"Cut it into pieces: criterion=OutputError(segments={ceil(exponent / PER_SEGMENT)})."


def _is_suspicious(prediction: np.ndarray, measured: np.ndarray) -> bool:
    size = np.nanmax(np.abs(measured), initial=0.0)
    return bool(np.max(np.abs(prediction)) > SUSPICIOUS * max(size, 1e-300))


def _measure_growth(system: System, asked: Request, values: Mapping[str, float]) -> float:
    """The logarithm of the growth; zero where it cannot be computed."""
    forcing = asked.forcing
    solver = Lanes(method="radau5", step=(forcing.end - forcing.start) / STEPS)
    try:
        states, held = choose_free_states(system, asked, values)
        names = name_nodes(states)
        piece = build(make_piece_model(system.model, states, held))
        given = {**values, **dict(zip(names, held.values(), strict=True))}
        outputs = tuple(STATE + str(k) for k in range(len(states)))
        options = {"values": [given], "wanted": outputs, "free": names, "seed": 0, "purpose": "growth"}
        run = prepare(piece, asked.times, forcing, solver, noisy=False, **options)
        slopes = collect_moments(run, 1).mean[0, len(states) :]
    except RefusalError:
        return 0.0
    transition = slopes.reshape(len(states), len(states), -1).transpose(2, 0, 1)
    eigenvalues = np.linalg.eigvals(transition[np.isfinite(transition).all(axis=(1, 2))])
    return log(max(float(np.max(np.abs(eigenvalues), initial=0.0)), 1.0))
