"""Likelihood of nonlinear models with disturbances, method by method: bias, scatter, coverage and seconds of a fit.

    python benchmarks/nonlinear.py [--model pendulum oscillator ...] [--method moments ...] [--sets 20] [--tiny]

For every free parameter: mean of the estimates, their root mean square error (of logarithms in per cent, but for the
pendulum), bias in units of their scatter, the share of 95 % intervals that hold the truth, and the median standard
error and Monte-Carlo error by that scatter.

pendulum: that of the authors' program in `daedal.papers.pendulum`, 500 samples, a DAE of index 3 in which the
disturbance acts through its square; `wind` is the same with the gain of the disturbance free, `long` with 5000 samples.
oscillator: a hardening spring, the strength and the memory of the disturbance free. bistable: two wells. regulator: a
delay in the loop.

Measured with --method auto (rmse and the rest as below, CPU seconds on a busy machine):

                              rmse   bias  cover     se     mc s a fit
    pendulum    46 sets    k   0.557  -0.01   0.96   1.00   0.16     4.7
    long        20         k   0.197  -0.34   0.90   0.88   0.13    38.7
    oscillator  50         d  21.355  -0.06   0.90   0.88   0.00     1.5
                           k  15.972  -0.29   1.00   1.21   0.00
                          k3   9.071   0.04   0.94   1.02   0.00
                         std   7.275  -0.13   0.98   1.07   0.00
                         tau  24.829  -0.08   0.96   1.00   0.00
    bistable    15         a  18.549   0.07   1.00   1.07   0.22    38.7
                           b  18.006  -0.03   1.00   1.10   0.26
                         std  10.023  -0.13   1.00   0.95   0.21
"""

import logging
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from time import process_time

import numpy as np

import daedal as dd
from daedal import der
from daedal.papers.pendulum.experiment import PROGRAM, SOLVER, list_times, make_pendulum, make_push

x, v, u, w = dd.symbols("x v u w")
a, b, d, k, k3, std, tau = dd.symbols("a b d k k3 std tau")
METHODS = ("laplace", "moments", "particle", "auto")


@dataclass(frozen=True)
class Case:
    """A model at its truth, its samples and its input, and what is free from which start; the fit may be another's."""

    model: dd.Model
    times: np.ndarray
    free: Mapping[str, dd.Parameter]
    push: Callable[[np.ndarray], dd.Signal] | None = None
    fitted: dd.Model | None = None
    logarithmic: bool = True
    solver: dd.Lanes | None = None


def positive(value: float, lower: float = 1e-3, upper: float = 50.0) -> dd.Parameter:
    return dd.Parameter(value, lower=lower, upper=upper, scale="log")


def switch(times: np.ndarray) -> dd.Signal:
    return dd.Signal(times, np.sign(np.sin(0.23 * times + 0.1)), intersample="zoh")


@cache
def list_cases() -> dict[str, Case]:
    pendulum, gain = make_pendulum(PROGRAM), dd.symbol("gain")
    coarse = dd.FilteredNoise(numerator=(gain,), denominator=(1.0, 0.8, 16.0), initial="rest")
    fitted = replace(pendulum, parameters={**pendulum.parameters, "gain": 0.6}, disturbances={w: coarse})
    drag = dd.Parameter(7.5, lower=3.0, upper=12.5)
    swing = Case(
        replace(pendulum, parameters=fitted.parameters), list_times(500), {"k": drag},
        push=lambda times: make_push(PROGRAM, times.size), fitted=fitted, logarithmic=False, solver=SOLVER,
    )  # fmt: skip
    noise = dd.FilteredNoise.low_pass
    oscillator = dd.Model(
        name="oscillator",
        equations={"speed": der(x) == v, "force": der(v) == -d * v - k * x - k3 * x**3 + u + w},
        unknowns=[x, v],
        inputs=[u],
        outputs={"position": x},
        parameters={d: 0.5, k: 1.0, k3: 2.0, std: 0.6, tau: 0.7},
        disturbances={w: noise(std=std, time_constant=tau)},
        measurement_noise={"position": 0.02},
        initial={x: 0.0, v: 0.0},
    )
    bistable = dd.Model(
        name="bistable",
        equations={"rate": der(x) == a * x - b * x**3 + w},
        unknowns=[x],
        outputs={"x": x},
        parameters={a: 1.0, b: 1.0, std: 0.6},
        disturbances={w: noise(std=std, time_constant=1.0)},
        measurement_noise={"x": 0.3},
        initial={x: 0.0},
    )
    regulator = dd.Model(
        name="regulator",
        equations={"rate": der(x) == -a * np.tanh(dd.delay(x, 0.6)) + u + w},
        unknowns=[x],
        inputs=[u],
        outputs={"x": x},
        parameters={a: 1.0, std: 0.4},
        disturbances={w: noise(std=std, time_constant=1.0)},
        measurement_noise={"x": 0.05},
        initial={x: 0.0},
        history={x: 0.0},
    )
    start = {"d": 0.8, "k": 1.5, "k3": 1.0, "std": 0.4, "tau": 1.0}  # 60, 50, −50, −33 and 43 % off
    return {
        "pendulum": swing,
        "wind": replace(swing, free={"k": drag, "gain": dd.Parameter(0.5, lower=0.2, upper=1.2)}),
        "long": replace(swing, times=list_times(5000)),
        "oscillator": Case(
            oscillator, np.arange(401) * 0.2, {name: positive(value) for name, value in start.items()}, push=switch
        ),
        "bistable": Case(
            bistable, np.arange(400) * 1.0, {"a": positive(1.3), "b": positive(1.3), "std": positive(0.5)}
        ),
        "regulator": Case(
            regulator,
            np.arange(200) * 0.3,
            {"a": positive(0.8), "std": positive(0.5)},
            push=switch,
            solver=dd.Lanes(step=0.1),
        ),
    }


