"""Parameter estimation problems from the literature, with optima that others computed.

Measured values count equally (a standard deviation of one for all outputs), so that twice the value of a fit is the
sum of squares. Publications print few digits; optima with more were recomputed from the same data by scipy.
`predicted` states the equations once more, for another code.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import daedal as dd
from daedal import der

from .problem import table

COPS = (
    "E. D. Dolan, J. J. Moré, T. S. Munson, Benchmarking Optimization Software with COPS 3.0, ANL/MCS-TM-273 (2004); "
    "the sum of squares as the tests of COPSBenchmark.jl quote it"
)
RECALLED = "data recalled from the table of Varah (1982), not compared with it"


@dataclass(frozen=True)
class EstimationProblem:
    """A model with its data and the least squares estimate that others found.

    `model` has the start as its values. `squares` is the sum of squares and `optimum` the estimate, where others give
    them; `relative` is the accuracy of that sum. `predicted` gives (time, output) for values of
    the free parameters by scipy, and `nearby` is a start from which scipy's optimiser reaches the optimum too.
    """

    name: str
    model: Callable[[], dd.Model]
    data: Callable[[], dd.Dataset]
    predicted: Callable[[np.ndarray], np.ndarray]
    nearby: Sequence[float]
    source: str
    squares: float | None = None
    relative: float = 1e-8
    optimum: Mapping[str, float] | None = None

    @property
    def free(self) -> tuple[str, ...]:
        """All parameters of the model."""
        return tuple(self.model().parameters)


def rows(text: str) -> np.ndarray:
    """A table typed as text."""
    return np.array([line.split() for line in text.strip().splitlines()], dtype=float)


def experiment(columns: np.ndarray, names: Sequence[str]) -> dd.Dataset:
    """Columns: the time, then the outputs. Models start at time zero, before or at the first sample."""
    return dd.Dataset(columns[:, 0], outputs=dict(zip(names, columns[:, 1:].T, strict=True)), t0=0.0)


def integrated(rates: Callable, initial: Sequence[float], times: np.ndarray) -> np.ndarray:
    """The states at the times, from 0 on, (time, state); infinite after a failure."""
    span = (0.0, float(times[-1]))
    solution = solve_ivp(lambda _, y: rates(y), span, initial, "DOP853", times, rtol=1e-11, atol=1e-13)
    result = np.full((len(times), len(initial)), np.inf)
    result[: solution.t.size] = solution.y.T
    return result


def alpha_pinene() -> EstimationProblem:
    """Five species; y4 was not measured but computed from y1, and the rate constants are small numbers."""
    names = [f"y{i}" for i in range(1, 6)]
    y, theta = dd.symbols(" ".join(names)), dd.symbols("theta1 theta2 theta3 theta4 theta5")

    def model() -> dd.Model:
        return dd.Model(
            name="alpha-pinene",
            equations={
                "alpha-pinene": der(y[0]) == -(theta[0] + theta[1]) * y[0],
                "dipentene": der(y[1]) == theta[0] * y[0],
                "allo-ocimene": der(y[2]) == theta[1] * y[0] - (theta[2] + theta[3]) * y[2] + theta[4] * y[4],
                "pyronene": der(y[3]) == theta[2] * y[2],
                "dimer": der(y[4]) == theta[3] * y[2] - theta[4] * y[4],
            },
            unknowns=y,
            outputs=dict(zip(names, y, strict=True)),
            parameters=dict.fromkeys(theta, 1e-4),
            measurement_noise=dict.fromkeys(names, 1.0),
            initial=dict(zip(y, (100.0, 0.0, 0.0, 0.0, 0.0), strict=True)),
        )

    def predicted(k: np.ndarray) -> np.ndarray:
        A = np.zeros((5, 5))
        A[0, 0], A[1, 0], A[2, 0] = -(k[0] + k[1]), k[0], k[1]
        A[2, 2], A[2, 4], A[3, 2], A[4, 2], A[4, 4] = -(k[2] + k[3]), k[4], k[2], k[3], -k[4]
        return np.array([expm(A * t)[:, 0] * 100.0 for t in PINENE[:, 0]])

    return EstimationProblem(
        name="alpha-pinene",
        model=model,
        data=lambda: experiment(PINENE, names),
        predicted=predicted,
        nearby=[1e-4] * 5,
        source="Box, Hunter, MacGregor, Erjavec, Technometrics 15 (1973) 33–51; data of Fuguitt and Hawkins (1947); "
        "COPS 3.1 prints 19.8721",
        squares=19.87216693933683,
        optimum=table(
            "theta1 theta2 theta3 theta4 theta5",
            "5.925851901396775e-5 2.963400208786727e-5 2.047295964302446e-5 2.744684268559440e-4 3.997947485540502e-5",
        ),
    )


PINENE = rows("""
    1230   88.35   7.3  2.3  0.4   1.75
    3060   76.4   15.6  4.5  0.7   2.8
    4920   65.1   23.1  5.3  1.1   5.8
    7800   50.4   32.9  6.0  1.5   9.3
    10680  37.5   42.7  6.0  1.9  12.0
    15030  25.9   49.1  5.9  2.2  17.0
    22620  14.0   57.4  5.1  2.6  21.0
    36420   4.5   63.1  3.8  2.9  25.7
