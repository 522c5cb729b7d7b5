"""The criterion that suits a model, and why, for those who name none."""

from daedal.analysis import check_noise, is_linear
from daedal.errors import EstimationError, quoted
from daedal.estimation.criteria import Criterion, OutputError, SimulationPEM
from daedal.estimation.likelihood.likelihood import Likelihood
from daedal.estimation.problem import Problem, find_mean_movers
from daedal.experiments import find_declared_outputs, list_relative
from daedal.filtering import leave_kinks, refuse_unsuitable

# States and what is solved for with them. Code for the curvature around a path takes minutes beyond, and those who name
# no criterion do not expect to wait for it.
LARGE = 24


def choose_criterion(problem: Problem) -> tuple[Criterion, str]:
    """A criterion and the reason for it, and what speaks against a likelihood that could be computed."""
    if not problem.system.model.disturbances:
        return OutputError(), "OutputError was chosen: the model declares no disturbances"
    moving, _ = find_mean_movers(problem)
    linear, silent = is_linear(problem.system.model, forced=True), _list_silent(problem)
    passed_over = ""
    if not linear and not silent and _can_be_followed(problem):
        states, solved = len(problem.system.states), len(problem.system.tops)
        if states + solved <= LARGE:
            return Likelihood(), (
                "Likelihood was chosen: the model is not linear, declares disturbances, and says how its outputs are "
                "measured"
            )
        passed_over = (
            f"; with {states} states, and {solved} unknowns to solve for at every instant, a likelihood takes minutes "
            "to compile: criterion=Likelihood() asks for it"
        )
    if not moving and linear:
        if not silent:
            return Likelihood(), "Likelihood was chosen: the model is linear and says how its outputs are measured"
        return OutputError(), (
            f"OutputError was chosen: the model does not say how accurately {quoted(silent)} is measured; with "
            "measurement_noise={...} (numbers, or parameters to estimate) Likelihood would use the scatter too"
        )
    if moving:
        several = len(moving) > 1
        return SimulationPEM(whiten=None), (
            f"SimulationPEM was chosen: disturbance{'s' * several} {quoted(moving)} can move the mean of an output; "
            f"ignoring what moves it does not average out{passed_over}"
        )
    return OutputError(), (
        f"OutputError was chosen: no disturbance of the model can move the mean of an output{passed_over}"
    )


def _can_be_followed(problem: Problem) -> bool:
    """Whether a filter can: from instant to instant, without delays and switches, and with noise of a known size."""
    model = problem.system.model
    try:
        refuse_unsuitable(leave_kinks(problem.system), "Likelihood", "")
    except EstimationError:
        return False
    return not list_relative(model) and check_noise(model).well_posed


def _list_silent(problem: Problem) -> list[str]:
    """Measured outputs whose measurement noise the model does not declare."""
    declared = find_declared_outputs(problem.system.model, problem.data)
    measured = {name for one in problem.data for name in one.outputs}
    return [name for name in problem.system.model.outputs if name in measured and name not in declared]
