"""What assembling, analysing and building models from components costs, and how exactly they are simulated.

    python benchmarks/components.py

Seconds are processor time, the best of three; the machine is shared, so read them as orders of magnitude.
"""

import sys
from pathlib import Path
from time import process_time

import numpy as np
from scipy.linalg import expm

import daedal as dd

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "models"))

from networks import drive, drive_matrices, house, house_matrices, ladder, ladder_matrices

STAGES, ROOMS = 50, 30
TIGHT = dd.IDA(rtol=1e-10, atol=1e-12)


def seconds(make, attempt: int) -> tuple[dd.Model, list[float]]:
    """Assembling, analysing, building; an output of its own makes each attempt a model that was never seen before."""
    moments = [process_time()]
    model = make()
    moments.append(process_time())
    dd.analyze(model)
    moments.append(process_time())
    dd.build(model.with_outputs({f"attempt {attempt}": model.unknowns[0]}))
    moments.append(process_time())
    return model, list(np.diff(moments))


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))


def drive_error(model: dd.Model) -> float:
    """A constant voltage from rest, against the exponential of the hand-reduced matrix."""
    times = np.linspace(0.0, 5.0, 51)
    found = dd.simulate(model, times, inputs={"supply.v": 6.0}, solver=TIGHT)
    A, B = drive_matrices()
    chain = np.zeros((5, 5))
    chain[:4, :4], chain[:4, 4] = A, 6.0 * B[:, 0]
    expected = np.array([expm(chain * t)[:4, 4] for t in times])
    names = ("rotor.phi", "rotor.w", "disc.phi", "disc.w")
    return max(relative(found[name], expected[:, k]) for k, name in enumerate(names))


def ladder_error(model: dd.Model, coils: bool) -> float:
    times = np.linspace(0.0, 2.0, 5)
    found = dd.simulate(model, times, inputs={"source.v": 5.0}, solver=TIGHT)
    A, b = ladder_matrices(STAGES, coils)
    settled = np.linalg.solve(A, -5.0 * b)
    expected = np.array([settled - expm(A * t) @ settled for t in times])
    return relative(np.column_stack([found[f"c{k}.v"] for k in range(STAGES)]), expected[:, :STAGES])


def house_error(model: dd.Model) -> float:
    times = np.linspace(0.0, 40_000.0, 5)
    found = dd.simulate(model, times, inputs={"outside.T": 273.15}, solver=TIGHT)
    A, walls, heat = house_matrices(ROOMS)
    settled = np.linalg.solve(A, -(walls * 273.15 + heat))
    expected = np.array([settled + expm(A * t) @ (293.15 - settled) for t in times])
    return relative(np.column_stack([found[f"room{k}.T"] for k in range(ROOMS)]), expected)


def main() -> None:
    dd.build(ladder(1))  # imports and first use
    cases = {
        "drive": (drive, drive_error),
        f"RC ladder of {STAGES} stages": (lambda: ladder(STAGES), lambda model: ladder_error(model, False)),
        f"RLC ladder of {STAGES} stages": (lambda: ladder(STAGES, True), lambda model: ladder_error(model, True)),
        f"house of {ROOMS} rooms": (lambda: house(ROOMS), house_error),
    }
    print(f"{'model':<24} {'equations':>9} {'assemble':>9} {'analyze':>9} {'build':>9} {'all':>9}   relative error")
    for label, (make, error) in cases.items():
        runs = [seconds(make, attempt) for attempt in range(3)]
        model, best = min(runs, key=lambda run: sum(run[1]))
        times = " ".join(f"{each:7.3f} s" for each in (*best, sum(best)))
        print(f"{label:<24} {len(model.equations):>9} {times}   {error(model):.1e}", flush=True)


if __name__ == "__main__":
    main()
