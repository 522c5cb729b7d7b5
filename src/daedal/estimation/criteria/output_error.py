"""Output error: the measured outputs against one simulation in which every disturbance is zero.

    value = ½ Σ (y(t_k) − ŷ(t_k; θ))² / σ²

With `whiten` residual and slopes are filtered by an autoregression of the residual first, as in
`daedal.estimation.criteria.simulation_pem`.

The baseline everybody uses. It is the maximum of the likelihood when nothing but measurement noise disturbs the
outputs; with process disturbances it is biased wherever they move the mean, however much data there is.
"""

from dataclasses import dataclass
from typing import final

from daedal.errors import EstimationError, check_whole_number, quoted
from daedal.estimation.criteria.criterion import Objective
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

    Examples
    --------
    >>> OutputError(transient=50.0)
    OutputError(transient=50.0, segments=1, whiten=False)
    """

    transient: float = 0.0
    segments: int = 1
    whiten: bool | int = False

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

    @property
    def condition(self) -> None:
        """It simulates."""

    def objective(self, problem: Problem) -> Objective:
        """Line up data and simulations."""
        check_visible(problem, (), accuracies=True, criterion="OutputError")
        if self.segments > 1:
            _refuse_pasts(problem)
            return make_shooting_objective(problem, self.transient, self.segments)
        return make_mean_objective(problem, self.transient, None, debias=False, whiten=self.whiten, notes=())


def _refuse_pasts(problem: Problem) -> None:
    """A piece with a start of its own does not know what the unknowns were before it."""
    late = [name for name, past in find_pasts(problem.system).items() if past.input is None]
    if late:
        raise EstimationError(
            f"Model '{problem.system.model.name}' looks back at its own past, {quoted(late)}, which pieces of the data "
            "do not have.",
            "Leave out segments; a shorter record or better start values help where the model amplifies errors.",
        )