def draw(case: Case, sets: int, samples: int | None) -> list[dd.Dataset]:
    """Data sets with one input, and disturbances and noise of their own."""
    times = case.times[:samples]
    inputs = {} if case.push is None else {"u": case.push(times)}
    output = next(iter(case.model.outputs))
    run = dd.simulate(case.model, times, inputs=inputs, t0=0.0, rng=100_000, variables=[output], realizations=sets)
    size = float(case.model.measurement_noise[output])
    noise = size * np.random.default_rng(11).standard_normal((sets, times.size))
    return [dd.Dataset(times, inputs=inputs, outputs={output: one}, t0=0.0) for one in run[output] + noise]


def show(name: str, case: Case, data: list[dd.Dataset], criterion: dd.Likelihood) -> None:
    """The rows of one model and one method."""
    begin, fits = process_time(), []
    for number, one in enumerate(data):
        model = case.model if case.fitted is None else case.fitted
        fits.append(dd.fit(model, one, free=case.free, criterion=criterion, rng=number, solver=case.solver))
    spent, intervals = (process_time() - begin) / len(data), [one.conf_int() for one in fits]
    for key in case.free:
        truth = float(case.model.parameters[key].value)
        values = np.array([one[key].value for one in fits])
        errors = np.log(values / truth) if case.logarithmic else values - truth
        unit = 100.0 if case.logarithmic else 1.0
        by = truth if case.logarithmic else 1.0
        scatter = float(errors.std(ddof=1))
        stated = [float(np.nanmedian([getattr(one[key], kind) for one in fits])) / by / scatter
                  for kind in ("std_error", "monte_carlo_error")]  # fmt: skip
        hits = np.mean([one[key][0] <= truth <= one[key][1] for one in intervals])
        print(
            f"  {name:<11} {criterion.method:<9} {key:>5} {values.mean():>8.4f} "
            f"{unit * np.sqrt(np.mean(errors**2)):>8.3f} {errors.mean() / scatter:>6.2f} {hits:>6.2f} "
            f"{stated[0]:>6.2f} {stated[1]:>6.2f} {spent:>7.1f}",
            flush=True,
        )
        name = ""


def main() -> None:
    logging.getLogger("daedal").setLevel("ERROR")
    cases = list_cases()
    reader = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    reader.add_argument("--model", nargs="*", choices=list(cases), default=list(cases))
    reader.add_argument("--method", nargs="*", choices=METHODS, default=["laplace", "moments"])
    reader.add_argument("--sets", type=int, default=20)
    reader.add_argument("--tiny", action="store_true", help="sizes so small that the numbers mean nothing")
    asked = reader.parse_args()
    print(f"nonlinear models, {2 if asked.tiny else asked.sets} data sets")
    heads = f"{'mean':>8} {'rmse':>8} {'bias':>6} {'cover':>6} {'se':>6} {'mc':>6} {'s a fit':>7}"
    print(f"  {'model':<11} {'method':<9} {'':>5} {heads}")
    for name in asked.model:
        data = draw(cases[name], 2 if asked.tiny else asked.sets, 30 if asked.tiny else None)
        for method in asked.method:
            if method in ("laplace", "particle") and cases[name].model.delayed:
                continue  # which they refuse
            tiny = dd.Likelihood(method=method, realizations=200, particles=50)
            first = dict([*cases[name].free.items()][:1])  # few samples do not tell more
            case = replace(cases[name], free=first) if asked.tiny else cases[name]
            show(name, case, data, tiny if asked.tiny else dd.Likelihood(method=method))


if __name__ == "__main__":
    main()
