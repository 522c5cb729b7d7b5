"""Lanes of models that switch, with their sensitivities; and models of which the truth is known."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import daedal as dd
from daedal import der
from daedal.simulation import check_request, prepare
from daedal.simulation.lanes import LaneRun

Numbers = Mapping[str, float]

x, v, lam = dd.symbols("x v lam")
GRAVITY, MASS = 9.81, 0.3


def make_model(name: str, equations: Mapping[str, Any], initial: Mapping[Any, Any], **declared: Any) -> dd.Model:
    """A model whose unknowns are those with an initial value, all of them outputs where none are named."""
    unknowns = declared.pop("unknowns", list(initial))
    outputs = declared.pop("outputs", {str(unknown): unknown for unknown in unknowns})
    return dd.Model(name=name, equations=equations, unknowns=unknowns, initial=initial, outputs=outputs, **declared)


def prepare_run(
    model: dd.Model,
    times: np.ndarray,
    free: Sequence[str] = (),
    solver: dd.Lanes | None = None,
    inputs: Mapping[Any, Any] | None = None,
    seed: int = 3,
    noisy: bool = False,
) -> LaneRun:
    asked = check_request("test", model, times, inputs, None)
    options = {"values": [None], "wanted": tuple(model.outputs), "seed": seed, "purpose": "test", "noisy": noisy}
    run = prepare(asked.system, asked.times, asked.forcing, solver or dd.Lanes(), free=tuple(free), **options)
    assert isinstance(run, LaneRun)
    return run


def simulate_lanes(run: LaneRun, lanes: int = 1, values: Sequence[Numbers | None] = (None,)) -> np.ndarray:
    """All rows of all lanes at some sets of values, (values, row, time, lane); none may fail."""
    kept = np.full((len(values), run.plan.shape.rows, run.times.size, lanes), np.nan)

    def consume(value: int, block: range, samples: np.ndarray, out: np.ndarray) -> None:
        kept[value][:, samples, block.start : block.stop] = out.transpose(1, 0, 2)

    failures = run.at(values).run(lanes, consume)
    assert not failures, failures[0]
    return kept


def find_slopes(
    model: dd.Model, times: np.ndarray, free: Sequence[str], solver: dd.Lanes, **options: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Outputs (output, time) and their sensitivities (free, output, time)."""
    run = prepare_run(model, times, free, solver, **options)
    rows = simulate_lanes(run)[0, :, :, 0]
    outputs = len(model.outputs)
    return rows[:outputs], rows[outputs:].reshape(len(free), outputs, times.size)


def differentiate(function: Callable[[float], np.ndarray], at: float, step: float) -> np.ndarray:
    """A central difference of order six."""
    weights = {1: 45.0, 2: -9.0, 3: 1.0}
    terms = [weight * (function(at + k * step) - function(at - k * step)) for k, weight in weights.items()]
    return sum(terms[1:], terms[0]) / (60.0 * step)


def follow(
    rates: Callable[..., list[float]],
    state: Sequence[float],
    times: np.ndarray,
    stop: Callable[..., float] | None = None,
    direction: float = 0.0,
) -> tuple[np.ndarray, float, np.ndarray]:
    """States at some times before `stop` is zero or the last one, that instant, and the state there."""
    end, events = float(times[-1]), None
    if stop is not None:

        def cross(t: float, y: np.ndarray) -> float:
            return stop(t, y)

        cross.terminal, cross.direction = True, direction  # type: ignore[attr-defined]
        events = [cross]
    begin = float(times[0])
    done = solve_ivp(
        rates, (begin, end), state, "DOP853", rtol=1e-13, atol=1e-14, events=events, dense_output=True, max_step=0.1
    )
    last, final = end, done.y[:, -1]
    if events and done.t_events[0].size:
        last, final = float(done.t_events[0][0]), done.y_events[0][0]
    return done.sol(times[times <= last]), last, final


y1, y2, y3, T = dd.symbols("y1 y2 y3 T")
HALF_PERIOD = 1.8398753354324258


def make_relay(initial: Sequence[float] = (0.0, 0.0, 0.3)) -> dd.Model:
    """−sign(y) into 1/(1 + s T)³."""
    equations = {
        "first": T * der(y1) == -np.sign(y3) - y1,
        "second": T * der(y2) == y1 - y2,
        "third": T * der(y3) == y2 - y3,
    }
    return make_model("relay", equations, dict(zip((y1, y2, y3), initial, strict=True)), parameters={T: 1.0})


