"""Steps for lanes: as long as halving them changes nothing that a sample would show.

A few lanes run twice, with steps of length h and of h/2, driven by the same noise. White noise is known on a cell by
its coefficients of the first Legendre polynomials (`filtering.nonlinear.noise_cells`); a polynomial of degree two on a
cell is one on each of its halves, so that with φ_j = √(2j + 1) P_j(2τ − 1) and u, v the coefficients on the halves

    ζ_j = Σ_i (a_ji u_i + b_ji v_i),   a_ji = √½ ∫ φ_j(τ/2) φ_i(τ) dτ,   b_ji = √½ ∫ φ_j((1 + τ)/2) φ_i(τ) dτ.

Where the outputs at the samples differ by less than a share of the measurement noise, h is short enough. Runge–Kutta of
order four comes first; where it fails, the system is stiff, and Radau IIA takes over.
"""

from collections.abc import Mapping

import numpy as np
from numpy.polynomial import legendre

from daedal.errors import EstimationError, RefusalError
from daedal.experiments import Experiment
from daedal.filtering.experiment import InitialCondition
from daedal.filtering.nonlinear import DiscreteModel, NonlinearExperiment, Spread, make_nonlinear_experiment
from daedal.filtering.parameter_point import Point
from daedal.simulation import ACCEPTED, Lanes, Method

LANES = 8
CLOSE_ENOUGH = 0.03  # of the measurement noise: what halving the steps may change
HALVINGS = 8  # of the sample interval
METHODS: tuple[Method, ...] = ("rk4", "radau5")
DEGREES = 3  # of the polynomials that noise has on a cell


def line_up_lanes(
    experiment: Experiment, values: Mapping[str, float], condition: InitialCondition, solver: Lanes | None
) -> NonlinearExperiment:
    """A model and one experiment with steps that suit lanes at these values; those of `solver` where it has any."""
    spread = _find_spread(experiment, condition)
    method = None if solver is None or solver.method == "auto" else solver.method
    if solver is not None and solver.step is not None:
        return make_nonlinear_experiment(experiment, values, method or METHODS[0], solver.step, spread)
    reason: Exception | None = None
    for tried in METHODS if method is None else (method,):
        try:
            return _halve(experiment, values, tried, spread)
        except (RefusalError, np.linalg.LinAlgError) as error:
            reason = reason or error
    if isinstance(reason, RefusalError):
        raise reason
    raise EstimationError(
        f"Model '{experiment.system.model.name}' cannot be simulated at its start values.", "Start from other values."
    )


def _find_spread(experiment: Experiment, condition: InitialCondition) -> Spread:
    """Standard deviations of what the model holds at the start, by place."""
    system = experiment.system
    condition.list_deviations(system.model)  # refuses those of values that are not held
    places = {name: system.reduction.find_place(name) for name in condition.std or {}}
    deviations = {place[0]: (condition.std or {})[name] for name, place in places.items() if place is not None}
    return Spread({place: deviation for place, deviation in deviations.items() if deviation > 0.0})


def _halve(experiment: Experiment, values: Mapping[str, float], method: Method, spread: Spread) -> NonlinearExperiment:
    """From the sample interval on."""
    longest = _find_interval(experiment)
    for _ in range(HALVINGS):
        coarse = make_nonlinear_experiment(experiment, values, method, longest, spread)
        times = coarse.grid.times
        halves = np.sort(np.concatenate([times[1:], 0.5 * (times[:-1] + times[1:])]))
        fine = make_nonlinear_experiment(experiment, values, method, longest, spread, queries=halves)
        if _compare(coarse, fine, values) <= CLOSE_ENOUGH:
            return coarse
        longest *= 0.5
    raise EstimationError(
        f"The outputs of model '{experiment.system.model.name}' still change with the steps at {longest:.3g}.",
        "Give steps with solver=Lanes(step=...), or start from other values.",
    )


def _find_interval(experiment: Experiment) -> float:
    """The time between two samples, a typical one."""
    times = np.unique(np.concatenate([[experiment.drive.start], experiment.drive.times]))
    return float(np.median(np.diff(times))) if times.size > 1 else 1.0


def _compare(coarse: NonlinearExperiment, fine: NonlinearExperiment, values: Mapping[str, float]) -> float:
    """How far outputs differ in units of the measurement noise, for the typical lane; infinite where lanes fail."""
    point, rng = Point(fine.system.model, values, ()), np.random.default_rng(0)
    models = [one.at(point) for one in (coarse, fine)]
    first = rng.standard_normal((models[0].start.normals, LANES))
    normals = rng.standard_normal((fine.grid.steps, fine.program.sizes.normals, LANES))
    pair = [_simulate(models[0], first, _merge(normals)), _simulate(models[1], first, normals)]
    with np.errstate(all="ignore"):  # lanes that are nowhere any more
        apart = (pair[0] - pair[1]) / np.sqrt(models[0].variances.value)[:, None]
        size = float(np.median(np.sqrt(np.mean(apart**2, axis=0))))
    return size if np.isfinite(size) else np.inf


def _simulate(discrete: DiscreteModel, first: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """What lanes say of each measurement beyond the start, (measurement, lane); NaN where one failed."""
    experiment, lanes = discrete.experiment, first.shape[1]
    kernel, steps = experiment.program.scan(discrete.directions), experiment.grid.steps
    out = np.zeros((steps, kernel.observed, lanes))
    state, table = discrete.begin_lanes(first), discrete.table
    kernel.run(state, discrete.repeat_parameters(lanes), table, normals, np.arange(steps), out)
    data, count = experiment.measurements, len(experiment.program.outputs)
    y = np.where(out[:, [count]] <= ACCEPTED, out[:, : len(data.outputs)], np.nan)
    y = np.concatenate([np.zeros((1, *y.shape[1:])), y])  # at the start both are the same
    return np.einsum("mo,mol->ml", data.mixing[data.rows], y[data.points])


def _merge(normals: np.ndarray) -> np.ndarray:
    """Normals of steps from those of their halves."""
    steps, count, lanes = normals.shape
    parts = normals.reshape(steps // 2, 2, count // DEGREES, DEGREES, lanes)
    return np.ascontiguousarray(np.einsum("hji,shnil->snjl", _find_halves(), parts).reshape(steps // 2, count, lanes))


def _find_halves() -> np.ndarray:
    """a and b, (half, j, i), by Gauss's rule, which is exact."""
    nodes, weights = legendre.leggauss(4)
    tau, weights = 0.5 * (nodes + 1.0), 0.5 * weights

    def basis(at: np.ndarray) -> np.ndarray:
        rows = [legendre.legval(2.0 * at - 1.0, unit) for unit in np.eye(DEGREES)]
        return np.sqrt(2.0 * np.arange(DEGREES) + 1.0)[:, None] * rows

    halves = [np.einsum("jq,iq,q->ji", basis(0.5 * (tau + half)), basis(tau), weights) for half in (0, 1)]
    return np.sqrt(0.5) * np.array(halves)