""")


def barnes(free_initial: bool = False) -> EstimationProblem:
    """Predator and prey, starting at the first sample or from values that are estimated too."""
    y1, y2, k1, k2, k3, y1_0, y2_0 = dd.symbols("y1 y2 k1 k2 k3 y1_0 y2_0")
    constants = {k1: 1.0, k2: 1.0, k3: 1.0}

    def model() -> dd.Model:
        return dd.Model(
            name="Barnes",
            equations={
                "prey": der(y1) == k1 * y1 - k2 * y1 * y2,
                "predators": der(y2) == k2 * y1 * y2 - k3 * y2,
            },
            unknowns=[y1, y2],
            outputs={"y1": y1, "y2": y2},
            parameters=constants | ({y1_0: 1.0, y2_0: 0.3} if free_initial else {}),
            measurement_noise={"y1": 1.0, "y2": 1.0},
            initial={y1: y1_0, y2: y2_0} if free_initial else {y1: 1.0, y2: 0.3},
        )

    def predicted(k: np.ndarray) -> np.ndarray:
        def rates(y: np.ndarray) -> list[float]:
            return [k[0] * y[0] - k[1] * y[0] * y[1], k[1] * y[0] * y[1] - k[2] * y[1]]

        return integrated(rates, k[3:] if free_initial else (1.0, 0.3), BARNES[:, 0])

    fixed = table("k1 k2 k3", "0.8609416831716913 2.079030182802178 1.8149453533539683")
    estimated = table("k1 k2 k3", "0.8189626736530865 2.29852302573846 2.0087192361674506")
    initial = table("y1_0 y2_0", "0.9938739967777496 0.2166086263606547")
    return EstimationProblem(
        name=f"Barnes, initial values {'free' if free_initial else 'fixed'}",
        model=model,
        data=lambda: experiment(BARNES, ["y1", "y2"]),
        predicted=predicted,
        nearby=[1.0, 1.0, 1.0, 1.0, 0.3] if free_initial else [1.0, 1.0, 1.0],
        source=f"van Domselaar and Hemker (1975); Varah (1982) prints 0.861, 2.08, 1.81; {RECALLED}",
        squares=0.10167524055671365 if free_initial else 0.1644613537637721,
        optimum=estimated | initial if free_initial else fixed,
    )


BARNES = rows("""
    0.0  1.0  0.30
    0.5  1.1  0.35
    1.0  1.3  0.40
    1.5  1.1  0.50
    2.0  0.9  0.50
    2.5  0.7  0.40
    3.0  0.5  0.30
    3.5  0.6  0.25
    4.0  0.7  0.25
    4.5  0.8  0.30
    5.0  1.0  0.35
