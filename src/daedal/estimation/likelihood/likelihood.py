"""`Likelihood`: the criterion, and which objective a model gets.

A linear model has the exact filter (`exact`, beside this file), whatever the method says. The objective of any other
model is that of its method, by the table at the end.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np

from daedal.analysis import is_linear
from daedal.errors import EstimationError, check_whole_number, is_one_of, is_real, show
from daedal.estimation.criteria import Objective
from daedal.estimation.likelihood.auto import make_auto_objective
from daedal.estimation.likelihood.exact import make_exact_objective
from daedal.estimation.likelihood.laplace import make_laplace_objective
from daedal.estimation.likelihood.moments import make_moments_objective
from daedal.estimation.likelihood.particle import make_particle_objective
from daedal.estimation.problem import Problem
from daedal.filtering import InitialCondition, InitialState
from daedal.models import as_name

Method = Literal["auto", "laplace", "moments", "particle"]


@final
@dataclass(frozen=True)
class Likelihood:
    """Maximum likelihood of models with disturbances and measurement noise: exact for linear models.

    Linear is what is so in unknowns and disturbances; functions of inputs and time, without parameters inside, are
    inputs of their own: exact where inputs are held, and followed to 1e-8 elsewhere.

    Parameters
    ----------
    initial
        What values at the start are that the model's `initial` leaves open: "diffuse", unknown with a flat prior (the
        likelihood is then that of the samples beyond those that tell the start; where the model is linear, what such a
        prior pulls is taken out of what a fit minimises); "free", estimated along with the
        parameters (a free measurement noise may then vanish, as the first samples can be fitted exactly); or "guess",
        held where the model guesses them (zero where it does not). States of disturbances begin as declared.
    initial_std
        Unknown → standard deviation of the value that `initial` holds, zero where left out.
    method
        Of models that are not linear: "laplace", around the most probable path; "moments", from mean and covariance of
        simulations, a quasi-likelihood, whose estimates are consistent whatever the law of the samples is (it takes
        delays, and starts where a simulation does: what `initial` leaves open is held at its guess); "particle", by
        particle filters, exact but for their Monte-Carlo error; or "auto": Laplace, judged at the estimate by
        particles or by records that the model makes, with particles, moments or a correction by such records in its
        place where it cannot be trusted.
    particles
        How many `method="particle"` takes.
    realizations
        How many `method="moments"` simulates: the Monte-Carlo error falls with their square root, and each sample is
        judged given as many before it as a tenth of them (up to 100 times) tells the covariance of.

    Examples
    --------
    >>> Likelihood(initial="guess").initial
    'guess'
    """

    initial: InitialState = "diffuse"
    initial_std: Mapping[Any, float] | None = None
    method: Method = "auto"
    particles: int = 2000
    realizations: int = 2000

    def __post_init__(self) -> None:
        if not is_one_of(self.initial, ("free", "diffuse", "guess")):
            raise EstimationError(
                f"The initial state of Likelihood must be 'free', 'diffuse' or 'guess', got {show(self.initial)}.",
                "Write Likelihood(initial='diffuse').",
            )
        if self.initial_std is not None:
            object.__setattr__(self, "initial_std", _check_deviations(self.initial_std))
        if not is_one_of(self.method, ("auto", "laplace", "moments", "particle")):
            raise EstimationError(
                "The method of Likelihood must be 'auto', 'laplace', 'moments' or 'particle', got "
                f"{show(self.method)}.",
                "Write Likelihood(method='auto').",
            )
        for name, least in (("particles", 2), ("realizations", 8)):
            sentence = f"The {name} of Likelihood must be a whole number from {least} on"
            remedy = f"Write Likelihood({name}=2000)."
            number = check_whole_number(getattr(self, name), EstimationError, sentence, remedy, least=least)
            object.__setattr__(self, name, number)

    @property
    def condition(self) -> InitialCondition:
        """What is known of the start."""
        return InitialCondition(self.initial, self.initial_std)

    def objective(self, problem: Problem) -> Objective:
        """Line up data and method; noise that makes no sense, and what cannot be seen, are said here."""
        if is_linear(problem.system.model, forced=True):
            return _make_exact(problem, self)
        return NONLINEAR.get(self.method, _make_exact)(problem, self)


def _check_deviations(given: Any) -> dict[str, float]:
    if not isinstance(given, Mapping):
        raise EstimationError(
            f"initial_std must be a mapping from unknowns to standard deviations, got {show(given)}.",
            "Write {'x': 0.1}.",
        )
    for key, value in given.items():
        if not is_real(value) or isinstance(value, bool) or not 0.0 <= float(value) < np.inf:
            raise EstimationError(
                f"The initial_std of '{as_name(key)}' must be a number from zero on, got {show(value)}.", "Write 0.1."
            )
    return {as_name(key): float(value) for key, value in given.items()}


def _make_exact(problem: Problem, chosen: Likelihood) -> Objective:
    """The filter; it refuses what is not linear. Of data that begin elsewhere, what the model holds says nothing."""
    condition = InitialCondition("free", released=True) if problem.elsewhere else chosen.condition
    return make_exact_objective(problem, condition)


def _make_laplace(problem: Problem, chosen: Likelihood) -> Objective:
    condition = InitialCondition("free", released=True) if problem.elsewhere else chosen.condition
    return replace(make_laplace_objective(problem, condition), alone=True)


# Method of models that are not linear → its objective; the exact filter refuses in place of one that is not there.
NONLINEAR: dict[str, Callable[[Problem, Likelihood], Objective]] = {
    "auto": make_auto_objective,
    "laplace": _make_laplace,
    "moments": make_moments_objective,
    "particle": make_particle_objective,
}
