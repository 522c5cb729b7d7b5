"""The figures of order and coefficients from data: the Rao–Garnier system, four systems with sums of sines, time.

    python benchmarks/order.py [rao-garnier] [irregular] [orders] [paper] [time] [--sets 200]

rao-garnier  (−6400 s + 1600)/(s⁴ + 5 s³ + 408 s² + 416 s + 1600), N = 7161, signal to noise 10 dB, the true orders:
             spread of the coefficients against output error from the true start and the Cramér–Rao bound
irregular    the same with random intervals between samples, the input changing at some of them
orders       share of right orders there, of 3 … 5 poles and input orders 0 … 2
paper        four systems driven by ten sines (in rad/s and in Hz), signal to noise 5 … 10: share of right orders, with
             the order of the input known and not, and root mean square errors of the true orders against output error
             from the true start; a quarter of the sets
time         one search over the orders 1 … 5, N = 2000

Without a word all are run, on two processes but for `time`.
"""

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from time import perf_counter

import numpy as np

import daedal as dd
from daedal.order.output_error import polish
from daedal.order.record import make_record
from daedal.order.response import Shape, compute_response

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
def rao_garnier(irregular: bool) -> tuple[np.ndarray, dd.Signal, np.ndarray]:
    """Times, input and clean output."""
    values = binary_sequence(10, 7)
    times = np.arange(values.size) * 0.01
    if irregular:
        times = np.append(0.0, np.cumsum(np.random.default_rng(1).uniform(0.005, 0.015, values.size - 1)))
    drive = dd.Signal(times, values, intersample="zoh")
    return times, drive, dd.simulate(RAO_GARNIER, times, inputs={"u": drive})["y"]


def rao_garnier_data(seed: int, irregular: bool) -> dd.Dataset:
    times, drive, clean = rao_garnier(irregular)
    noise = np.random.default_rng(seed).standard_normal(times.size) * np.std(clean) / np.sqrt(10.0)
    return dd.Dataset(times, inputs={"u": drive}, outputs={"y": clean + noise})


def from_the_truth(tf: dd.TransferFunction, data: dd.Dataset) -> np.ndarray:
    """Output error that begins at the true coefficients."""
    shape = Shape(tf.order, tf.input_order, 1, True)
    start = np.concatenate([coefficients(tf), np.zeros(tf.order)])
    found = polish(shape, start, make_record("benchmark", data, None, None))
    return np.full(shape.coefficients, np.nan) if found is None else found.theta[: shape.coefficients]


def cramer_rao(tf: dd.TransferFunction, data: dd.Dataset, noise: float) -> np.ndarray:
    """The least standard deviation that unbiased coefficients can have, from exact slopes; the start unknown too."""
    shape = Shape(tf.order, tf.input_order, 1, True)
    truth = np.concatenate([coefficients(tf), np.zeros(tf.order)])
    slopes = compute_response(shape, truth, make_record("benchmark", data, None, None)).slopes
    scale = np.linalg.norm(slopes, axis=0)
    factor = np.linalg.qr(slopes / scale, mode="r")
    spread = np.linalg.norm(np.linalg.inv(factor), axis=1) * noise / scale
    return spread[: shape.coefficients]


def _pair(seed: int, irregular: bool) -> tuple[np.ndarray, np.ndarray]:
    data = rao_garnier_data(seed, irregular)
    found = dd.select_order(data, orders=[4], input_orders=[1])
    return np.array(list(found.chosen.coefficients.values())), from_the_truth(RAO_GARNIER, data)