""")


def rooney_biegler() -> EstimationProblem:
    """Biochemical oxygen demand; `ROONEY_BIEGLER_COVARIANCE` is that of the estimate."""
    y, asymptote, rate = dd.symbols("y asymptote rate")

    def model() -> dd.Model:
        return dd.Model(
            name="oxygen demand",
            equations={"demand": der(y) == rate * (asymptote - y)},
            unknowns=[y],
            outputs={"y": y},
            parameters={asymptote: 10.0, rate: 0.1},
            measurement_noise={"y": 1.0},
            initial={y: 0.0},
        )

    return EstimationProblem(
        name="Rooney and Biegler",
        model=model,
        data=lambda: experiment(OXYGEN, ["y"]),
        predicted=lambda p: p[0] * (1.0 - np.exp(-p[1] * OXYGEN[:, :1])),
        nearby=[10.0, 0.1],
        source="Rooney and Biegler (2001); Bates and Watts, table A4.1; example of pyomo's parmest",
        squares=25.990267281941325,
        optimum=table("asymptote rate", "19.142575199552976 0.5310913850997308"),
    )


OXYGEN = rows("""
    1   8.3
    2  10.3
    3  19.0
    4  16.0
    5  15.6
    7  19.8
""")
# s² (JᵀJ)⁻¹, recomputed; parmest prints 6.22864, −0.4322, 0.04124.
ROONEY_BIEGLER_COVARIANCE = rows("""
     6.229603126676978   -0.4322647474257003
    -0.4322647474257003   0.0412423406768496
""")


def gas_oil() -> EstimationProblem:
    """Catalytic cracking of gas oil."""
    y1, y2, theta1, theta2, theta3 = dd.symbols("y1 y2 theta1 theta2 theta3")

    def model() -> dd.Model:
        return dd.Model(
            name="gas oil",
            equations={
                "gas oil": der(y1) == -(theta1 + theta3) * y1**2,
                "gasoline": der(y2) == theta1 * y1**2 - theta2 * y2,
            },
            unknowns=[y1, y2],
            outputs={"y1": y1, "y2": y2},
            parameters=dict.fromkeys((theta1, theta2, theta3), 1.0),
            measurement_noise={"y1": 1.0, "y2": 1.0},
            initial={y1: 1.0, y2: 0.0},
        )

    def predicted(k: np.ndarray) -> np.ndarray:
        def rates(y: np.ndarray) -> list[float]:
            return [-(k[0] + k[2]) * y[0] ** 2, k[0] * y[0] ** 2 - k[1] * y[1]]

        return integrated(rates, (1.0, 0.0), GAS_OIL[:, 0])

    return EstimationProblem(
        name="gas oil",
        model=model,
        data=lambda: experiment(GAS_OIL, ["y1", "y2"]),
        predicted=predicted,
        nearby=[10.0, 5.0, 1.0],
        source=f"Tjoa and Biegler (1991); {COPS}",
        squares=5.2366e-3,
        relative=2e-5,
    )


GAS_OIL = rows("""
    0.000  1.0000  0.0000
    0.025  0.8105  0.2000
    0.050  0.6208  0.2886
    0.075  0.5258  0.3010
    0.100  0.4345  0.3215
    0.125  0.3903  0.3123
    0.150  0.3342  0.2716
    0.175  0.3034  0.2551
    0.200  0.2735  0.2258
    0.225  0.2405  0.1959
    0.250  0.2283  0.1789
    0.300  0.2071  0.1457
    0.350  0.1669  0.1198
    0.400  0.1530  0.0909
    0.450  0.1339  0.0719
    0.500  0.1265  0.0561
    0.550  0.1200  0.0460
    0.650  0.0990  0.0280
    0.750  0.0870  0.0190
    0.850  0.0770  0.0140
    0.950  0.0690  0.0100
