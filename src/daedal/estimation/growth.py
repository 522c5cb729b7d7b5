"""Whether one simulation through all data means anything: how much it amplifies a small change of its start.

With Φ(t) = ∂x(t)/∂x(0) over the free states, the growth is the largest |Φ(t)|; beyond e²⁰ or so, half of the digits of
every later sample are noise, and a fit that shoots once through the data has nothing to go by.
"""

from collections.abc import Mapping
from math import ceil, log

import numpy as np

from daedal.errors import DaedalError, EstimationError
from daedal.estimation.criterion import Evaluation, Objective
from daedal.estimation.segments import STATE, free_states, node_names, piece_model
from daedal.simulation import Lanes
from daedal.simulation.prediction import predictor
from daedal.simulation.request import Request
from daedal.systems import System, build

SUSPICIOUS = 1e4  # size of a prediction relative to that of the data
HARMFUL = 20.0  # logarithm of the growth
PER_SEGMENT = 6.0  # logarithm of the growth that one segment may have


def refuse_growth(objective: Objective, first: Evaluation) -> None:
    """Name the growth where the first simulation went wrong because of it, and what to do."""
    if first.ok and not any(_suspicious(part.prediction, part.series.values) for part in first.parts):
        return
    system, space = objective.problem.system, objective.problem.coordinates
    for number, experiment in enumerate(objective.experiments):
        exponent = _exponent(system, experiment.asked, space.values(space.start, number))
        if exponent > HARMFUL:
            times = experiment.asked.forcing
            raise EstimationError(
                f"From {times.start:g} to {times.end:g} the model '{system.model.name}' multiplies a small change of its "
                f"start by e^{exponent:.0f}, so that one simulation through all data says nothing.",
                f"Cut it into pieces: criterion=OutputError(segments={ceil(exponent / PER_SEGMENT)}).",
            )


def _suspicious(prediction: np.ndarray, measured: np.ndarray) -> bool:
    return bool(np.max(np.abs(prediction)) > SUSPICIOUS * max(np.nanmax(np.abs(measured), initial=0.0), 1e-300))


def _exponent(system: System, asked: Request, values: Mapping[str, float]) -> float:
    """The logarithm of the growth; zero where it cannot be computed."""
    try:
        states, held = free_states(system, asked, values)
        names = node_names(states)
        piece = build(piece_model(system.model, states, held))
        outputs = [STATE + str(k) for k in range(len(states))]
        given = {**values, **dict(zip(names, held.values(), strict=True))}
        request = Request(piece, asked.times, asked.forcing)
        made = predictor(request, outputs, names, given, Lanes(tolerance=1e-6), None, 0, "growth")
        found = made(given)
    except DaedalError:
        return 0.0
    transition = found.slopes.transpose(2, 0, 1)
    return log(max(float(np.max(np.linalg.norm(transition, axis=(1, 2)))), 1.0))
