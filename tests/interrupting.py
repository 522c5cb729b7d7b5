"""Verbs that are interrupted by real signals in this process: `interrupting.py JOB` at some calls of something.

One line of JSON for each signal: what came of it, and the number that a small simulation gives after it. At any moment:
`benchmarks/interrupts.py`.
"""

import importlib
import json
import os
import signal
import sys
import tempfile
import traceback
from functools import cache, partial
from pathlib import Path
from threading import current_thread, main_thread
from time import sleep

import numpy as np

import daedal as dd
from daedal.errors import STOP

x, v, k, c, w = dd.symbols("x v k c w")
TIMES = np.arange(400) * 0.05


def make_model() -> dd.Model:
    """A spring that is pushed by noise."""
    return dd.Model(
        name="spring",
        equations={"position": dd.der(x) == v, "speed": dd.der(v) == -k * x - c * v - v**3 + w},
        unknowns=[x, v],
        disturbances={w: dd.FilteredNoise(numerator=(1.0,), denominator=(1.0, 1.0))},
        parameters={k: dd.Parameter(4.0, lower=0.1, upper=40.0), c: 0.5},
        initial={x: 1.0, v: 0.0},
        outputs={"y": x},
        measurement_noise={"y": 0.05},
    )


def make_late() -> dd.Model:
    return dd.Model(
        name="late",
        equations={"rate": dd.der(x) == -k * dd.delay(x, 0.3)},
        unknowns=[x],
        parameters={k: 1.0},
        initial={x: 1.0},
        history={x: 1.0},
        outputs={"y": x},
    )


def make_linear() -> dd.Model:
    return dd.Model(
        name="linear",
        equations={"position": dd.der(x) == v, "speed": dd.der(v) == -k * x - c * v + w},
        unknowns=[x, v],
        disturbances={w: dd.WhiteNoise(intensity=1.0)},
        parameters={k: 4.0, c: 0.5},
        initial={x: 1.0, v: 0.0},
        outputs={"y": x},
        measurement_noise={"y": 0.05},
    )


@cache
def make_data() -> dd.Dataset:
    return dd.simulate(make_model(), TIMES, realizations=1, measurement_noise=True, rng=1).to_dataset(0)


@cache
def make_driven() -> dd.Dataset:
    """Of y'' + y' + 4 y = u."""
    times, rng = np.arange(600) * 0.05, np.random.default_rng(0)
    u = dd.Signal(times, np.sign(np.sin(1.3 * times)) + np.sin(4.0 * times), intersample="zoh")
    y = dd.simulate(dd.TransferFunction([1.0], [4.0, 1.0, 1.0]), times, inputs={"u": u})["y"]
    return dd.Dataset(times, inputs={"u": u}, outputs={"y": y + 0.02 * rng.standard_normal(times.size)})


@cache
def make_fit() -> dd.Fit:
    return dd.fit(make_model(), make_data(), free=["k", "c"], criterion=dd.OutputError())


STARTS = [{"k": 4.0}, {"k": 3.0}]
JOBS = {
    # ten blocks of two chunks
    "ensemble": partial(
        dd.ensemble, make_model(), TIMES, realizations=640, keep=640, rng=3, solver=dd.Lanes(step=0.005)
    ),
    "ensemble, small": partial(
        dd.ensemble, make_model(), TIMES, realizations=10, keep=10, rng=3, solver=dd.Lanes(step=0.001)
    ),
    "simulate, late": lambda: dd.simulate(make_late(), np.linspace(0.0, 400.0, 401)),
    "simulate": lambda: dd.simulate(make_model(), TIMES, realizations=200, rng=3),
    "simulate, single": lambda: dd.simulate(make_model(), np.linspace(0.0, 4000.0, 4001), solver=dd.Lanes(step=0.01)),
    "simulate, IDA": lambda: dd.simulate(make_model(), TIMES[:60], realizations=3, rng=3, solver=dd.IDA()),
    "fit": lambda: dd.fit(make_model(), make_data(), free=["k"], criterion=dd.OutputError(), starts=STARTS),
    "evaluate": lambda: dd.evaluate(make_model(), make_data(), free=["k"], criterion=dd.OutputError()),
    "select_order": lambda: dd.select_order(make_driven(), orders=[1, 2]),
    "profile": lambda: dd.profile(make_fit(), ["k"], points=2),
    "identifiability": lambda: dd.identifiability(make_fit()),
    "compare": lambda: dd.compare(make_fit(), make_data()),
    "resid": lambda: dd.resid(make_fit()),
    "estimate_states": lambda: dd.estimate_states(make_linear(), make_data()),
    "build": lambda: dd.build(make_model()),
    "write_report": lambda: dd.write_report(make_fit(), Path(tempfile.gettempdir()) / f"daedal-{os.getpid()}.html"),
}
# Where signals come: after calls of these, as many as make these shares of a whole run.
SHARES = (0.0, 0.5, 0.9)
MOMENTS = {
    "ensemble": ("daedal.simulation.lanes.march", "_Chunk", "run"),
    "ensemble, small": ("daedal.simulation.lanes.march", "_Chunk", "run"),
    "simulate": ("daedal.simulation.lanes.march", "_Chunk", "run"),
    "simulate, single": ("daedal.simulation.lanes.march", "_Chunk", "run"),
    "simulate, late": ("daedal.kernels.recall", "RecallKernel", "run"),
    "simulate, IDA": ("daedal.simulation.ida.stepping", "Stepper", "advance"),
    "fit": ("daedal.simulation.lanes.march", "_Chunk", "run"),
    "evaluate": ("daedal.simulation.lanes.march", "_Chunk", "run"),
    "select_order": ("daedal.order.refined_iv", "RefinedIV", "estimate"),
    "profile": ("daedal.simulation.lanes.march", "_Chunk", "run"),
    "compare": ("daedal.simulation.lanes.march", "_Chunk", "run"),
    "resid": ("daedal.simulation.lanes.march", "_Chunk", "run"),
    "estimate_states": ("daedal.filtering.filter", "_Run", "__init__"),
    "build": ("daedal.systems.system", "System", "__init__"),
}


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def wait_until_heard() -> None:
    """A signal reaches the main thread alone: others, once they have one sent, do no more before it has been heard."""
    stop, looks = STOP.get(), 60_000
    while current_thread() is not main_thread() and stop and not stop.is_set() and looks:
        sleep(0.001)
        looks -= 1


