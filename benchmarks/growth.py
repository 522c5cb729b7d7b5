"""How the time of each verb on data grows with the number of samples: seconds of processor, which other work on the
machine does not change, and the exponent between two sizes.

An exponent near one is linear; near two, an input of a million samples would not end. Below that, the same for lookup
tables typed with `np.where`, by the number of their entries. Ends with an error where one is steeper than 1.5, or did
not end.

    python benchmarks/growth.py
    python benchmarks/growth.py --tiny
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

import numpy as np

import daedal as dd

SIZES = (10_000, 100_000, 1_000_000)
STEEP = 1.5  # exponent
ENTRIES = (100, 300, 1000)
TINY = (100, 200)
TINY_ENTRIES = (5, 10)
PATIENCE = 60.0  # seconds of one piece of work: larger sizes are left out


def make_data(samples: int) -> dd.Dataset:
    """Held input that jumps at every tenth sample, and an output with gaps."""
    times = np.arange(samples) * 0.1
    rng = np.random.default_rng(0)
    u = np.repeat(rng.standard_normal(-(-samples // 10)), 10)[:samples]
    y = np.convolve(u, 0.1 * np.exp(-0.1 * np.arange(100)))[:samples] + 0.01 * rng.standard_normal(samples)
    y[::50] = np.nan
    return dd.Dataset(times, inputs={"u": u}, outputs={"x": y}, intersample="zoh")


def make_model() -> dd.Model:
    x, u, k, w = dd.symbols("x u k w")
    return dd.Model(
        name="lag",
        equations={"lag": dd.der(x) == -k * x + u + w},
        unknowns=[x],
        inputs=[u],
        outputs={"x": x},
        parameters={k: 1.0},
        initial={x: 0.0},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.1, time_constant=1.0)},
        measurement_noise={"x": 0.01},
    )


def list_work(samples: int, folder: Path) -> dict[str, Callable[[], object]]:
    """Verb → work on so many samples."""
    data, model = make_data(samples), make_model()
    table = np.column_stack([data.times, data["u"], data["x"]])
    jitter = data.times + np.random.default_rng(1).uniform(0.0, 0.01, samples)
    uneven = dd.Dataset(jitter, inputs={"u": data["u"]}, outputs={"x": data["x"]}, intersample="foh")
    file = folder / f"{samples}.csv"
    np.savetxt(file, table, delimiter=",", header="t,u,x", comments="")
    start = [{"k": 1.0}]

    def fit(criterion: object) -> dd.Fit:
        return dd.fit(model, data, free=["k"], criterion=criterion, starts=start)

    fitted = fit(dd.OutputError())
    return {
        "Dataset": lambda: make_data(samples),
        "split": lambda: data.split(0.5),
        "detrend": lambda: data.detrend(order=1),
        "resample, finer": lambda: data.resample(0.05),
        "resample, coarser": lambda: uneven.resample(0.3),
        "read_csv": lambda: dd.read_csv(file, time="t", outputs=["x"], inputs=["u"], intersample="zoh"),
        "sample_path": lambda: dd.sample_path(model.disturbances["w"], jitter, rng=1),
        "simulate": lambda: dd.simulate(model, data),
        "simulate, uneven": lambda: dd.simulate(model, uneven),
        "ensemble of 4": lambda: dd.ensemble(model, data, realizations=4, rng=1),
        "fit by OutputError": lambda: fit(dd.OutputError()),
        "evaluate Likelihood": lambda: dd.evaluate(model, data, free=["k"], criterion=dd.Likelihood()),
        "Likelihood, uneven": lambda: dd.evaluate(model, uneven, free=["k"], criterion=dd.Likelihood()),
        "estimate_states": lambda: dd.estimate_states(model, data),
        "compare": lambda: dd.compare(fitted, data),
        "resid": lambda: dd.resid(fitted),
        "plot": lambda: dd.plot(data),
        "save and load": lambda: (fitted.save(folder / "fit.nc"), dd.load(folder / "fit.nc")),
    }


def make_table(entries: int, kind: str) -> dd.Model:
    """A state whose rate is looked up by itself, by an input, or by time."""
    x, u = dd.symbols("x u")
    argument = {"state": x, "input": u, "time": dd.time}[kind]
    rates = np.random.default_rng(0).uniform(0.5, 1.5, entries)
    rate = rates[-1]
    for border, value in zip(np.linspace(9.9, 0.1, entries - 1), rates[-2::-1], strict=True):
        rate = np.where(argument < border, value, rate)
    inputs = [u] if kind == "input" else []
    equations = {"rate": dd.der(x) == rate}
    return dd.Model(name=kind, equations=equations, unknowns=[x], inputs=inputs, initial={x: 0.0})


def list_tables(entries: int, _: Path) -> dict[str, Callable[[], object]]:
    """Verb → work on tables with so many entries."""
    times = np.linspace(0.0, 8.0, 81)
    wave = dd.Dataset(times, inputs={"u": 5.0 + 4.5 * np.sin(times)}, intersample="foh")
    models = {kind: make_table(entries, kind) for kind in ("state", "input", "time")}
    work: dict[str, Callable[[], object]] = {}
    for kind, model in models.items():
        data = wave if kind == "input" else times
        work[f"build, {kind}"] = lambda model=model: dd.build(model)
        work[f"Lanes, {kind}"] = lambda model=model, data=data: dd.simulate(model, data, solver=dd.Lanes())
        work[f"IDA, {kind}"] = lambda model=model, data=data: dd.simulate(model, data, solver=dd.IDA())
    work["text and back"] = lambda: dd.Model.from_text(models["state"].to_text())
    return work


def measure(sizes: tuple[int, ...], list_work: Callable[[int, Path], dict[str, Callable[[], object]]]) -> list[str]:
    """Print a row for each verb; those that grow too fast."""
    print(f"{'':22}" + "".join(f"{size:>12,}" for size in sizes) + "    exponent")
    with tempfile.TemporaryDirectory() as folder:
        seconds: dict[str, list[float]] = {}
        for size in sizes:
            for name, work in list_work(size, Path(folder)).items():
                before = seconds.setdefault(name, [])
                if before and not before[-1] < PATIENCE:
                    before.append(np.nan)
                    continue
                begin = process_time()
                work()
                before.append(process_time() - begin)
    steep = []
    for name, row in seconds.items():
        exponent = np.log(row[-1] / row[-2]) / np.log(sizes[-1] / sizes[-2])
        print(f"{name:22}" + "".join(f"{one:12.3f}" for one in row) + f"{exponent:12.2f}")
        steep += [] if exponent < STEEP else [name]
    return steep


if __name__ == "__main__":
    tiny = "--tiny" in sys.argv
    steep = measure(TINY if tiny else SIZES, list_work)
    steep += measure(TINY_ENTRIES if tiny else ENTRIES, list_tables)
    if steep and not tiny:
        raise SystemExit(f"steeper than {STEEP}: {', '.join(steep)}")
