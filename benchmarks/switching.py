"""What switches cost: ratios to the same model without them, in one run.

    python benchmarks/switching.py [never] [crossing] [friction] [emps] [--data folder] [--tiny]

never     a condition that is declared and never changes, against the same model without it
crossing  64 lanes, each changing sides about every 50 steps, against the same
friction  dry friction that sticks and slips, against viscous friction
emps      the positioning axis with friction by its sign, 24 841 samples: seconds of a simulation (at most 0.5) and of
          a fit of four parameters (at most 10); measured where `--data` names the folder of emps_est.csv.gz

Without a word all are run. Two models, an oscillator and a pendulum of index 3, both pushed by an unmeasured wind, rk4,
one step per cell of the disturbance; without and with a free direction. `run` is all of a run of 64 lanes, with paths
and moments: at most 1.3 is wanted where nothing changes sides, at most 2 every 50 steps. `steps` is the compiled loop
over steps alone, whose ratios are larger. Seconds are processor time; works that are compared are timed in turns.
"""

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from shared import command_line, fastest, seconds

import daedal as dd
from daedal import der
from daedal.simulation import check_request, prepare
from daedal.simulation.lanes import LaneRun, collect_moments

LANES = 64
x, v, w, px, py, vx, vy, lam, strength = dd.symbols("x v w px py vx vy lam strength")
SPIN = px * vy - py * vx


def make_oscillator(resist: Callable[[Any, Any], Any], grid: float) -> dd.Model:
    return dd.Model(
        name="oscillator",
        equations={"speed": der(x) == v, "motion": der(v) == -4 * x - resist(x, v) + w},
        unknowns=[x, v],
        outputs={"x": x},
        parameters={strength: 0.02},
        disturbances={w: dd.FilteredNoise(numerator=[1.0], denominator=[1.0, 2.0, 4.0], grid=grid)},
        initial={x: 1.0, v: 0.0},
    )


def make_pendulum(resist: Callable[[Any, Any], Any], grid: float) -> dd.Model:
    torque = resist(px, SPIN)
    return dd.Model(
        name="pendulum",
        equations={
            "speed x": der(px) == vx,
            "speed y": der(py) == vy,
            "force x": 0.3 * der(vx) == lam * px + torque * py + 0.2 * w,
            "force y": 0.3 * der(vy) == lam * py - 0.3 * 9.81 - torque * px,
            "rod": px**2 + py**2 == 1,
        },
        unknowns=[px, py, vx, vy, lam],
        outputs={"x": px},
        parameters={strength: 0.02},
        disturbances={w: dd.FilteredNoise(numerator=[1.0], denominator=[1.0, 2.0, 4.0], grid=grid)},
        initial={px: np.sin(1.0), vx: 0.0},
        guess={py: -np.cos(1.0)},
    )


MODELS = {"oscillator": (make_oscillator, 0.03), "pendulum": (make_pendulum, 0.02)}  # with their steps
RESISTANCES = {
    "without": lambda _, speed: strength * speed,
    "never": lambda _, speed: strength * speed * np.where(speed < 1e3, 1, 2),
    "crossing": lambda place, speed: strength * speed * np.where(place < 0.1, 1, 1.5),
    "friction": lambda _, speed: 5 * strength * np.sign(speed),
}


def prepare_run(name: str, kind: str, free: tuple[str, ...], count: int, every: int) -> LaneRun:
    make, step = MODELS[name]
    times = np.arange(0, count + 1, every) * step
    asked = check_request("benchmark", make(RESISTANCES[kind], step), times, None, None)
    options = {"values": [None], "wanted": ("x",), "seed": 1, "purpose": "benchmark", "noisy": True}
    run = prepare(asked.system, asked.times, asked.forcing, dd.Lanes("rk4", step), free=free, **options)
    assert isinstance(run, LaneRun)  # with a program and a table to time by themselves
    return run


def count_steps_between(name: str, count: int) -> float:
    """Steps from one change of sides to the next, on average over lanes."""
    run = prepare_run(name, "crossing", (), count, 1)
    changes = 0

    def consume(_value: int, _lanes: range, _samples: np.ndarray, out: np.ndarray) -> None:
        nonlocal changes
        changes += int(np.sum(np.diff(out[:, 0] < 0.1, axis=0)))

    run.run(LANES, consume)
    return count * LANES / max(changes, 1)


