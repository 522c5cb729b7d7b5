"""What the command line costs.

    python benchmarks/commands.py [help] [check] [fit] [--tiny]

help   processor seconds of `daedal --help`
check  processor seconds of `daedal check` on a project with 300 samples (tiny: 60)
fit    processor seconds of `daedal fit` on it, and of the script that `daedal fit --script` prints, run by Python

A first run of each fills the cache of compiled code; every command is a process of its own.
"""

import os
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory

import numpy as np
from shared import command_line

MODEL = """
name = "oven"
unknowns = ["x"]
inputs = ["heat"]
[equations]
balance = "der(x) == (gain*heat - x)/lag"
[outputs]
temperature = "x"
[parameters]
gain = 2.0
lag = 3.0
[measurement_noise]
temperature = 0.05
[initial]
x = 0.0
"""
PROJECT = """
[model]
file = "oven.toml"
[[data]]
file = "run.csv"
time = "t"
inputs = { heat = "u" }
outputs = { temperature = "y" }
intersample = "zoh"
[[data]]
file = "other.csv"
like = 0
use = "validate"
[estimate.free]
gain = { start = 1.0, lower = 0.1, upper = 20.0, scale = "log" }
lag = { start = 1.0, lower = 0.1, upper = 50.0, scale = "log" }
"""
DAEDAL = (sys.executable, "-m", "daedal")


def write_run(path: Path, samples: int, seed: int) -> None:
    """The exact response of a lag to a held input, with noise."""
    random, decay, x = np.random.default_rng(seed), np.exp(-0.5 / 4.0), 0.0
    rows = ["t,u,y"]
    for k, heat in enumerate(np.repeat(random.integers(0, 4, samples // 5 + 1), 5)[:samples]):
        rows.append(f"{0.5 * k},{heat},{x + 0.05 * random.standard_normal()}")
        x = decay * x + (1.0 - decay) * 2.5 * heat
    path.write_text("\n".join(rows), encoding="utf-8")


def measure(folder: Path, *command: str, attempts: int) -> float:
    """Processor seconds of the fastest attempt."""
    times = []
    for _ in range(attempts):
        before = getrusage(RUSAGE_CHILDREN)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ)
        after = getrusage(RUSAGE_CHILDREN)
        assert done.returncode in (0, 2), done.stderr
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def main() -> None:
    """Print the figures that are asked for."""
    given = command_line(__doc__ or "", ("help", "check", "fit")).parse_args()
    figures, attempts = given.figures or ["help", "check", "fit"], 1 if given.tiny else 3
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "oven.toml").write_text(MODEL, encoding="utf-8")
        (folder / "oven-project.toml").write_text(PROJECT, encoding="utf-8")
        write_run(folder / "run.csv", 60 if given.tiny else 300, 1)
        write_run(folder / "other.csv", 60 if given.tiny else 300, 2)
        project = "oven-project.toml"
        if "help" in figures:
            print(f"daedal --help: {measure(folder, *DAEDAL, '--help', attempts=attempts):.2f} s")
        if "check" in figures:
            print(f"daedal check: {measure(folder, *DAEDAL, 'check', project, attempts=attempts):.2f} s")
        if "fit" in figures:
            fit = measure(folder, *DAEDAL, "fit", project, "--quiet", attempts=attempts)
            listed = subprocess.run(
                [*DAEDAL, "fit", project, "--script"], cwd=folder, capture_output=True, text=True, check=True
            )
            script = measure(folder, sys.executable, "-c", listed.stdout, attempts=attempts)
            print(f"daedal fit: {fit:.2f} s, its script: {script:.2f} s, ratio {fit / script:.2f}")


if __name__ == "__main__":
    main()
