"""Mixed jobs in many threads of fresh processes, with an empty cache of compiled code: the same bits as in one thread.

    python tests/stress.py [processes] [jobs of each thread]

Every process begins with nothing compiled and no symbol made, and all its threads start at once. It is run by itself
with 20 processes of 8 threads with 50 jobs, and in small by `test_threads.py`.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import daedal as dd

THREADS, PROCESSES, JOBS = 8, 20, 50
TIMES = np.linspace(0.0, 4.0, 41)
VARIANTS = 3  # of each job, so that threads need both the same programs and different ones


def declare_oscillator(variant: int) -> dd.Model:
    x, v, w, u, k, c = dd.symbols("x v w u k c")
    return dd.Model(
        name="oscillator",
        equations={"speed": dd.der(x) == v, "force": dd.der(v) == -k * x - c * v + u + w},
        unknowns=[x, v],
        inputs=[u],
        disturbances={w: dd.FilteredNoise([0.4], [0.5, 1.0])},
        parameters={k: 4.0 + variant, c: 0.5},
        outputs={"y": x + variant * v},
        initial={x: 1.0, v: 0.0},
        measurement_noise={"y": 0.05},
    )


def declare_pendulum(variant: int) -> dd.Model:
    x, z, vx, vz, s, g, length = dd.symbols(f"x z vx vz s{variant} g length")
    return dd.Model(
        name="pendulum",
        equations={
            "east": dd.der(x) == vx,
            "up": dd.der(z) == vz,
            "pull east": dd.der(vx) == -s * x,
            "pull up": dd.der(vz) == -s * z - g,
            "rod": x**2 + z**2 == length**2,
        },
        unknowns=[x, z, vx, vz, s],
        parameters={g: 9.81, length: 1.0 + 0.25 * variant},
        initial={x: 0.5, vx: 0.0},
        guess={z: -1.0, s: 5.0},
    )


def make_data(variant: int) -> dd.Dataset:
    rng = np.random.default_rng(variant)
    force = np.sin(1.5 * TIMES) + 0.3 * rng.standard_normal(TIMES.size)
    values = np.exp(-0.3 * TIMES) * np.cos(2.0 * TIMES) + 0.05 * rng.standard_normal(TIMES.size)
    return dd.Dataset(TIMES, inputs={"u": force}, outputs={"y": values})


def simulate(variant: int) -> Any:
    return dd.simulate(declare_pendulum(variant), TIMES)["x"]


def simulate_by_ida(variant: int) -> Any:
    return dd.simulate(declare_pendulum(variant), TIMES, solver=dd.IDA())["x"]


def draw_ensemble(variant: int) -> Any:
    drawn = dd.ensemble(declare_oscillator(variant), make_data(variant), realizations=40, rng=1)
    return drawn.mean["y"], drawn.variance["y"]


def fit_likelihood(variant: int) -> Any:
    criterion = dd.Likelihood()
    return dict(dd.fit(declare_oscillator(variant), make_data(variant), free=["k", "c"], criterion=criterion).values())


def evaluate(variant: int) -> Any:
    criterion = dd.Likelihood() if variant else dd.OutputError()
    cost = dd.evaluate(declare_oscillator(variant), make_data(variant), free=["k", "c"], criterion=criterion)
    return cost.value, cost.gradient


def estimate_states(variant: int) -> Any:
    return dd.estimate_states(declare_oscillator(variant), make_data(variant)).mean["v"]


def declare_cubic(variant: int) -> dd.Model:
    x, v, w, u, k, c = dd.symbols("x v w u k c")
    return dd.Model(
        name="cubic",
        equations={"speed": dd.der(x) == v, "force": dd.der(v) == -k * x - 0.5 * x**3 - c * v + u + w},
        unknowns=[x, v],
        inputs=[u],
        disturbances={w: dd.FilteredNoise([0.4], [0.5, 1.0])},
        parameters={k: 4.0 + variant, c: 0.5},
        outputs={"y": x},
        initial={x: 1.0, v: 0.0},
        measurement_noise={"y": 0.05},
    )


def evaluate_nonlinear(variant: int) -> Any:
    method = ("laplace", "particle", "moments")[variant]
    criterion = dd.Likelihood(method=method, particles=50, realizations=200)
    cost = dd.evaluate(declare_cubic(variant), make_data(variant), free=["k", "c"], criterion=criterion, rng=1)
    return cost.value, cost.gradient


def estimate_nonlinear_states(variant: int) -> Any:
    return dd.estimate_states(declare_cubic(variant), make_data(variant)).mean["v"]


def select_order(variant: int) -> Any:
    return str(dd.select_order(make_data(variant), orders=[1, 2]))


def build(variant: int) -> Any:
    system = dd.build(declare_pendulum(variant))
    return system.states, system.tops, str(system.structure)


def linearize(variant: int) -> Any:
    return dd.linearize(declare_pendulum(variant)).to_text()


def write_and_read(variant: int) -> Any:
    text = declare_pendulum(variant).to_text()
    return text, dd.Model.from_text(text) == declare_pendulum(variant)


def make_symbols(variant: int) -> Any:
    """All threads make the same ones at once; a symbol is its name, so that equal formulas cancel."""
    names = [f"fresh{variant}_{i}" for i in range(200)]
    once, again = [dd.symbol(name) for name in names], [dd.symbol(name) for name in names]
    slopes = [dd.der(symbol) - dd.der(other) for symbol, other in zip(once, again, strict=True)]
    return [float(slope) for slope in slopes], str(sum(once[1:], once[0]))


KINDS: tuple[Callable[[int], Any], ...] = (
    fit_likelihood, make_symbols, simulate, draw_ensemble, evaluate, build, estimate_states, simulate_by_ida, linearize,
    select_order, write_and_read, evaluate_nonlinear, estimate_nonlinear_states,
)  # fmt: skip


def list_jobs(thread: int, jobs: int) -> list[tuple[int, int]]:
    """Kind and variant of each job: all threads begin with a fit of the same model, then go on in different orders."""
    return [(0, 0), *((int(kind), int(variant)) for kind, variant in np.random.default_rng(thread).integers(
        (0, 0), (len(KINDS), VARIANTS), (jobs - 1, 2)
    ))]  # fmt: skip


def digest(result: Any) -> str:
    """Of all bits."""

    def write(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: write(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [write(item) for item in value]
        return value if isinstance(value, (str, bool)) else np.asarray(value, dtype=float).tobytes().hex()

    return hashlib.sha256(json.dumps(write(result)).encode()).hexdigest()


def run_job(kind: int, variant: int) -> str:
    try:
        return digest(KINDS[kind](variant))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def run_serially() -> dict[str, str]:
    return {f"{kind} {variant}": run_job(kind, variant) for kind in range(len(KINDS)) for variant in range(VARIANTS)}


def run_in_threads(jobs: int) -> list[list[tuple[int, int, str]]]:
    results: list[list[tuple[int, int, str]]] = [[] for _ in range(THREADS)]
    together = threading.Barrier(THREADS)

    def work(thread: int) -> None:
        together.wait()
        for kind, variant in list_jobs(thread, jobs):
            results[thread].append((kind, variant, run_job(kind, variant)))

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def run_process(*arguments: str) -> Any:
    """What a fresh process with an empty cache tells."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "DAEDAL_CACHE": str(Path(folder) / "cache"), "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-X", "faulthandler", __file__, *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"ended with {done.returncode}:\n{done.stderr}"
    return json.loads(done.stdout.splitlines()[-1])


