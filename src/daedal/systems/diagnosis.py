"""Why initial values cannot be found, in the user's names.

On the columns of ∂F/∂z that are free, a rank below the number of equations means that too much is held: the left null
space names the equations, and the held columns it touches are the culprits. Full rank without a solution means that the
equations cannot be met near the guess.
"""

import numpy as np

from daedal.errors import InitialValueError, quoted
from daedal.systems.consistency import Consistency
from daedal.systems.regularity import echelon, participants, rank_of
from daedal.systems.system import dead_point


def redundant(problem: Consistency, z: np.ndarray) -> tuple[str, ...]:
    """Held values that the equations already imply."""
    if len(problem.held) <= problem.system.structure.degrees_of_freedom:
        return ()
    return tuple(over_held(problem, z)[1])


def over_held(problem: Consistency, z: np.ndarray) -> tuple[list[str], list[str]]:
    """Equations that the free unknowns cannot satisfy whatever they are, and the held values those contain."""
    jacobian = problem.jacobian_nearby(z)
    left = rank_of(jacobian[:, problem.free]).left if problem.free.size else np.eye(jacobian.shape[0])
    if left.shape[1] == 0:
        return [], []
    vectors = echelon(left)
    equations = participants(np.max(np.abs(vectors), axis=1), problem.equation_names)
    columns = sorted(problem.held)
    touched = np.max(np.abs(vectors[:, :, None] * jacobian[:, None, columns]), axis=(0, 1), initial=0.0)
    return equations, participants(touched, tuple(problem.names[j] for j in columns))


def diagnosis(problem: Consistency, z: np.ndarray) -> InitialValueError:
    equations, held = over_held(problem, z)
    freedom = problem.system.structure.degrees_of_freedom
    model = problem.system.model.name
    if equations and held:
        count = len(problem.held)
        freely = f"the model has {freedom} degree{'s' * (freedom != 1)} of freedom"
        many = f" {count} values are held, but {freely}." if count > freedom else ""
        return InitialValueError(
            f"The values held at the start for {quoted(held)} contradict the equation{'s' * (len(equations) > 1)} "
            f"{quoted(equations)} of model '{model}'.{many}",
            f"Release one of {quoted(held)} by moving it from initial to guess.",
        )
    residual = np.abs(problem.residual(z)) / problem.size(z, problem.jacobian(z))
    worst = problem.equation_names[int(np.argmax(residual))]
    inside = _unknowns_in(problem, int(np.argmax(residual)))
    return InitialValueError(
        f"No initial values were found for model '{model}': equation '{worst}' is not satisfied near the guess.",
        f"Give better guesses for {quoted(inside)}, or other values in initial.",
    )


def _unknowns_in(problem: Consistency, row: int) -> list[str]:
    """The unknowns of an equation that are free to move (all of them, when none is)."""
    occurs = problem.system.function("consistency_jacobian").sparsity_out(0)
    columns = [j for i, j in zip(*occurs.get_triplet(), strict=True) if i == row]
    return [problem.names[j] for j in columns if j not in problem.held] or [problem.names[j] for j in columns]


def refuse_undefined(problem: Consistency, z: np.ndarray) -> None:
    """A residual that is not finite at the guess (a division by zero) has no direction to go."""
    bad = np.flatnonzero(~np.isfinite(problem.residual(z)) | ~np.isfinite(problem.jacobian(z)).all(axis=1))
    if bad.size:
        equation, inside = problem.equation_names[bad[0]], _unknowns_in(problem, int(bad[0]))
        raise InitialValueError(
            f"Equation '{equation}' of model '{problem.system.model.name}' is not finite at the guess.",
            f"Give guesses for {quoted(inside)} at which it can be evaluated (the default guess is 0).",
        )


def refuse_dead_point(problem: Consistency, z: np.ndarray) -> None:
    cause = dead_point(problem.system, problem.arguments(z))
    if cause:
        raise InitialValueError(
            f"Model '{problem.system.model.name}' is singular at its initial values: {cause}.",
            "Start from another position.",
        )