def make_loop(run: LaneRun) -> Callable[[], None]:
    """The compiled loop over all steps of all lanes."""
    values, table, program = run.values[0], run.table, run.program
    paths = run.scenario.make_paths(values, range(LANES))
    assert paths is not None
    shared, row = table.read(0, table.emit.size)
    lane = paths.draw_rows(0, int(row[-1]) + program.grid_rows)
    start = run.scenario.initialize(values, lane[0], LANES)
    parameters = np.repeat(run.scenario.make_parameters(values)[:, None], LANES, axis=1)
    out = np.empty((run.times.size, program.outputs, LANES))
    begin = row * lane.shape[1]

    def work() -> None:
        program.kernel.run(start.copy(), parameters, shared, lane, table.emit, out, begin=begin)

    return work


def show_ratios(kind: str, asked: Namespace) -> None:
    count, attempts = (40, 1) if asked.tiny else (2000, 15)
    for name in MODELS:
        for free in [()] if asked.tiny and kind != "never" else [(), ("strength",)]:
            runs = [prepare_run(name, one, free, count, 10) for one in ("without", kind)]
            loops = fastest(*(make_loop(run) for run in runs), attempts=attempts)
            whole = fastest(*(lambda run=run: collect_moments(run, LANES) for run in runs), attempts=attempts)
            label = f"{name}, {'one direction' if free else 'values alone'}"
            share = 1e9 / (LANES * count)
            numbers = f"{loops[0] * share:>12.1f} {loops[1] / loops[0]:>8.2f} {whole[1] / whole[0]:>8.2f}"
            print(f"  {label:<28} {numbers}", flush=True)


def show(kind: str, title: str) -> Callable[[Namespace], None]:
    def figure(asked: Namespace) -> None:
        print(f"{title}\n  {'':<28} {'ns per step':>12} {'steps':>8} {'run':>8}")
        show_ratios(kind, asked)
        if kind == "crossing":
            count = 40 if asked.tiny else 2000
            steps = [f"{count_steps_between(name, count):.0f} ({name})" for name in MODELS]
            print(f"  steps from one change to the next: {', '.join(steps)}")

    return figure


def show_axis(asked: Namespace) -> None:
    print("EMPS, friction by its sign")
    if not asked.data:
        print("  not measured: --data names the folder of emps_est.csv.gz")
        return
    q, voltage, M, Fv, Fc, offset = dd.symbols("q vir M Fv Fc offset")
    model = dd.Model(
        name="axis",
        equations={
            "speed": der(q) == v,
            "motion": M * der(v) == 35.1506 * voltage - Fv * v - Fc * np.sign(v) - offset,
        },
        unknowns=[q, v],
        inputs=[voltage],
        outputs={"q_meas": q},
        parameters={
            M: dd.Parameter(90.0, lower=20.0, upper=300.0),
            Fv: dd.Parameter(150.0, lower=1.0, upper=800.0),
            Fc: dd.Parameter(15.0, lower=1.0, upper=80.0),
            offset: dd.Parameter(0.0, lower=-20.0, upper=20.0),
        },
        initial={q: 0.0, v: 0.0},
    )
    path = Path(asked.data) / "emps_est.csv.gz"
    data = dd.read_csv(path, time="t", outputs=["q_meas"], inputs=["vir"], intersample="zoh")
    first, _ = seconds(lambda: dd.simulate(model, data))
    (again,) = fastest(lambda: dd.simulate(model, data), attempts=3)
    free = ["M", "Fv", "Fc", "offset"]
    spent, fit = seconds(lambda: dd.fit(model, data, free=free, criterion=dd.OutputError(), rng=1))
    print(f"  a first simulation {first:.2f} s, another {again:.2f} s, a fit of 4 parameters {spent:.1f} s")
    print("  " + ", ".join(f"{name} {fit[name].value:.4g} ± {fit[name].std_error:.2g}" for name in free))


FIGURES = {
    "never": show("never", "a condition that never changes, against none"),
    "crossing": show("crossing", "64 lanes that change sides, against none"),
    "friction": show("friction", "dry friction, against viscous friction"),
    "emps": show_axis,
}

if __name__ == "__main__":
    reader = command_line(__doc__, FIGURES)
    reader.add_argument("--data", default="", help="the folder of the measured files")
    asked = reader.parse_args()
    for name in asked.figures or FIGURES:
        FIGURES[name](asked)
