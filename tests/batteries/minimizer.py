"""Functions that every minimizer meets, with minima that are published or found by hand.

Most are from J. J. Moré, B. S. Garbow, K. E. Hillstrom, Testing unconstrained optimization software, ACM Trans.
Math. Software 7 (1981) 17–41, which gives the sum of squares at the minimum; the value here is half of it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from daedal.estimation import Evaluation, fail_at

BARD = np.array([0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.10, 4.39])
KOWALIK = np.array([0.1957, 0.1947, 0.1735, 0.1600, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246])
KOWALIK_AT = np.array([4.0, 2.0, 1.0, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625])


@dataclass(frozen=True, eq=False)
class Valley:
    """½|r|² with its residuals and Jacobian; it counts its calls and keeps the points it was asked for."""

    name: str
    residuals: Callable[[np.ndarray], np.ndarray]
    start: tuple[float, ...]
    value: float
    minimum: tuple[float, ...] | None = None
    lower: tuple[float, ...] | None = None
    upper: tuple[float, ...] | None = None
    fails: Callable[[np.ndarray], bool] = lambda _: False
    asked: list[np.ndarray] = field(default_factory=list)

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        size = len(self.start)
        return (
            np.full(size, -np.inf) if self.lower is None else np.array(self.lower),
            np.full(size, np.inf) if self.upper is None else np.array(self.upper),
        )

    def __call__(self, point: np.ndarray) -> Evaluation:
        self.asked.append(point.copy())
        if self.fails(point):
            return fail_at(point, "It fails here.")
        r, J = np.asarray(self.residuals(point)), self.jacobian(point)
        return Evaluation(point, 0.5 * float(r @ r), J.T @ r, J.T @ J, r, J)

    def jacobian(self, point: np.ndarray) -> np.ndarray:
        """By complex steps, exact to rounding."""
        columns = []
        for k in range(point.size):
            moved = point.astype(complex)
            moved[k] += 1e-30j
            columns.append(np.imag(self.residuals(moved)) / 1e-30)
        return np.stack(columns, axis=1)

    def changed(self, **fields) -> "Valley":
        """The same with other starts, bounds or failures, and nothing asked yet."""
        return replace(self, asked=[], **fields)


def bard(x):
    i = np.arange(1, 16)
    return BARD - (x[0] + i / ((16 - i) * x[1] + np.minimum(i, 16 - i) * x[2]))


def kowalik_osborne(x):
    t = KOWALIK_AT
    return KOWALIK - x[0] * (t**2 + t * x[1]) / (t**2 + t * x[2] + x[3])


def jennrich_sampson(x):
    i = np.arange(1, 11)
    return 2 + 2 * i - (np.exp(i * x[0]) + np.exp(i * x[1]))


def beale(x):
    return np.array([y - x[0] * (1 - x[1] ** k) for k, y in ((1, 1.5), (2, 2.25), (3, 2.625))])


def rosenbrock(x):
    return np.array([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]])


def line(x):
    """y = a + b t at t = 0 … 9 with residuals ±1, in units that differ by 14 powers of ten."""
    t = np.arange(10)
    return (1e-7 * x[0] + 1e7 * x[1] * t) - (3.0 + 2.0 * t + (-1.0) ** t)


SLOPE, OFFSET = np.polyfit(np.arange(10), 3.0 + 2.0 * np.arange(10) + (-1.0) ** np.arange(10), 1)
LEFT = float(np.sum(np.square(line(np.array([OFFSET * 1e7, SLOPE * 1e-7])))))
ROSENBROCK = Valley("Rosenbrock", rosenbrock, (-1.2, 1.0), 0.0, (1.0, 1.0))
VALLEYS = (
    ROSENBROCK,
    ROSENBROCK.changed(name="Rosenbrock behind a bound", upper=(0.5, 2.0), value=0.125, minimum=(0.5, 0.25)),
    ROSENBROCK.changed(name="Rosenbrock from a bound", start=(0.5, -1.0), upper=(2.0, 2.0), lower=(0.5, -1.0)),
    Valley("Beale", beale, (1.0, 1.0), 0.0, (3.0, 0.5)),
    Valley("Bard", bard, (1.0, 1.0, 1.0), 0.5 * 8.21487e-3),
    Valley("Kowalik and Osborne", kowalik_osborne, (0.25, 0.39, 0.415, 0.39), 0.5 * 3.07505e-4),
    Valley("Jennrich and Sampson", jennrich_sampson, (0.3, 0.4), 0.5 * 124.362, (0.2578, 0.2578)),
    Valley("a line in odd units", line, (0.0, 0.0), 0.5 * LEFT, (OFFSET * 1e7, SLOPE * 1e-7)),
)
