"""Accuracy and cost of the reference solver on the catalogue, and the cost of analysing large models.

Run with `make benchmark`. Seconds are processor time; the machine is shared, so read them as orders of magnitude.
"""

import subprocess
import sys
from pathlib import Path
from time import process_time

import numpy as np

import daedal as dd

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import catalogue
from catalogue import Problem


def seconds(work) -> tuple[float, object]:
    start = process_time()
    result = work()
    return process_time() - start, result


def digits(problem: Problem, trajectory: dd.Trajectory) -> float:
    """Mixed digits of the worst component: −log10 of |error| / (1 + |reference|)."""
    worst = 1e-17
    for time, values in problem.references.items():
        place = int(np.flatnonzero(trajectory.times == time)[0])
        worst = max([worst, *(abs(trajectory[name][place] - v) / (1 + abs(v)) for name, v in values.items())])
    return -np.log10(worst)


def accuracy() -> None:
    print(f"{'problem':<28} {'index':>5} {'freedom':>7}   {'rtol 1e-6':>17}   {'rtol 1e-9':>17}")
    for problem in catalogue.PROBLEMS:
        system = dd.build(problem.model())
        times = np.unique([problem.start, *problem.references])
        row = f"{problem.name:<28} {system.structure.index:>5} {system.structure.degrees_of_freedom:>7}"
        for solver in (dd.IDA(rtol=1e-6, atol=1e-9), dd.IDA(rtol=1e-9, atol=1e-11)):
            spent, run = seconds(lambda: dd.simulate(system, times, inputs=problem.inputs(), solver=solver))  # noqa: B023
            row += f"   {digits(problem, run):>5.1f} digits {spent:>4.2f} s"
        print(row)


def size() -> None:
    print("\nlarge models (limit: analyze + build 3 s)")
    for problem in catalogue.LARGE:
        model = problem.model()
        analysed, structure = seconds(lambda: dd.analyze(model))  # noqa: B023
        built, _ = seconds(lambda: dd.build(model))  # noqa: B023
        changed, _ = seconds(lambda: dd.build(model.with_parameters({next(iter(model.parameters)): 1.1})))  # noqa: B023
        print(
            f"{problem.name:<28} {structure.equations} equations, index {structure.index}: analyze {analysed:.2f} s, "
            f"build {built:.2f} s; with another value {changed:.2f} s"
        )


def energy() -> None:
    model = catalogue.over_the_top().model()
    print("\nundamped pendulum over the top, 100 s: relative error of the energy (limit at rtol 1e-10: 1e-6)")
    for rtol in (1e-6, 1e-8, 1e-10):
        spent, run = seconds(lambda: dd.simulate(model, np.linspace(0, 100, 1001), solver=dd.IDA(rtol, rtol / 100)))  # noqa: B023
        drift = np.max(np.abs(run["energy"] / run["energy"][0] - 1))
        print(f"  rtol {rtol:.0e}: {drift:.1e}, {spent:.1f} s")


def startup() -> None:
    code = "import time; start = time.process_time(); import daedal; print(time.process_time() - start)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    print(f"\nimport daedal: {min(float(run.stdout) for run in runs):.2f} s (limit 0.6 s)")


if __name__ == "__main__":
    accuracy()
    size()
    energy()
    startup()
