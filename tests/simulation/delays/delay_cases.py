"""Models with delays that every kind of check meets: what is free, where, and what drives them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

import daedal as dd
from daedal import delay, der
from daedal.papers.reactor.experiment import make_reactor
from daedal.simulation.ensemble_solver import Lanes
from daedal.simulation.prediction import Predictor, make_predictor
from daedal.simulation.request import check_request

x, y, z, v, f, u, w = dd.symbols("x y z v f u w")
a, b, c, tau, sigma = dd.symbols("a b c tau sigma")

OFF = np.array([0.13, 0.47, 0.91, 1.37, 1.83, 2.21, 2.77, 3.19])  # away from break points
GRID = np.arange(9) * 0.5
PUSH = np.array([0.0, 1.0, -0.5, 0.7, 0.2, -0.9, 0.4, 0.1, 0.6])


def single(right, **changes) -> dd.Model:
    """x' = something."""
    fields = {
        "name": "single",
        "equations": {"rate": der(x) == right},
        "unknowns": [x],
        "outputs": {"o": x},
        "parameters": {a: 0.8, b: 0.3, c: 1.1, tau: 0.6},
        "history": {x: 1.0},
    }
    return dd.Model(**fields | changes)


@dataclass(frozen=True, eq=False)
class Case:
    """A model with the values and samples at which it is looked at."""

    model: dd.Model
    values: Mapping[str, float]
    times: np.ndarray = field(default_factory=lambda: OFF)
    inputs: Mapping[str, dd.Signal] | None = None
    realizations: int | None = None
    tolerance: float = 1e-11

    def predictor(self) -> Predictor:
        """With steps chosen at the values."""
        asked = check_request("test", self.model, self.times, self.inputs, 0.0)
        outputs, solver = tuple(self.model.outputs), Lanes(tolerance=self.tolerance)
        return make_predictor(asked, outputs, tuple(self.values), self.values, solver, self.realizations, 3, "test")


def held(kind: str) -> dict[str, dd.Signal]:
    return {"u": dd.Signal(GRID, PUSH, kind)}


def driven(kind: str) -> Case:
    """A lag behind a delayed input."""
    model = single(-a * x + b * delay(u, tau), inputs=[u], history={}, initial={x: 0.2})
    return Case(model, {"a": 0.8, "b": 0.9, "tau": 0.31}, inputs=held(kind))


def twins(second: float) -> Case:
    """Two held inputs that change at the same times, each with its own delay."""
    model = single(-a * x + delay(u, tau) - 0.5 * delay(f, b), inputs=[u, f], history={}, initial={x: 0.2})
    inputs = {"u": dd.Signal(GRID, PUSH, "zoh"), "f": dd.Signal(GRID, PUSH[::-1].copy(), "zoh")}
    return Case(model, {"a": 0.8, "b": second, "tau": 0.31}, inputs=inputs)