Fs, slip = dd.symbols("Fs slip")
STICKS, SLIPS = (0.4516672405, 7.9592012652), (3.5289223557, 12.1313758073)


def make_belt() -> dd.Model:
    """A mass on a spring, drawn along by a belt until its friction no longer holds it."""
    friction = np.sign(slip) * (0.4 + (Fs - 0.4) * np.exp(-np.abs(slip) / 0.2))
    equations = {
        "speed": der(x) == v,
        "motion": der(v) == -x - 0.05 * v + friction,
        "slip": slip == 0.3 - v,
    }
    return make_model(
        "belt", equations, {x: 0.0, v: 0.0}, unknowns=[x, v, slip], outputs={"x": x, "v": v}, parameters={Fs: 1.0}
    )


def follow_belt(strength: float, times: np.ndarray) -> np.ndarray:
    """(x, v) of the belt by an integrator that is stopped at every change."""

    def friction(speed: float) -> float:
        return 0.4 + (strength - 0.4) * np.exp(-(0.3 - speed) / 0.2)

    def rates(_: float, y: np.ndarray) -> list[float]:
        return [y[1], -y[0] - 0.05 * y[1] + friction(y[1])]

    kept, t, state = np.empty((2, times.size)), 0.0, np.zeros(2)
    while t < times[-1]:
        inside = times > t if t else times >= 0.0
        part, until, state = follow(
            rates, state, np.r_[t, times[inside]], lambda _, y: 0.3 - y[1] + 1e-300, direction=-1.0
        )
        kept[:, inside & (times <= until)] = part[:, 1:]
        release = (strength - 0.05 * 0.3 - state[0]) / 0.3 + until  # the spring has reached what friction holds
        stuck = (times > until) & (times <= release)
        kept[:, stuck] = [state[0] + 0.3 * (times[stuck] - until), np.full(stuck.sum(), 0.3)]
        if until >= times[-1]:
            break
        t, state = release, np.array([strength - 0.05 * 0.3, 0.3 - 1e-14])
    return kept


px, py, vx, vy, Mf, mu = dd.symbols("px py vx vy Mf mu")
SPIN = px * vy - py * vx


def make_pendulum(torque: Any, **declared: Any) -> dd.Model:
    """A mass on a rod of length one, index 3, with a torque against its motion; the angle is its output."""
    equations = {
        "speed x": der(px) == vx,
        "speed y": der(py) == vy,
        "force x": MASS * der(vx) == lam * px + torque * py + declared.pop("push", 0.0),
        "force y": MASS * der(vy) == lam * py - MASS * GRAVITY - torque * px,
        "rod": px**2 + py**2 == 1,
    }
    fields = {"parameters": {Mf: 0.25, mu: 0.08}, "outputs": {"angle": np.arctan2(px, -py), "spin": SPIN}}
    initial = {px: np.sin(1.0), vx: 0.0}
    guess = {py: -np.cos(1.0)}
    return make_model("pendulum", equations, initial, unknowns=[px, py, vx, vy, lam], guess=guess, **fields | declared)


def follow_pendulum(torque: Callable[[float, float], float], grip: Callable[[float], float], times: np.ndarray):
    """(angle, speed) of the pendulum in one coordinate, stopped at every turn.

    `torque` is that of friction, of angle and speed; `grip` the largest at rest, of the angle.
    """
    kept, t, state = np.empty((2, times.size)), 0.0, np.array([1.0, 0.0])
    while True:
        weight = -MASS * GRAVITY * np.sin(state[0])
        after = times > t if t else times >= 0.0
        if abs(weight) <= grip(state[0]):
            kept[:, after] = [[state[0]], [0.0]]
            return kept
        side = np.sign(weight)

        def rates(_: float, y: np.ndarray, side: float = side) -> list[float]:
            return [y[1], (-MASS * GRAVITY * np.sin(y[0]) - side * torque(y[0], y[1])) / MASS]

        part, until, state = follow(rates, state, np.r_[t, times[after]], lambda _, y: y[1], direction=-side)
        kept[:, after & (times <= until)] = part[:, 1:]
        if until >= times[-1]:
            return kept
        t, state = until, np.array([state[0], 0.0])