def spread(sets: int, irregular: bool) -> None:
    begin = perf_counter()
    with ProcessPoolExecutor(2) as pool:
        pairs = list(pool.map(partial(_pair, irregular=irregular), range(sets)))
    own, reference = (np.array(each) for each in zip(*pairs, strict=True))
    truth = coefficients(RAO_GARNIER)
    noise = float(np.std(rao_garnier(irregular)[2])) / np.sqrt(10.0)
    bound = cramer_rao(RAO_GARNIER, rao_garnier_data(0, irregular), noise)
    lost = int(np.sum(~np.isfinite(own).all(axis=1) | (np.abs(own - truth) > 10.0 * bound).any(axis=1)))
    label = "irregular samples" if irregular else "regular samples"
    print(f"Rao–Garnier, {label}, {sets} sets, {perf_counter() - begin:.0f} s: {lost} diverged")
    print("   coefficient      mean   deviation   / from the truth   / Cramér–Rao")
    for k, name in enumerate(("a0", "a1", "a2", "a3", "b0", "b1")):
        deviation = own[:, k].std(ddof=1)
        ratios = deviation / reference[:, k].std(ddof=1), deviation / bound[k]
        numbers = f"{own[:, k].mean():9.4g}   {deviation:9.4g}   {ratios[0]:16.4f}   {ratios[1]:12.3f}"
        print(f"   {name} = {truth[k]:<8g} {numbers}")


def _orders(seed: int) -> tuple[int, int]:
    found = dd.select_order(rao_garnier_data(seed, False), orders=[3, 4, 5], input_orders=[0, 1, 2])
    return found.order, found.input_order


def orders(sets: int) -> None:
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(_orders, range(sets)))
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


def _paper(seed: int, name: str, hertz: bool) -> tuple[tuple[int, int], tuple[int, int], np.ndarray, np.ndarray]:
    """Chosen orders with the input order known and not, and errors of both estimates of the true orders."""
    tf = SYSTEMS[name]
    data = sines_data(tf, hertz, seed)
    tried = range(1, 7 if tf.order > 3 else 6)
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


def paper(sets: int) -> None:
    for name, tf in SYSTEMS.items():
        for hertz in (False, True):
            begin = perf_counter()
            with ProcessPoolExecutor(2) as pool:
                known, unknown, own, reference = zip(
                    *pool.map(partial(_paper, name=name, hertz=hertz), range(sets)), strict=True
                )
            truth = tf.order, tf.input_order
            own_error, reference_error = (np.sqrt(np.mean(np.square(each), axis=0)) for each in (own, reference))
            print(f"system {name}, {'Hz' if hertz else 'rad/s'}, {sets} sets, {perf_counter() - begin:.0f} s")
            print(f"   orders right, input order known: {_share(known, truth)}; unknown: {_share(unknown, truth)}")
            print(f"   RMSE of a0 …, b0 …: {_numbers(own_error)}")
            print(f"   relative to output error from the truth: {_numbers(own_error / reference_error)}")


def _numbers(values: np.ndarray) -> str:
    return ", ".join(f"{value:.3g}" for value in values)


def timing() -> None:
    times = np.arange(2000) * 0.05
    rng = np.random.default_rng(3)
    sines = np.sin(np.outer(times, np.arange(1, 11) * 0.1) + rng.uniform(0.0, 6.0, 10)).sum(axis=1)
    cases = {
        "second order, sines": (SYSTEMS["3: x'' + 2.8x' + x = u"], dd.Signal(times, sines, "foh")),
        "Rao–Garnier, held": (RAO_GARNIER, dd.Signal(times / 5, binary_sequence(8, 8)[:2000], "zoh")),
    }
    for label, (tf, drive) in cases.items():
        clean = dd.simulate(tf, drive.times, inputs={"u": drive})["y"]
        noise = rng.standard_normal(2000) * np.std(clean) / 8.0
        data = dd.Dataset(drive.times, inputs={"u": drive}, outputs={"y": clean + noise})
        begin = perf_counter()
        found = dd.select_order(data)
        elapsed = perf_counter() - begin
        print(f"{label}, orders 1 … 5, N = 2000: {elapsed:.2f} s; order {found.order}, input order {found.input_order}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    figures = ["rao-garnier", "irregular", "orders", "paper", "time"]
    parser.add_argument("figures", nargs="*", choices=[*figures, []])
    parser.add_argument("--sets", type=int, default=200)
    arguments = parser.parse_args()
    wanted = arguments.figures or figures
    if "time" in wanted:
        timing()
    if "rao-garnier" in wanted:
        spread(arguments.sets, irregular=False)
    if "irregular" in wanted:
        spread(arguments.sets, irregular=True)
    if "orders" in wanted:
        orders(arguments.sets)
    if "paper" in wanted:
        paper(max(arguments.sets // 4, 2))


if __name__ == "__main__":
    main()
