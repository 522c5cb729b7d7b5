"""The most probable path of a nonlinear model: what its normals were, given the samples.

With z all normals, those of the start first, and r = y − g(s) what the samples leave, the path minimises

    𝒥(z) = ½ |z|² + ½ Σ r²/σ².

Gauss–Newton: around a path (s, z) the deviations obey ds⁺ = A ds + G (ẑ − z), and the samples tell h ds + e = r. The
Kalman filter with forcing −G z, and the adjoint smoother (de Jong 1989), give the new normals

    ẑ_k = G_kᵀ q_k

without an inverse of the covariance of s, which constraints make singular. Steps are shortened until 𝒥 falls. Near the
minimum, steps are those of Newton's method: with the costates p_k = ∂(misfit)/∂s_k, products of the full Hessian with a
vector v come from one pass forwards and one backwards,

    δs⁺ = A δs + G v,   δp_k = A_kᵀ δp_{k+1} + h hᵀδs/σ² + ∂⟨p_{k+1}, ∂F⟩[δs, v],   𝒥'' v = v + G_kᵀ δp_{k+1} + …,

and conjugate gradients solve 𝒥'' v = b, with the Gauss–Newton Hessian (one more filter pass) as preconditioner: far
from the minimum roughly, near it as exactly as keeps the convergence quadratic, with a residual in proportion to the
step before (Dembo, Eisenstat and Steihaug 1982).

P. de Jong, Smoothing and interpolation with the state-space model, J. Amer. Statist. Assoc. 84 (1989) 1085–1088;
R. S. Dembo, S. C. Eisenstat, T. Steihaug, Inexact Newton methods, SIAM J. Numer. Anal. 19 (1982) 400–408.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np

from daedal.errors import EstimationError
from daedal.filtering.nonlinear.discrete_model import DiscreteModel
from daedal.filtering.nonlinear.recursions import run_backward, run_forward
from daedal.filtering.nonlinear.start import Beginning
from daedal.kernels import Innovations, Keep, Matrices, State, pack, run_filter, run_smoother
from daedal.progress import endure
from daedal.simulation import ACCEPTED, UNFINISHED

ITERATIONS = 200  # of Gauss–Newton and Newton together
HALVINGS = 30  # of one step
PATIENCE = 12  # steps in which 𝒥 must fall,
LITTLE = 0.01  # by this share of it, as long as they are long
SETTLED = 1e-8  # largest change of a normal by which a path is done; what is left is that times the next ratio
NEAR = 0.3  # largest change of a normal by a Gauss–Newton step, below which Newton's may take over,
SLOW = 0.2  # and do where each step is larger than this share of the one before
ROUNDED = 1e-6  # the same where rounding no longer lets 𝒥 fall
PRODUCTS = 100  # of the Hessian in one system of equations,
WORTH = 1500  # and in one search: those that end anywhere have taken up to 800
SOLVED = 1e-11  # residual of these, relative
LEAST_DAMPING, LARGEST_DAMPING = 0.1, 100.0  # μ, where 𝒥'' is not definite
ROUGHLY = 1e-2  # residual of equations that are damped, or far from the minimum,
CLOSER = 0.1  # and by the largest change of a normal in the step before, where that is less
RESOLVED = 1e-3  # of a parameter's value: its unit is not taken to be smaller, for the digits of differences
NO_SIZE = 1e-3  # of a parameter of which nothing is known
DERIVED = 1e-5  # step of differences of the start, in its normals


@final
@dataclass(frozen=True, eq=False)
class Normals:
    """Normals of the start (number,) and of all steps (step, number)."""

    start: np.ndarray
    steps: np.ndarray

    def add(self, other: "Normals", share: float = 1.0) -> "Normals":
        """This plus a share of the other."""
        return Normals(self.start + share * other.start, self.steps + share * other.steps)

    def times(self, factor: float) -> "Normals":
        """All of them times a factor."""
        return Normals(factor * self.start, factor * self.steps)

    def dot(self, other: "Normals") -> float:
        """The inner product."""
        return float(self.start @ other.start + np.sum(self.steps * other.steps))

    @property
    def largest(self) -> float:
        """The largest of all, in absolute value."""
        return float(max(np.abs(self.start).max(initial=0.0), np.abs(self.steps).max(initial=0.0)))


@final
@dataclass(frozen=True, eq=False)
class Path:
    """A path with these normals: states s (point, n) and T (point, top), outputs (point, output), and 𝒥."""

    discrete: DiscreteModel
    normals: Normals
    beginning: Beginning
    states: np.ndarray
    tops: np.ndarray
    outputs: np.ndarray
    slopes: np.ndarray  # ∂y/∂s (point, output, n)
    residuals: np.ndarray  # r of the measurements
    value: float

    @cached_property
    def jacobians(self) -> tuple[np.ndarray, np.ndarray]:
        """A (step, n, n) and G (step, n, normals)."""
        sizes = self.discrete.experiment.program.sizes
        A, G = self.discrete.experiment.program.jacobians(*self.step_arguments)
        steps = len(self.normals.steps)
        return (
            np.ascontiguousarray(A.T).reshape(steps, sizes.state, sizes.state),
            np.ascontiguousarray(G.T).reshape(steps, sizes.state, sizes.normals),
        )

    @cached_property
    def step_arguments(self) -> list[np.ndarray]:
        """What the maps over steps read: s, T, p, rows of the table, z."""
        steps = len(self.normals.steps)
        p = np.repeat(self.discrete.parameters[:, None], steps, axis=1)
        arrays = (self.states[:-1].T, self.tops[:-1].T, p, self.discrete.plain_table.T, self.normals.steps.T)
        return [np.ascontiguousarray(array) for array in arrays]

    @cached_property
    def point_arguments(self) -> list[np.ndarray]:
        """What the maps over grid points read: s, T, p, rows of the table."""
        return _list_point_arguments(self.discrete, self.states, self.tops)

    @cached_property
    def rows(self) -> np.ndarray:
        """h of the measurements (measurement, n)."""
        return np.ascontiguousarray(self.discrete.experiment.measurements.mix(self.slopes))

    @cached_property
    def weighted(self) -> np.ndarray:
        """r/σ² of the measurements."""
        return self.residuals / self.discrete.variances.value

    @cached_property
    def costates(self) -> np.ndarray:
        """∂(misfit)/∂s at the grid points, (point, n)."""
        return run_backward(self.jacobians[0], -self.scatter(self.rows * self.weighted[:, None]))

    def scatter(self, rows: np.ndarray) -> np.ndarray:
        """Sums of rows of the measurements (measurement, …) by grid point."""
        result = np.zeros((len(self.states), *rows.shape[1:]))
        np.add.at(result, self.discrete.experiment.measurements.points, rows)
        return result

    @cached_property
    def gradient(self) -> Normals:
        """∂𝒥/∂z."""
        p = self.costates
        return Normals(
            self.discrete.start.weights * self.normals.start + self.beginning.by_normals.T @ p[0],
            self.normals.steps + np.einsum("kni,kn->ki", self.jacobians[1], p[1:]),
        )


def rest(discrete: DiscreteModel) -> Normals:
    """All normals zero."""
    sizes, steps = discrete.experiment.program.sizes, discrete.experiment.grid.steps
    return Normals(np.zeros(discrete.start.normals), np.zeros((steps, sizes.normals)))


def simulate_path(discrete: DiscreteModel, normals: Normals) -> Path | None:
    """The path of some normals; None where it leaves what numbers, or the equations, can follow."""
    program, experiment = discrete.experiment.program, discrete.experiment
    sizes, steps = program.sizes, experiment.grid.steps
    beginning = discrete.start.begin(normals.start)
    first = np.concatenate([beginning.state, beginning.tops, [0.0]])
    kernel = program.scan(discrete.undirected, states=True)
    out = np.empty((steps, first.size, 1))
    kernel.run(
        first[:, None].copy(),
        discrete.parameters[:, None].copy(),
        discrete.plain_table,
        np.ascontiguousarray(normals.steps)[:, :, None],
        np.arange(steps),
        out,
    )
    whole = np.concatenate([first[None], out[:, :, 0]])
    if not (np.isfinite(whole).all() and whole[:, -1].max() < UNFINISHED):
        return None
    states, tops = whole[:, : sizes.state], whole[:, sizes.state : -1]
    y, slopes, residual = program.sights(*_list_point_arguments(discrete, states, tops))
    if not (np.isfinite(slopes).all() and residual.max() < ACCEPTED):
        return None
    outputs = np.ascontiguousarray(y.T)
    r = experiment.measurements.compute_residuals(outputs)
    improbable = Normals(discrete.start.weights * normals.start, normals.steps)
    value = 0.5 * (improbable.dot(normals) + float(np.sum(r**2 / discrete.variances.value)))
    if not np.isfinite(value):
        return None
    by_state = np.ascontiguousarray(slopes.T).reshape(len(states), -1, sizes.state)
    return Path(discrete, normals, beginning, states, tops, outputs, by_state, r, value)


def _list_point_arguments(discrete: DiscreteModel, states: np.ndarray, tops: np.ndarray) -> list[np.ndarray]:
    p = np.repeat(discrete.parameters[:, None], len(states), axis=1)
    table = np.vstack([discrete.first_row, discrete.plain_table])
    return [np.ascontiguousarray(array) for array in (states.T, tops.T, p, table.T)]


@final
@dataclass(frozen=True, eq=False)
class Filtered:
    """The Kalman filter of the deviations from a path, with what later samples say."""

    innovations: Innovations
    q: np.ndarray  # (event, n)
    M: np.ndarray  # (event, n, n)


@dataclass(eq=False)
class _Effort:
    """How many products with the full Hessian a search has taken."""

    products: int = 0


@dataclass(frozen=True, eq=False)
class Linearized:
    """A path with the filter of its deviations: solves with the Gauss–Newton Hessian, and products with the full."""

    path: Path
    effort: _Effort = field(default_factory=_Effort)

    @cached_property
    def _matrices(self) -> Matrices:
        A, G = self.path.jacobians
        return Matrices(pack(A), pack(G @ G.swapaxes(1, 2)), pack(self.path.rows))

    def filter(self, mean: Normals, measured: np.ndarray, spread: np.ndarray | None = None) -> Filtered:
        """With normals of a given mean and measured deviations; `spread` is ∂s₀/∂ζ, or another factor of P₀."""
        path, line = self.path, self.path.discrete.experiment.line
        _, G = path.jacobians
        factor = path.beginning.by_normals if spread is None else spread
        state = State(pack((path.beginning.by_normals @ mean.start)[None]), pack(factor @ factor.T))
        forcing = np.zeros((line.events.row.size, len(factor)))
        forcing[line.transitions] = np.einsum("kni,ki->kn", G, mean.steps)
        y, variance = np.zeros(line.events.row.size), np.ones(line.events.row.size)
        y[line.measuring], variance[line.measuring] = measured, path.discrete.variances.value
        packed = (pack(forcing), pack(y), pack(variance))
        innovations = run_filter(line.events, self._matrices, *packed, state, keep=Keep.EVERYTHING)
        q, M = run_smoother(line.events, self._matrices.A.value, self._matrices.h.value, innovations)
        return Filtered(innovations, q[:, 0], M)

    def _smooth(self, filtered: Filtered) -> Normals:
        """What the samples add to the mean of the normals."""
        line, (_, G) = self.path.discrete.experiment.line, self.path.jacobians
        q = filtered.q
        return Normals(self.path.beginning.by_normals.T @ q[0], np.einsum("kni,kn->ki", G, q[line.transitions]))

    def solve(self, right: Normals) -> Normals:
        """H v = b with H the Gauss–Newton Hessian: the smoothed normals whose mean is b, if nothing was measured."""
        filtered = self.filter(right, np.zeros(self.path.residuals.size))
        return right.add(self._smooth(filtered))

    @cached_property
    def filtered(self) -> Filtered:
        """The filter of the data."""
        return self.filter(self.mean, self.path.residuals)

    @cached_property
    def mean(self) -> Normals:
        """Of the normals as deviations from those of the path; those that stand for a flat prior have none."""
        normals = self.path.normals
        return Normals(-self.path.discrete.start.weights * normals.start, -normals.steps)

    def find_step(self) -> Normals:
        """To the smoothed normals."""
        return self.mean.add(self._smooth(self.filtered))

    def move(self, along: Normals) -> np.ndarray:
        """δs (point, n) when the normals move."""
        A, G = self.path.jacobians
        push = np.einsum("kni,ki->kn", G, along.steps)
        return run_forward(A, self.path.beginning.by_normals @ along.start, push)

    def multiply(self, along: Normals) -> "Product":
        """𝒥'' v, with the ways to it."""
        self.effort.products += 1
        path, program = self.path, self.path.discrete.experiment.program
        A, G = path.jacobians
        moved, p = self.move(along), path.costates
        by_s = p[1:, :, None] * moved[:-1, None, :]
        by_z = p[1:, :, None] * along.steps[:, None, :]
        pulled_s, pulled_z, _, _ = program.pull(
            *path.step_arguments, np.zeros_like(path.step_arguments[0]), _as_lanes(by_s), _as_lanes(by_z)
        )
        push = path.scatter(path.rows * (np.einsum("mn,mn->m", path.rows, self._at(moved)) / self._variance)[:, None])
        push -= self.pull_sights(np.zeros(path.residuals.size), path.weighted[:, None] * self._at(moved))[0]
        push[:-1] += pulled_s.T
        costates = run_backward(A, push)
        steps = along.steps + np.einsum("kni,kn->ki", G, costates[1:]) + pulled_z.T
        first = path.discrete.start.weights * along.start + path.beginning.by_normals.T @ costates[0]
        first = first + self._bend_start(along)
        return Product(Normals(first, steps), moved, costates)

    def pull_sights(self, bars: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """∂/∂s (point, n), ∂/∂p (p,) and ∂/∂noise (point, numbers) of Σ bars·ŷ + Σ ⟨rows, h⟩ over the measurements."""
        path, program = self.path, self.path.discrete.experiment.program
        mixing = path.discrete.experiment.measurements.mixing[path.discrete.experiment.measurements.rows]
        wide = np.zeros((len(bars), len(program.outputs)))
        wide[:, : mixing.shape[1]] = mixing
        of_y, of_h = path.scatter(wide * bars[:, None]), path.scatter(wide[:, :, None] * rows[:, None, :])
        by_s, by_p, by_noise = program.pull_sights(*path.point_arguments, _as_lanes(of_y), _as_lanes(of_h))
        return by_s.T, by_p.sum(axis=1), by_noise.T

    def _at(self, points: np.ndarray) -> np.ndarray:
        """Rows of the grid points at the measurements."""
        return points[self.path.discrete.experiment.measurements.points]

    @property
    def _variance(self) -> np.ndarray:
        return self.path.discrete.variances.value

    def _bend_start(self, along: Normals) -> np.ndarray:
        """(∂²s₀/∂ζ² δζ)ᵀ p₀, by differences."""
        start, normals = self.path.discrete.start, self.path.normals.start
        size = float(np.abs(along.start).max(initial=0.0))
        if not start.moves or size == 0.0:
            return np.zeros(normals.size)
        step = DERIVED / size
        up, down = (start.begin(normals + sign * step * along.start).by_normals for sign in (1.0, -1.0))
        return ((up - down) / (2.0 * step)).T @ self.path.costates[0]

    def solve_fully(self, right: Normals, damping: float = 0.0, residual: float = SOLVED) -> Normals | None:
        """(𝒥'' + μ H) v = b by conjugate gradients; None where that is not definite."""
        solution, left = right.times(0.0), right
        ready = self.solve(left)
        direction, pushed, height = ready, left, left.dot(ready)  # pushed = H direction
        goal = residual**2 * height
        for _ in range(PRODUCTS):
            if not height > goal:
                return solution
            product = self.multiply(direction).value.add(pushed, damping)
            curvature = direction.dot(product)
            if not curvature > 0.0:
                return None
            share = height / curvature
            solution, left = solution.add(direction, share), left.add(product, -share)
            ready = self.solve(left)
            before, height = height, left.dot(ready)
            direction, pushed = ready.add(direction, height / before), left.add(pushed, height / before)
        return solution

    def find_newton_step(self, damping: float, residual: float) -> tuple[Normals | None, float]:
        """Towards the minimum, as little damped as 𝒥'' allows, and the damping; None where it allows none."""
        slope = self.path.gradient.times(-1.0)
        damping = damping / 4.0 if damping > LEAST_DAMPING else 0.0
        while damping < LARGEST_DAMPING:
            step = self.solve_fully(slope, damping, ROUGHLY if damping else residual)
            if step is not None:
                return step, damping
            damping = max(4.0 * damping, LEAST_DAMPING)
        return None, damping


@final
@dataclass(frozen=True, eq=False)
class Product:
    """𝒥'' v, with δs and δp at the grid points."""

    value: Normals
    moved: np.ndarray
    costates: np.ndarray


def _as_lanes(array: np.ndarray) -> np.ndarray:
    """(lane, …) as (numbers, lane)."""
    return np.ascontiguousarray(array.reshape(len(array), -1).T)


def find_path(discrete: DiscreteModel, start: Normals) -> "Linearized":
    """The most probable path near a start; raises where none is found."""
    path = simulate_path(discrete, start)
    if path is None:
        raise EstimationError(
            f"Model '{discrete.experiment.system.model.name}' cannot be followed through the data "
            f"'{discrete.experiment.name}' there.",
            "Start from other values of the parameters, or bound them.",
        )
    newton, damping, before, heights, effort = False, 0.0, np.inf, [path.value], _Effort()
    for _ in range(ITERATIONS):
        if effort.products > WORTH:
            break
        endure()
        here, residual = Linearized(path, effort), max(min(ROUGHLY, CLOSER * before), SOLVED)
        full, damping = here.find_newton_step(damping, residual) if newton else (None, damping)
        step = here.find_step() if full is None else full
        lower = _descend(path, step)
        if step.largest <= SETTLED and not damping:
            return here if lower is None else Linearized(lower)
        if lower is None:
            if step.largest < ROUNDED:
                return here
            break
        path, heights = lower, [*heights, lower.value] if step.largest > NEAR else [lower.value]
        slow = step.largest > SLOW * before or full is not None
        if len(heights) > PATIENCE and heights[-PATIENCE] - path.value < LITTLE * path.value:
            if newton:
                break
            newton, heights = True, [path.value]  # what Gauss–Newton leaves out may show the way
        else:
            newton = damping > 0.0 or (step.largest < NEAR and slow)
        before = step.largest
    raise EstimationError(
        f"The most probable path of model '{discrete.experiment.system.model.name}' through the data "
        f"'{discrete.experiment.name}' was not found.",
        "Use Likelihood(method='moments'), which needs no path, or start from other values.",
    )


def _descend(path: Path, step: Normals) -> Path | None:
    """The first of the steps 1, ½, ¼, … that lowers 𝒥, to rounding."""
    share = 1.0
    slack = 1e-14 * abs(path.value)
    for _ in range(HALVINGS):
        lower = simulate_path(path.discrete, path.normals.add(step, share))
        if lower is not None and lower.value <= path.value + slack:
            return lower
        share *= 0.5
    return None


def find_parameter_unit(value: float, states: np.ndarray, slopes: np.ndarray) -> float:
    """What of a parameter moves some state by its own size; (point, n) both. Without any, the size of its value.

    Its value tells nothing of its unit where it is zero or nearly so, as that of an offset may be.
    """
    sizes, rates = np.abs(states).max(axis=0), np.abs(slopes).max(axis=0)
    telling = (sizes > 0.0) & (rates > 0.0)
    if not telling.any():
        return abs(value) or NO_SIZE
    return max(float(np.min(sizes[telling] / rates[telling])), RESOLVED * abs(value))
