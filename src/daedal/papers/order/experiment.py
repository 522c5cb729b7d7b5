"""The systems of the paper, its input in two readings, and the data sets.

    a_n x⁽ⁿ⁾ + … + a_1 x' + a_0 x = b_m u⁽ᵐ⁾ + … + b_1 u' + u,   y(t_k) = x(t_k) + e(t_k)

The input is "a multi-frequency sine wave with frequency range in between 0.1 and 1.0": ten sines, taken as rad/s and as
Hz. The ratio of root mean squares of x and e lies between 5 and 10, anew for each data set. The paper gives no number
of samples: 10 001 are taken here, over 100 s and 20 s; some of its standard deviations would need still more.
"""

from dataclasses import dataclass
from functools import cache
from typing import final

import numpy as np

from daedal.data import Dataset, Signal
from daedal.order import Record, Shape, compute_response, make_record

SEED = 4
SAMPLES = 10_001
FREQUENCIES = np.arange(1, 11) / 10.0
RATIOS = (5.0, 10.0)  # of the root mean squares of output and noise
THINNED = 10  # searches see every tenth sample


@final
@dataclass(frozen=True)
class System:
    """A differential equation in the paper's normalisation.

    Attributes
    ----------
    a, b
        (a_0 … a_n) and (b_1 … b_m); u itself has the coefficient one.
    columns
        Orders that the paper's tables assume.
    """

    name: str
    equation: str
    tables: str
    a: tuple[float, ...]
    b: tuple[float, ...]
    columns: tuple[int, ...]

    @property
    def order(self) -> int:
        """The highest derivative of x."""
        return len(self.a) - 1

    @property
    def input_order(self) -> int:
        """The highest derivative of u."""
        return len(self.b)

    @property
    def theta(self) -> np.ndarray:
        """(a_0 … a_n, b_1 … b_m)."""
        return np.array([*self.a, *self.b])

    @property
    def names(self) -> tuple[str, ...]:
        """Of the coefficients."""
        return tuple(f"a{k}" for k in range(self.order + 1)) + tuple(f"b{k + 1}" for k in range(self.input_order))


@final
@dataclass(frozen=True)
class Reading:
    """What the frequencies of the input mean."""

    name: str
    unit: str
    factor: float  # from the frequencies to rad/s
    end: float  # seconds


SYSTEMS = (
    System("system 1", "x' + 2 x = u", "Tables 1 and 2", (2.0, 1.0), (), (1, 3, 5)),
    System("system 2", "x' + 2 x = u' + u", "Tables 3 and 4", (2.0, 1.0), (1.0,), (1, 3, 5)),
    System("system 3", "x'' + 2.8 x' + x = u", "Tables 5 and 6", (1.0, 2.8, 1.0), (), (2, 5)),
    System(
        "system 4", "x'''' + 10 x''' + 35 x'' + 50 x' + 24 x = u", "Table 7", (24.0, 50.0, 35.0, 10.0, 1.0), (), (4, 6)
    ),
    System(
        "system 4 with 2u'",
        "x'''' + 10 x''' + 35 x'' + 50 x' + 24 x = 2 u' + u",
        "end of section 3.4",
        (24.0, 50.0, 35.0, 10.0, 1.0),
        (2.0,),
        (5,),
    ),
)
RADIAN = Reading("radian", "rad/s", 1.0, 100.0)
HERTZ = Reading("hertz", "Hz", 2.0 * np.pi, 20.0)
READINGS = (RADIAN, HERTZ)


@cache
def simulate_clean(system: System, reading: Reading) -> Record:
    """The record without noise, all samples; it starts at rest."""
    times = np.linspace(0.0, reading.end, SAMPLES)
    values = np.sin(reading.factor * times[:, None] * FREQUENCIES).sum(axis=1)
    drive = Signal(times, values, "spline")
    record = make_record("reproduce", Dataset(times, inputs={"u": drive}, outputs={"y": values}), None, None)
    shape = Shape(system.order, system.input_order, 1, start=False)
    response = compute_response(shape, make_monic(system.theta, system.order), record)
    assert response is not None  # all systems are stable
    return replace_output(record, response.y)


def replace_output(record: Record, y: np.ndarray) -> Record:
    """The same record with another output."""
    data = Dataset(record.times, inputs=dict(record.data.inputs), outputs={"y": y})
    return make_record("reproduce", data, None, None)


def simulate_noisy(system: System, reading: Reading, number: int, ratio: float | None = None) -> Record:
    """One of the data sets, which do not depend on how many there are."""
    quiet = simulate_clean(system, reading)
    stream = np.random.default_rng([SEED, SYSTEMS.index(system), READINGS.index(reading), number])
    drawn = stream.uniform(*RATIOS)
    size = np.sqrt(np.mean(quiet.y**2)) / (drawn if ratio is None else ratio)
    return replace_output(quiet, quiet.y + size * stream.standard_normal(quiet.y.size))


def thin(record: Record) -> Dataset:
    """Every tenth sample of output and input."""
    times = record.times[::THINNED]
    drive = Signal(times, record.data.inputs["u"].values[::THINNED], "spline")
    return Dataset(times, inputs={"u": drive}, outputs={"y": record.y[::THINNED]})


def make_monic(theta: np.ndarray, order: int) -> np.ndarray:
    """(a_0 … a_{n−1}, b_0 … b_m) with a_n = 1, from the paper's normalisation."""
    leading = theta[order]
    return np.concatenate([theta[:order], [1.0], theta[order + 1 :]]) / leading


def make_paper_coefficients(monic: np.ndarray, order: int) -> np.ndarray:
    """The paper's normalisation, from (a_0 … a_{n−1}, b_0 … b_m) with a_n = 1."""
    gain = monic[order]
    return np.concatenate([monic[:order], [1.0], monic[order + 1 :]]) / gain
