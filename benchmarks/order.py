"""The figures of order and coefficients from data: the Rao–Garnier system, four systems with sums of sines, time.

    python benchmarks/order.py [time] [delay] [rao-garnier] [irregular] [orders] [paper] [--sets 200] [--tiny]

time         one search over the orders 1 … 5, N = 2000, against one simulation of the system that is searched for
delay        the same for delay and noise model together, N = 1200, against the search that is told the delay
rao-garnier  (−6400 s + 1600)/(s⁴ + 5 s³ + 408 s² + 416 s + 1600), N = 7161, signal to noise 10 dB, the true orders:
             spread of the coefficients against output error from the true start and the Cramér–Rao bound
irregular    the same with random intervals between samples, the input changing at some of them
orders       share of right orders there, of 3 … 5 poles and input orders 0 … 2
paper        four systems driven by ten sines (in rad/s and in Hz), signal to noise 5 … 10: share of right orders, with
             the order of the input known and not, and root mean square errors of the true orders against output error
             from the true start; a quarter of the sets

Without a word all are run, on two processes but for `time` and `delay`.
"""

from argparse import Namespace
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr
from functools import cache, partial
from io import StringIO
from time import perf_counter

import numpy as np
from shared import command_line, fastest, seconds

import daedal as dd
from daedal import der

RAO_GARNIER = dd.TransferFunction([-6400.0, 1600.0], [1.0, 5.0, 408.0, 416.0, 1600.0])
SYSTEMS = {  # of the paper; the order of the input is known there
    "1: x' + 2x = u": dd.TransferFunction([1.0], [1.0, 2.0]),
    "2: x' + 2x = u' + u": dd.TransferFunction([1.0, 1.0], [1.0, 2.0]),
    "3: x'' + 2.8x' + x = u": dd.TransferFunction([1.0], [1.0, 2.8, 1.0]),
    "4: 24, 50, 35, 10, 1": dd.TransferFunction([1.0], [1.0, 10.0, 35.0, 50.0, 24.0]),
}


def coefficients(tf: dd.TransferFunction) -> np.ndarray:
    """a0 … , b0 … as the candidates of a search have them."""
    return np.concatenate([tf.denominator[:0:-1], tf.numerator["u"][::-1]])


def binary_sequence(stages: int, clock: int) -> np.ndarray:
    """±1, of maximal length, each value held for some samples."""
    from scipy.signal import max_len_seq

    return np.repeat(2.0 * max_len_seq(stages)[0] - 1.0, clock)


@cache
def rao_garnier(irregular: bool, stages: int) -> tuple[np.ndarray, dd.Signal, np.ndarray]:
    """Times, input and clean output; 2^stages − 1 values of the input, each for seven samples."""
    values = binary_sequence(stages, 7)
    times = np.arange(values.size) * 0.01
    if irregular:
        times = np.append(0.0, np.cumsum(np.random.default_rng(1).uniform(0.005, 0.015, values.size - 1)))
    drive = dd.Signal(times, values, intersample="zoh")
    return times, drive, dd.simulate(RAO_GARNIER, times, inputs={"u": drive})["y"]


def rao_garnier_data(seed: int, irregular: bool, stages: int) -> dd.Dataset:
    times, drive, clean = rao_garnier(irregular, stages)
    noise = np.random.default_rng(seed).standard_normal(times.size) * np.std(clean) / np.sqrt(10.0)
    return dd.Dataset(times, inputs={"u": drive}, outputs={"y": clean + noise})


def with_noise(tf: dd.TransferFunction, noise: float) -> dd.Model:
    """The transfer function as a chain of integrators whose start is unknown."""
    u = dd.symbol("u")
    states, a, b = dd.symbols("x", tf.order), dd.symbols("a", tf.order), dd.symbols("b", tf.input_order + 1)
    highest = u - sum(coefficient * state for coefficient, state in zip(a, states, strict=True))
    derivatives = [*states, highest]
    return dd.Model(
        name="chain of integrators",
        equations={f"rate {i}": der(state) == derivatives[i + 1] for i, state in enumerate(states)},
        unknowns=list(states), inputs=[u], outputs={"y": sum(b[i] * derivatives[i] for i in range(len(b)))},
        parameters=dict(zip([*a, *b], coefficients(tf), strict=True)), measurement_noise={"y": noise},
    )  # fmt: skip


def from_the_truth(tf: dd.TransferFunction, data: dd.Dataset) -> np.ndarray:
    """Output error that begins at the true coefficients."""
    model = with_noise(tf, 1.0)
    with redirect_stderr(StringIO()):  # where it says that the start is estimated too
        found = dd.fit(model, data, free=list(model.parameters), criterion=dd.Likelihood(initial="free"))
    return np.array(list(found.params.values()))


