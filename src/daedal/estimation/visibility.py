"""Which free parameters a criterion can see at all, told before any work is done."""

from collections.abc import Collection, Iterable

from daedal.disturbances import parameter_names
from daedal.errors import EstimationError, quoted
from daedal.estimation.criterion import Problem
from daedal.models import Model, as_tuple, parameter_followers
from daedal.symbolic import Expression, symbols_in
from daedal.systems.influence import moves_the_mean


def mean_movers(problem: Problem) -> tuple[list[str], list[str]]:
    """Disturbances that can move the mean of an output, and those that cannot."""
    verdicts = moves_the_mean(problem.system)
    named = {" ".join(as_tuple(key)): moves for key, moves in verdicts.items()}
    return [name for name, moves in named.items() if moves], [name for name, moves in named.items() if not moves]


def check_visible(problem: Problem, seen: Collection[str], accuracies: bool, criterion: str, remedy: str) -> None:
    """Refuse free parameters that enter neither the equations nor a disturbance that is `seen` (nor an accuracy)."""
    model = problem.system.model
    visible = _in_equations(model)
    for key, noise in model.disturbances.items():
        if " ".join(as_tuple(key)) in seen:
            visible |= set(parameter_names(noise))
    if accuracies:
        visible |= _in_accuracies(model)
    hidden = [
        name for name in problem.coordinates.parameters if not visible & {name, *parameter_followers(model, name)}
    ]
    if hidden:
        it = "it" if len(hidden) == 1 else "they"
        raise EstimationError(f"{criterion} cannot see {quoted(hidden)}: {_whereabouts(model, hidden, it)}.", remedy)


def _whereabouts(model: Model, hidden: list[str], it: str) -> str:
    enters = "enters" if it == "it" else "enter"
    inside = [
        " ".join(as_tuple(key))
        for key, noise in model.disturbances.items()
        if set(parameter_names(noise)) & {f for name in hidden for f in (name, *parameter_followers(model, name))}
    ]
    if inside:
        drives = f"the disturbance{'s' * (len(inside) > 1)} {quoted(inside)}"
        return f"{it} {enters} only {drives}, which cannot move the mean of an output here"
    if _in_accuracies(model) & {f for name in hidden for f in (name, *parameter_followers(model, name))}:
        return f"{it} {enters} only the measurement noise, and the residual also contains what the disturbances do"
    return f"{it} {enters} no equation, output, initial value or disturbance of model '{model.name}'"


def _in_equations(model: Model) -> set[str]:
    """Parameters in equations, outputs and values at the start."""
    sides = [side for equation in model.equations.values() for side in (equation.lhs, equation.rhs)]
    starts = (*model.initial.values(), *model.guess.values(), *model.history.values())
    return _names([*sides, *model.outputs.values(), *starts])


def _in_accuracies(model: Model) -> set[str]:
    return _names(value for value in model.measurement_noise.values() if isinstance(value, Expression))


def _names(expressions: Iterable[Expression]) -> set[str]:
    return {name for expression in expressions for name in symbols_in(expression.sx)}
