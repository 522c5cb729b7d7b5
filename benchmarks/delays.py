"""The figures of delays: one simulation against jitcdde and a method of steps in scipy, and how the cost grows.

    python benchmarks/delays.py [time] [sweep] [gradient] [growth] [profile] [--tiny]

time       a reactor with an unknown delay (daedal.papers) at its nominal point, 20 samples: after compiling, with and
           without the sensitivities of its three parameters; jitcdde and scipy with tolerances of 1e-9
sweep      the estimates of the reactor for 101 weights γ, with several starts in the delay
gradient   one gradient forward and backward, against the number of parameters
growth     number of steps and seconds against 1/tau, and against the number of samples of a held, delayed input
profile    where the time of one prediction goes

Without a word all are run. Milliseconds are processor time, the best of several; the machine is shared, so read ratios.
jitcdde is not among the dependencies: python -m pip install jitcdde (it needs a C compiler).
"""

import cProfile
import pstats
from argparse import Namespace
from collections.abc import Callable, Mapping
from contextlib import chdir
from functools import partial
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
from shared import command_line, fastest, seconds

import daedal as dd
from daedal import delay, der
from daedal.papers.reactor.estimates import Size, sweep_weights
from daedal.papers.reactor.experiment import NOMINAL, TIMES, make_reactor
from daedal.simulation import Adjoint, Predictor, check_request, make_predictor


def milliseconds(work: Callable[[], object], attempts: int) -> float:
    return 1e3 * fastest(work, attempts=attempts)[0]


def prepare_prediction(
    model: dd.Model,
    times: np.ndarray,
    free: tuple[str, ...],
    values: Mapping[str, float],
    solver: dd.Lanes,
    inputs: Mapping[str, dd.Signal] | None = None,
) -> Predictor:
    request = check_request("benchmark", model, times, inputs, 0.0)
    return make_predictor(request, tuple(model.outputs), free, values, solver, None, 0, "benchmark")


def prepare_reactor(free: tuple[str, ...], tolerance: float) -> Predictor:
    return prepare_prediction(make_reactor(), TIMES, free, NOMINAL, dd.Lanes(tolerance=tolerance))


def timing(asked: Namespace) -> None:
    attempts = 1 if asked.tiny else 20
    exact = prepare_reactor((), 1e-12)(NOMINAL).mean[0]
    plain = prepare_reactor((), 1e-9)
    usual = milliseconds(partial(plain, NOMINAL), attempts)
    print(f"{'the reactor, 20 samples':<46}{'ms':>9}{'ratio':>8}{'error':>10}")

    def show(name: str, spent: float, outputs: np.ndarray) -> None:
        print(f"{name:<46}{spent:>9.2f}{spent / usual:>8.1f}{np.abs(outputs - exact).max():>10.0e}", flush=True)

    for tolerance in (1e-6, 1e-9):
        for free in ((), tuple(NOMINAL)):
            run = prepare_reactor(free, tolerance)
            name = f"daedal, {run.run.plan.lengths.size} steps" + (", 3 sensitivities" if free else "")
            show(name, milliseconds(partial(run, NOMINAL), attempts), run(NOMINAL).mean[0])
    simulate = partial(dd.simulate, dd.build(make_reactor().with_parameters(NOMINAL)), TIMES, t0=0.0)
    show("daedal, simulate: steps chosen anew", milliseconds(simulate, min(attempts, 5)), simulate()["y"])
    for name, solve in (("scipy DOP853, method of steps", by_scipy), ("jitcdde", by_jitcdde())):
        if solve is None:
            print(f"{name:<46}  not installed, or no C compiler")
        else:
            show(name, milliseconds(solve, min(attempts, 5)), solve())


