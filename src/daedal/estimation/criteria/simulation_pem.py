"""The simulation-based prediction error method: the measured outputs against the mean of simulated ones.

    value = ½ Σ (y(t_k) − ȳ_M(t_k; θ))² / σ²,   ȳ_M = (1/M) Σ_m ŷ_m(t_k; θ),          (3a), (3b)

the ŷ_m being driven by disturbances made of innovations that stay the same while θ moves, so that the cost repeats
exactly and is smooth. The mean minimises the mean square error among predictors that do not look at the outputs, hence
the estimate is consistent as data and M grow. For finite M the expectation of (3a) contains Var(ŷ)/M, which shifts the
estimate by a bias of order 1/M; `debias` subtracts it (`mean_objective`, beside this file). With `whiten`, residual and
prediction are filtered by an autoregression of the residual of a first fit, as generalised least squares would: the
same data say more where the residual is correlated in time. Disturbances that went through a system always are, so this
is the default (`benchmarks/coverage.py` has what it gains); the publication does without.

Reference: M. R.-H. Abdalmoaty, O. Eriksson, R. Bereza, D. Broman, H. Hjalmarsson, Identification of Non-Linear
Differential-Algebraic Equation Models with Process Disturbances (2021).
"""

from dataclasses import dataclass
from typing import final

from daedal.analysis import is_linear
from daedal.errors import EstimationError, check_whole_number, quoted, show
from daedal.estimation.criteria.criterion import Objective
from daedal.estimation.criteria.mean_objective import make_mean_objective
from daedal.estimation.problem import Problem, check_visible, check_whiten, find_mean_movers
from daedal.experiments import check_transient


@final
@dataclass(frozen=True)
class SimulationPEM:
    """Least squares between data and the mean of simulations with random disturbances.

    Parameters
    ----------
    realizations
        How many are averaged. The Monte-Carlo error falls with its square root.
    transient
        Seconds after the first sample that are simulated but not scored.
    debias
        Whether to subtract what a finite number of realizations adds to the cost.
    whiten
        True or an order: filter residual and prediction by an autoregression of the residual, in a second stage. None:
        a fit does so if samples are regular; `evaluate` does not. That is what `fit` takes where no criterion is named.

    Examples
    --------
    >>> SimulationPEM(realizations=400, transient=50.0)
    SimulationPEM(realizations=400, transient=50.0, debias=True, whiten=False)
    """

    realizations: int = 200
    transient: float = 0.0
    debias: bool = True
    whiten: bool | int | None = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "transient", check_transient(self.transient))
        sentence = "The realizations must be a whole number from 1 on"
        check_whole_number(self.realizations, EstimationError, sentence, "Write realizations=200.", least=1)
        if not isinstance(self.debias, bool):
            raise EstimationError(f"debias must be True or False, got {show(self.debias)}.", "Write debias=True.")
        if self.debias and self.realizations < 2:
            raise EstimationError(
                "Debiasing needs the spread of at least 2 realizations, got 1.", "Take more, or write debias=False."
            )
        object.__setattr__(self, "realizations", int(self.realizations))
        object.__setattr__(self, "whiten", None if self.whiten is None else check_whiten(self.whiten))

    @property
    def condition(self) -> None:
        """It simulates."""

    def objective(self, problem: Problem) -> Objective:
        """Line up data and ensembles; what the mean cannot show is said here."""
        model = problem.system.model
        if not model.disturbances:
            raise EstimationError(
                f"Model '{model.name}' declares no disturbances, so there is nothing to average over.",
                "Use OutputError(), or declare disturbances={w: FilteredNoise(...)}.",
            )
        moving, still = find_mean_movers(problem)
        check_visible(problem, moving, accuracies=False, criterion="SimulationPEM")
        notes = ()
        if still:
            other = "Likelihood" if is_linear(model, forced=True) else "Likelihood(method='moments')"
            notes = (
                f"the disturbance{'s' * (len(still) > 1)} {quoted(still)} cannot move the mean of an output: {other} "
                f"would use what {'they do' if len(still) > 1 else 'it does'} to its scatter",
            )
        return make_mean_objective(
            problem,
            self.transient,
            self.realizations,
            debias=self.debias,
            whiten=self.whiten,
            notes=notes,
        )
