"""The figures of delays: one simulation against jitcdde and a method of steps in scipy, and how the cost grows.

    python benchmarks/delays.py [time] [sweep] [gradient] [growth] [profile]

time       the reactor of `contract/reactor.py` at its nominal point, 20 samples: after compiling, with and without the
           sensitivities of its three parameters; jitcdde and scipy with tolerances of 1e-9
sweep      the estimates of the reactor for 101 weights γ, with several starts in the delay
gradient   one gradient forward and backward, against the number of parameters
growth     number of steps and seconds against 1/tau, and against the number of samples of a held, delayed input
profile    where the time of one prediction goes

Without a word all are run. Milliseconds are processor time, the best of several; the machine is shared, so read ratios.
jitcdde is not among the dependencies: python -m pip install jitcdde (it needs a C compiler).
"""

import argparse
import cProfile
import pstats
from collections.abc import Callable
from contextlib import chdir
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import numpy as np

import daedal as dd
from daedal import delay, der
from daedal.linear.threads import one_thread
from daedal.papers.reactor.estimates import Size, sweep_weights
from daedal.papers.reactor.experiment import NOMINAL, TIMES, make_reactor
from daedal.simulation.delays.adjoint import Adjoint
from daedal.simulation.prediction import Predictor, predictor
from daedal.simulation.request import check_request


@one_thread
def fastest(call: Callable[[], object], attempts: int = 20) -> float:
    """Milliseconds of processor time of the fastest of several calls; the first one warms up."""
    taken = []
    for _ in range(1 + attempts):
        begin = process_time()
        call()
        taken.append(1e3 * (process_time() - begin))
    return min(taken[1:])


def prepared(free: tuple[str, ...], tolerance: float) -> Predictor:
    asked = check_request("benchmark", make_reactor(), TIMES, None, 0.0)
    return predictor(asked, ("y",), free, NOMINAL, dd.Lanes(tolerance=tolerance), None, 0, "benchmark")


def timing() -> None:
    exact = prepared((), 1e-12)(NOMINAL).mean[0]
    print(f"{'the reactor, 20 samples':<46}{'ms':>9}{'error':>10}")
    for tolerance in (1e-6, 1e-9):
        for free in ((), tuple(NOMINAL)):
            run = prepared(free, tolerance)
            found = run(NOMINAL)
            name = f"daedal, {run.run.plan.steps.lengths.size} steps" + (", 3 sensitivities" if free else "")
            error = np.abs(found.mean[0] - exact).max()
            print(f"{name:<46}{fastest(lambda run=run: run(NOMINAL)):>9.2f}{error:>10.0e}")
    model = dd.build(make_reactor().with_parameters(NOMINAL))
    print(f"{'daedal, simulate: steps chosen anew':<46}{fastest(lambda: dd.simulate(model, TIMES, t0=0.0), 5):>9.2f}")
    for name, solve in (("scipy DOP853, method of steps", by_scipy), ("jitcdde", by_jitcdde())):
        if solve is None:
            print(f"{name:<46}  not installed, or no C compiler")
            continue
        error = np.abs(solve() - exact).max()
        print(f"{name:<46}{fastest(solve, 5):>9.2f}{error:>10.0e}")


