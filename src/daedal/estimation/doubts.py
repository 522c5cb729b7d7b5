"""What makes the numbers of a fit less sure than they look, in sentences."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from daedal.errors import quoted
from daedal.estimation.accumulation import list_accumulated
from daedal.estimation.criteria import Evaluation, list_outputs
from daedal.estimation.intervals import list_ambiguous
from daedal.estimation.problem import find_crossed_zeros
from daedal.estimation.search import Outcome, model_residual

if TYPE_CHECKING:
    from daedal.estimation.result import Estimate, Fit

POOR = 50.0  # per cent of the variation that a model explains, below which it is worth a word
MOST_RIVALS = 3  # minima that are told
SAME = 1e-9  # of a criterion: rounding
LONG = 0.1  # of the record: a residual with this memory has too few independent parts to tell errors by
COLOURED = 2.0  # samples: the same where disturbances are added up, as starts that are free hide how far they lead


def list_doubts(outcome: Outcome, fit: "Fit", *, explained: bool) -> list[str]:
    """All of them; `explained` where residuals are as large as the disturbances of the model make them."""
    return [
        *_doubt_bounds(fit.estimates),
        *_doubt_minima(fit),
        *_doubt_fit(fit.fit_percent, explained),
        *_doubt_ignored_disturbances(outcome),
        *_doubt_crossed_zeros(outcome, fit),
    ]


def _doubt_bounds(estimates: Mapping[str, "Estimate"]) -> list[str]:
    stuck = [name for name, one in estimates.items() if one.at_bound]
    if not stuck or len(stuck) == len(estimates):
        return []
    there = "their bounds" if len(stuck) > 1 else "its bound"
    leaves = "they leave them" if len(stuck) > 1 else "it leaves it"
    return [
        f"standard errors hold if {_join(stuck)} {'are' if len(stuck) > 1 else 'is'} at {there}; intervals allow that "
        f"{leaves}, as far as the curvature tells: a profile follows the criterion"
    ]


def _join(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _doubt_minima(fit: "Fit") -> list[str]:
    """Other minima that the data allow as well, where parameters have clearly other values."""
    notes = []
    for rival, names in list_ambiguous(fit)[:MOST_RIVALS]:
        values = ", ".join(f"{name} = {rival.params[name]:.5g}" for name in names)
        above = rival.value - fit.value
        notes.append(
            f"another minimum fits as well for all that the data tell, with {values}: the criterion is "
            f"{above if above > SAME * abs(fit.value) else 0.0:.2g} above, and "
            f"{'intervals hold' if len(names) > 1 else 'the interval holds'} both"
        )
    return notes


def _doubt_fit(percents: Mapping[str, float], explained: bool) -> list[str]:
    poor = {name: percent for name, percent in percents.items() if 0.0 < percent < POOR}
    if not poor:
        return []
    shown = ", ".join(f"{name} {percent:.1f} %" for name, percent in poor.items())
    if explained:
        return [f"{shown} of the variation: what is left is as large as disturbances of the model make it"]
    return [
        f"poor fit ({shown}): errors and verdicts hold only if all that is left is noise; try other starts, and look "
        "at the residuals (resid)"
    ]


def _doubt_ignored_disturbances(outcome: Outcome) -> list[str]:
    """A criterion that ignores the disturbances of a model that adds them up."""
    evaluation, said = outcome.evaluation, outcome.objective.capabilities
    model = outcome.objective.problem.system.model
    averaged = said.scatter is not None and evaluation.noise is not None
    if not model.disturbances or averaged or evaluation.loglik is not None or evaluation.scores is not None:
        return []
    added_up = set(list_accumulated(model))
    wandering = [name for name in list_outputs(evaluation.parts) if _wanders(evaluation, name, name in added_up)]
    if not wandering:
        return []
    how = "adds up" if added_up.intersection(wandering) else "has"
    return [
        f"the residual of {quoted(wandering)} wanders through the record, as the model {how} disturbances that this "
        "criterion ignores: errors and intervals are void; use Likelihood() or SimulationPEM()"
    ]


def _wanders(evaluation: Evaluation, output: str, added_up: bool) -> bool:
    """Whether the residual has a memory of much of the longest record; of some samples where disturbances add up."""
    longest = max(part.residual.size for part in evaluation.parts if part.series.output == output)
    return _measure_memory(evaluation, output, longest) > (COLOURED if added_up else LONG * longest)


def _measure_memory(evaluation: Evaluation, output: str, longest: int) -> float:
    """How many samples count as one, by the autoregression of a residual."""
    model = model_residual(evaluation, output)
    unit = np.zeros(longest)
    unit[longest // 2] = 1.0
    variance, spread = float(np.sum(model.long_run(unit) ** 2)), float(np.sum(model.long_run(np.ones(longest)) ** 2))
    return spread / (longest * variance) if variance > 0.0 else 0.0


def _doubt_crossed_zeros(outcome: Outcome, fit: "Fit") -> list[str]:
    """Parameters on the other side of a zero than where they began, which divides the model in two."""
    begun = fit.coordinates.internal([one.start for one in fit.estimates.values()])
    crossed = find_crossed_zeros(outcome.objective.problem, begun, outcome.evaluation.point)
    names = [name for name, yes in zip(fit.estimates, crossed, strict=True) if yes]
    if not names:
        return []
    zero = "their zeros" if len(names) > 1 else "its zero"
    return [
        f"the search has led {_join(names)} over {zero}, where the model is another one: if the sign is known, give a "
        "bound of 0 or a log scale"
    ]
