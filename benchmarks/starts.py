"""What starts in threads save, and how fits of models that forget their start in vain begin at the data.

    python benchmarks/starts.py [threads] [segments] [--tiny]

threads   a fit of a driven Duffing oscillator, N = 20 000, from eight starts, with one worker and with one for each
          processor: wall and processor time of both, and whether every bit agrees
segments  Lorenz over 10 s with x alone, and Lotka–Volterra over 30 s, by OutputError(segments=...) from poor starts:
          processor time, evaluations, distance from the truth

Wall times mean something on a machine with nothing else to do: busy processors are shared out evenly, so that the
ratio of processor to wall time of several workers, over that of one, is what to read.
"""

from argparse import Namespace
from time import perf_counter, process_time

import numpy as np
from shared import command_line

import daedal as dd
from daedal import der, jobs


def make_duffing(samples: int) -> tuple[dd.Model, dd.Dataset]:
    """With data of its own at k = 4, b = 1."""
    x, v, u, k, b = dd.symbols("x v u k b")
    model = dd.Model(
        name="duffing",
        equations={"speed": der(x) == v, "force": der(v) == -0.4 * v - k * x - b * x**3 + u},
        unknowns=[x, v],
        inputs=[u],
        outputs={"position": x},
        parameters={
            k: dd.Parameter(4.0, lower=0.5, upper=12.0),
            b: dd.Parameter(1.0, lower=0.1, upper=4.0),
        },
        measurement_noise={"position": 0.05},
        initial={x: 0.0, v: 0.0},
    )
    times = np.arange(samples) * 0.05
    force = dd.Signal(times, np.random.default_rng(1).standard_normal(samples).cumsum() * 0.05, "foh")
    path = dd.simulate(model, times, inputs={"u": force}, measurement_noise=True, rng=2)
    return model, dd.Dataset(times, inputs={"u": force}, outputs={"position": path["position"]})


def threads(asked: Namespace) -> None:
    model, data = make_duffing(200 if asked.tiny else 20_000)
    count = 2 if asked.tiny else 7
    counted = jobs.count_workers
    figures, fits = [], []
    for workers in (1, max(counted(), 2)):
        jobs.count_workers = lambda workers=workers: workers
        wall, processor = perf_counter(), process_time()
        fits.append(dd.fit(model, data, free=["k", "b"], starts=dd.LatinHypercube(count), rng=1))
        figures.append((perf_counter() - wall, process_time() - processor))
        ratio = figures[-1][1] / figures[-1][0]
        print(f"{workers} workers: wall {figures[-1][0]:.1f} s, processor {figures[-1][1]:.1f} s, ratio {ratio:.2f}")
    jobs.count_workers = counted
    same = fits[0].point.tobytes() == fits[1].point.tobytes() and str(fits[0]) == str(fits[1])
    shares = [processor / wall for wall, processor in figures]
    print(f"speed-up {figures[0][0] / figures[1][0]:.2f} (wall), {shares[1] / shares[0]:.2f} (ratios); same: {same}")


def make_lorenz(samples: int) -> tuple[dd.Model, dd.Dataset]:
    x, y, z, s, r, b = dd.symbols("x y z s r b")
    model = dd.Model(
        name="Lorenz",
        equations={"x": der(x) == s * (y - x), "y": der(y) == x * (r - z) - y, "z": der(z) == x * y - b * z},
        unknowns=[x, y, z],
        outputs={"x": x},
        parameters={s: 10.0, r: 28.0, b: 8.0 / 3.0},
        initial={x: -8.0, y: 7.0, z: 27.0},
        measurement_noise={"x": 0.1},
    )
    return model, make_data(model, np.arange(samples) * 0.02)


def make_prey(samples: int) -> tuple[dd.Model, dd.Dataset]:
    prey, hunters, a, b, c, d = dd.symbols("prey hunters a b c d")
    model = dd.Model(
        name="Lotka-Volterra",
        equations={
            "prey": der(prey) == a * prey - b * prey * hunters,
            "hunters": der(hunters) == -c * hunters + d * prey * hunters,
        },
        unknowns=[prey, hunters],
        outputs={"prey": prey, "hunters": hunters},
        parameters={a: 1.0, b: 0.2, c: 1.2, d: 0.15},
        initial={prey: 5.0, hunters: 3.0},
        measurement_noise={"prey": 0.1, "hunters": 0.1},
    )
    return model, make_data(model, np.arange(samples) * 0.2)


def make_data(model: dd.Model, times: np.ndarray) -> dd.Dataset:
    path = dd.simulate(model, times, measurement_noise=True, rng=1)
    return dd.Dataset(times, outputs={name: path[name] for name in model.outputs})


STARTS = {  # poor ones, and how many segments
    "Lorenz": (make_lorenz, 501, 20, [{"s": 8.0, "r": 25.0, "b": 2.2}, {"s": 13.0, "r": 33.0, "b": 3.3}]),
    "Lotka-Volterra": (
        make_prey,
        151,
        20,
        [
            {"a": 0.5, "b": 0.5, "c": 0.5, "d": 0.5},
            {"a": 2.0, "b": 0.1, "c": 2.5, "d": 0.3},
            {"a": 1.5, "b": 0.5, "c": 0.6, "d": 0.05},
        ],
    ),
}


def segments(asked: Namespace) -> None:
    for name, (make, samples, pieces, starts) in STARTS.items():
        model, data = make(31 if asked.tiny else samples)
        truth = {key: one.value for key, one in model.parameters.items()}
        for start in starts[:1] if asked.tiny else starts:
            criterion, before = dd.OutputError(segments=3 if asked.tiny else pieces), process_time()
            found = dd.fit(model, data, free=list(start), criterion=criterion, starts=[start])
            off = max(abs(found[key].value - truth[key]) / found[key].std_error for key in start)
            took = process_time() - before
            print(f"{name} from {start}: {took:.1f} s, {found.evaluations} evaluations, {off:.1f} standard errors off")


FIGURES = {"threads": threads, "segments": segments}

if __name__ == "__main__":
    asked = command_line(__doc__ or "", FIGURES).parse_args()
    for name in asked.figures or FIGURES:
        FIGURES[name](asked)
