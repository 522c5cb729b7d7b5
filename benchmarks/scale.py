"""How long users of large models wait: preparation, first evaluation and further ones, with many free parameters.

Run as: python benchmarks/scale.py [--tiny] [ode] [robot] [grid] [compiling] [linear] [record] [catalogue] [stiff]
[pendulums] [fit] [networks] [locals].
Seconds are processor time, with nothing compiled before; ratios in one row are of one run. Version 0.1.0 took, on a
busy machine: 25 states and 50 parameters 52 s before the first evaluation and 1.12 s for each; a grid of 39 buses 48 s
and 0.29 s; the delta robot's code for 8 parameters 24 s to compile, for 12 it was given up. On busy machines, in one
run each, the smallest of each range on the last one:

    first evaluation, and further ones    stages written out              stages that call functions, short vectors
    25 states, 50 parameters              not measured                    0.6 – 1.8 s, 0.04 – 0.08 s
    grid of 10 buses, 3 parameters        not measured                    0.9 – 1.3 s, 0.04 – 0.06 s
    grid of 39 buses, 3 parameters        18.7 s, 2.4 s                   3.0 – 4.3 s, 0.18 – 0.23 s
    grid of 118 buses, 1 parameter        not measured                    3.8 – 11 s, 0.14 – 0.75 s; a fit 17 s, 245 MB
    chain of 100 pendulums, 1 parameter   not measured                    a fit 20 s, 400 MB
    delta robot, 12 parameters            3.8 s, 0.22 s                   1.7 – 2.5 s, 0.08 – 0.22 s

Beside the forward Jacobian of a scan in JAX 0.10.2 with the same 8000 steps (values and slopes alike to 4e-15), one
evaluation of the 25 states took 0.72 times as long with 10 parameters and 0.65 times with 50; that of the delta robot
with 12 parameters 10.0 times as long as its plain run of 64 realizations without slopes. Neither is part of this file.

`linear` is the likelihood of a chain with noise in its middle, 500 samples of three outputs, with gradient and
information. `record` is a long record, each in a process of its own, whose peak of memory is printed; SimulationPEM has
64 realizations. On a machine with 10 to 25 processes on its two cores, which makes processor time longer too:

    likelihood, further evaluation        with covariances as matrices    in factors
    50 states, 10 parameters              0.57 – 0.78 s                   0.09 – 0.29 s
    100 states, 10 parameters             5.4 – 6.7 s                     0.18 – 0.48 s, the first one 0.26 s
    500 states, 50 parameters             not tried                       21 – 35 s, the first one 23 s; 1.6 GB
    1000 states, 1 parameter              not tried                       3.2 – 5.3 s, the first one 6.4 s; 0.4 GB

    peak of memory                        tables of the whole record      made piece by piece
    Likelihood, 1e5 samples, 3 outputs    741 MB                          413 MB; 1e6 samples of one output 1.15 GB
    OutputError, 1e5 samples              2616 MB                         740 MB; 1e6 samples 1.07 GB
    SimulationPEM, 1e5 samples            417 MB                          416 MB; 1e6 samples 1.64 GB

`catalogue` compares the default solver of a single trajectory with IDA, with nothing compiled, at the times of the
references and at 101 and 1001 samples: at most twice as long is wanted, and 1.97 times (two samples of the transistor
amplifier, else 1.73) is the most that was seen, as IDA takes 1.6 times as long at the tolerance of the default. `stiff`
is a fit of eight parameters of HIRES: the default is to take at most 1.3 times as long as the best explicit choice of a
method (0.99 to 1.13 seen). `pendulums` keeps all variables of 512 trajectories: 1.9 times the kernel and the noise
while they were copied once more, 1.44 since; planning 0.03 s (0.15 s in version 0.1.0).

`fit` is a whitened fit of 19501 samples by 100 realizations of a pendulum, in version 0.1.0 14 to 16 s: 4.1 s with
nothing compiled, and further evaluations by `evaluate`, which took 5.6 times as long as their objective and take 1.02
times as long. `networks` are networks simulated by IDA, whose sparse factorisation had threads that waited busily on a
busy machine, and began at 250 unknowns instead of 100:

    IDA, processor time                   threads of OpenMP               one thread
    20 exchangers, 420 unknowns           1.1 – 3.8 s (dense 0.53 s)      0.13 s
    80 exchangers, 1680 unknowns          4.1 – 6.8 s                     0.7 s
    grid of 118 buses, 178 unknowns       2.0 s (dense 0.28 s)            0.22 s

`locals` are fits of experiments of two outputs and 100 samples, each with ten parameters of its own and none shared:
60 of them, 600 parameters, took 20 s of processor time while each sample had a row in what is solved, and take 5.4 to
5.9 s; 15 took 1.4 s and take 0.9 to 1.1 s.

Steps chosen one by one (`Lanes` on stiff models of few samples) took 14 µs for each that was tried beside the step
itself, 80 to 120 µs with inputs, and take less than 1 µs.
"""