""")


def methanol() -> EstimationProblem:
    """Conversion of methanol to hydrocarbons; at the optimum theta5 lies at its lower bound."""
    y1, y2, y3 = dd.symbols("y1 y2 y3")
    theta1, theta2, theta3, theta4, theta5 = theta = dd.symbols("theta1 theta2 theta3 theta4 theta5")

    def model() -> dd.Model:
        d = (theta2 + theta5) * y1 + y2
        return dd.Model(
            name="methanol",
            equations={
                "methanol": der(y1) == -(2 * theta2 - theta1 * y2 / d + theta3 + theta4) * y1,
                "olefins": der(y2) == theta1 * y1 * (theta2 * y1 - y2) / d + theta3 * y1,
                "paraffins": der(y3) == theta1 * y1 * (y2 + theta5 * y1) / d + theta4 * y1,
            },
            unknowns=[y1, y2, y3],
            outputs={"y1": y1, "y2": y2, "y3": y3},
            parameters=dict.fromkeys(theta, dd.Parameter(1.0, lower=0.0)),
            measurement_noise={"y1": 1.0, "y2": 1.0, "y3": 1.0},
            initial={y1: 1.0, y2: 0.0, y3: 0.0},
        )

    def predicted(k: np.ndarray) -> np.ndarray:
        def rates(y: np.ndarray) -> list[float]:
            d = (k[1] + k[4]) * y[0] + y[1]
            return [
                -(2.0 * k[1] - k[0] * y[1] / d + k[2] + k[3]) * y[0],
                k[0] * y[0] * (k[1] * y[0] - y[1]) / d + k[2] * y[0],
                k[0] * y[0] * (y[1] + k[4] * y[0]) / d + k[3] * y[0],
            ]

        return integrated(rates, (1.0, 0.0, 0.0), METHANOL[:, 0])

    return EstimationProblem(
        name="methanol",
        model=model,
        data=lambda: experiment(METHANOL, ["y1", "y2", "y3"]),
        predicted=predicted,
        nearby=[1.0] * 5,
        source=f"Maria (1989); {COPS}",
        squares=9.02229e-3,
        relative=2e-6,
    )


METHANOL = rows("""
    0.000  1.0000  0.0000  0.0000
    0.050  0.7085  0.1621  0.0811
    0.065  0.5971  0.1855  0.0965
    0.080  0.5537  0.1989  0.1198
    0.123  0.3684  0.2845  0.1535
    0.233  0.1712  0.3491  0.2097
    0.273  0.1198  0.3098  0.2628
    0.354  0.0747  0.3576  0.2467
    0.397  0.0529  0.3347  0.2884
    0.418  0.0415  0.3388  0.2757
    0.502  0.0261  0.3557  0.3167
    0.553  0.0208  0.3483  0.2954
    0.681  0.0085  0.3836  0.2950
    0.750  0.0053  0.3611  0.2937
    0.916  0.0019  0.3609  0.2831
    0.937  0.0018  0.3485  0.2846
    1.122  0.0006  0.3698  0.2899
""")


def marine_population() -> EstimationProblem:
    """Eight stages of a species: seven growth rates, eight mortalities and eight initial values, none negative."""
    names = [f"y{j}" for j in range(1, 9)]
    y, growth, mortality = dd.symbols("y", 8), dd.symbols("g", 7), dd.symbols("m", 8)
    initial = dd.symbols("y0", 8)

    def model() -> dd.Model:
        gain = [0.0, *(growth[j] * y[j] for j in range(7))]
        loss = [*(mortality[j] + growth[j] for j in range(7)), mortality[7]]
        first = {initial[j]: dd.Parameter(MARINE[0, 1 + j], lower=0.0) for j in range(8)}
        return dd.Model(
            name="marine population",
            equations={f"stage {j + 1}": der(y[j]) == gain[j] - loss[j] * y[j] for j in range(8)},
            unknowns=y,
            outputs=dict(zip(names, y, strict=True)),
            parameters={rate: dd.Parameter(0.5, lower=0.0) for rate in (*growth, *mortality)} | first,
            measurement_noise=dict.fromkeys(names, 1.0),
            initial=dict(zip(y, initial, strict=True)),
        )

    def predicted(p: np.ndarray) -> np.ndarray:
        g, m = np.append(p[:7], 0.0), p[7:15]
        step = expm(0.5 * (np.diag(-(m + g)) + np.diag(g[:7], -1)))
        states = [p[15:]]
        while len(states) < len(MARINE):
            states.append(step @ states[-1])
        return np.array(states)

    return EstimationProblem(
        name="marine population",
        model=model,
        data=lambda: experiment(MARINE, names),
        predicted=predicted,
        nearby=[0.5] * 15 + list(MARINE[0, 1:]),
        source=f"Rothschild et al. (1997); {COPS}",
        squares=1.97462e7,  # of a coarse discretisation
        relative=3e-5,
    )


MARINE = rows("""
    0.0   20000  17000  10000  15000  12000  9000  7000  3000
    0.5   12445  15411  13040  13338  13484  8426  6615  4022
    1.0    7705  13074  14623  11976  12453  9272  6891  5020
    1.5    4664   8579  12434  12603  11738  9710  6821  5722
    2.0    2977   7053  11219  11340  13665  8534  6242  5695
    2.5    1769   5054  10065  11232  12112  9600  6647  7034
    3.0     943   3907   9473  10334  11115  8826  6842  7348
    3.5     581   2624   7421  10297  12427  8747  7199  7684
    4.0     355   1744   5369   7748  10057  8698  6542  7410
    4.5     223   1272   4713   6869   9564  8766  6810  6961
    5.0     137    821   3451   6050   8671  8291  6827  7525
    5.5      87    577   2649   5454   8430  7411  6423  8388
    6.0      49    337   2058   4115   7435  7627  6268  7189
    6.5      32    228   1440   3790   6474  6658  5859  7467
    7.0      17    168   1178   3087   6524  5880  5562  7144
    7.5      11     99    919   2596   5360  5762  4480  7256
    8.0       7     65    647   1873   4556  5058  4944  7538
    8.5       4     44    509   1571   4009  4527  4233  6649
    9.0       2     27    345   1227   3677  4229  3805  6378
    9.5       1     20    231    934   3197  3695  3159  6454
    10.0      1     12    198    707   2562  3163  3232  5566
