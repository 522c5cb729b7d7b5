"""The figures of the ensemble solver, on the pendulum pushed by an unmeasured wind.

    python benchmarks/ensemble.py [first] [solvers] [states] [processors] [--c path/to/ida_pendulum.c] [--tiny]

first       from a new model to its first result, in a new process, with an empty cache and with a filled one
solvers     cost and error of the methods, against scikit-sundae's IDA and CasADi's idas
states      cost against the number of states, on a chain of pendulums
processors  cost against the number of realizations, on one processor and on two

Without a word all are run. Cost is processor time in microseconds per simulated second and trajectory, measured in one
run on one machine; read the ratios. Error is the largest error of the angle against a converged run on the same paths.
The disturbance and the input are piecewise linear on a 0.01 s grid, samples are taken every 0.1 s.

With `--c`, a C program that solves the same problem with SUNDIALS (Debian's libsundials-dev) is built and timed among
the solvers; it reads W.bin, U.bin and prints its cost. On a busy machine with AVX-512, in one run: 757 to 784 times
that of a step of 0.01, where 700 are wanted, and 320 to 345 times that of `simulate` as called, with planning, noise
and all variables kept, where 300 are wanted (190 to 270 while pilots drew paths for each trial and noise was copied).
"""

import os
import subprocess
import sys
import tempfile
from argparse import Namespace
from pathlib import Path
from time import perf_counter

import casadi as ca
import numpy as np
from shared import command_line, fastest, seconds

import daedal as dd
from daedal import der
from daedal.simulation import check_request, prepare
from daedal.simulation.lanes import LaneRun
from daedal.simulation.lanes.march import march_lanes

GRID, SAMPLE = 0.01, 0.1
DRAG = 6.25


def pendulum() -> dd.Model:
    x, y, vx, vy, tension = dd.symbols("x y vx vy tension")
    u, w = dd.symbols("u w")
    m, g, k, L = dd.symbols("m g k L")
    return dd.Model(
        name="pendulum",
        equations={
            "kinematics x": der(x) == vx,
            "kinematics y": der(y) == vy,
            "force x": m * der(vx) == tension * x - k * np.abs(vx) * vx + u + w**2,
            "force y": m * der(vy) == tension * y - k * np.abs(vy) * vy - m * g,
            "rod": x**2 + y**2 == L**2,
        },
        unknowns=[x, y, vx, vy, tension],
        inputs=[u],
        outputs={"angle": np.arctan2(x, -y)},
        parameters={m: 0.3, g: 9.81, L: 6.25, k: DRAG},
        disturbances={w: dd.FilteredNoise(numerator=[0.6], denominator=[1.0, 0.8, 16.0], grid=GRID, initial="rest")},
        initial={x: 0.0, vx: 0.0},
        guess={y: -L},
    )


def push(horizon: float) -> dd.Signal:
    fine = np.arange(round(horizon / GRID) + 1) * GRID
    wind = dd.FilteredNoise(numerator=[0.2], denominator=[1.0, 0.8, 16.0])
    return dd.Signal(fine, dd.sample_path(wind, fine, rng=2))


def sample_times(horizon: float) -> np.ndarray:
    return np.arange(round(horizon / SAMPLE) + 1) * SAMPLE


def prepare_run(
    model: dd.Model, times: np.ndarray, inputs: dict, solver: dd.Lanes, free: tuple[str, ...] = ()
) -> LaneRun:
    asked = check_request("benchmark", model, times, inputs, None)
    options = {"values": [None], "wanted": ("angle",), "seed": 1, "purpose": "benchmark", "noisy": True}
    run = prepare(asked.system, asked.times, asked.forcing, solver, free=free, **options)
    assert isinstance(run, LaneRun)  # with a program and a table to time by themselves
    return run


class Stored:
    """Paths drawn beforehand, so that marching is timed without them."""

    def __init__(self, rows: np.ndarray) -> None:
        self._rows = rows

    def draw_rows(self, first: int, last: int) -> np.ndarray:
        return self._rows[first:last]