import os
import resource
import runpy
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ["DAEDAL_CACHE"] = (CACHE := tempfile.TemporaryDirectory()).name  # before anything is compiled; not kept

import ensemble
import numpy as np
from shared import command_line, fastest, seconds

import daedal as dd
from daedal import der
from daedal.estimation.arguments import Arguments, prepare_objective
from daedal.kernels import compiler
from daedal.simulation import check_request, prepare

EXAMPLES = Path(__file__).parents[1] / "examples"


def show(label: str, model: dd.Model, data: dd.Dataset, free: list[str], criterion: Any, attempts: int = 3) -> None:
    """A row: build, the first evaluation, and a later one against one without free parameters but one."""

    def evaluate(names: list[str], factor: float = 1.0) -> Any:
        moved = {names[0]: factor * model.parameters[names[0]].value}
        return dd.evaluate(system, data, free=names, values=moved, criterion=criterion, rng=1)

    built, system = seconds(lambda: dd.build(model))
    first, _ = seconds(lambda: evaluate(free))
    many, one = fastest(lambda: evaluate(free, 1.001), lambda: evaluate(free[:1], 1.001), attempts=attempts)
    print(f"{label:<44} {built:>8.2f} {first:>10.2f} {many:>12.3f} {many / one:>18.1f}", flush=True)


