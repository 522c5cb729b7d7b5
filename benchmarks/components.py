"""What assembling, analysing and building models from components costs, and how exactly they are simulated.

    python benchmarks/components.py [drive] [rc] [rlc] [house] [--tiny]

drive  a motor, a gear and a disc
rc     a ladder of resistors and capacitors, 50 stages
rlc    the same with coils
house  of 30 rooms

Without a word all are run. Seconds are processor time, the best of three; the machine is shared, so read ratios: the
last column is the cost of an equation against one in a ladder of ten stages.
"""

import sys
from argparse import Namespace
from collections.abc import Callable
from functools import cache
from pathlib import Path
from time import process_time

import numpy as np
from scipy.linalg import expm
from shared import command_line

import daedal as dd

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "models"))

from networks import drive, drive_matrices, house, house_matrices, ladder, ladder_matrices

TIGHT = dd.IDA(rtol=1e-10, atol=1e-12)


def seconds(make: Callable[[], dd.Model]) -> tuple[dd.Model, list[float]]:
    """Assembling, analysing, building, the best of three attempts."""
    attempts = []
    for number in range(3):
        moments = [process_time()]
        model = make()
        moments.append(process_time())
        dd.analyze(model)
        moments.append(process_time())
        dd.build(model.with_outputs({f"attempt {number}": model.unknowns[0]}))  # a model that was never seen before
        moments.append(process_time())
        attempts.append(list(np.diff(moments)))
    return model, min(attempts, key=sum)


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


def ladder_error(model: dd.Model, stages: int, coils: bool) -> float:
    times = np.linspace(0.0, 2.0, 5)
    found = dd.simulate(model, times, inputs={"source.v": 5.0}, solver=TIGHT)
    A, b = ladder_matrices(stages, coils)
    settled = np.linalg.solve(A, -5.0 * b)
    expected = np.array([settled - expm(A * t) @ settled for t in times])
    return relative(np.column_stack([found[f"c{k}.v"] for k in range(stages)]), expected[:, :stages])


def house_error(model: dd.Model, rooms: int) -> float:
    times = np.linspace(0.0, 40_000.0, 5)
    found = dd.simulate(model, times, inputs={"outside.T": 273.15}, solver=TIGHT)
    A, walls, heat = house_matrices(rooms)
    settled = np.linalg.solve(A, -(walls * 273.15 + heat))
    expected = np.array([settled + expm(A * t) @ (293.15 - settled) for t in times])
    return relative(np.column_stack([found[f"room{k}.T"] for k in range(rooms)]), expected)


@cache
def usual() -> float:
    """Seconds for each equation of a small ladder, after imports and first use."""
    dd.build(ladder(1))
    model, spent = seconds(lambda: ladder(10))
    return sum(spent) / len(model.equations)


def show(label: str, make: Callable[[], dd.Model], error: Callable[[dd.Model], float]) -> None:
    model, spent = seconds(make)
    times = " ".join(f"{value:7.3f} s" for value in (*spent, sum(spent)))
    share = sum(spent) / len(model.equations) / usual()
    print(f"{label:<24} {len(model.equations):>9} {times}   {error(model):.1e} {share:>12.2f}", flush=True)


def rc_or_rlc(asked: Namespace, coils: bool) -> None:
    stages = 3 if asked.tiny else 50
    label = f"{'RLC' if coils else 'RC'} ladder of {stages} stages"
    show(label, lambda: ladder(stages, coils), lambda model: ladder_error(model, stages, coils))


def rooms_of_a_house(asked: Namespace) -> None:
    rooms = 3 if asked.tiny else 30
    show(f"house of {rooms} rooms", lambda: house(rooms), lambda model: house_error(model, rooms))


FIGURES = {
    "drive": lambda _: show("drive", drive, drive_error),
    "rc": lambda asked: rc_or_rlc(asked, coils=False),
    "rlc": lambda asked: rc_or_rlc(asked, coils=True),
    "house": rooms_of_a_house,
}

if __name__ == "__main__":
    asked = command_line(__doc__, FIGURES).parse_args()
    usual()
    heads = " ".join(f"{head:>9}" for head in ("equations", "assemble", "analyze", "build", "all"))
    print(f"{'model':<24} {heads}   {'error':<7} {'per equation':>12}")
    for name in asked.figures or FIGURES:
        FIGURES[name](asked)