def lanes_cost(run: LaneRun, lanes: int, horizon: float) -> tuple[float, float, np.ndarray]:
    """Cost of marching and of the noise, and the angles (lane, sample)."""
    values, scale = run.values[0], 1e6 / (horizon * lanes)
    noise, rows = seconds(lambda: run.scenario.make_paths(values, range(lanes)).draw_rows(0, round(horizon / GRID) + 1))
    angles = np.zeros((lanes, run.times.size))

    def receive(samples: np.ndarray, out: np.ndarray) -> None:
        angles[:, samples] = out[:, 0].T

    def march(state: np.ndarray, parameters: np.ndarray) -> None:
        for _ in march_lanes(run.program, run.table, Stored(rows), state, parameters, receive):
            pass

    costs = []
    for _ in range(3):
        state = run.scenario.initialize(values, rows[0], lanes)
        parameters = np.repeat(run.scenario.make_parameters(values)[:, None], lanes, axis=1)
        costs.append(seconds(lambda: march(state, parameters))[0])  # noqa: B023
    return min(costs) * scale, noise * scale, angles


def forcing_rows(run: LaneRun, horizon: float) -> np.ndarray:
    paths = run.scenario.make_paths(run.values[0], range(1))
    return paths.draw_rows(0, round(horizon / GRID) + 1)[:, 0, 0]


def sundae_cost(signal: dd.Signal, path: np.ndarray, horizon: float) -> tuple[float, np.ndarray]:
    """scikit-sundae's IDA at rtol 1e-6 with a Python residual: stabilised index 1, y = (x, y, Σtension, vx, vy, μ)."""
    from sksundae.ida import IDA

    grid = np.arange(path.size) * GRID
    known, wind = signal.values, path

    def residual(t, y, yp, res):
        i = min(max(int(t / GRID), 0), grid.size - 2)
        a = t / GRID - i
        u, w = known[i] + a * (known[i + 1] - known[i]), wind[i] + a * (wind[i + 1] - wind[i])
        res[0] = yp[0] - y[3] + 2 * yp[5] * y[0]
        res[1] = yp[1] - y[4] + 2 * yp[5] * y[1]
        res[2] = 0.3 * yp[3] - yp[2] * y[0] + DRAG * abs(y[3]) * y[3] - u - w * w
        res[3] = 0.3 * yp[4] - yp[2] * y[1] + DRAG * abs(y[4]) * y[4] + 0.3 * 9.81
        res[4] = y[0] ** 2 + y[1] ** 2 - 6.25**2
        res[5] = y[3] * y[0] + y[4] * y[1]

    solver = IDA(residual, rtol=1e-6, atol=1e-9, max_num_steps=100000)
    y0, yp0 = np.array([0, -6.25, 0, 0, 0, 0.0]), np.array([0, 0, -0.3 * 9.81 / 6.25, 0, 0, 0])
    spent, result = seconds(lambda: solver.solve(sample_times(horizon), y0, yp0))
    return spent * 1e6 / horizon, np.arctan2(result.y[:, 0], -result.y[:, 1])


def idas_cost(signal: dd.Signal, path: np.ndarray, horizon: float) -> tuple[float, np.ndarray]:
    """CasADi's idas at rtol 1e-6, on the index-1 form with accelerations and tension as algebraic variables."""
    grid = (np.arange(path.size) * GRID).tolist()
    exact = {"lookup_mode": ["exact"]}
    known = ca.interpolant("known", "linear", [grid], signal.values[: path.size].tolist(), exact)
    wind = ca.interpolant("wind", "linear", [grid], path.tolist(), exact)
    x, z, t = ca.MX.sym("x", 4), ca.MX.sym("z", 3), ca.MX.sym("t")
    px, py, vx, vy = ca.vertsplit(x)
    equations = ca.vertcat(
        0.3 * z[0] - z[2] * px + DRAG * ca.fabs(vx) * vx - known(t) - wind(t) ** 2,
        0.3 * z[1] - z[2] * py + DRAG * ca.fabs(vy) * vy + 0.3 * 9.81,
        px * z[0] + py * z[1] + vx**2 + vy**2,
    )
    dae = {"x": x, "z": z, "t": t, "ode": ca.vertcat(vx, vy, z[0], z[1]), "alg": equations}
    options = {"reltol": 1e-6, "abstol": 1e-9, "max_num_steps": 1_000_000}
    solver = ca.integrator("idas", "idas", dae, 0.0, sample_times(horizon), options)
    spent, result = seconds(lambda: solver(x0=[0, -6.25, 0, 0], z0=[0, 0, -0.3 * 9.81 / 6.25]))
    states = result["xf"].full()
    return spent * 1e6 / horizon, np.arctan2(states[0], -states[1])


