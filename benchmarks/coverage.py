"""How often 95 % intervals hold the truth: 14 models, 200 data sets each, by the criterion that `fit` chooses.

    python benchmarks/coverage.py [model ...] [--sets 200] [--seed 0] [--criterion Likelihood] [--whiten yes] [--tiny]

For every parameter: the share of intervals that hold the truth in per cent (92 to 97 is wanted; with 200 sets 95 %
scatters by ± 1.5, and other seeds told chance from what is wrong), the median standard error by the scatter of the
estimates (1 is right), and the bias in units of that scatter. Six models are nonlinear with disturbances; `beam` has
a parameter near its bound (an interval that ends there misses on one side only, and so does that of a, whose errors
go with those of c: 97.5 % is right; in 400 sets no interval of a lay above the truth, 14 below, and 13 of c above,
none below), `heater` and `kiln` declare a third of the measurement noise that they have, `dryer` and `cellar` a
disturbance that forgets ten times too fast and too slowly. --criterion names another than `fit` would choose,
--whiten is for those that can.

Measured, coverage in per cent of so many sets:

    decay       OutputError    400 sets   a 95.2, b 95.0            (seeds 3000, 5000: 94.0, 94.5 and 96.5, 95.5)
    heater      OutputError    400        a 95.0, b 94.0            (seeds 3000, 5000: 94.5, 93.5 and 95.5, 94.5)
    beam        OutputError    400        a 97.5, b 95.5, c 98.0    (seeds 3000, 5000; 600 others: 97.2, 96.5, 97.3)
    oscillator  Likelihood     400        a 96.0, b 95.0, q 93.0, s 94.0        (seeds 3000, 5000)
    furnace     Likelihood     200        a 96.5, b 94.0            (seed 5000)
    kiln        Likelihood     400        a 96.8, b 100             (seeds 3000, 5000: 97.5, 100 and 96.0, 100)
    dryer       Likelihood     400        a 95.8                    (seeds 3000, 5000: 94.5 and 97.0)
    cellar      Likelihood     200        a 95.5                    (seed 3000)
    tank        Likelihood     200        a 96.5, b 95.5            (seed 7000; seed 0, older errors: 93.0, 97.5)
    valve       Likelihood     29         a 96.6, b 93.1            (82–100, 77–99)
    duffing     Likelihood     135        a 96.3, b 94.1, c 97.0    (92–99, 89–97, 93–99)
    sensor      Likelihood     16         a 100.0, b 87.5           (79–100, 62–98)
    bilinear    Likelihood     200        a 93.5, b 93.5            (89–96, 89–96)
    fan         Likelihood     35         a 94.3, b 94.3            (81–99, 81–99)

The last five are of seed 7000, of the errors that `fit` tells now, and of so many sets as slow fits allow (CPU of one:
valve 19 s, sensor 18 s, fan 8 s, bilinear 4 s, duffing 1.5 s, tank 0.6 s); in brackets is the exact 95 % band of
each share. Valve and sensor end with particles in nearly all sets: Laplace's approximation, whose intervals held b of
valve in 84.5 % of 200 sets, is off by 0.3 to 0.9 standard errors there, of b of sensor by 2 to 3, and `fit` sees it.
What is left there is 0.4 ± 0.3 of the scatter (16 sets). Stated errors of one valve set against the curvature of log L
by a bootstrap filter written out, with 60 000 particles and five steps between samples: a 0.97, b 0.98 of them. Before
errors followed from the curvature of log L bilinear had 87.5 and 91.5 %; scores of 150 other sets at the truth scatter
by 36.0 and 44.3 where the curvature has 37.8 and 44.1. Before, of 200 sets of seed 0: duffing 94.5, 97.0, 96.5, fan
96.0, 93.5. SimulationPEM, 100 sets each, in an older state: valve 96.0, 93.0, duffing 93.0, 96.0, 95.0, sensor 94.0,
94.0, bilinear 92.0, 95.0, fan 98.0, 94.0.

The estimates of kiln are far from the truth (a 0.2, b 0.3 for 1 and 3, 20 and 43 times their scatter), as it declares
too small a noise; its intervals, five to eight times as wide as that scatter, reach to the truth because a fit with the
noise free finds it: they hold a bias, so 100 % of b are no sign of errors that are too large. a and b of furnace and
kiln can be exchanged without a change of the output. Where bounds allow both orders, as for kiln, intervals hold both
(furnace without its bounds: 100 of a and b), and a start decides which is which.
The first 62 sets of tank of seed 0 have 88.7 and 98.4, the first 25 of seed 7000 88.0 and 92.0 by chance: steps four
times as short change the log-likelihood by 3e-5.

Root mean square error whitened against not, the same 30 sets (tank 68): tank a 1.02 (2.17), b 0.058 (0.058); valve
a 0.108 (0.143), b 0.63 (0.55); duffing a 0.103 (0.161), b 0.044 (0.042), c 0.111 (0.166); sensor a 0.051 (0.099),
b 0.032 (0.056); bilinear a 0.057 (0.119), b 0.063 (0.146); fan a 0.027 (0.114), b 0.0077 (0.0232); it takes 1.3 to 1.8
times as long.
"""