def by_scipy() -> np.ndarray:
    """One initial value problem for each stretch of length tau, the last one's dense output as history."""
    from scipy.integrate import solve_ivp

    tau, z1, z2 = NOMINAL.values()
    past, state, outputs = (lambda _: np.ones(2)), np.ones(2), []
    for k in range(round(TIMES[-1] / tau)):

        def rate(t: float, x: np.ndarray, past: Callable[[float], np.ndarray] = past) -> np.ndarray:
            reaction = (1 - x[0]) * np.exp(20 * x[1] / (x[1] + 20))
            return np.array([z1, z2]) * x + reaction + past(t - tau)

        run = solve_ivp(rate, (k * tau, (k + 1) * tau), state, "DOP853", rtol=1e-9, atol=1e-10, dense_output=True)
        inside = TIMES[np.round((TIMES - 1e-9) // tau) == k]
        outputs.append(10 * run.sol(np.minimum(inside, (k + 1) * tau))[1])
        past, state = run.sol, run.y[:, -1]
    return np.concatenate(outputs)


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


def sweeping(asked: Namespace) -> None:
    size = Size(weights=11 if asked.tiny else 101, realizations=0, data_sets=0)
    begin = perf_counter()
    spent, estimates = seconds(lambda: sweep_weights(size))
    elapsed = perf_counter() - begin
    print(f"\n{size.weights} weights in {elapsed:.1f} s, {spent:.1f} s of processor time", end="; ")
    print(f"gamma = 0.9: {', '.join(f'{value:.5f}' for value in estimates.estimates[estimates.at(0.9)])}")


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


def gradients(asked: Namespace) -> None:
    print(f"\n{'a ring, 20 samples: ms of one gradient':<46}{'forward':>9}{'backward':>10}{'ratio':>8}")
    for count in (2,) if asked.tiny else (2, 5, 10, 20, 30):
        model = ring(count)
        values = {name: parameter.value for name, parameter in model.parameters.items()}
        run = prepare_prediction(model, TIMES, tuple(values), values, dd.Lanes(tolerance=1e-9))
        forward, backward = fastest(partial(run, values), partial(pull_back, Adjoint(run.run), values), attempts=5)
        label = f"{len(values)} parameters, {count} states"
        print(f"{label:<46}{1e3 * forward:>9.1f}{1e3 * backward:>10.1f}{forward / backward:>8.2f}", flush=True)


def pull_back(adjoint: Adjoint, values: Mapping[str, float]) -> object:
    return adjoint.run_forward(values).compute_gradient(np.ones((1, TIMES.size)))


def growth(asked: Namespace) -> None:
    x, u, tau = dd.symbols("x u tau")
    own = dd.Model(
        name="own past", equations={"rate": der(x) == -delay(x, tau)}, unknowns=[x], outputs={"x": x},
        parameters={tau: 1.0}, history={x: 1.0},
    )  # fmt: skip
    print(f"\n{'x(t)′ = −x(t − tau) to t = 1':<46}{'steps':>9}{'ms':>10}{'µs a step':>12}")
    for length in (0.1, 0.03) if asked.tiny else (0.1, 0.03, 0.01, 0.003, 0.001):
        _line(f"tau = {length}", own, np.array([1.0]), {"tau": length})
    late = dd.Model(
        name="late input", equations={"rate": der(x) == -x + delay(u, tau)}, unknowns=[x], inputs=[u],
        outputs={"x": x}, parameters={tau: 1.0}, initial={x: 0.0},
    )  # fmt: skip
    print(f"\n{'delayed, held input':<46}{'steps':>9}{'ms':>10}{'µs a step':>12}")
    for count in (30, 100) if asked.tiny else (100, 300, 1000, 3000):
        times = 0.1 * np.arange(count)
        held = dd.Signal(times, np.random.default_rng(0).standard_normal(count), "zoh")
        _line(f"{count} samples", late, times, {"tau": 0.237}, {"u": held})


def _line(
    name: str,
    model: dd.Model,
    times: np.ndarray,
    values: Mapping[str, float],
    inputs: Mapping[str, dd.Signal] | None = None,
) -> None:
    run = prepare_prediction(model, times, ("tau",), values, dd.Lanes(step=0.02), inputs)
    taken, steps = milliseconds(partial(run, values), 3), run.run.plan.lengths.size
    print(f"{name:<46}{steps:>9}{taken:>10.1f}{1e3 * taken / steps:>12.1f}", flush=True)


def profile(asked: Namespace) -> None:
    run = prepare_reactor(tuple(NOMINAL), 1e-9)
    run(NOMINAL)
    watched = cProfile.Profile()
    watched.enable()
    for _ in range(1 if asked.tiny else 20):
        run(NOMINAL)
    watched.disable()
    pstats.Stats(watched).sort_stats("cumulative").print_stats(25)


FIGURES = {"time": timing, "sweep": sweeping, "gradient": gradients, "growth": growth, "profile": profile}

if __name__ == "__main__":
    asked = command_line(__doc__, FIGURES).parse_args()
    for name in asked.figures or FIGURES:
        FIGURES[name](asked)
