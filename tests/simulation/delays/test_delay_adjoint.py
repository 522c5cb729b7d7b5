"""The backward gradient of systems with delays against the forward sensitivities."""

import delay_cases
import numpy as np
import pytest

import daedal as dd
from daedal import delay, der
from daedal.simulation.delays.adjoint import Adjoint
from daedal.simulation.prediction import make_predictor
from daedal.simulation.request import check_request

x, x2, u = dd.symbols("x x2 u")
tau, late, k, a = dd.symbols("tau late k a")
SAMPLES = np.array([0.5, 0.9, 1.7, 2.6, 3.3, 4.9, 7.5, 9.9])
KNOTS = np.arange(101) * 0.1
RATE = (1 - x) * np.exp(20 * x2 / (x2 + 20))


def model(equations, unknowns, parameters, **rest) -> dd.Model:
    return dd.Model(name="late", equations=equations, unknowns=unknowns, parameters=parameters, **rest)


CASES = {
    "reactor": (
        model(
            {"c": der(x) == k * x + RATE + delay(x, tau), "t": der(x2) == a * x2 + RATE + delay(x2, tau)},
            [x, x2], {tau: 1.93, k: -2.0, a: -2.5}, outputs={"y": 10 * x2}, history={x: 1.0, x2: 1.0},
        ),
        None,
    ),
    "samples on multiples of the delay": (
        model(
            {"e": der(x) == -k * delay(x, tau) - 0.2 * x}, [x], {tau: 0.5, k: 1.0}, outputs={"y": x},
            history={x: 1.0 + 0.2 * dd.time},
        ),
        None,
    ),
    "jump at the start": (
        model(
            {"e": der(x) == -k * delay(x, tau)}, [x], {tau: 1.0, k: 1.0}, outputs={"y": x}, history={x: 0.0},
            initial={x: 1.0},
        ),
        None,
    ),
    "history and output with parameters": (
        model(
            {"e": der(x) == -k * delay(x, tau) - 0.2 * x}, [x], {tau: 1.3, k: 1.0, a: 0.3}, outputs={"y": a * x},
            history={x: np.exp(a * dd.time)},
        ),
        None,
    ),
    "held input": (
        model(
            {"e": der(x) == -k * x + delay(u, tau)}, [x], {tau: 0.37, k: 1.0}, inputs=[u], outputs={"y": x},
            initial={x: 0.0},
        ),
        dd.Signal(KNOTS, np.sin(3 * KNOTS), "zoh"),
    ),
    "regular samples with a delay of several, a held input, and a start of its own": (
        model(
            {"e": der(x) == -k * delay(x, tau) + u}, [x], {tau: 0.5231, k: 0.8, a: 0.3}, inputs=[u], outputs={"y": x},
            history={x: 0.2}, initial={x: a},
        ),
        dd.Signal(KNOTS, np.sign(np.sin(3 * KNOTS + 0.1)), "zoh"),
    ),
    "conditions on time and on an input": (
        model(
            {"e": der(x) == -k * delay(x, tau) + a * np.where(np.fmod(dd.time, 1.7) < 0.13, 3.0, 0.0) * x
                + np.where(u > 0.5, k, 0.0)},
            [x], {tau: 0.5231, k: 0.8, a: 0.3}, inputs=[u], outputs={"y": x}, history={x: 0.2},
        ),
        dd.Signal(KNOTS[::25], np.sin(3 * KNOTS[::25]), "foh"),
    ),
    "two delays, one of a square": (
        model(
            {"e": der(x) == -k * delay(x, tau) - a * delay(x**2, late)}, [x], {tau: 1.1, late: 0.43, k: 0.8, a: 0.3},
            outputs={"y": x}, history={x: 1.0 + 0.1 * dd.time},
        ),
        None,
    ),
    "a delayed value in the output": (
        model(
            {"e": der(x) == -k * delay(x, tau) - 0.2 * x}, [x], {tau: 0.83, late: 0.41, k: 1.0, a: 0.3},
            outputs={"y": x + a * delay(x**2, tau) + delay(k * x, late)}, history={x: np.exp(a * dd.time)},
        ),
        None,
    ),
    "a delay of an algebraic variable": (
        model(
            {"e": der(x) == -k * x - delay(x2, tau), "z": 2 * x2 + a * x2**3 == x + 0.3 * delay(x, late)},
            [x, x2], {tau: 1.1, late: 0.63, k: 0.4, a: 0.3}, outputs={"y": x, "z": x2},
            history={x: 1.0 + a * dd.time, x2: 0.4},
        ),
        None,
    ),
    "neutral": (
        model(
            {"e": der(x) == -k * x + a * delay(der(x), tau) + u}, [x], {tau: 1.1, k: 0.7, a: 0.4}, inputs=[u],
            outputs={"y": x}, history={x: 1.0 + 0.2 * dd.time},
        ),
        dd.Signal(KNOTS[::25], np.sin(3 * KNOTS[::25]), "foh"),
    ),
    "a delay of a delayed value": (
        model(
            {"e": der(x) == -k * delay(x2, tau) - 0.1 * x, "z": x2 == x + a * delay(x, tau)},
            [x, x2], {tau: 0.9, k: 0.6, a: 0.5}, outputs={"y": x2}, history={x: 1.0 + 0.1 * dd.time, x2: 1.2},
        ),
        None,
    ),
}  # fmt: skip


