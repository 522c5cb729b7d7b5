"""Consistent values at the start: what is held, what the equations add, and what is left open.

Unknown are z = (X, T), with the equations F = (G, top) = 0 of the reduced system. Values of `initial` are held. Level
by level (k = max c … 0) the equations f_i^(c_i − k) are solved for the derivatives v_j^(d_j − k) that are not held, by
damped Gauss–Newton steps of least norm from the guesses; then all levels jointly. Freedom that is still open is held at
the guesses. When no solution is found, the rank of ∂F/∂z on the free columns tells over-held from infeasible.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from daedal.data import FrozenMapping
from daedal.errors import InitialValueError, nearest
from daedal.models import evaluate, parameter_values
from daedal.symbolic import jet
from daedal.systems.consistency import Consistency
from daedal.systems.diagnosis import diagnosis, redundant, refuse_dead_point, refuse_undefined
from daedal.systems.regularity import rank_of
from daedal.systems.system import System

CONSISTENT = 1e-9  # scaled residual below which values count as consistent
ITERATIONS = 60
OPEN = 1e-6  # share in the null space above which a variable can take up open freedom


@final
@dataclass(frozen=True, eq=False)
class InitialValues:
    """A consistent start: states X and solved-for T, what was held at its guess, and what was held needlessly."""

    states: np.ndarray
    tops: np.ndarray
    open: Mapping[str, float]
    redundant: tuple[str, ...]


def initial_values(
    system: System, time: float = 0.0, values: Mapping[Any, float] | None = None, exogenous: np.ndarray | None = None
) -> InitialValues:
    """Consistent values at `time`; `exogenous` are inputs, disturbances and their derivatives there (default zero)."""
    numbers = parameter_values(system.model, values)
    names = (*system.states, *system.tops)
    held = _placed(system, evaluate(system.model.initial, numbers), names, held=True)
    guesses = _placed(system, evaluate(system.model.guess, numbers), names, held=False)
    w = np.zeros(len(system.reduction.exogenous)) if exogenous is None else exogenous
    problem = Consistency(system, time, system.parameter_vector(values), w, held, names)
    z = np.zeros(len(names))
    for place, number in {**guesses, **held}.items():
        z[place] = number
    refuse_undefined(problem, z)
    z = _solve_levels(problem, z)
    z, error = _solve(problem, z, np.arange(len(problem.equation_names)), problem.free)
    if not error <= CONSISTENT:
        raise diagnosis(problem, z)
    z, open_names = _close(problem, z, guesses)
    refuse_dead_point(problem, z)
    count = len(system.states)
    opened = {names[j]: float(z[j]) for j in open_names}
    return InitialValues(z[:count], z[count:], FrozenMapping(opened), redundant(problem, z, len(opened)))


def places(system: System, names: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Position in z and sign of each given unknown or derivative; what the model does not determine is left out."""
    reduction = system.reduction
    position = {jet_: place for place, jet_ in enumerate((*reduction.states, *reduction.tops))}
    unknown = {name: j for j, name in enumerate(reduction.equations.unknowns)}
    found = {}
    for name in names:
        base, order = jet(name)
        alias = reduction.aliases[base]
        place = position.get((unknown[alias.root], alias.order + order))
        if place is not None:
            found[name] = (place, alias.sign)
    return found


def _placed(system: System, given: Mapping[str, float], names: tuple[str, ...], held: bool) -> dict[int, float]:
    """Given values by position in z; the same derivative under two names must have one value."""
    where = places(system, given)
    placed: dict[int, float] = {}
    given_by: dict[int, str] = {}
    for name, number in given.items():
        if name not in where:
            if held:
                raise InitialValueError(
                    f"'{name}' cannot be held at the start: the model does not determine it.", nearest(name, names)
                )
            continue
        place, sign = where[name]
        value = sign * number
        if held and not np.isfinite(value):
            raise InitialValueError(f"The value held for '{name}' must be finite, got {number}.", "Give a number.")
        if held and place in placed and not np.isclose(placed[place], value, rtol=1e-12, atol=0.0):
            raise InitialValueError(
                f"'{given_by[place]}' and '{name}' are the same quantity but are held at different values.",
                "Keep one of them.",
            )
        placed[place], given_by[place] = value, name
    return placed


