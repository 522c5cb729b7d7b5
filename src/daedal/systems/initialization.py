"""Consistent values at the start: what is held, what the equations add, and what is left open.

Unknown are z = (X, T), with the equations F = (G, top) = 0 of the reduced system. Values of `initial` are held. Level
by level (k = max c … 0) the equations f_i^(c_i − k) are solved for the derivatives v_j^(d_j − k) that are not held, by
damped Gauss–Newton steps of least norm from the guesses; then all levels jointly. Freedom that is still open is held at
the guesses. When no solution is found, the rank of ∂F/∂z on the free columns tells over-held from infeasible.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any, final

import numpy as np

from daedal import systems
from daedal.data import FrozenMapping
from daedal.errors import InitialValueError, nearest
from daedal.systems.consistency import Consistency, Linearization, make_units
from daedal.systems.reduction import DeclaredStart
from daedal.systems.regularity import solve_shortest
from daedal.systems.system import System, describe_dead_point

CONSISTENT = 1e-9  # scaled residual below which values count as consistent
RESOLVED = 1e-6  # of the largest value on the way: what is smaller counts as that when residuals are judged
SMALLEST = 1e-3  # of its reach: what an unknown counts as at least on the way; a guess of zero has no size
ITERATIONS = 60
EVERY = slice(None)  # row of the equations
OPEN = 1e-6  # share in the null space above which a variable can take up open freedom


@final
@dataclass(frozen=True, eq=False)
class InitialValues:
    """A consistent start: states X and solved-for T, what was held at its guess, and what was held needlessly.

    `exogenous` are the inputs it belongs to, and the modes of switches; `sliding` says which of the switches that may
    slide do, with `controls` as their modes.
    """

    states: np.ndarray
    tops: np.ndarray
    open: Mapping[str, float]
    redundant: tuple[str, ...]
    exogenous: np.ndarray
    sliding: np.ndarray = field(default_factory=lambda: np.zeros(0))
    controls: np.ndarray = field(default_factory=lambda: np.zeros(0))
    remarks: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        """What a user should know: freedom that `initial` leaves open, and values that were held needlessly."""
        notes = []
        if self.open:
            shown = [f"{name} = {value:g}" for name, value in self.open.items()]
            more = f" and {len(shown) - 8} more" if len(shown) > 8 else ""
            notes.append(f"left open by initial, held at the guess: {', '.join(shown[:8])}{more}")
        if self.redundant:
            notes.append(
                f"held at the start although the equations already imply one of them: {', '.join(self.redundant)}"
            )
        return [*notes, *self.remarks]


def find_initial_values(
    system: System, time: float = 0.0, values: Mapping[Any, float] | None = None, exogenous: np.ndarray | None = None
) -> InitialValues:
    """Consistent values at `time`; `exogenous` are inputs, disturbances and their derivatives there (default zero)."""
    w = np.zeros(len(system.reduction.exogenous)) if exogenous is None else exogenous
    if system.reduction.switching is None:
        return _find_values(system, time, values, w)
    return systems.settle_modes(system, time, values, w, lambda filled: _find_values(system, time, values, filled))


def _find_values(system: System, time: float, values: Mapping[Any, float] | None, w: np.ndarray) -> InitialValues:
    """Consistent values for given inputs and modes."""
    parameters = system.parameter_vector(values)
    names = (*system.states, *system.tops)
    held = _place(system.held, parameters, names, held=True)
    guesses = _place(system.guessed, parameters, names, held=False)
    problem = Consistency(system, time, parameters, w, held, names)
    z = np.zeros(len(names))
    for place, number in {**guesses, **held}.items():
        z[place] = number
    at = problem.at(z)
    if not (np.isfinite(at.residual).all() and np.isfinite(at.jacobian).all()):
        raise _diagnosis().explain_undefined(problem, at)
    at, error = _solve(problem, _solve_levels(problem, at), EVERY, problem.free)
    if not error <= CONSISTENT:
        if np.all(np.abs(at.residual) <= CONSISTENT * _weigh(at, EVERY)):
            _refuse_dead_point(problem, at)  # where round-off cannot be removed either
        raise _diagnosis().diagnose(problem, at.z)
    at, open_names = _close(problem, at, guesses)
    _refuse_dead_point(problem, at)
    z, count = at.z, len(system.states)
    opened = {names[j]: float(z[j]) for j in open_names}
    over = len(problem.held) + len(opened) > system.structure.degrees_of_freedom
    redundant = _diagnosis().find_redundant(problem, z) if over else ()
    return InitialValues(z[:count], z[count:], FrozenMapping(opened), redundant, w)


def _diagnosis():
    """Loaded where there is something to say about a start."""
    from daedal.systems import diagnosis

    return diagnosis


def _refuse_dead_point(problem: Consistency, at: Linearization) -> None:
    """A start from which the equations do not say how to go on."""
    cause = describe_dead_point(problem.system, problem.make_arguments(at.z))
    if cause:
        raise InitialValueError(
            f"Model '{problem.system.model.name}' is singular at its initial values: {cause}.",
            "Start from another position.",
        )


def find_places(system: System, names: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Position in z and sign of each given unknown or derivative; what the model does not determine is left out."""
    return {name: place for name in names if (place := system.reduction.find_place(name))}


