"""Why initial values cannot be found, in the user's names.

On the columns of ∂F/∂z that are free, a rank below the number of equations means that too much is held: the left null
space names the equations, and the held columns it touches are the culprits. Full rank without a solution means that the
equations cannot be met near the guess.
"""

import numpy as np

from daedal.data import short
from daedal.errors import InitialValueError, counted, quoted
from daedal.systems.consistency import Consistency, Linearization
from daedal.systems.regularity import SHARE, list_participants, reduce_to_echelon

RELATIVE = 1e-6  # how far held values that imply each other may differ, in their own units
ROUNDING = 1e-12  # of all terms of a residual: what round-off leaves of it


def find_redundant(problem: Consistency, z: np.ndarray) -> tuple[str, ...]:
    """Held values that the equations already imply, where more is held than there is freedom."""
    if _is_contradicted(problem, z):
        raise diagnose(problem, z)
    return tuple(find_over_held(problem, z)[1])


def _is_contradicted(problem: Consistency, z: np.ndarray) -> bool:
    """Whether held values miss what the equations imply by more than round-off of themselves, however small they are:
    the residual that no free unknown can change, against the held terms in it."""
    jacobian = problem.jacobian(z)
    vectors = _find_out_of_reach(problem, z).T
    held = np.array(sorted(problem.held), dtype=int)
    remainder = np.abs(vectors @ problem.residual(z))
    implied = np.abs(vectors) @ (np.abs(jacobian[:, held]) @ np.abs(z[held]))
    noise = np.abs(vectors) @ (np.abs(jacobian) @ np.abs(z))
    return bool(np.any((implied > 0) & (remainder > RELATIVE * implied + ROUNDING * noise)))


def _find_out_of_reach(problem: Consistency, z: np.ndarray) -> np.ndarray:
    """Combinations of equations (columns) that no free unknown can change."""
    if not problem.free.size:
        return np.eye(len(problem.equation_names))
    rank = problem.find_rank(z)
    return reduce_to_echelon(rank.left) * rank.rows[:, None]


def find_over_held(problem: Consistency, z: np.ndarray) -> tuple[list[str], list[str]]:
    """Equations that the free unknowns cannot satisfy whatever they are, and the held values those contain."""
    aside = problem.step_aside(z)
    jacobian, vectors = problem.jacobian(aside), _find_out_of_reach(problem, aside)
    if vectors.shape[1] == 0:
        return [], []
    scale = np.max(np.abs(jacobian), axis=1)
    equations = list_participants(np.max(np.abs(vectors), axis=1) * scale, problem.equation_names)
    columns = sorted(problem.held)
    inside = np.max(np.abs(vectors[:, :, None] * jacobian[:, None, columns]), axis=(0, 1), initial=0.0)
    # A value is involved by the size of its term; one that is held at zero, by the size of its coefficient.
    values = np.abs(z[columns])
    terms = inside * values
    smallest = np.min(terms[terms > 0], initial=np.inf)
    zero = (values == 0) & (inside > 0)
    terms[zero] = smallest if np.isfinite(smallest) else inside[zero]
    return equations, list_participants(terms, tuple(problem.names[j] for j in columns))


def diagnose(problem: Consistency, z: np.ndarray) -> InitialValueError:
    """Too much held, an equation without slope at the guess, or one that is not met near it."""
    equations, held = find_over_held(problem, z)
    freedom = problem.system.structure.degrees_of_freedom
    model = problem.system.model.name
    if equations and held:
        count = len(problem.held)
        freely = f"the model has {counted(freedom, 'degree')} of freedom"
        many = f" {count} values are held, but {freely}." if count > freedom else ""
        return InitialValueError(
            f"The values held at the start for {quoted(held)} contradict the equation{'s' * (len(equations) > 1)} "
            f"{quoted(equations)} of model '{model}'.{many}",
            f"Release one of {quoted(held)} by moving it from initial to guess.",
        )
    equation, flat = _find_without_slope(problem, z)
    if flat:
        return InitialValueError(
            f"No initial values were found for model '{model}': at the guess, equation '{equation}' does not change "
            f"with {quoted(flat)}.",
            f"Give another guess for {quoted(flat)}{', or other values in initial' * bool(problem.held)}.",
        )
    at = problem.at(z)
    residual = np.abs(at.residual) / at.sizes
    worst = problem.equation_names[int(np.argmax(residual))]
    inside = _list_unknowns(problem, int(np.argmax(residual)))
    return InitialValueError(
        f"No initial values were found for model '{model}': equation '{worst}' is not satisfied near the guess.",
        f"Give better guesses for {quoted(inside)}, or other values in initial.",
    )


def _find_without_slope(problem: Consistency, z: np.ndarray) -> tuple[str, list[str]]:
    """An equation that has lost its slope exactly here, and the unknowns it lost it for: y² = 4 at y = 0.

    Only where this is why the equations cannot be satisfied: their rank is lower here than nearby.
    """
    aside = problem.step_aside(z)
    here, nearby = problem.jacobian(z), problem.jacobian(aside)
    unreached = problem.find_rank(z).left
    if unreached.shape[1] > problem.find_rank(aside).left.shape[1]:
        for row in np.flatnonzero(np.max(np.abs(unreached), axis=1) > SHARE):
            flat = [problem.names[j] for j in problem.free if here[row, j] == 0 != nearby[row, j]]
            if flat:
                return problem.equation_names[row], flat
    return "", []


def _list_unknowns(problem: Consistency, row: int) -> list[str]:
    """The unknowns of an equation that are free to move (all of them, when none is)."""
    columns = _list_columns(problem, row)
    return [problem.names[j] for j in columns if j not in problem.held] or [problem.names[j] for j in columns]


def _list_columns(problem: Consistency, row: int) -> list[int]:
    """Where the unknowns of an equation stand in z."""
    occurs = problem.system.function("consistency_jacobian").sparsity_out(0)
    return [j for i, j in zip(*occurs.get_triplet(), strict=True) if i == row]


def explain_undefined(problem: Consistency, at: Linearization) -> InitialValueError:
    """A residual that is not finite at the guess (a division by zero) has no direction to go."""
    bad = np.flatnonzero(~(np.isfinite(at.residual) & np.isfinite(at.jacobian).all(axis=1)))
    columns = _list_columns(problem, int(bad[0]))
    held = {problem.names[j]: problem.held[j] for j in columns if j in problem.held}
    free = [problem.names[j] for j in columns if j not in problem.held]
    values = ", ".join(f"{name} = {short(value)}" for name, value in held.items())
    ways = [f"other values in initial for {quoted(held)}"] if held else []
    ways += [f"guesses for {quoted(free)}"] if free else []
    return InitialValueError(
        f"Equation '{problem.equation_names[bad[0]]}' of model '{problem.system.model.name}' is not finite at the "
        f"guess{f' with {values} held' if held else ''}.",
        f"Give {', or '.join(ways)}, at which it can be evaluated{' (the default guess is 0)' if free else ''}.",
    )