def _solve_levels(problem: Consistency, z: np.ndarray) -> np.ndarray:
    """From the least differentiated equations upwards; each level only sees its own unknowns as free."""
    reduction = problem.system.reduction
    c, d = reduction.offsets.equations, reduction.offsets.unknowns
    rows = [*((i, c[i] - k) for i, k in reduction.constraints), *((i, 0) for i in range(c.size))]
    columns = [int(d[j] - k) for j, k in (*reduction.states, *reduction.tops)]
    for level in range(int(c.max(initial=0)), -1, -1):
        equations = np.array([row for row, (_, below) in enumerate(rows) if below == level], dtype=int)
        free = np.array([j for j in problem.free if columns[j] == level], dtype=int)
        if equations.size and free.size:
            z, _ = _solve(problem, z, equations, free)
    return z


def _solve(problem: Consistency, z: np.ndarray, rows: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, float]:
    """Damped Gauss–Newton of least norm; returns the point and its largest scaled residual."""
    best, size, error = z, None, np.inf
    for _ in range(ITERATIONS):
        jacobian = problem.jacobian(best)[rows]
        residual = problem.residual(best)[rows]
        size = problem.size(best, jacobian)
        error = float(np.max(np.abs(residual) / size, initial=0.0))
        if not np.isfinite(error) or error < 1e-15 or free.size == 0:
            break
        step = _least_norm(jacobian[:, free] / size[:, None], -residual / size)
        merit = np.linalg.norm(residual / size)
        moved = _damped(problem, best, step, rows, free, size, merit)
        if moved is None:
            break
        best = moved
    return best, error


def _damped(problem, z, step, rows, free, size, merit) -> np.ndarray | None:
    """The first of the steps 1, ½, ¼, … that lowers the residual; None when none does."""
    for halving in range(30):
        trial = z.copy()
        trial[free] += 0.5**halving * step
        lowered = np.linalg.norm(problem.residual(trial)[rows] / size)
        if np.isfinite(lowered) and lowered < merit * (1 - 1e-3 * 0.5**halving):
            return trial
    return None


def _least_norm(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The shortest least-squares solution; a plain solve where the matrix is square and regular."""
    from scipy.linalg import lstsq

    if not np.isfinite(matrix).all():
        return np.zeros(matrix.shape[1])
    if matrix.shape[0] == matrix.shape[1] and rank_of(matrix).rank == matrix.shape[0]:
        return np.linalg.solve(matrix, right)
    solution = lstsq(matrix, right, cond=1e-12, lapack_driver="gelsy")
    return solution[0]  # pyright: ignore[reportOptionalSubscript]


def _close(problem: Consistency, z: np.ndarray, guesses: Mapping[int, float]) -> tuple[np.ndarray, list[int]]:
    """Hold what is open at its guess: given guesses first, then lower derivatives, as long as each is free to be."""
    space = _null_space(problem.jacobian(z)[:, problem.free])
    count = min(space.shape[1], problem.free.size - rank_of(problem.jacobian_nearby(z)[:, problem.free]).rank)
    if count == 0:
        return z, []
    reduction = problem.system.reduction
    orders = [k for _, k in (*reduction.states, *reduction.tops)]
    ranked = sorted(
        range(problem.free.size), key=lambda i: (problem.free[i] not in guesses, orders[problem.free[i]], i)
    )
    chosen = []
    for i in ranked:
        share = np.linalg.norm(space[i])
        if share > OPEN and len(chosen) < count:
            chosen.append(int(problem.free[i]))
            space = _without_direction(space, space[i] / share)
    target = {j: guesses.get(j, 0.0) for j in chosen}
    closed = Consistency(
        problem.system, problem.time, problem.parameters, problem.exogenous, {**problem.held, **target}, problem.names
    )
    start = z.copy()
    start[chosen] = list(target.values())
    solved, error = _solve(closed, start, np.arange(len(problem.equation_names)), closed.free)
    # Guesses that cannot be met exactly (a length off the circle) leave the nearest consistent point.
    return (solved, chosen) if error <= CONSISTENT else (z, chosen)


def _null_space(matrix: np.ndarray) -> np.ndarray:
    if matrix.shape[1] == 0 or (matrix.shape[0] == matrix.shape[1] and rank_of(matrix).rank == matrix.shape[0]):
        return np.zeros((matrix.shape[1], 0))
    return rank_of(matrix).right


def _without_direction(space: np.ndarray, row: np.ndarray) -> np.ndarray:
    """The part of a space in which coordinate `row` stays fixed: rotate the row onto the first axis and drop it."""
    q, _ = np.linalg.qr(np.column_stack([row, np.eye(row.size)]))
    return space @ q[:, 1 : row.size]
