"""Output error: the measured outputs against one simulation in which every disturbance is zero.

    value = ½ Σ (y(t_k) − ŷ(t_k; θ))² / σ²

With `whiten` residual and slopes are filtered by an autoregression of the residual first, as in
`daedal.estimation.criteria.simulation_pem`. With another `loss` than squares, residuals that are far off count less
(`daedal.estimation.criteria.losses`).

The baseline everybody uses. It is the maximum of the likelihood when nothing but measurement noise disturbs the
outputs; with process disturbances it is biased wherever they move the mean, however much data there is.
"""

from dataclasses import dataclass
from typing import final

from daedal.errors import EstimationError, check_whole_number, quoted
from daedal.estimation.criteria.criterion import Objective
from daedal.estimation.criteria.losses import LOSSES, check_loss
from daedal.estimation.criteria.mean_objective import make_mean_objective
from daedal.estimation.criteria.shooting import make_shooting_objective
from daedal.estimation.problem import Problem, check_visible, check_whiten
from daedal.experiments import check_transient
from daedal.simulation import find_pasts


@final
@dataclass(frozen=True)
class OutputError:
    """Least squares between data and simulation, disturbances ignored.

    Parameters
    ----------
    transient
        Seconds after the first sample that are simulated but not scored.
    segments
        Into how many pieces each experiment is cut, whose starts are estimated along with the parameters, from the
        data on, and tied together in the end (multiple shooting): for models that amplify small errors, and for long
        records of oscillations from poor start values.
    whiten
        Filter data and simulation by an autoregression that the residual follows: for coloured measurement noise.
        An integer is its order; True leaves the order to the data.
    loss
        "huber", "soft_l1" or "cauchy" where some samples are far off: residuals beyond 1.34, 1.29 or 2.38 standard
        deviations count less and less, with "cauchy" hardly at all far away. The standard deviation is the declared
        one, or that of the better half of the residuals. The formulas are those of scipy's `least_squares`. Outliers
        that all lie on one side still move the estimate, least with "cauchy".

    Examples
    --------
    >>> OutputError(transient=50.0)
    OutputError(transient=50.0, segments=1, whiten=False, loss='linear')
    """

    transient: float = 0.0
    segments: int = 1
    whiten: bool | int = False
    loss: str = "linear"

    def __post_init__(self) -> None:
        object.__setattr__(self, "transient", check_transient(self.transient))
        sentence = "The segments must be a whole number from 1 on"
        segments = check_whole_number(self.segments, EstimationError, sentence, "Write segments=10.", least=1)
        object.__setattr__(self, "segments", segments)
        object.__setattr__(self, "whiten", check_whiten(self.whiten))
        if self.segments > 1 and self.whiten:
            raise EstimationError(
                "The residual of pieces with starts of their own cannot be whitened.", "Leave out segments or whiten."
            )
        object.__setattr__(self, "loss", check_loss(self.loss))
        if self.loss != "linear" and (self.whiten or self.segments > 1):
            reason = "a filter spreads one over its neighbours" if self.whiten else "pieces would start at them"
            word = "whiten" if self.whiten else "segments"
            raise EstimationError(
                f"loss='{self.loss}' is for single samples that are far off, but {reason}.",
                f"Leave out loss or {word}; standard errors respect autocorrelation without whiten.",
            )

    @property
    def condition(self) -> None:
        """It simulates."""

    def objective(self, problem: Problem) -> Objective:
        """Line up data and simulations."""
        check_visible(problem, (), accuracies=True, criterion="OutputError")
        if self.segments > 1:
            _refuse_pasts(problem)
            return make_shooting_objective(problem, self.transient, self.segments)
        return make_mean_objective(
            problem, self.transient, None, debias=False, whiten=self.whiten, notes=(), loss=LOSSES.get(self.loss)
        )


def _refuse_pasts(problem: Problem) -> None:
    """A piece with a start of its own does not know what the unknowns were before it."""
    late = [name for name, past in find_pasts(problem.system).items() if past.input is None]
    if late:
        raise EstimationError(
            f"Model '{problem.system.model.name}' looks back at its own past, {quoted(late)}, which pieces of the data "
            "do not have.",
            "Leave out segments; a shorter record or better start values help where the model amplifies errors.",
        )
