"""How long users of large models wait: preparation, first evaluation and further ones, with many free parameters.

Run as: python benchmarks/scale.py [--tiny] [ode] [robot] [grid]. Seconds are processor time, with nothing compiled
before; ratios in one row are of one run. Version 0.1.0 took, on a busy machine: 25 states and 50 parameters 52 s before
the first evaluation and 1.12 s for each; a grid of 39 buses 48 s and 0.29 s; the delta robot's code for 8 parameters
24 s to compile, for 12 it was given up.
"""

import os
import runpy
import tempfile
from pathlib import Path
from typing import Any

os.environ["DAEDAL_CACHE"] = tempfile.mkdtemp()  # before anything is compiled

import numpy as np
from shared import command_line, fastest, seconds

import daedal as dd
from daedal import der

EXAMPLES = Path(__file__).parents[1] / "examples"


def show(label: str, model: dd.Model, data: dd.Dataset, free: list[str], criterion: Any) -> None:
    """A row: build, the first evaluation, and a later one against one without free parameters but one."""

    def evaluate(names: list[str], factor: float = 1.0) -> Any:
        moved = {names[0]: factor * model.parameters[names[0]].value}
        return dd.evaluate(system, data, free=names, values=moved, criterion=criterion, rng=1)

    built, system = seconds(lambda: dd.build(model))
    first, _ = seconds(lambda: evaluate(free))
    many, one = fastest(lambda: evaluate(free, 1.001), lambda: evaluate(free[:1], 1.001), attempts=3)
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
        )


def robot(tiny: bool) -> None:
    """The example, without its fit."""
    text = (EXAMPLES / "delta_robot.py").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "robot.py"
        script.write_text(text[: text.index("fit = dd.fit(")].replace("print(dd.analyze(robot))", ""), encoding="utf-8")
        made = runpy.run_path(str(script))
    data = made["run"].to_dataset()
    free = [str(name) for name in made["TRUTH"]][: 2 if tiny else 12]
    criterion = dd.SimulationPEM(realizations=8 if tiny else 64)
    show(f"delta robot, {len(free)} parameters", made["robot"], data, free, criterion)


def grid(tiny: bool) -> None:
    for buses in [6] if tiny else [10, 39]:
        model, times = make_grid(buses), np.linspace(0, 20, 21 if tiny else 201)
        data = make_data(model, times, 0.3 * np.sin(times))
        show(f"grid of {buses} buses, 3 parameters", model, data, list(model.parameters), dd.OutputError())


FIGURES = {"ode": ode, "robot": robot, "grid": grid}

if __name__ == "__main__":
    asked = command_line(__doc__, FIGURES).parse_args()
    print(f"{'':<44} {'build':>8} {'first [s]':>10} {'further [s]':>12} {'of 1 parameter':>18}")
    for name in asked.figures or FIGURES:
        FIGURES[name](asked.tiny)