def c_cost(source: Path, signal: dd.Signal, rows: np.ndarray, horizon: float) -> float | None:
    """The hand-written C program; it wants 20001 grid points of 64 lanes."""
    flags = ["-lsundials_ida", "-lsundials_nvecserial", "-lsundials_sunmatrixdense", "-lsundials_sunlinsoldense", "-lm"]
    with tempfile.TemporaryDirectory() as folder:
        built = subprocess.run(
            ["gcc", "-O3", "-march=native", "-o", "ida", str(source), *flags], cwd=folder, capture_output=True
        )
        if built.returncode:
            print("the C program could not be built (libsundials-dev is needed)")
            return None
        paths = np.zeros((20001, 64))
        paths[: rows.shape[0]] = rows[:20001, 0, :64]
        known = np.zeros(20001)
        known[: signal.values.size] = signal.values[:20001]
        paths.tofile(Path(folder) / "W.bin")
        known.tofile(Path(folder) / "U.bin")
        command = ["./ida", "1e-6", "1e-9", "4", str(horizon), str(DRAG)]
        printed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
        return float(printed.split()[1])


def disturbed_chain(count: int) -> dd.Model:
    """A chain of pendulums whose first bob is pushed by a disturbance."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    import catalogue

    model, w = catalogue.chain(count).model(), dd.symbol("w")
    force = next(name for name, equation in model.equations.items() if "der(vx[0])" in str(equation))
    pushed = model.equations[force].lhs == model.equations[force].rhs + w
    return dd.Model(
        name=model.name,
        equations={**model.equations, force: pushed},
        unknowns=model.unknowns,
        outputs={"angle": model["x[0]"]},
        parameters=model.parameters,
        disturbances={w: dd.FilteredNoise.resonant(std=0.1, frequency=4.0, damping=0.1, grid=GRID)},
        initial=model.initial,
        guess=model.guess,
    )


def states(asked: Namespace) -> None:
    print("\nchain of n pendulums (4 n states), rk4, h = 0.01, 64 lanes")
    smallest = None
    for count in (2,) if asked.tiny else (2, 6, 12, 24):
        start = perf_counter()
        run = prepare_run(disturbed_chain(count), np.arange(11) * 0.1, {}, dd.Lanes(method="rk4", step=GRID))
        ready = perf_counter() - start
        cost, _, _ = lanes_cost(run, 64, 1.0)
        smallest = smallest or cost / count
        print(
            f"  n = {count:>2}: {run.program.instructions:>6} operations, ready in {ready:.2f} s, {cost:.2f} µs; "
            f"of each pendulum {cost / count / smallest:.1f} times that of n = 2"
        )


def processors(asked: Namespace) -> None:
    if not hasattr(os, "sched_setaffinity"):
        print("\nonly Linux lets a process choose its processors")
        return
    print("\npendulum, noise included, wall-clock µs per simulated second and trajectory")
    horizon = 1.0 if asked.tiny else 20.0
    run = prepare_run(pendulum(), sample_times(horizon), {"u": push(horizon)}, dd.Lanes(method="rk4", step=GRID))
    allowed = sorted(os.sched_getaffinity(0))
    for lanes in (64,) if asked.tiny else (64, 512, 4096):
        costs = []
        for places in (allowed[:1], allowed[:2]):
            os.sched_setaffinity(0, places)  # which the threads of a run inherit
            start = perf_counter()
            run.run(lanes, lambda *_: None)
            costs.append((perf_counter() - start) * 1e6 / (horizon * lanes))
        one, two = costs
        print(f"  {lanes:>5} realizations: {one:>6.2f} on one processor, {two:>6.2f} on two, ratio {one / two:.2f}")
    os.sched_setaffinity(0, allowed)


FIRST = """
import sys; sys.path.insert(0, sys.argv[1])
import ensemble, numpy, daedal as dd
from time import perf_counter
model, signal = ensemble.pendulum(), ensemble.push(2.0)
start = perf_counter()
dd.simulate(model, numpy.arange(11) * 0.1, inputs={"u": signal}, realizations=1, rng=1)
print(perf_counter() - start)
"""


def first(asked: Namespace) -> None:  # noqa: ARG001
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", FIRST, str(Path(__file__).parent)]
        environment = {**os.environ, "DAEDAL_CACHE": folder}
        runs = [subprocess.run(command, env=environment, capture_output=True, text=True, check=True) for _ in range(2)]
    empty, filled = (float(run.stdout) for run in runs)
    print(f"first result of a new model: {empty:.2f} s (limit 0.5 s); ", end="")
    print(f"from compiled code on disk {filled:.2f} s, {filled / empty:.2f} of that")


def solvers(asked: Namespace) -> None:
    horizon, lanes = (5.0, 64) if asked.tiny else (200.0, 64)
    times, signal, model = sample_times(horizon), push(horizon), pendulum()
    _, _, exact = lanes_cost(prepare_run(model, times, {"u": signal}, dd.Lanes(step=GRID / 8)), lanes, horizon)
    costs = {}
    for name, solver in (
        ("h = 0.01", dd.Lanes(method="rk4", step=0.01)),
        ("h = 0.05, moment-matched", dd.Lanes(method="rk4", step=0.05)),
    ):
        run = prepare_run(model, times, {"u": signal}, solver)
        cost, noise, angles = lanes_cost(run, lanes, horizon)
        costs[name] = cost
        error = np.max(np.abs(angles - exact))
        print(f"Lanes, {name:<26} {cost:>9.2f} µs   error {error:.1e}   (noise {noise:.2f} µs)")
    plain = costs["h = 0.01"]
    run = prepare_run(model, times, {"u": signal}, dd.Lanes(method="rk4", step=0.01), free=("k",))
    cost, noise, _ = lanes_cost(run, lanes, horizon)
    whole = (cost + noise) / (plain + noise)
    print(
        f"  with the sensitivity to k     {cost:>9.2f} µs   {cost / plain:.2f} × the plain run, "
        f"{whole:.2f} × with the noise (limit 2)"
    )
    for method in ("radau3", "radau5"):
        run = prepare_run(model, times, {"u": signal}, dd.Lanes(method=method, step=0.05))
        cost, _, angles = lanes_cost(run, lanes, horizon)
        print(f"Lanes, {method}, h = 0.05         {cost:>9.2f} µs   error {np.max(np.abs(angles - exact)):.1e}")

    count = 16 if asked.tiny else 512
    system = dd.build(model)
    (called,) = fastest(lambda: dd.simulate(system, times, inputs={"u": signal}, realizations=count, rng=1), attempts=3)
    costs["simulate"] = called * 1e6 / (horizon * count)
    print(f"simulate, {count} realizations, all kept {costs['simulate']:>6.2f} µs   with planning and noise")

    short = 2.0 if asked.tiny else 50.0
    few, path = round(short / SAMPLE) + 1, forcing_rows(run, short)
    for name, cost_of in (
        ("scikit-sundae IDA, Python residual", sundae_cost),
        ("CasADi idas", idas_cost),
    ):
        cost, angles = cost_of(signal, path, short)
        error = np.max(np.abs(angles - exact[0, :few]))
        print(f"{name:<36} {cost:>9.0f} µs   error {error:.1e}   {_ratios(cost, costs)}")
    if asked.c:
        rows = run.scenario.make_paths(run.values[0], range(64)).draw_rows(0, round(short / GRID) + 1)
        cost = c_cost(asked.c.resolve(), signal, rows, short)
        if cost is not None:
            print(f"{'hand-written C with IDA':<36} {cost:>9.0f} µs   {_ratios(cost, costs)}")


def _ratios(cost: float, costs: dict[str, float]) -> str:
    return ", ".join(f"{cost / other:.0f} × {label}" for label, other in costs.items())


FIGURES = {"first": first, "solvers": solvers, "states": states, "processors": processors}

if __name__ == "__main__":
    reader = command_line(__doc__, FIGURES)
    reader.add_argument("--c", type=Path)
    asked = reader.parse_args()
    for name in asked.figures or FIGURES:
        FIGURES[name](asked)