def find_differences(processes: int, jobs: int) -> list[str]:
    """What came out differently in threads, or how a process ended that did not end well."""
    serial = run_process("serially")
    differences = [f"{KINDS[int(key.split()[0])].__name__}: {value}" for key, value in serial.items() if ":" in value]
    for number in range(processes):
        try:
            results = run_process("in threads", str(jobs))
        except AssertionError as failure:
            differences.append(f"process {number} {failure}")
            continue
        assert [len(told_by) for told_by in results] == [jobs] * THREADS
        differences += [
            f"process {number}, thread {thread}: {KINDS[kind].__name__}({variant}) gave {told}"
            for thread, told_by in enumerate(results)
            for kind, variant, told in told_by
            if told != serial[f"{kind} {variant}"]
        ]
    return differences


def main() -> None:
    match sys.argv[1:]:
        case ["serially"]:
            print(json.dumps(run_serially()))
        case ["in threads", jobs]:
            print(json.dumps(run_in_threads(int(jobs))))
        case numbers:
            processes, jobs = (*map(int, numbers), *(PROCESSES, JOBS)[len(numbers) :])
            differences = find_differences(processes, jobs)
            print(*differences, f"{processes} processes × {THREADS} threads × {jobs} jobs: {len(differences)} differ",
                  sep="\n")  # fmt: skip
            sys.exit(bool(differences))


if __name__ == "__main__":
    main()