def cramer_rao(tf: dd.TransferFunction, data: dd.Dataset, noise: float) -> np.ndarray:
    """The least standard deviation that unbiased coefficients can have, from exact slopes; the start unknown too."""
    model = with_noise(tf, noise)
    cost = dd.evaluate(model, data, free=list(model.parameters), criterion=dd.Likelihood(initial="free"))
    return np.sqrt(np.diag(np.linalg.inv(cost.curvature)))


def _pair(seed: int, irregular: bool, stages: int) -> tuple[np.ndarray, np.ndarray]:
    data = rao_garnier_data(seed, irregular, stages)
    found = dd.select_order(data, orders=[4], input_orders=[1])
    return np.array(list(found.chosen.coefficients.values())), from_the_truth(RAO_GARNIER, data)


def number_of_stages(asked: Namespace) -> int:
    return 6 if asked.tiny else 10


def spread(asked: Namespace, irregular: bool) -> None:
    sets, stages = asked.sets, number_of_stages(asked)
    begin = perf_counter()
    with ProcessPoolExecutor(2) as pool:
        pairs = list(pool.map(partial(_pair, irregular=irregular, stages=stages), range(sets)))
    own, reference = (np.array(each) for each in zip(*pairs, strict=True))
    truth = coefficients(RAO_GARNIER)
    noise = float(np.std(rao_garnier(irregular, stages)[2])) / np.sqrt(10.0)
    bound = cramer_rao(RAO_GARNIER, rao_garnier_data(0, irregular, stages), noise)
    lost = int(np.sum(~np.isfinite(own).all(axis=1) | (np.abs(own - truth) > 10.0 * bound).any(axis=1)))
    label = "irregular samples" if irregular else "regular samples"
    print(f"Rao–Garnier, {label}, {sets} sets, {perf_counter() - begin:.0f} s: {lost} diverged")
    print("   coefficient      mean   deviation   / from the truth   / Cramér–Rao")
    for k, name in enumerate(("a0", "a1", "a2", "a3", "b0", "b1")):
        deviation = own[:, k].std(ddof=1)
        ratios = deviation / reference[:, k].std(ddof=1), deviation / bound[k]
        numbers = f"{own[:, k].mean():9.4g}   {deviation:9.4g}   {ratios[0]:16.4f}   {ratios[1]:12.3f}"
        print(f"   {name} = {truth[k]:<8g} {numbers}")


def _orders(seed: int, stages: int, tiny: bool) -> tuple[int, int]:
    tried = {"orders": [4], "input_orders": [0, 1]} if tiny else {"orders": [3, 4, 5], "input_orders": [0, 1, 2]}
    found = dd.select_order(rao_garnier_data(seed, False, stages), **tried)
    return found.order, found.input_order


def orders(asked: Namespace) -> None:
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(partial(_orders, stages=number_of_stages(asked), tiny=asked.tiny), range(asked.sets)))
    print(f"Rao–Garnier, order and input order right: {_share(found, (4, 1))}")


def _share(found: Sequence[tuple[int, int]], truth: tuple[int, int]) -> str:
    wrong = sorted({each for each in found if each != truth})
    others = ", ".join(f"{each}: {found.count(each)}" for each in wrong)
    return f"{found.count(truth) / len(found):.0%} of {len(found)}{f' (others: {others})' if others else ''}"


def sines_data(tf: dd.TransferFunction, hertz: bool, seed: int) -> dd.Dataset:
    rng = np.random.default_rng(seed)
    times = np.arange(1201) * 0.05
    rates = np.arange(1, 11) * (0.2 * np.pi if hertz else 0.1)
    phases = rng.uniform(0.0, 2.0 * np.pi, rates.size)
    drive = dd.Signal(times, np.sin(np.outer(times, rates) + phases).sum(axis=1), intersample="foh")
    clean = dd.simulate(tf, times, inputs={"u": drive})["y"]
    noise = rng.standard_normal(times.size) * np.sqrt(np.mean(clean**2)) / rng.uniform(5.0, 10.0)
    return dd.Dataset(times, inputs={"u": drive}, outputs={"y": clean + noise})


def _paper(
    seed: int, name: str, hertz: bool, tried: Sequence[int]
) -> tuple[tuple[int, int], tuple[int, int], np.ndarray, np.ndarray]:
    """Chosen orders with the input order known and not, and errors of both estimates of the true orders."""
    tf = SYSTEMS[name]
    data = sines_data(tf, hertz, seed)
    known = dd.select_order(data, orders=tried, input_orders=[tf.input_order])
    unknown = dd.select_order(data, orders=tried, input_orders=range(max(tried) + 1))
    own = np.array(list(known[tf.order, tf.input_order].coefficients.values()))
    truth = coefficients(tf)
    return (
        (known.order, known.input_order),
        (unknown.order, unknown.input_order),
        own - truth,
        from_the_truth(tf, data) - truth,
    )


