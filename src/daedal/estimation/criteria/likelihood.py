"""Maximum likelihood for linear models: how probable the samples are, given disturbances and measurement noise.

With e_k the innovation of a sample, what the Kalman filter did not foresee of it, and s_k its variance,

    value = −log L = ½ Σ (e²/s + log 2πs),
    gradient = Σ (e ∂e/s + ½ (1 − e²/s) ∂s/s),   curvature = Σ (∂e ∂eᵀ/s + ½ ∂s ∂sᵀ/s²),

the curvature being the information of the samples (with expectations of e² and e), so that the search is Fisher's
scoring. Open values at the start have a flat prior, so that the first samples only tell where the start was; or they
are taken at their best for each φ, and what that costs is taken out of the curvature.

Reference: M. Gerdin, T. B. Schön, T. Glad, F. Gustafsson, L. Ljung, On parameter and state estimation for linear
differential-algebraic equations (2006); the ½ of its equation (12) also belongs to log det.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, final

import numpy as np

from daedal.analysis import check_noise
from daedal.errors import DaedalError, EstimationError
from daedal.estimation.criteria.criterion import Evaluation, Objective, Part, failed
from daedal.estimation.problem import (
    Accuracies,
    Autoregression,
    Experiment,
    Problem,
    check_enough,
    check_visible,
    match_experiments,
)
from daedal.filtering import (
    Evolution,
    InitialCondition,
    InitialState,
    Innovated,
    LinearExperiment,
    Point,
    innovations_without_start,
    linear_experiments,
)
from daedal.linear import Dual
from daedal.models import as_name, as_tuple

LOG_2PI = float(np.log(2.0 * np.pi))


@final
@dataclass(frozen=True)
class Likelihood:
    """Exact maximum likelihood of linear models with disturbances and measurement noise.

    Parameters
    ----------
    initial
        What values at the start are that the model's `initial` leaves open: "diffuse", unknown with a flat prior (the
        likelihood is then that of the samples beyond those that tell the start); "free", estimated along with the
        parameters (a free measurement noise may then vanish, as the first samples can be fitted exactly); or "guess",
        held where the model guesses them (zero where it does not). States of disturbances begin as declared.
    initial_std
        Unknown → standard deviation of the value that `initial` holds, zero where left out.

    Examples
    --------
    >>> Likelihood(initial="guess")
    Likelihood(initial='guess', initial_std=None)
    """

    initial: InitialState = "diffuse"
    initial_std: Mapping[Any, float] | None = None

    def __post_init__(self) -> None:
        if self.initial not in ("free", "diffuse", "guess"):
            raise EstimationError(
                f"The initial state of Likelihood must be 'free', 'diffuse' or 'guess', got {self.initial!r}.",
                "Write Likelihood(initial='diffuse').",
            )
        if self.initial_std is not None:
            object.__setattr__(self, "initial_std", _checked_deviations(self.initial_std))

    @property
    def transient(self) -> float:
        """Every sample is scored."""
        return 0.0

    @property
    def condition(self) -> InitialCondition:
        """What is known of the start."""
        return InitialCondition(self.initial, self.initial_std)

    def objective(self, problem: Problem) -> Objective:
        """Line up data and filter; noise that makes no sense, and what cannot be seen, are said here."""
        return likelihood_objective(problem, self.condition)

    def elsewhere(self, problem: Problem) -> "LikelihoodObjective":
        """On other data, which begin elsewhere: nothing that the model holds at its start is known of them."""
        return likelihood_objective(problem, InitialCondition("free", released=True))


def _checked_deviations(given: Any) -> dict[str, float]:
    if not isinstance(given, Mapping):
        raise EstimationError(
            f"initial_std must be a mapping from unknowns to standard deviations, got {given!r}.", "Write {'x': 0.1}."
        )
    for key, value in given.items():
        if not isinstance(value, Real) or isinstance(value, bool) or not 0.0 <= float(value) < np.inf:
            raise EstimationError(
                f"The initial_std of '{as_name(key)}' must be a number from zero on, got {value!r}.", "Write 0.1."
            )
    return {as_name(key): float(value) for key, value in given.items()}


def likelihood_objective(problem: Problem, condition: InitialCondition) -> "LikelihoodObjective":
    """Check the problem, and line it up."""
    model, space = problem.system.model, problem.coordinates
    values = [space.values(space.start, number) for number in range(len(problem.data))]
    made = linear_experiments("Likelihood", problem.system, problem.data, values, condition)
    everything = [" ".join(as_tuple(key)) for key in model.disturbances]
    check_visible(problem, everything, accuracies=True, criterion="Likelihood")
    lined = match_experiments(problem.system, problem.data, 0.0)
    check_enough(lined, len(space.items))
    verdict = check_noise(model)
    if not verdict.well_posed:
        first = verdict.findings[0]
        raise EstimationError(f"The samples of model '{model.name}' have no likelihood: {first.sentence}", first.remedy)
    return LikelihoodObjective(problem, lined, made, condition.open == "diffuse")


@dataclass(frozen=True, eq=False)
class LikelihoodObjective:
    """−log L as a function of φ."""

    problem: Problem
    experiments: tuple[Experiment, ...]
    linear: tuple[LinearExperiment, ...]
    diffuse: bool

    @property
    def sum_of_squares(self) -> bool:
        """Variances are part of it too."""
        return False

    @property
    def notes(self) -> tuple[str, ...]:
        """What is open at the start, and samples that cannot be used."""
        opened = dict.fromkeys(name for each in self.linear for name in each.plan.open)
        notes = [note for each in self.linear for note in each.readings.unseen]
        if opened:
            how = "unknown, with a flat prior" if self.diffuse else "estimated too"
            notes.append(f"at the start {', '.join(opened)} {'is' if len(opened) == 1 else 'are'} open: {how}")
            if not self.diffuse and Accuracies(self.problem.system.model, self.problem.coordinates, {}).free:
                notes.append(
                    "a free start can fit the first samples exactly and lets a free measurement noise vanish: "
                    "Likelihood(initial='diffuse') does not"
                )
        return tuple(notes)

    @property
    def scales(self) -> Mapping[str, float]:
        """None: every output has an accuracy."""
        return {}

    @property
    def filters(self) -> Mapping[str, Autoregression]:
        """None: innovations need no whitening."""
        return {}

    def refined(self, _evaluation: Evaluation, /) -> None:
        """There is one stage."""
        return

    def planned(self, _point: np.ndarray, /) -> "LikelihoodObjective":
        """Nothing depends on steps."""
        return self

    def step_error(self, _point: np.ndarray, /) -> float:
        """The filter is exact."""
        return 0.0

    def forgiving(self, _point: np.ndarray, /) -> "LikelihoodObjective":
        """Nothing is random."""
        return self

    def sharpened(self, _evaluation: Evaluation, /) -> "LikelihoodObjective":
        """There is one stage."""
        return self

    def scatter(self, evaluation: Evaluation) -> np.ndarray:
        """Nothing is random."""
        return np.zeros((evaluation.point.size, evaluation.point.size))

    def __call__(self, point: np.ndarray) -> Evaluation:
        size = point.size
        value, gradient, curvature, inner = 0.0, np.zeros(size), np.zeros((size, size)), 0
        parts: list[Part] = []
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                for number, innovated in enumerate(self.innovated(point)):
                    found = _likelihood(innovated, self.linear[number], self.diffuse)
                    own = self._own(point, number)
                    value += found.value
                    gradient += own @ found.gradient
                    curvature += own @ found.curvature @ own.T
                    inner += 0 if self.diffuse else len(innovated.opened.kept)
                    parts += self._parts(number, innovated, size)
        except DaedalError as error:
            return failed(point, error.sentence)
        except np.linalg.LinAlgError:
            return failed(point, "The matrices of the model are singular there.")
        if not (np.isfinite(value) and np.isfinite(gradient).all() and np.isfinite(curvature).all()):
            return failed(point, "The likelihood or its gradient is not finite there.")
        return Evaluation(point, value, gradient, curvature, parts=tuple(parts), loglik=-value, inner=inner)

    def innovated(self, point: np.ndarray) -> list[Innovated]:
        """The innovations of each experiment; matrices are made once for experiments with the same values."""
        space, model = self.problem.coordinates, self.problem.system.model
        made: dict[tuple, tuple[Point, Evolution]] = {}
        result = []
        for number, each in enumerate(self.linear):
            values = space.values(point, number)
            key = tuple(values.items())
            if key not in made:
                at = Point(model, values, space.parameters)
                made[key] = (at, each.stochastic.at(at))
            at, evolution = made[key]
            result.append(each.innovated(evolution, at))
        return result

    def _own(self, point: np.ndarray, number: int) -> np.ndarray:
        """d(parameters)/d(coordinates) in one experiment, (coordinate, parameter)."""
        space = self.problem.coordinates
        own, rates = space.selection(number), space.rates(point)
        result = np.zeros((point.size, len(space.parameters)))
        for k, parameter in enumerate(own):
            if parameter >= 0:
                result[k, parameter] = rates[k]
        return result

    def _parts(self, number: int, innovated: Innovated, size: int) -> list[Part]:
        """Innovations in units of their standard deviation, output by output."""
        readings = self.linear[number].readings
        deviation = np.sqrt(innovated.s.value)
        samples = readings.line.sample_of[readings.measuring]
        parts = []
        for series in self.experiments[number].series:
            output = readings.outputs.index(series.output)
            mine = readings.event_outputs == output
            places = readings.places[samples[mine], output]
            residual, spread = np.full(series.times.size, np.nan), np.full(series.times.size, np.nan)
            predicted = np.full(series.times.size, np.nan)
            residual[places] = innovated.e.value[mine] / deviation[mine]
            spread[places] = deviation[mine]
            predicted[places] = innovated.predicted[samples[mine], output]
            scored = replace(series, values=np.where(np.isfinite(residual), series.values, np.nan))
            slopes = np.zeros((size, series.times.size))
            parts.append(Part(scored, residual, slopes, np.zeros(size), spread, predicted))
        return parts


@dataclass(frozen=True, eq=False)
class _Terms:
    """Of one experiment, in the parameters."""

    value: float
    gradient: np.ndarray
    curvature: np.ndarray


def _likelihood(found: Innovated, experiment: LinearExperiment, diffuse: bool) -> _Terms:
    e, s, E = found.e, found.s, found.E
    value = 0.5 * float(np.sum(e.value**2 / s.value) + np.sum(np.log(s.value)) + e.value.size * LOG_2PI)
    value += experiment.readings.log_determinants
    weighed, rates = e.slopes / np.sqrt(s.value), s.slopes / s.value
    gradient = e.slopes @ (e.value / s.value) + 0.5 * rates @ (1.0 - e.value**2 / s.value)
    curvature = weighed @ weighed.T + 0.5 * rates @ rates.T
    shared = weighed @ found.opened.basis  # with the open values
    curvature = curvature - shared @ shared.T
    if diffuse and found.opened.kept:
        curvature = _information_without_start(found)
        value += found.opened.half_log_determinant - 0.5 * len(found.opened.kept) * LOG_2PI
        gradient += found.opened.half_log_determinant_slopes(E, s)
    return _Terms(value, gradient, curvature)


def _information_without_start(found: Innovated) -> np.ndarray:
    """The information of samples of which the first only tell where the start was."""
    E = found.E[:, list(found.opened.kept)]
    best = found.opened.best
    e = Dual(found.e.value - found.E.value @ best, found.e.slopes - found.E.slopes @ best)
    e, s = innovations_without_start(e, E, found.s)
    weighed, rates = e.slopes / np.sqrt(s.value), s.slopes / s.value
    return weighed @ weighed.T + 0.5 * rates @ rates.T
