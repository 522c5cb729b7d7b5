"""The criterion that suits a model, and why, for those who name none."""

from daedal.errors import quoted
from daedal.estimation.criterion import Criterion, Problem
from daedal.estimation.output_error import OutputError
from daedal.estimation.simulation_pem import SimulationPEM
from daedal.estimation.visibility import mean_movers


def chosen_criterion(problem: Problem) -> tuple[Criterion, str]:
    """A criterion and the reason for it."""
    if not problem.system.model.disturbances:
        return OutputError(), "OutputError was chosen: the model declares no disturbances"
    moving, _ = mean_movers(problem)
    if moving:
        several = len(moving) > 1
        return SimulationPEM(), (
            f"SimulationPEM was chosen: disturbance{'s' * several} {quoted(moving)} can move the mean of an output; "
            "ignoring what moves it does not average out"
        )
    return OutputError(), (
        "OutputError was chosen: no disturbance of the model can move the mean of an output; Likelihood would also use "
        "how the outputs scatter"
    )
