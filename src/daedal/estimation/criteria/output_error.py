"""Output error: the measured outputs against one simulation in which every disturbance is zero.

    value = ½ Σ (y(t_k) − ŷ(t_k; θ))² / σ²

With `whiten` residual and slopes are filtered by an autoregression of the residual first, as in
`daedal.estimation.criteria.simulation_pem`.

The baseline everybody uses. It is the maximum of the likelihood when nothing but measurement noise disturbs the
outputs; with process disturbances it is biased wherever they move the mean, however much data there is (Abdalmoaty et
al. 2021).

Reference: M. R.-H. Abdalmoaty, O. Eriksson, R. Bereza, D. Broman, H. Hjalmarsson, Identification of Non-Linear
Differential-Algebraic Equation Models with Process Disturbances, IEEE Conf. on Decision and Control 2021.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import final

from daedal.errors import EstimationError, quoted
from daedal.estimation.criteria.criterion import Objective
from daedal.estimation.criteria.mean_objective import mean_objective
from daedal.estimation.criteria.shooting import shooting_objective
from daedal.estimation.problem import Problem, check_visible, checked_transient, checked_whiten
from daedal.simulation import pasts


@final
@dataclass(frozen=True)
class OutputError:
    """Least squares between data and simulation, disturbances ignored.

    Parameters
    ----------
    transient
        Seconds after the first sample that are simulated but not scored.
    segments
        Into how many pieces each experiment is cut, whose starts are estimated along with the parameters and tied
        together in the end (multiple shooting): for models that amplify small errors.
    whiten
        Filter data and simulation by an autoregression that the residual follows: for coloured measurement noise.
        An integer is its order; True leaves the order to the data.

    Examples
    --------
    >>> OutputError(transient=50.0)
    OutputError(transient=50.0, segments=1, whiten=False)
    """

    transient: float = 0.0
    segments: int = 1
    whiten: bool | int = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "transient", checked_transient(self.transient))
        if not isinstance(self.segments, Integral) or isinstance(self.segments, bool) or self.segments < 1:
            raise EstimationError(
                f"The segments must be a whole number from 1 on, got {self.segments!r}.", "Write segments=10."
            )
        object.__setattr__(self, "segments", int(self.segments))
        object.__setattr__(self, "whiten", checked_whiten(self.whiten))
        if self.segments > 1 and self.whiten:
            raise EstimationError(
                "The residual of pieces with starts of their own cannot be whitened.", "Leave out segments or whiten."
            )

    def objective(self, problem: Problem) -> Objective:
        """Line up data and simulations."""
        check_visible(problem, (), accuracies=True, criterion="OutputError")
        if self.segments > 1:
            _refuse_pasts(problem)
            return shooting_objective(problem, self.transient, self.segments)
        return mean_objective(problem, self.transient, None, debias=False, whiten=self.whiten, notes=())


def _refuse_pasts(problem: Problem) -> None:
    """A piece with a start of its own does not know what the unknowns were before it."""
    late = [name for name, past in pasts(problem.system).items() if past.input is None]
    if late:
        raise EstimationError(
            f"Model '{problem.system.model.name}' looks back at its own past, {quoted(late)}, which pieces of the data "
            "do not have.",
            "Leave out segments; a shorter record or better start values help where the model amplifies errors.",
        )