def agree(made, times, inputs, values, method="auto") -> None:
    """The backward gradient of a random combination of the samples is that of the forward sensitivities."""
    outputs = tuple(made.outputs) or tuple(made.unknown_names)
    asked = check_request("test", made, times, inputs, 0.0)
    forward = make_predictor(asked, outputs, list(values), values, dd.Lanes(method, tolerance=1e-10), None, 0, "test")
    found = forward(values)
    pull = np.random.default_rng(0).standard_normal(found.mean.shape)
    backward = Adjoint(forward.run.at([values])).run_forward(values)
    np.testing.assert_allclose(backward.outputs, found.mean, rtol=1e-12)
    expected = np.einsum("ot,dot->d", pull, found.slopes)
    np.testing.assert_allclose(backward.compute_gradient(pull), expected, rtol=2e-8, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("name", CASES)
def test_backward_and_forward_gradients_agree(name):
    made, signal = CASES[name]
    times = KNOTS[:41] if name.startswith("regular") else SAMPLES
    agree(made, times, None if signal is None else {"u": signal}, {n: p.value for n, p in made.parameters.items()})


@pytest.mark.parametrize("name", delay_cases.CASES)
def test_they_agree_on_every_kind_of_system(name):
    """Neutral, algebraic, with constraints, with delays of delays, with inputs."""
    case = delay_cases.CASES[name]
    agree(case.model, np.array([0.37, 0.91, 1.77, 2.63, 3.11]), case.inputs, case.values)


@pytest.mark.parametrize("short", [0.05, 0.4])
def test_they_agree_by_another_method(short):
    made, _ = CASES["samples on multiples of the delay"]
    agree(made, SAMPLES, None, {"tau": short, "k": 1.0}, method="rk4")


def test_costates_that_are_faster_than_the_solution():
    """After every sample the costate of y falls like exp(−1000 s), while the solution has long been slow."""
    made = model(
        {"slow": der(x) == -a * x2 + 0.4 * delay(x2, late), "fast": der(x2) == -k * (x2 - np.cos(x) * delay(x, tau))},
        [x, x2], {tau: 0.7, late: 0.43, k: 1000.0, a: 0.5}, outputs={"y": x2}, history={x: 1.0, x2: 0.5},
    )  # fmt: skip
    values = {"tau": 0.7, "late": 0.43, "a": 0.5}
    asked = check_request("test", made, SAMPLES[:4], None, 0.0)
    forward = make_predictor(asked, ("y",), list(values), values, dd.Lanes(tolerance=1e-7), None, 0, "test")
    found = forward(values)
    pull = np.random.default_rng(0).standard_normal(found.mean.shape)
    adjoint = Adjoint(forward.run.at([values]))
    expected = np.einsum("ot,dot->d", pull, found.slopes)
    np.testing.assert_allclose(
        adjoint.run_forward(values).compute_gradient(pull), expected, rtol=0, atol=1e-5 * abs(expected).max()
    )
    assert adjoint.refinement > 1


def test_stiff_systems_are_refused():
    made, _ = CASES["samples on multiples of the delay"]
    values = {"tau": 0.5, "k": 1.0}
    asked = check_request("test", made, SAMPLES, None, 0.0)
    run = make_predictor(asked, ("y",), list(values), values, dd.Lanes("radau5", step=0.05), None, 0, "test").run
    with pytest.raises(dd.DaedalError, match="'radau5', which is for stiff systems"):
        Adjoint(run)