def _place(declared: DeclaredStart, parameters: np.ndarray, names: tuple[str, ...], held: bool) -> dict[int, float]:
    """Declared values by position in z; the same derivative under two names must have one value."""
    placed: dict[int, float] = {}
    given_by: dict[int, str] = {}
    numbers = declared.formulas.evaluate(parameters).tolist()
    for name, number in zip(declared.formulas.expressions, numbers, strict=True):
        if name not in declared.places:
            if held:
                raise InitialValueError(
                    f"'{name}' cannot be held at the start: the model does not determine it.", nearest(name, names)
                )
            continue
        place, sign = declared.places[name]
        value = sign * number
        if held and not isfinite(value):
            raise InitialValueError(f"The value held for '{name}' must be finite, got {number}.", "Give a number.")
        if held and place in placed and not np.isclose(placed[place], value, rtol=1e-12, atol=0.0):
            raise InitialValueError(
                f"'{given_by[place]}' and '{name}' are the same quantity but are held at different values.",
                "Keep one of them.",
            )
        placed[place], given_by[place] = value, name
    return placed


def _solve_levels(problem: Consistency, at: Linearization) -> Linearization:
    """From the least differentiated equations upwards; each level only sees its own unknowns as free."""
    free = np.zeros(at.z.size, dtype=bool)
    free[problem.free] = True
    for equations, unknowns in problem.system.reduction.levels:
        own = unknowns[free[unknowns]]
        if equations.size == at.residual.size and own.size == problem.free.size:
            break  # everything is on this level, and solved jointly afterwards
        if equations.size and own.size:
            at, _ = _solve(problem, at, equations, own)
    return at


def _solve(
    problem: Consistency, at: Linearization, rows: np.ndarray | slice, free: np.ndarray
) -> tuple[Linearization, float]:
    """Damped Gauss–Newton of least norm; returns the point and its largest scaled residual."""
    error, reach = inf, np.abs(at.z)
    for _ in range(ITERATIONS):
        jacobian, reach = at.jacobian[rows], np.maximum(reach, np.abs(at.z))
        with np.errstate(invalid="ignore"):  # an infinite slope
            size = np.fmax(at.sizes[rows], np.abs(jacobian) @ (RESOLVED * reach))
        error = float(np.abs(at.residual[rows] / size).max(initial=0.0))
        if not isfinite(error) or error < 1e-15 or free.size == 0:
            break
        weight, units = _weigh(at, rows), make_units(at.reach[free])
        with np.errstate(over="ignore"):  # by an equation whose slopes have all but vanished
            matrix, right = jacobian[:, free] / weight[:, None] * units, -at.residual[rows] / weight
        step = units * solve_shortest(matrix, right)
        moved = _damp(problem, at, step, rows, free, weight)
        if moved is None:
            break
        at = moved
    return at, error


def _weigh(at: Linearization, rows: np.ndarray | slice) -> np.ndarray:
    """What residuals count for on the way: the change of each by changes that are ordinary for most values."""
    weight = np.abs(at.jacobian[rows]) @ np.maximum(np.abs(at.z), SMALLEST * at.reach)
    return np.where(np.isfinite(weight) & (weight > 0.0), weight, 1.0)


def _damp(problem, at, step, rows, free, size) -> Linearization | None:
    """The first of the steps 1, ½, ¼, … that lowers the residual; None when none does."""
    merit = np.linalg.norm(at.residual[rows] / size)
    for halving in range(30):
        z = at.z.copy()
        z[free] += 0.5**halving * step
        trial = problem.at(z)
        with np.errstate(over="ignore", invalid="ignore"):  # far away squares overflow
            lowered = np.linalg.norm(trial.residual[rows] / size)
        if isfinite(lowered) and lowered < merit * (1 - 1e-3 * 0.5**halving):
            return trial
    return None


def _close(problem: Consistency, at: Linearization, guesses: Mapping[int, float]) -> tuple[Linearization, list[int]]:
    """Hold what is open at its guess: given guesses first, then lower derivatives, as long as each is free to be."""
    space = problem.find_rank(at.z).right if problem.free.size else np.zeros((0, 0))
    if space.shape[1] == 0:
        return at, []
    count = min(space.shape[1], problem.free.size - problem.find_rank(problem.step_aside(at.z)).rank)
    if count == 0:
        return at, []
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
            space = _remove_direction(space, space[i] / share)
    target = {j: guesses.get(j, 0.0) for j in chosen}
    closed = Consistency(
        problem.system, problem.time, problem.parameters, problem.exogenous, {**problem.held, **target}, problem.names
    )
    start = at.z.copy()
    start[chosen] = list(target.values())
    solved, error = _solve(closed, closed.at(start), EVERY, closed.free)
    # Guesses that cannot be met exactly (a length off the circle) leave the nearest consistent point.
    return (solved, chosen) if error <= CONSISTENT else (at, chosen)


def _remove_direction(space: np.ndarray, row: np.ndarray) -> np.ndarray:
    """The part of a space in which coordinate `row` stays fixed: rotate the row onto the first axis and drop it."""
    q, _ = np.linalg.qr(np.column_stack([row, np.eye(row.size)]))
    return space @ q[:, 1 : row.size]