def paper(asked: Namespace) -> None:
    sets = max(asked.sets // 4, 2)
    for name, tf in list(SYSTEMS.items())[: 1 if asked.tiny else None]:
        tried = range(1, 3 if asked.tiny else 7 if tf.order > 3 else 6)
        for hertz in (False,) if asked.tiny else (False, True):
            begin = perf_counter()
            with ProcessPoolExecutor(2) as pool:
                known, unknown, own, reference = zip(
                    *pool.map(partial(_paper, name=name, hertz=hertz, tried=tried), range(sets)), strict=True
                )
            truth = tf.order, tf.input_order
            own_error, reference_error = (np.sqrt(np.mean(np.square(each), axis=0)) for each in (own, reference))
            print(f"system {name}, {'Hz' if hertz else 'rad/s'}, {sets} sets, {perf_counter() - begin:.0f} s")
            print(f"   orders right, input order known: {_share(known, truth)}; unknown: {_share(unknown, truth)}")
            print(f"   RMSE of a0 …, b0 …: {_numbers(own_error)}")
            print(f"   relative to output error from the truth: {_numbers(own_error / reference_error)}")


def _numbers(values: np.ndarray) -> str:
    return ", ".join(f"{value:.3g}" for value in values)


def timing(asked: Namespace) -> None:
    count, tried = (200, [1, 2]) if asked.tiny else (2000, range(1, 6))
    times = np.arange(count) * 0.05
    rng = np.random.default_rng(3)
    sines = np.sin(np.outer(times, np.arange(1, 11) * 0.1) + rng.uniform(0.0, 6.0, 10)).sum(axis=1)
    cases = {
        "second order, sines": (SYSTEMS["3: x'' + 2.8x' + x = u"], dd.Signal(times, sines, "foh")),
        "Rao–Garnier, held": (RAO_GARNIER, dd.Signal(times / 5, binary_sequence(8, 8)[:count], "zoh")),
    }
    for label, (tf, drive) in cases.items():
        simulate = partial(dd.simulate, tf, drive.times, inputs={"u": drive})
        (once,), clean = fastest(simulate, attempts=5), simulate()["y"]
        noise = rng.standard_normal(count) * np.std(clean) / 8.0
        data = dd.Dataset(drive.times, inputs={"u": drive}, outputs={"y": clean + noise})
        spent, search = seconds(partial(dd.select_order, data, orders=tried))
        print(f"{label}, orders 1 … {tried[-1]}, N = {count}: {spent:.2f} s, {spent / once:.0f} simulations; ", end="")
        print(f"order {search.order}, input order {search.input_order}")


def delayed(asked: Namespace) -> None:
    from scipy.signal import lfilter

    count, tried = (200, [1]) if asked.tiny else (1200, range(1, 6))
    tf, times, rng = dd.TransferFunction([2.0], [1.0, 1.2, 2.0], 0.73), np.arange(count) * 0.1, np.random.default_rng(0)
    drive = dd.Signal(times, np.repeat(rng.standard_normal(count // 10), 10), "zoh")
    clean = dd.simulate(tf, times, inputs={"u": drive})["y"]
    noise = lfilter([1.0], [1.0, -0.8], 0.1 * np.std(clean) * rng.standard_normal(count))
    data = dd.Dataset(times, inputs={"u": drive}, outputs={"y": clean + noise})
    methods = dd.RefinedIV(0.73, noise=True), dd.RefinedIV("estimated", noise=True)
    dd.select_order(data, orders=[1], method=methods[1])  # compiles
    (told, _), (spent, search) = (seconds(partial(dd.select_order, data, orders=tried, method=one)) for one in methods)
    print(f"delay and noise, N = {count}: {spent:.1f} s, {spent / told:.1f} × with the delay known; ", end="")
    print(f"order {search.order}, input order {search.input_order}, delay {search.transfer_function.delay['u']:.3f}")


FIGURES = {
    "time": timing,
    "delay": delayed,
    "rao-garnier": partial(spread, irregular=False),
    "irregular": partial(spread, irregular=True),
    "orders": orders,
    "paper": paper,
}

if __name__ == "__main__":
    reader = command_line(__doc__, FIGURES)
    reader.add_argument("--sets", type=int, default=200)
    asked = reader.parse_args()
    asked.sets = 2 if asked.tiny else asked.sets
    for name in asked.figures or FIGURES:
        FIGURES[name](asked)
