"""A small project on disk: a lag of first order, driven by a held input, measured a hundred times."""

from pathlib import Path

import numpy as np

MODEL = """\
name = "oven"
unknowns = ["x"]
inputs = ["heat"]

[equations]
balance = "der(x) == (gain*heat - x)/lag"

[outputs]
temperature = "x"

[parameters]
gain = 2.0
lag = { value = 3.0, unit = "min" }

[measurement_noise]
temperature = 0.05

[initial]
x = 0.0

[units]
temperature = "K"
time = "min"
"""

PROJECT = """\
title = "Oven of rig 3"
author = "A. Heater"

[model]
file = "oven.toml"

[[data]]
file = "run1.csv"
time = "t"
inputs = { heat = "u" }
outputs = { temperature = "y" }
intersample = "zoh"

[[data]]
file = "run2.csv"
like = 0
use = "validate"

[estimate]
criterion = { kind = "OutputError" }
[estimate.free]
gain = { start = 1.0, lower = 0.1, upper = 20.0, scale = "log" }
lag = { start = 1.0, lower = 0.1, upper = 50.0, scale = "log" }

[validate]
profile = ["lag"]

[report]
file = "rig.html"
"""

TRUTH = {"gain": 2.5, "lag": 4.0}
TIMES = 0.5 * np.arange(100)


def make_samples(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The held input, and the exact response of the lag to it with noise."""
    rng = np.random.default_rng(seed)
    heat = np.repeat(rng.integers(0, 4, 20), 5).astype(float)
    decay, x, samples = np.exp(-0.5 / TRUTH["lag"]), 0.0, []
    for level in heat:
        samples.append(x)
        x = decay * x + (1.0 - decay) * TRUTH["gain"] * level
    return heat, np.array(samples) + 0.05 * rng.standard_normal(len(samples))


def write_run(path: Path, seed: int, header: str = "t,u,y") -> None:
    heat, samples = make_samples(seed)
    rows = [f"{t!r},{u!r},{y!r}" for t, u, y in zip(TIMES.tolist(), heat.tolist(), samples.tolist(), strict=True)]
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")


def write_rig(folder: Path, project: str = PROJECT) -> Path:
    """All files of the project; the path of its own."""
    (folder / "oven.toml").write_text(MODEL, encoding="utf-8")
    write_run(folder / "run1.csv", 1)
    write_run(folder / "run2.csv", 2)
    path = folder / "rig.toml"
    path.write_text(project, encoding="utf-8")
    return path


def list_files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
