"""Bounds of delays, judged before a fit: a delay must stay positive, and one beyond the data is only history."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from daedal.errors import EstimationError
from daedal.estimation.problem.coordinates import Coordinate
from daedal.estimation.problem.problem import Problem
from daedal.models import Model, evaluate_expressions, evaluate_parameters, find_followers
from daedal.symbolic import Expression, list_symbols

CORNERS = 6  # free parameters of one delay up to which all corners of their bounds are looked at


def check_delay_bounds(problem: Problem) -> None:
    """Refuse free parameters whose bounds let a delay become zero or negative."""
    model, items = problem.system.model, problem.coordinates.items
    for name, amount in _list_amounts(problem).items():
        inside = set(list_symbols(amount.sx))
        moving = [one for one in items if inside & {one.parameter, *find_followers(model, one.parameter)}]
        for item in moving:
            if str(amount) == item.parameter and not (item.lower > 0.0 or item.logarithmic):
                below = "no lower bound" if np.isinf(item.lower) else f"the lower bound {item.lower:g}"
                raise EstimationError(
                    f"'{item.name}' is the delay in '{name}', which must be positive, but has {below}.",
                    f"Give '{item.parameter}' bounds: Parameter({item.start:g}, lower={_choose_lower(item.start):.2g}, "
                    f"upper={_choose_upper(item):.4g}).",
                )
        if str(amount) not in model.parameters or isinstance(model.parameters[str(amount)].value, Expression):
            _check_corners(problem, name, amount, moving)


def _check_corners(problem: Problem, name: str, amount: Expression, moving: Sequence[Coordinate]) -> None:
    """A formula of free parameters, at all ends of their bounds."""
    ends = [[end for end in (item.lower, item.upper) if np.isfinite(end)] or [item.start] for item in moving]
    for corner in product(*ends) if 0 < len(moving) <= CORNERS else ():
        given = {item.parameter: value for item, value in zip(moving, corner, strict=True)}
        length = _compute_length(problem.system.model, name, amount, {**problem.coordinates.fixed[0], **given})
        if not length >= 0.0:
            where = ", ".join(f"{key} = {value:g}" for key, value in given.items())
            raise EstimationError(
                f"The delay {amount} in '{name}' must be positive, but the bounds allow {where}, where it is "
                f"{length:g}.",
                "Narrow the bounds.",
            )


def list_long_delays(problem: Problem, point: np.ndarray) -> Iterator[str]:
    """Delays that are longer, at this point, than the time that the data cover."""
    for number, data in enumerate(problem.data):
        times = data.sample_times
        span = float(times[-1] - min(data.t0, times[0]))
        given = problem.coordinates.values(point, number)
        for name, amount in _list_amounts(problem).items():
            length = _compute_length(problem.system.model, name, amount, given)
            if length >= span:
                yield (
                    f"the delay in '{name}' is {length:.4g}, longer than the data, which cover {span:.4g}: all that is "
                    "delayed lies before the start"
                )
                return


def _list_amounts(problem: Problem) -> dict[str, Expression]:
    return {name: delay.amount for name, delay in problem.system.reduction.delays.items()}


def _compute_length(model: Model, name: str, amount: Expression, given: Mapping[str, float]) -> float:
    return float(evaluate_expressions({name: amount}, evaluate_parameters(model, given))[name])


def _choose_lower(start: float) -> float:
    """A lower bound to suggest."""
    return 0.1 * start if start > 0.0 else 0.1


def _choose_upper(item: Coordinate) -> float:
    """An upper bound to suggest."""
    return item.upper if np.isfinite(item.upper) else 10.0 * (item.start if item.start > 0.0 else 1.0)