def make_chain(states: int) -> dd.Model:
    """dxᵢ/dt = aᵢ (xᵢ₋₁ − xᵢ) − bᵢ xᵢ³, driven at one end."""
    xs, a, b = ([symbol for i in range(states) for symbol in dd.symbols(f"{name}{i}")] for name in ("x", "a", "b"))
    (u,) = dd.symbols("u")
    equations = {
        f"tank {i}": der(xs[i]) == a[i] * ((xs[i - 1] if i else u) - xs[i]) - b[i] * xs[i] ** 3 for i in range(states)
    }
    return dd.Model(
        name="chain",
        equations=equations,
        unknowns=xs,
        inputs=[u],
        outputs={"first": xs[0], "middle": xs[states // 2], "last": xs[-1]},
        parameters={p: 1.0 + 0.02 * i for i, p in enumerate([*a, *b])},
        initial=dict.fromkeys(xs, 0.1),
    )


def make_grid(buses: int) -> dd.Model:
    """Swing equations at every fourth bus, balances of power at the others, on a ring with some chords."""
    angles = [symbol for i in range(buses) for symbol in dd.symbols(f"angle{i}")]
    generators = list(range(0, buses, 4))
    speeds = {i: dd.symbols(f"speed{i}")[0] for i in generators}
    line, inertia, damping, u = dd.symbols("line inertia damping u")
    chords = {(i, (3 * i + 5) % buses) for i in range(0, buses, 5)}
    edges = sorted({(i, (i + 1) % buses) for i in range(buses)} | {pair for pair in chords if pair[0] != pair[1]})
    supply = 0.2 * (buses - len(generators)) / len(generators)
    equations = {}
    for i in range(buses):
        ends = [b if a == i else a for a, b in edges if i in (a, b)]
        flow = sum(line * np.sin(angles[i] - angles[k]) for k in ends)
        if i in speeds:
            equations[f"angle {i}"] = der(angles[i]) == speeds[i]
            push = supply + (u if i == 0 else 0.0) - damping * speeds[i] - flow
            equations[f"swing {i}"] = inertia * der(speeds[i]) == push
        else:
            equations[f"load {i}"] = -0.2 - flow == 0
    return dd.Model(
        name=f"grid of {buses}",
        equations=equations,
        unknowns=[*angles, *speeds.values()],
        inputs=[u],
        outputs={f"speed {i}": speeds[i] for i in generators[:2]},
        parameters={line: 5.0, inertia: 0.3, damping: 0.4},
        initial={**{angles[i]: 0.0 for i in generators}, **dict.fromkeys(speeds.values(), 0.0)},
    )


def make_data(model: dd.Model, times: np.ndarray, push: np.ndarray) -> dd.Dataset:
    run = dd.simulate(model, times, inputs={"u": dd.Signal(times, push)}, solver=dd.IDA())
    return run.to_dataset()


def ode(tiny: bool) -> None:
    for states, free in [(3, 6)] if tiny else [(25, 1), (25, 10), (25, 50)]:
        model, times = make_chain(states), np.linspace(0, 50, 51 if tiny else 501)
        names = list(model.parameters)[:free]
        show(
            f"{states} states, {free} parameters",
            model,
            make_data(model, times, np.sin(times)),
            names,
            dd.OutputError(),
            1 if tiny else 3,
        )


def robot(tiny: bool) -> None:
    """The example, without its fit."""
    text = (EXAMPLES / "delta_robot.py").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "robot.py"
        script.write_text(text[: text.index("fit = dd.fit(")].replace("print(dd.analyze(robot))", ""), encoding="utf-8")
        made = runpy.run_path(str(script))
    data = made["run"].to_dataset()
    free = [str(name) for name in made["TRUTH"]][: 1 if tiny else 12]
    criterion = dd.SimulationPEM(realizations=8 if tiny else 64)
    show(f"delta robot, {len(free)} parameters", made["robot"], data, free, criterion, 1 if tiny else 3)


def grid(tiny: bool) -> None:
    for buses in [6] if tiny else [10, 39]:
        model, times = make_grid(buses), np.linspace(0, 20, 21 if tiny else 201)
        data = make_data(model, times, 0.3 * np.sin(times))
        names = list(model.parameters)
        show(f"grid of {buses} buses, 3 parameters", model, data, names, dd.OutputError(), 1 if tiny else 3)


def compiling(tiny: bool) -> None:
    """What is announced of compiling long functions, against what it takes."""
    build, times = compiler.build, np.linspace(0, 2, 21)

    def measure(text: str, target: Any) -> bytes:
        spent, code = seconds(lambda: build(text, target))
        print(f"{f'{len(text)} characters':<44} {spent:>8.2f} s, announced {compiler.estimate_seconds(text):.2f} s")
        return code

    compiler.build = measure
    for buses in [6] if tiny else [118, 300, 600]:
        push = {"u": dd.Signal(times, 0.3 * np.sin(times))}
        dd.simulate(make_grid(buses), times, inputs=push, solver=dd.Lanes(method="rk4", step=0.05))
    compiler.build = build


def make_linear_chain(states: int, parameters: int) -> dd.Model:
    """dxᵢ/dt = a (xᵢ₋₁ − 2xᵢ + xᵢ₊₁), with coloured noise in the middle; neighbours share a parameter a."""
    xs = [symbol for i in range(states) for symbol in dd.symbols(f"x{i}")]
    a = [symbol for i in range(parameters) for symbol in dd.symbols(f"a{i}")]
    u, w = dd.symbols("u w")
    equations = {}
    for i in range(states):
        flow = (xs[i - 1] if i else u) - xs[i] + (xs[i + 1] - xs[i] if i < states - 1 else 0.0)
        push = w if i == states // 2 else 0.0
        equations[f"cell {i}"] = der(xs[i]) == a[i * parameters // states] * flow + push
    return dd.Model(
        name="line",
        equations=equations,
        unknowns=xs,
        inputs=[u],
        outputs={"first": xs[0], "middle": xs[states // 2], "last": xs[-1]},
        parameters={p: 1.0 + 0.02 * i for i, p in enumerate(a)},
        disturbances={w: dd.FilteredNoise([0.5], [1.0, 0.8, 1.0])},
        measurement_noise={"first": 0.05, "middle": 0.05, "last": 0.05},
        initial=dict.fromkeys(xs, 0.1),
    )


def make_samples(count: int, outputs: list[str]) -> dd.Dataset:
    times, generator = 0.1 * np.arange(count), np.random.default_rng(0)
    values = {name: 0.1 + 0.05 * generator.standard_normal(count) for name in outputs}
    return dd.Dataset(times, inputs={"u": np.sin(times)}, outputs=values)


def linear(tiny: bool) -> None:
    sizes = [(30, 3)] if tiny else [(10, 10), (20, 10), (50, 10), (100, 10), (200, 10), (500, 50), (1000, 1)]
    for states, parameters in sizes:
        model, data = (
            make_linear_chain(states, parameters),
            make_samples(20 if tiny else 500, ["first", "middle", "last"]),
        )
        free = list(model.parameters)

        def evaluate(factor: float, of: Any = (model, data, free)) -> Any:
            model, data, free = of
            return dd.evaluate(model, data, free=free, values={free[0]: factor}, criterion=dd.Likelihood())

        built, _ = seconds(lambda: dd.build(model))  # noqa: B023
        first, _ = seconds(lambda: evaluate(1.0))
        further, _ = seconds(lambda: evaluate(1.01))
        label = f"likelihood, {states} states, {parameters} parameters"
        print(f"{label:<44} {built:>8.2f} {first:>10.2f} {further:>12.3f}", flush=True)


def measure_record(kind: str, count: int) -> None:
    """First and further evaluation of a long record, and the most memory that this process has had."""
    x, v, k, c, u, w = dd.symbols("x v k c u w")
    if kind == "Likelihood":
        model, data, criterion = make_linear_chain(10, 10), make_samples(count, ["middle"]), dd.Likelihood()
    else:
        noisy = kind == "SimulationPEM"
        model = dd.Model(
            name="oscillator",
            equations={
                "rate": der(x) == v,
                "force": der(v) == u - k * x - c * v - 0.1 * x**3 + (w * x if noisy else 0.0),
            },
            unknowns=[x, v],
            inputs=[u],
            outputs={"y": x},
            parameters={k: 2.0, c: 0.3},
            disturbances={w: dd.FilteredNoise([0.05], [1.0, 0.8, 1.0])} if noisy else {},
            initial={x: 0.0, v: 0.0},
        )
        data = make_samples(count, ["y"])
        criterion = dd.SimulationPEM(realizations=64) if noisy else dd.OutputError()
    free = list(model.parameters)

    def evaluate(factor: float) -> Any:
        moved = {free[0]: factor * model.parameters[free[0]].value}
        return dd.evaluate(model, data, free=free, values=moved, criterion=criterion, rng=1)

    first, _ = seconds(lambda: evaluate(1.0))
    further, _ = seconds(lambda: evaluate(1.001))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{f'{kind}, {count} samples':<44} {'':>8} {first:>10.2f} {further:>12.3f} {peak:>15.0f} MB", flush=True)


def record(tiny: bool) -> None:
    for kind in ("Likelihood", "OutputError", "SimulationPEM"):
        for count in [200] if tiny else [100_000, 1_000_000]:
            process = get_context("spawn").Process(target=measure_record, args=(kind, count))
            process.start()
            process.join()


def forget_code(system: dd.System) -> None:
    """As in a new process with an empty cache."""
    os.environ["DAEDAL_CACHE"] = tempfile.mkdtemp(dir=CACHE.name)
    compiler.forget()
    system.reduction.compiled.clear()


def print_goal(label: str, seen: float, best: float, wanted: float) -> None:
    print(f"{label:<44} {seen:>8.3f} s, {seen / best:.2f} × {best:.3f} s (wanted: {wanted:g} ×)", flush=True)


def catalogue(tiny: bool) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from catalogue import PROBLEMS

    for solver in (dd.IDA(), dd.Lanes()):  # loads what each needs
        dd.simulate(PROBLEMS[1].model(), [0.0, 1e-3], solver=solver)
    for problem in PROBLEMS[1:2] if tiny else PROBLEMS:
        named, span = np.unique([problem.start, *problem.references]), (problem.start, max(problem.references))
        for times in (named, np.linspace(*span, 101), np.linspace(*span, 1001))[: 1 if tiny else 3]:
            spent = []
            for solver in (dd.IDA(), None):
                system = dd.build(problem.model())
                forget_code(system)
                spent.append(seconds(lambda: dd.simulate(system, times, inputs=problem.inputs(), solver=solver))[0])  # noqa: B023
            print_goal(f"{problem.name}, {times.size} samples", spent[1], spent[0], 2.0)


def pendulums(tiny: bool) -> None:
    """Planning, and `simulate` with all variables kept against its kernel and its noise."""
    model, horizon = dd.build(ensemble.pendulum()), 2.0 if tiny else 200.0
    times, inputs = ensemble.sample_times(horizon), {"u": ensemble.push(horizon)}
    count = 16 if tiny else 512
    asked = check_request("simulate", model, times, inputs, None)
    options = {
        "values": [None],
        "wanted": tuple(model.reduction.observed),
        "free": (),
        "seed": 1,
        "purpose": "simulate",
    }

    def plan() -> Any:
        return prepare(asked.system, asked.times, asked.forcing, dd.Lanes(), noisy=True, **options)

    run = plan()
    planning, inner, whole = fastest(
        plan,
        lambda: run.run(count, lambda *_: None),
        lambda: dd.simulate(model, times, inputs=inputs, realizations=count, rng=1),
        attempts=1 if tiny else 3,
    )
    print_goal(f"{count} pendulums, {horizon:g} s, beside kernel and noise", whole, inner, 1.5)
    print(f"{'':<44} of which planning {planning:.3f} s (wanted: 0.03 s)", flush=True)


def stiff(tiny: bool) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from catalogue import hires

    plain, times = hires().model(), np.linspace(0, 321.8122, 50)
    model = dd.Model(
        name="hires",
        equations=plain.equations,
        unknowns=plain.unknowns,
        parameters=plain.parameters,
        initial=plain.initial,
        outputs={str(unknown): unknown for unknown in plain.unknowns},
    )
    run, generator = dd.simulate(model, times, solver=dd.IDA(1e-10, 1e-12)), np.random.default_rng(1)
    noisy = {n: run[n] + 0.01 * np.max(run[n]) * generator.standard_normal(times.size) for n in model.outputs}
    data, free = dd.Dataset(times, outputs=noisy), list(model.parameters)[: 1 if tiny else 8]
    start = model.with_parameters({name: 1.1 * model.parameters[name].value for name in free})

    def fit(solver: dd.Lanes | None) -> float:
        system = dd.build(start)
        forget_code(system)
        return seconds(lambda: dd.fit(system, data, free=free, criterion=dd.OutputError(), solver=solver))[0]

    fit(None)  # loads what every fit needs
    best = min(fit(dd.Lanes(method)) for method in ("rk4", "radau5"))
    print_goal(f"fit of stiff kinetics, {len(free)} parameters", fit(None), best, 1.3)


def fit(tiny: bool) -> None:
    """A whitened fit with nothing compiled, and `evaluate` against the objective that it calls."""
    plain, times = ensemble.pendulum(), np.arange(201 if tiny else 20_001) * 0.1
    model = dd.Model(
        name=plain.name,
        equations=plain.equations,
        unknowns=plain.unknowns,
        inputs=plain.inputs,
        outputs=plain.outputs,
        parameters={**plain.parameters, "k": dd.Parameter(8.0, lower=2.0, upper=20.0)},
        disturbances={"w": dd.FilteredNoise.resonant(std=0.12, frequency=4.0, damping=0.1)},
        measurement_noise={"angle": 0.002},
        initial=plain.initial,
        guess=plain.guess,
    )
    push = dd.Signal(times, 0.05 * np.sign(np.sin(0.31 * times)), intersample="zoh")
    truth = model.with_parameters({"k": 6.25})
    run = dd.simulate(truth, times, inputs={"u": push}, realizations=1, measurement_noise=True, rng=2)
    data = run.to_dataset()
    criterion = dd.SimulationPEM(realizations=8 if tiny else 100, transient=1.0 if tiny else 50.0, whiten=True)
    spent, found = seconds(lambda: dd.fit(model, data, free=["k"], criterion=criterion, rng=7))
    print(f"{'whitened fit, nothing compiled':<44} {spent:>8.2f} s (wanted: 6 s), {found.evaluations} evaluations")
    objective, _, _ = prepare_objective("evaluate", Arguments(model, data, ["k"], (), None, criterion, None), 7)
    moved = (6.3 + 1e-4 * k for k in range(1000))
    whole, alone = fastest(
        lambda: dd.evaluate(model, data, free=["k"], values={"k": next(moved)}, criterion=criterion, rng=7),
        lambda: objective(np.array([next(moved)])),
        attempts=1 if tiny else 8,
    )
    print_goal("evaluate beside its objective", whole, alone, 1.1)


def make_exchangers(number: int) -> dd.Model:
    """Counter-current heat exchangers of five cells in a row, with a valve at each."""
    cells = range(5 * number)
    hot, cold = ([symbol for i in cells for symbol in dd.symbols(f"{name}{i}")] for name in ("hot", "cold"))
    flow = [symbol for i in range(number) for symbol in dd.symbols(f"flow{i}")]
    heat, mass, u = dd.symbols("heat mass u")
    equations = {}
    for i in cells:
        before, behind = hot[i - 1] if i else u, cold[i + 1] if i + 1 < len(cells) else 10.0
        equations[f"hot {i}"] = der(hot[i]) == mass * (before - hot[i]) - heat * (hot[i] - cold[i])
        equations[f"cold {i}"] = der(cold[i]) == flow[i // 5] * (behind - cold[i]) + heat * (hot[i] - cold[i])
    for i in range(number):
        equations[f"valve {i}"] = flow[i] ** 3 + flow[i] == 1.5 + 0.01 * (cold[5 * i] - 10.0)
    return dd.Model(
        name=f"{number} exchangers",
        equations=equations,
        unknowns=[*hot, *cold, *flow],
        inputs=[u],
        outputs={"last": hot[-1]},
        parameters={heat: 0.5, mass: 1.0},
        initial=dict.fromkeys([*hot, *cold], 10.0),
        guess=dict.fromkeys(flow, 0.8),
    )


def networks(tiny: bool) -> None:
    times = np.linspace(0, 10, 11 if tiny else 101)
    push = {"u": dd.Signal(times, np.sin(times))}
    for model in (
        [make_exchangers(2)] if tiny else [make_exchangers(20), make_exchangers(80), make_grid(118), make_grid(1000)]
    ):
        system = dd.build(model)
        (spent,) = fastest(lambda: dd.simulate(system, times, inputs=push, solver=dd.IDA()), attempts=1)  # noqa: B023
        print(f"{f'{model.name}, by IDA':<44} {spent:>8.2f} s", flush=True)


def fit_locals(tiny: bool) -> None:
    """Experiments that share nothing; factors of matrices of all parameters grow beyond proportion."""
    x, y, u = dd.symbols("x y u")
    free = k, b, c, d, a, cubic, g, x0, y0, o = dd.symbols("k b c d a cubic g x0 y0 o")
    model = dd.Model(
        name="two lags",
        equations={"one": der(x) == b * u + c * y - k * x - cubic * x**3, "two": der(y) == d * x + g * u - a * y},
        unknowns=[x, y],
        inputs=[u],
        outputs={"level": x + o, "other": y},
        parameters=dict(zip(free, [1.0, 1.0, 0.3, 0.2, 0.7, 0.1, 0.4, 0.2, 0.1, 0.05], strict=True)),
        initial={x: x0, y: y0},
        measurement_noise={"level": 0.02, "other": 0.02},
    )
    times, experiments = np.linspace(0.0, 20.0, 101), []
    for number in range(4 if tiny else 60):
        push = dd.Signal(times, np.repeat(np.random.default_rng(number).normal(size=21), 5)[:101])
        own = model.with_parameters({k: 1.0 + 0.01 * number})
        run = dd.simulate(own, times, inputs={"u": push}, realizations=1, measurement_noise=True, rng=number)
        experiments.append(run.to_dataset())
    for count in [2, 4] if tiny else [15, 60]:
        some = experiments[:count]
        spent, _ = seconds(lambda: dd.fit(model, some, local=free, criterion=dd.OutputError()))  # noqa: B023
        print(f"{f'{count} experiments, {10 * count} local parameters':<44} {spent:>8.2f} s", flush=True)


FIGURES = {
    "ode": ode,
    "robot": robot,
    "grid": grid,
    "compiling": compiling,
    "linear": linear,
    "record": record,
    "catalogue": catalogue,
    "stiff": stiff,
    "pendulums": pendulums,
    "fit": fit,
    "networks": networks,
    "locals": fit_locals,
}

if __name__ == "__main__":
    asked = command_line(__doc__, FIGURES).parse_args()
    print(f"{'':<44} {'build':>8} {'first [s]':>10} {'further [s]':>12} {'of 1 parameter':>18}")
    for name in asked.figures or FIGURES:
        FIGURES[name](asked.tiny)