def list_numbers(result) -> dict[str, np.ndarray]:
    """What an interrupted result must share with a whole one, bit for bit, where it is not NaN."""
    if isinstance(result, dd.Ensemble):
        return dict(result.trajectories)
    if isinstance(result, dd.Trajectory):
        return {name: result[name] for name in result}
    if isinstance(result, dd.OrderSearch):
        return {
            f"{one.order} {one.input_order}": np.array(one.bic) for one in result.candidates if one != result.chosen
        }
    return {}


def describe(result, whole=None) -> dict:
    """What an interrupted verb returned."""
    status, told = getattr(result, "status", None), {"printed": str(result)}
    told |= {"interrupted": bool(status and status.interrupted), "realizations": getattr(result, "realizations", None)}
    if whole is None:
        return told
    expected = list_numbers(whole)
    pairs = [(part, expected[name]) for name, part in list_numbers(result).items() if name in expected]
    same = [np.array_equal(part[~np.isnan(part)], full[~np.isnan(part)]) for part, full in pairs]
    return told | {"same": all(same), "compared": sum(int(np.sum(~np.isnan(part))) for part, _ in pairs)}


def attempt(job, whole=None) -> dict:
    try:
        return describe(job(), whole)
    except KeyboardInterrupt as interrupt:
        frames = traceback.extract_tb(interrupt.__traceback__)
        # A verb is run by code of its own, `run` in "<fit>"; what prints a result is in "<string>".
        inside = any(frame.filename.startswith("<") and frame.name == "run" for frame in frames)
        return {"raised": str(interrupt), "inside": inside}


def check_alive() -> float:
    """A small simulation: exp(-2)."""
    rate = {"rate": dd.der(x) == -k * x}
    decay = dd.Model(name="decay", equations=rate, unknowns=[x], parameters={k: 2.0}, initial={x: 1.0})
    return float(dd.simulate(decay, [0.0, 1.0])["x"][-1])


def interrupt_at(name: str, number: int, whole=None) -> dict:
    """A signal right after the call of this number, counted from 1."""
    home, owner, attribute = MOMENTS[name]
    target = getattr(importlib.import_module(home), owner)
    original, calls = getattr(target, attribute), []

    def counted(*arguments, **options):
        result = original(*arguments, **options)
        calls.append(None)
        if len(calls) == number:
            press()
        if 0 < number <= len(calls):
            wait_until_heard()
        return result

    setattr(target, attribute, counted)
    try:
        return attempt(JOBS[name], whole) | {"calls": len(calls)}
    finally:
        setattr(target, attribute, original)


def receive_signals() -> None:
    """As a program in the foreground does; shells have those in the background ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def main(name: str) -> None:
    receive_signals()
    result = JOBS[name]()
    calls = interrupt_at(name, 0)["calls"]
    for number in sorted({1 + int(share * (calls - 1)) for share in SHARES}):
        told = interrupt_at(name, number, result)
        print(json.dumps({"number": number, "of": calls, **told, "alive": check_alive()}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