FEEDBACK = single(-a * delay(x, tau))
STARTS = single(-a * delay(x, tau), history={x: b + c * dd.time}, initial={x: 1.5 * b})
WAVE = single(-a * x + b * delay(x, tau), history={x: c * np.cos(a * dd.time) + b})
BOTH = single(-a * delay(x, tau) - b * delay(x, 2 * tau + 0.1) * x)
NESTED = single(-a * delay(delay(x, tau), b) + 0.1 * delay(x**2, c))
TIED = single(-a * delay(x, tau), parameters={a: 0.8, b: 0.3, c: a + b, tau: 0.5 * a + b})
NEUTRAL = single(-a * x + b * delay(der(x), tau), history={x: 1.0 + c * dd.time})
ECHO = dd.Model(
    name="echo",
    equations={"echo": y == a * delay(y, tau) + b * x, "rate": der(x) == -c * y},
    unknowns=[x, y],
    outputs={"o": y, "s": x},
    parameters={a: 0.5, b: 0.7, c: 1.1, tau: 0.6},
    history={y: 0.4},
    initial={x: 1.0},
)
CHASE = dd.Model(  # index 2: a speed follows from a position that must follow another one
    name="chase",
    equations={"leader": der(z) == -a * z + b, "speed": der(x) == v, "follow": x == c * delay(z, tau) + y,
               "own": der(y) == -y + z},
    unknowns=[x, y, z, v],
    outputs={"v": v, "x": x},
    parameters={a: 0.8, b: 0.3, c: 1.1, tau: 0.6},
    history={z: np.cos(b * dd.time)},
    initial={y: 0.3},
)  # fmt: skip
PENDULUM = dd.Model(  # index 3, pushed by what its angle was
    name="pendulum",
    equations={
        "kinematics x": der(x) == v,
        "kinematics y": der(y) == w,
        "force x": der(v) == f * x - a * v - b * delay(v, tau),
        "force y": der(w) == f * y - 9.81,
        "rod": x**2 + y**2 == c**2,
    },
    unknowns=[x, y, v, w, f],
    outputs={"x": x, "f": f},
    parameters={a: 0.3, b: 0.5, c: 1.1, tau: 0.6},
    history={v: 0.2 * dd.time},
    initial={x: 0.4, v: 0.0},
    guess={y: -1.0},
)
PUSHED = single(
    -a * delay(x, tau) + w**2,
    disturbances={w: dd.FilteredNoise.low_pass(std=sigma, time_constant=0.4, grid=0.1)},
    parameters={a: 0.8, tau: 0.6, sigma: 0.7},
)

CASES = {
    "reactor": Case(make_reactor(), {"tau": 2.0, "z1": -2.0, "z2": -2.5}, np.linspace(0.3, 9.7, 12)),
    "feedback": Case(FEEDBACK, {"a": 0.8, "tau": 0.6}),
    "jump at the start": Case(STARTS, {"a": 0.8, "b": 0.3, "c": 1.1, "tau": 0.63}),
    "history of parameters": Case(WAVE, {"a": 0.8, "b": 0.3, "c": 1.1, "tau": 0.63}),
    "two delays that depend": Case(BOTH, {"a": 0.8, "b": 0.3, "tau": 0.41}),
    "delays of delays": Case(NESTED, {"a": 0.8, "b": 0.37, "c": 1.1, "tau": 0.61}),
    "delays of delays after a jump": Case(
        replace(NESTED, initial={x: 1.7}), {"a": 0.8, "b": 0.37, "c": 1.1, "tau": 0.61}, OFF[:6]
    ),
    "delay is an expression": Case(TIED, {"a": 0.8, "b": 0.3}),
    "neutral": Case(NEUTRAL, {"a": 0.8, "b": 0.3, "c": 1.1, "tau": 0.63}),
    "algebraic": Case(ECHO, {"a": 0.5, "b": 0.7, "c": 1.1, "tau": 0.63}),
    "index 2": Case(CHASE, {"a": 0.8, "b": 0.3, "c": 1.1, "tau": 0.63}),
    "index 3": Case(PENDULUM, {"a": 0.3, "b": 0.5, "tau": 0.63}),
    "held input": driven("zoh"),
    "linear input": driven("foh"),
    "an input with a history": Case(
        single(-a * x + b * delay(u, tau), inputs=[u], history={u: c + 0.5 * dd.time}, initial={x: 0.2}),
        {"a": 0.8, "b": 0.9, "c": 1.1, "tau": 0.31},
        inputs=held("zoh"),
    ),
    "two inputs with the same delay": twins(0.31),
    "two inputs whose delays differ by a sample": twins(0.81),
    "two delays that are equal, after a jump": Case(
        single(-a * delay(x, tau) + 0.4 * delay(x, b), initial={x: 1.7}), {"a": 0.8, "b": 0.63, "tau": 0.63}
    ),
    "smooth input": driven("spline"),
    "disturbed": Case(PUSHED, {"a": 0.8, "tau": 0.63, "sigma": 0.7}, OFF[:5], realizations=20, tolerance=1e-8),
    "long delay": Case(WAVE, {"a": 0.8, "b": 0.3, "c": 1.1, "tau": 7.3}),
    "short delay": Case(FEEDBACK, {"tau": 1e-3}, np.array([0.21034, 0.60042])),
}
