"""Time and size of a report on 5000 samples of 4 outputs. Budget: 3 s of processor time, 2.5 MB.

python benchmarks/report.py [OutputError] [Likelihood] [--tiny]
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
from shared import command_line

import daedal as dd

CRITERIA = {"OutputError": dd.OutputError(), "Likelihood": dd.Likelihood()}


def make_model(outputs: int) -> dd.Model:
    """Lags behind each other, each measured."""
    u, *unknowns = dd.symbols(" ".join(["u", *(f"x{k}" for k in range(outputs))]))
    rates = dd.symbols(" ".join([*(f"k{k}" for k in range(outputs)), "w"]))[:outputs]
    w = dd.symbol("w")
    driven = [u + w, *unknowns[:-1]]
    return dd.Model(
        name="chain",
        equations={
            f"lag {k}": dd.der(x) == rate * (before - x)
            for k, (x, rate, before) in enumerate(zip(unknowns, rates, driven, strict=True))
        },
        unknowns=unknowns,
        inputs=[u],
        outputs={f"y{k}": x for k, x in enumerate(unknowns)},
        parameters={rate: dd.Parameter(1.0, lower=0.05, upper=20.0, scale="log", unit="1/s") for rate in rates},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.3, time_constant=1.0)},
        measurement_noise={f"y{k}": 0.02 for k in range(outputs)},
        initial=dict.fromkeys(unknowns, 0.0),
        units={"time": "s", **{f"y{k}": "m" for k in range(outputs)}},
    )


def main() -> None:
    asked = command_line(__doc__ or "", CRITERIA).parse_args()
    samples, outputs = (100, 1) if asked.tiny else (5000, 4)
    model, times = make_model(outputs), np.arange(samples) * 0.1
    truth = model.with_parameters({f"k{k}": 1.5 + 0.3 * k for k in range(outputs)})
    drive = dd.Signal(times, np.sign(np.sin(0.4 * times) + 0.4 * np.sin(1.7 * times)), intersample="zoh")
    data = dd.simulate(truth, times, inputs={"u": drive}, realizations=1, measurement_noise=True, rng=1).to_dataset()
    train, test = data.split(fraction=0.6)
    for name in asked.figures or CRITERIA:
        criterion = CRITERIA[name]
        began = process_time()
        fit = dd.fit(model, train, free=[f"k{k}" for k in range(outputs)], criterion=criterion, rng=1)
        fitted = process_time()
        with TemporaryDirectory() as folder:
            path = dd.write_report(fit, Path(folder) / "report.html", validation=test)
            size = path.stat().st_size
        print(
            f"{name}: {samples} samples of {outputs} outputs: fit {fitted - began:.1f} s, "
            f"page {process_time() - fitted:.1f} s of processor time, {size / 1e6:.2f} MB"
        )


if __name__ == "__main__":
    main()
