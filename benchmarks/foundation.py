"""The figures of the foundation: the reference solver on the catalogue, large models, energy, the start of Python.

    python benchmarks/foundation.py [accuracy] [size] [energy] [startup] [--tiny]

accuracy  digits of the reference solver on the catalogue at two tolerances, and how much longer the finer one takes
size      analysing and building models of some thousand equations
energy    of an undamped pendulum over the top, which should stay as it is
startup   importing daedal, against importing numpy

Without a word all are run. Seconds are processor time; the machine is shared, so read ratios.
"""

import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
from shared import command_line, seconds

import daedal as dd

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import catalogue
from catalogue import Problem


def digits(problem: Problem, trajectory: dd.Trajectory) -> float:
    """Mixed digits of the worst component: −log10 of |error| / (1 + |reference|)."""
    worst = 1e-17
    for time, values in problem.references.items():
        place = int(np.flatnonzero(trajectory.times == time)[0])
        worst = max([worst, *(abs(trajectory[name][place] - v) / (1 + abs(v)) for name, v in values.items())])
    return -np.log10(worst)


def accuracy(asked: Namespace) -> None:
    dd.simulate(catalogue.pendulum().model(), [0.0, 0.1], solver=dd.IDA())  # imports and first use
    print(f"{'problem':<28} {'index':>5} {'freedom':>7}   {'rtol 1e-6':>17}   {'rtol 1e-9':>17}   ratio")
    for problem in catalogue.PROBLEMS[: 3 if asked.tiny else None]:
        system = dd.build(problem.model())
        times = np.unique([problem.start, *problem.references])
        row = f"{problem.name:<28} {system.structure.index:>5} {system.structure.degrees_of_freedom:>7}"
        costs = []
        for solver in (dd.IDA(rtol=1e-6, atol=1e-9), dd.IDA(rtol=1e-9, atol=1e-11)):
            spent, run = seconds(lambda: dd.simulate(system, times, inputs=problem.inputs(), solver=solver))  # noqa: B023
            row += f"   {digits(problem, run):>5.1f} digits {spent:>4.2f} s"
            costs.append(spent)
        print(f"{row}   {costs[1] / costs[0]:>5.1f}", flush=True)


def size(asked: Namespace) -> None:
    print("\nlarge models (limit: analyze + build 3 s)")
    for problem in (catalogue.chain(5), catalogue.rlc_ladder(5)) if asked.tiny else catalogue.LARGE:
        model = problem.model()
        analysed, structure = seconds(lambda: dd.analyze(model))  # noqa: B023
        built, _ = seconds(lambda: dd.build(model))  # noqa: B023
        changed, _ = seconds(lambda: dd.build(model.with_parameters({next(iter(model.parameters)): 1.1})))  # noqa: B023
        print(
            f"{problem.name:<28} {structure.equations} equations, index {structure.index}: analyze {analysed:.2f} s, "
            f"build {built:.2f} s; with another value {changed:.2f} s, {changed / built:.2f} of that"
        )


def energy(asked: Namespace) -> None:
    model, times = catalogue.over_the_top().model(), np.arange(0.0, 1.01 if asked.tiny else 100.01, 0.1)
    print(f"\nundamped pendulum over the top, {times[-1]:.0f} s: relative error of the energy (limit at 1e-10: 1e-6)")
    for rtol in (1e-6, 1e-8, 1e-10):
        spent, run = seconds(lambda: dd.simulate(model, times, solver=dd.IDA(rtol, rtol / 100)))  # noqa: B023
        drift = np.max(np.abs(run["energy"] / run["energy"][0] - 1))
        print(f"  rtol {rtol:.0e}: {drift:.1e}, {spent:.1f} s")


def startup(asked: Namespace) -> None:
    own, numbers = (import_seconds(name, 1 if asked.tiny else 5) for name in ("daedal", "numpy"))
    print(f"\nimport daedal: {own:.3f} s (limit 0.6 s), {own / numbers:.2f} of import numpy")


def import_seconds(package: str, attempts: int) -> float:
    """Processor time of importing it into a new process, the best of several."""
    code = f"import time; start = time.process_time(); import {package}; print(time.process_time() - start)"
    command = [sys.executable, "-c", code]
    return min(float(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(attempts))


FIGURES = {"accuracy": accuracy, "size": size, "energy": energy, "startup": startup}

if __name__ == "__main__":
    asked = command_line(__doc__, FIGURES).parse_args()
    for name in asked.figures or FIGURES:
        FIGURES[name](asked)