""")


def nitric_oxide() -> EstimationProblem:
    """Nitric oxide and oxygen: two rate constants of different size."""
    y, k1, k2 = dd.symbols("y k1 k2")

    def model() -> dd.Model:
        return dd.Model(
            name="nitric oxide",
            equations={"reaction": der(y) == k1 * (126.2 - y) * (91.9 - y) ** 2 - k2 * y**2},
            unknowns=[y],
            outputs={"y": y},
            parameters={k1: 1e-6, k2: 1e-4},
            measurement_noise={"y": 1.0},
            initial={y: 0.0},
        )

    def predicted(k: np.ndarray) -> np.ndarray:
        def rates(y: np.ndarray) -> np.ndarray:
            return k[0] * (126.2 - y) * (91.9 - y) ** 2 - k[1] * y**2

        return integrated(rates, (0.0,), NITRIC_OXIDE[:, 0])

    return EstimationProblem(
        name="nitric oxide",
        model=model,
        data=lambda: experiment(NITRIC_OXIDE, ["y"]),
        predicted=predicted,
        nearby=[4e-6, 3e-4],
        source=f"Bellman, Jacquez, Kalaba, Schwimmer (1967); data of Bodenstein and Lindner (1922); {RECALLED}",
    )


NITRIC_OXIDE = rows("""
    0    0.0
    1    1.4
    2    6.3
    3   10.5
    4   14.2
    5   17.6
    6   21.4
    7   23.0
    9   27.0
    11  30.5
    14  34.4
    19  38.8
    24  41.6
    29  43.5
    39  45.3
""")


def initial_values() -> EstimationProblem:
    """A critically damped oscillator whose initial values are unknown: x1 = 1 + (a + b t) exp(−t), linear in both."""
    x1, x2, p1, p2 = dd.symbols("x1 x2 p1 p2")

    def model() -> dd.Model:
        return dd.Model(
            name="initial values",
            equations={"position": der(x1) == x2, "speed": der(x2) == 1 - 2 * x2 - x1},
            unknowns=[x1, x2],
            outputs={"x1": x1},
            parameters=dict.fromkeys((p1, p2), dd.Parameter(1.0, lower=-1.5, upper=1.5)),
            measurement_noise={"x1": 1.0},
            initial={x1: p1, x2: p2},
        )

    def predicted(p: np.ndarray) -> np.ndarray:
        t = OSCILLATOR[:, :1]
        return 1.0 + (p[0] - 1.0 + (p[1] + p[0] - 1.0) * t) * np.exp(-t)

    return EstimationProblem(
        name="initial values",
        model=model,
        data=lambda: experiment(OSCILLATOR, ["x1"]),
        predicted=predicted,
        nearby=[1.0, 1.0],
        source="pyomo.dae, example Parameter_Estimation.py",
    )


OSCILLATOR = rows("""
    1  0.264
    2  0.594
    3  0.801
    5  0.959
""")

ESTIMATION_PROBLEMS = (
    alpha_pinene(),
    barnes(),
    barnes(free_initial=True),
    rooney_biegler(),
    gas_oil(),
    methanol(),
    marine_population(),
    nitric_oxide(),
    initial_values(),
)
