"""Which free parameters a criterion can see at all, told before any work is done.

Where a disturbance cannot move the mean of an output, that mean is what the model gives without it. A parameter that is
then nowhere in the equations, such as the gain c of x' = −a x + c w, cannot be seen by a criterion of the mean.
"""

from collections.abc import Collection, Iterable

import casadi as ca

from daedal.analysis import is_linear
from daedal.disturbances import list_parameters
from daedal.errors import EstimationError, quoted
from daedal.estimation.problem.problem import Problem
from daedal.models import Model, as_tuple, find_followers
from daedal.symbolic import Expression, find_operator, intern_symbol, jet, list_plain_symbols, list_symbols
from daedal.systems import moves_the_mean


def find_mean_movers(problem: Problem) -> tuple[list[str], list[str]]:
    """Disturbances that can move the mean of an output, and those that cannot."""
    verdicts = moves_the_mean(problem.system)
    named = {" ".join(as_tuple(key)): moves for key, moves in verdicts.items()}
    return [name for name, moves in named.items() if moves], [name for name, moves in named.items() if not moves]


def check_visible(problem: Problem, seen: Collection[str], accuracies: bool, criterion: str) -> None:
    """Refuse free parameters that enter only through disturbances that are not `seen` (or accuracies, or nothing)."""
    model = problem.system.model
    unseen = [name for key in model.disturbances for name in as_tuple(key) if " ".join(as_tuple(key)) not in seen]
    visible = _find_in_equations(model, unseen)
    for key, noise in model.disturbances.items():
        if " ".join(as_tuple(key)) in seen:
            visible |= set(list_parameters(noise))
    if accuracies:
        visible |= _find_in_accuracies(model) | set(problem.factors.values())
    for name in problem.coordinates.free:
        reached = {name, *problem.coordinates.find_following(name)}
        if not visible & reached.union(*(find_followers(model, one) for one in reached)):
            raise _explain_hidden(model, name, unseen, criterion)


def _explain_hidden(model: Model, name: str, unseen: Collection[str], criterion: str) -> EstimationError:
    reached = {name, *find_followers(model, name)}
    acting = [
        " ".join(as_tuple(key))
        for key, noise in model.disturbances.items()
        if set(as_tuple(key)) & set(unseen) and reached & {*list_parameters(noise), *_find_beside(model, as_tuple(key))}
    ]
    likelihood = "Likelihood()" if is_linear(model, forced=True) else "Likelihood(method='moments')"
    if acting and criterion in ("OutputError", "MeanVariance"):
        return EstimationError(
            f"{criterion} ignores disturbances, and '{name}' acts through {quoted(acting)} alone.",
            f"Fix '{name}', or use {likelihood}, which does not ignore them.",
        )
    if acting:
        return EstimationError(
            f"{criterion} cannot see '{name}', which acts through the disturbance {quoted(acting)} alone, and that "
            "cannot move the mean of an output.",
            f"Fix '{name}', or use {likelihood}, which sees the scatter.",
        )
    if reached & _find_in_accuracies(model):
        return EstimationError(
            f"{criterion} cannot see '{name}' of the measurement noise: residuals also contain what disturbances do.",
            f"Fix '{name}', or use {likelihood}, which tells the two apart.",
        )
    return EstimationError(
        f"{criterion} cannot see '{name}': it is in no equation, output, initial value or disturbance of model "
        f"'{model.name}'.",
        "Remove it from what is free.",
    )


def _list_sides(model: Model) -> list[Expression]:
    """Everything that determines the outputs."""
    sides = [side for equation in model.equations.values() for side in (equation.lhs, equation.rhs)]
    starts = (*model.initial.values(), *model.guess.values(), *model.history.values())
    return [*sides, *model.outputs.values(), *starts]


def _find_in_equations(model: Model, unseen: Collection[str]) -> set[str]:
    """Parameters that are left when the unseen disturbances are zero, also inside of delayed values and the like."""
    reached: set[str] = set()
    waiting = [ca.vertcat(*(side.sx for side in _list_sides(model)))]
    while waiting:
        sx = waiting.pop()
        zero = [intern_symbol(name).sx for name in list_symbols(sx) if jet(name)[0] in unseen]
        left = ca.substitute(sx, ca.vertcat(*zero), ca.DM.zeros(len(zero))) if zero else sx
        names = set(list_symbols(left)) - reached
        reached |= names
        meanings = [meaning for name in names if (meaning := find_operator(name)) is not None]
        waiting += [part.sx for meaning in meanings for part in (meaning.operand, *meaning.amounts)]
    return reached


def _find_beside(model: Model, disturbances: Collection[str]) -> set[str]:
    """Symbols of the equations in which these disturbances are."""
    symbols: set[str] = set()
    for side in _list_sides(model):
        names = set(list_plain_symbols(side.sx))
        if names & set(disturbances):
            symbols |= names
    return symbols


def _find_in_accuracies(model: Model) -> set[str]:
    return _list_names(value for value in model.measurement_noise.values() if isinstance(value, Expression))


def _list_names(expressions: Iterable[Expression]) -> set[str]:
    return {name for expression in expressions for name in list_symbols(expression.sx)}