def by_scipy() -> np.ndarray:
    """One initial value problem for each stretch of length tau, the last one's dense output as history."""
    from scipy.integrate import solve_ivp

    tau, z1, z2 = NOMINAL.values()
    past, state, found = (lambda _: np.ones(2)), np.ones(2), []
    for k in range(round(TIMES[-1] / tau)):

        def rate(t: float, x: np.ndarray, past: Callable[[float], np.ndarray] = past) -> np.ndarray:
            reaction = (1 - x[0]) * np.exp(20 * x[1] / (x[1] + 20))
            return np.array([z1, z2]) * x + reaction + past(t - tau)

        run = solve_ivp(rate, (k * tau, (k + 1) * tau), state, "DOP853", rtol=1e-9, atol=1e-10, dense_output=True)
        inside = TIMES[np.round((TIMES - 1e-9) // tau) == k]
        found.append(10 * run.sol(np.minimum(inside, (k + 1) * tau))[1])
        past, state = run.sol, run.y[:, -1]
    return np.concatenate(found)


def by_jitcdde() -> Callable[[], np.ndarray] | None:
    """Compiled once; None where it cannot be."""
    try:
        import symengine
        from jitcdde import jitcdde, t, y
    except ImportError:
        return None
    tau, z1, z2 = NOMINAL.values()
    reaction = (1 - y(0)) * symengine.exp(20 * y(1) / (y(1) + 20))
    equations = [z1 * y(0) + reaction + y(0, t - tau), z2 * y(1) + reaction + y(1, t - tau)]
    begin = perf_counter()
    solver = jitcdde(equations, delays=[0.0, tau], max_delay=tau, verbose=False)
    with TemporaryDirectory() as elsewhere, chdir(elsewhere):  # it would take our pyproject.toml for its own
        solver.compile_C(simplify=False)  # simplifying needs sympy
    print(f"jitcdde compiles for {perf_counter() - begin:.1f} s")

    def solve() -> np.ndarray:
        solver.purge_past()
        solver.constant_past([1.0, 1.0], time=0.0)
        solver.set_integration_parameters(rtol=1e-9, atol=1e-10, first_step=0.01)
        solver.adjust_diff()
        return np.array([10 * solver.integrate(time)[1] for time in TIMES])

    return solve


def sweeping() -> None:
    begin, cpu = perf_counter(), process_time()
    made = sweep_weights(Size(weights=101, realizations=0, data_sets=0))
    print(f"\n101 weights in {perf_counter() - begin:.1f} s, {process_time() - cpu:.1f} s of processor time", end="; ")
    print(f"gamma = 0.9: {', '.join(f'{value:.5f}' for value in made.estimates[made.at(0.9)])}")


def ring(count: int) -> dd.Model:
    """Each state follows the one before it, late; 2 · count + 1 parameters."""
    tau = dd.symbol("tau")
    states, slow, gains = (dd.symbols(" ".join(f"{name}{i}" for i in range(count))) for name in "xab")
    rates = [
        -a * x + b * delay(before, tau)
        for x, a, b, before in zip(states, slow, gains, [states[-1], *states[:-1]], strict=True)
    ]
    return dd.Model(
        name="ring",
        equations={f"rate{i}": der(x) == rate for i, (x, rate) in enumerate(zip(states, rates, strict=True))},
        unknowns=list(states),
        outputs={"y": states[-1]},
        parameters={tau: 0.7, **dict.fromkeys(slow, 1.0), **dict.fromkeys(gains, 0.8)},
        history={x: 1.0 / (1 + i) for i, x in enumerate(states)},
    )


def gradients() -> None:
    print(f"\n{'a ring, 20 samples: ms of one gradient':<46}{'forward':>9}{'backward':>10}")
    for count in (2, 5, 10, 20, 30):
        model = ring(count)
        values = {name: parameter.value for name, parameter in model.parameters.items()}
        asked = check_request("benchmark", model, TIMES, None, 0.0)
        run = predictor(asked, ("y",), tuple(values), values, dd.Lanes(tolerance=1e-9), None, 0, "benchmark")
        back, pull = Adjoint(run.run), np.ones((1, TIMES.size))
        forward = fastest(lambda run=run, values=values: run(values), 5)
        backward = fastest(lambda back=back, values=values, pull=pull: back.samples(values).gradient(pull), 5)
        print(f"{len(values)} parameters, {count} states".ljust(46) + f"{forward:>9.1f}{backward:>10.1f}")


def growth() -> None:
    x, u, tau = dd.symbols("x u tau")
    own = dd.Model(
        name="own past", equations={"rate": der(x) == -delay(x, tau)}, unknowns=[x], outputs={"x": x},
        parameters={tau: 1.0}, history={x: 1.0},
    )  # fmt: skip
    print(f"\n{'x(t)′ = −x(t − tau) to t = 1':<46}{'steps':>9}{'ms':>10}{'µs a step':>12}")
    for length in (0.1, 0.03, 0.01, 0.003, 0.001):
        _line(f"tau = {length}", own, np.array([1.0]), {"tau": length}, None)
    late = dd.Model(
        name="late input", equations={"rate": der(x) == -x + delay(u, tau)}, unknowns=[x], inputs=[u],
        outputs={"x": x}, parameters={tau: 1.0}, initial={x: 0.0},
    )  # fmt: skip
    print(f"\n{'delayed, held input':<46}{'steps':>9}{'ms':>10}{'µs a step':>12}")
    for count in (100, 300, 1000, 3000):
        times = 0.1 * np.arange(count)
        held = dd.Signal(times, np.random.default_rng(0).standard_normal(count), "zoh")
        _line(f"{count} samples", late, times, {"tau": 0.237}, {"u": held})


def _line(name: str, model: dd.Model, times: np.ndarray, values: dict[str, float], inputs: dict | None) -> None:
    asked = check_request("benchmark", model, times, inputs, 0.0)
    run = predictor(asked, ("x",), ("tau",), values, dd.Lanes(step=0.02), None, 0, "benchmark")
    taken, steps = fastest(lambda: run(values), 3), run.run.plan.steps.lengths.size
    print(f"{name:<46}{steps:>9}{taken:>10.1f}{1e3 * taken / steps:>12.1f}")


def profile() -> None:
    run = prepared(tuple(NOMINAL), 1e-9)
    run(NOMINAL)
    watched = cProfile.Profile()
    watched.enable()
    for _ in range(20):
        run(NOMINAL)
    watched.disable()
    pstats.Stats(watched).sort_stats("cumulative").print_stats(25)


PARTS = {"time": timing, "sweep": sweeping, "gradient": gradients, "growth": growth, "profile": profile}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="time, sweep, gradient, growth, profile; all when left out")
    for part in parser.parse_args().parts or PARTS:
        PARTS[part]()