import logging
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from time import process_time

import numpy as np
from shared import command_line

import daedal as dd
from daedal import der

x, v, z, u, w = dd.symbols("x v z u w")
a, b, c, d, q, s = dd.symbols("a b c d q s")


@dataclass(frozen=True)
class Case:
    """A model at its truth, how it is sampled and pushed, and what is free in it."""

    model: dd.Model
    samples: int
    step: float
    free: Mapping[str, dd.Parameter]
    assumed: Mapping[str, Mapping] = field(default_factory=dict)  # what the model of the fit declares otherwise
    push: Callable[[np.random.Generator, int], np.ndarray] | None = None


def binary(hold: int) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Plus and minus one, for so many samples."""
    return lambda random, count: np.repeat(random.choice([-1.0, 1.0], count // hold + 1), hold)[:count]


def steps(hold: int, low: float, high: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Levels between two values, for so many samples."""
    return lambda random, count: np.repeat(random.uniform(low, high, count // hold + 1), hold)[:count]


def near(value: float, lower: float = -np.inf, upper: float = np.inf) -> dd.Parameter:
    """A parameter that starts a fifth off."""
    return dd.Parameter(min(max(1.2 * value, lower), upper), lower=lower, upper=upper)


def positive(value: float, lower: float = 0.0, upper: float = np.inf) -> dd.Parameter:
    lower, upper = max(1e-3 * value, lower), min(1e3 * value, upper)
    return dd.Parameter(1.2 * value, lower=lower, upper=upper, scale="log")


def make(name: str, equations: list, unknowns: list, truth: Mapping, **more) -> dd.Model:
    named = {f"equation {k}": one for k, one in enumerate(equations)}
    fields = {"outputs": {"y": x}, "inputs": [u], **more}
    return dd.Model(name=name, equations=named, unknowns=unknowns, parameters=truth, **fields)


@cache
def list_cases() -> dict[str, Case]:
    noise = dd.FilteredNoise.low_pass
    return {
        # without disturbances
        "decay": Case(
            make("decay", [der(x) == -a * x], [x], {a: 1.0, b: 2.0}, initial={x: b}, inputs=[],
                 measurement_noise={"y": 0.1}),
            100, 0.04, {"a": near(1.0), "b": near(2.0)}, assumed={"measurement_noise": {}},
        ),
        "heater": Case(
            make("heater", [a * der(x) == -x + b * u], [x], {a: 2.0, b: 1.5}, initial={x: 0.0},
                 measurement_noise={"y": 0.3}),
            200, 0.25, {"a": positive(2.0), "b": near(1.5)}, assumed={"measurement_noise": {"y": 0.1}}, push=binary(10),
        ),
        "beam": Case(
            make("beam", [der(x) == v, der(v) == -a * x - b * v - c * x**3 + u], [x, v], {a: 4.0, b: 0.4, c: 0.05},
                 initial={x: 0.0, v: 0.0}, measurement_noise={"y": 0.1}),
            300, 0.1, {"a": near(4.0), "b": near(0.4), "c": near(0.05, lower=0.0)},
            assumed={"measurement_noise": {}}, push=binary(15),
        ),
        # linear, with disturbances
        "oscillator": Case(
            make("oscillator", [der(x) == v, der(v) == -a * x - b * v + u + w], [x, v],
                 {a: 4.0, b: 0.6, q: 0.8, s: 0.05}, initial={x: 0.0, v: 0.0},
                 disturbances={w: dd.FilteredNoise(numerator=[q], denominator=[1.0, 1.0])},
                 measurement_noise={"y": s}),
            500, 0.2, {"a": near(4.0), "b": near(0.6), "q": positive(0.8), "s": positive(0.05)}, push=binary(8),
        ),
        "furnace": Case(
            make("furnace", [a * der(x) == z - x, b * der(z) == x - z + u + w], [x, z], {a: 1.0, b: 3.0},
                 initial={x: 0.0, z: 0.0}, disturbances={w: noise(std=0.5, time_constant=2.0)},
                 measurement_noise={"y": 0.15}),
            1000, 0.5, {"a": positive(1.0, upper=1.75), "b": positive(3.0, lower=1.75)}, push=binary(10),
        ),
        "kiln": Case(
            make("kiln", [a * der(x) == z - x, b * der(z) == x - z + u + w], [x, z], {a: 1.0, b: 3.0},
                 initial={x: 0.0, z: 0.0}, disturbances={w: noise(std=0.5, time_constant=2.0)},
                 measurement_noise={"y": 0.15}),
            1000, 0.5, {"a": positive(1.0), "b": positive(3.0)},
            assumed={"measurement_noise": {"y": 0.05}}, push=binary(10),
        ),
        "dryer": Case(
            make("dryer", [a * der(x) == -x + u + w], [x], {a: 2.0}, initial={x: 0.0},
                 disturbances={w: noise(std=0.5, time_constant=3.0)}, measurement_noise={"y": 0.05}),
            300, 0.3, {"a": positive(2.0)}, assumed={"disturbances": {w: noise(std=0.5, time_constant=0.3)}},
            push=binary(10),
        ),
        "cellar": Case(
            make("cellar", [a * der(x) == -x + u + w], [x], {a: 2.0}, initial={x: 0.0},
                 disturbances={w: noise(std=0.5, time_constant=3.0)}, measurement_noise={"y": 0.05}),
            300, 0.3, {"a": positive(2.0)}, assumed={"disturbances": {w: noise(std=0.5, time_constant=30.0)}},
            push=binary(10),
        ),
        # nonlinear, with disturbances
        "tank": Case(
            make("tank", [a * der(x) == u + w - b * np.sqrt(np.sqrt(x**2 + 1e-4))], [x], {a: 3.0, b: 1.0},
                 initial={x: 1.0}, disturbances={w: noise(std=0.3, time_constant=2.0)}, measurement_noise={"y": 0.02}),
            100, 1.0, {"a": positive(3.0), "b": near(1.0)}, push=steps(10, 0.8, 1.6),
        ),
        "valve": Case(
            make("valve", [a * der(x) == -x + np.tanh(b * (u + w))], [x], {a: 1.0, b: 1.5}, initial={x: 0.0},
                 disturbances={w: noise(std=0.4, time_constant=0.5)}, measurement_noise={"y": 0.05}),
            200, 0.3, {"a": positive(1.0), "b": near(1.5)}, push=steps(8, -1.0, 1.0),
        ),
        "duffing": Case(
            make("duffing", [der(x) == v, der(v) == -a * x - b * v - c * x**3 + u + w], [x, v],
                 {a: 1.0, b: 0.5, c: 1.0}, initial={x: 0.0, v: 0.0},
                 disturbances={w: noise(std=0.3, time_constant=1.0)}, measurement_noise={"y": 0.02}),
            500, 0.2, {"a": near(1.0), "b": near(0.5), "c": near(1.0)}, push=binary(12),
        ),
        "sensor": Case(
            make("sensor", [a * der(x) == -x + u + w], [x], {a: 1.0, b: 0.4}, initial={x: 0.0},
                 outputs={"y": x + b * x**2}, disturbances={w: noise(std=0.5, time_constant=1.0)},
                 measurement_noise={"y": 0.05}),
            1000, 0.3, {"a": positive(1.0), "b": near(0.4)}, push=binary(10),
        ),
        "bilinear": Case(
            make("bilinear", [der(x) == -(a + 0.3 * w) * x + b * u], [x], {a: 0.8, b: 1.0}, initial={x: 1.0},
                 disturbances={w: noise(std=1.0, time_constant=1.0)}, measurement_noise={"y": 0.05}),
            2000, 0.2, {"a": positive(0.8), "b": near(1.0)}, push=steps(15, 0.2, 1.5),
        ),
        "fan": Case(
            make("fan", [der(x) == a * (u - x) - b * (x + w) ** 2], [x], {a: 0.5, b: 0.1}, initial={x: 2.0},
                 disturbances={w: noise(std=0.8, time_constant=3.0)}, measurement_noise={"y": 0.05}),
            500, 0.3, {"a": positive(0.5), "b": positive(0.1)}, push=steps(20, 4.0, 12.0),
        ),
    }  # fmt: skip


def draw(case: Case, samples: int, sets: int, seed: int) -> list[dd.Dataset]:
    """Data sets with one input, and disturbances and noise of their own."""
    times = np.arange(samples) * case.step
    inputs = {}
    if case.push is not None:
        inputs = {"u": dd.Signal(times, case.push(np.random.default_rng(3), samples), "zoh")}
    options = {"realizations": sets} if case.model.disturbances else {}
    run = dd.simulate(case.model, times, inputs=inputs, rng=seed + 5, variables=["y"], **options)
    clean = np.broadcast_to(run["y"], (sets, samples))
    size = _find_noise(case.model)
    noise = size * np.random.default_rng(seed + 11).standard_normal((sets, samples))
    return [dd.Dataset(times, inputs=inputs, outputs={"y": values}) for values in clean + noise]


def _find_noise(model: dd.Model) -> float:
    declared = model.measurement_noise["y"]
    return float(model.parameters[str(declared)].value if str(declared) in model.parameters else float(declared))


def show(name: str, case: Case, samples: int, sets: int, asked: Namespace) -> None:
    model = replace(case.model, **case.assumed)
    truth = {key: float(case.model.parameters[key].value) for key in case.free}
    begin, fits = process_time(), []
    for number, data in enumerate(draw(case, samples, sets, asked.seed)):
        criterion = getattr(dd, asked.criterion)() if asked.criterion else None
        if asked.whiten and fits and "whiten" in type(fits[0].criterion).__dataclass_fields__:
            criterion = replace(fits[0].criterion, whiten=asked.whiten == "yes")
        fits.append(dd.fit(model, data, free=case.free, rng=number, criterion=criterion))
    fits = fits[1:] if asked.whiten and len(fits) > 1 else fits
    chosen = type(fits[0].criterion).__name__
    intervals = [one.conf_int() for one in fits]
    spent = (process_time() - begin) / sets
    for key, value in truth.items():
        hits = np.mean([one[key][0] <= value <= one[key][1] for one in intervals])
        errors = np.array([one[key].value - value for one in fits])
        stated = np.nanmedian([np.hypot(one[key].std_error, one[key].monte_carlo_error) for one in fits])
        scatter = float(np.diff(np.quantile(errors, [0.16, 0.84]))[0]) / 2.0 or np.nan
        figures = f"{100.0 * hits:>9.1f} {stated / scatter:>9.2f} {errors.mean() / scatter:>7.2f}"
        print(f"  {name:<11} {chosen:<14} {samples:>5} {key:>4} {figures} {spent:>8.2f}", flush=True)
        name, chosen = "", ""


def main() -> None:
    logging.getLogger("daedal").setLevel("ERROR")
    cases = list_cases()
    reader = command_line(__doc__ or "", cases)
    reader.add_argument("--sets", type=int, default=200)
    reader.add_argument("--seed", type=int, default=0, help="of the data: other ones tell chance from what is wrong")
    named = ["OutputError", "SimulationPEM", "Likelihood"]
    reader.add_argument("--criterion", choices=named, help="in place of the one that fit chooses")
    reader.add_argument("--whiten", choices=["yes", "no"], help="whether to whiten residuals where the criterion can")
    asked = reader.parse_args()
    sets = 1 if asked.tiny else asked.sets
    print(f"95 % intervals that hold the truth, per cent of {sets} data sets")
    heads = f"{'coverage':>9} {'se/scatter':>9} {'bias':>6} {'s a fit':>8}"
    print(f"  {'model':<11} {'criterion':<14} {'N':>5}      {heads}")
    for name in asked.figures or cases:
        case = cases[name]
        show(name, case, 40 if asked.tiny else case.samples, sets, asked)


if __name__ == "__main__":
    main()
