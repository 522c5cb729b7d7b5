"""`evaluate`: the criterion at one point, for optimisers of one's own."""

import numpy as np
import pytest

import daedal as dd
from batteries.criterion import cases, square
from batteries.fits import DATA, TIMES, decay, escape, make_lag, x
from daedal.estimation import cost
from daedal.simulation.lanes.lane_run import LaneRun
from daedal.simulation.prediction import Predictor


def test_evaluate_prepares_once(monkeypatch):
    prepare, calls = cost.prepare_objective, []
    monkeypatch.setattr(cost, "prepare_objective", lambda *given: calls.append(given) or prepare(*given))
    case = cases()["mean"].changed(model=square())
    for number in range(5):
        case.evaluate({"a": 0.9 + 0.01 * number}, rng=77)
    assert len(calls) == 1
    case.evaluate({"a": 0.9}, rng=78)
    assert len(calls) == 2


def test_evaluate_sees_that_a_list_or_mapping_has_changed(two):
    model, data = two
    names = ["k"]
    assert dd.evaluate(model, data, free=names).names == ("k",)
    names.append("b")
    assert dd.evaluate(model, data, free=names).names == ("k", "b")
    fixed = {"b": 2.0}
    before = dd.evaluate(model, data, free=["k"], fixed=fixed).value
    fixed["b"] = 3.0
    assert dd.evaluate(model, data, free=["k"], fixed=fixed).value != before
    sets = [data]
    once = dd.evaluate(model, sets, free=["k"]).value
    sets.append(data)
    assert dd.evaluate(model, sets, free=["k"]).value == pytest.approx(2 * once)


def test_evaluate_at_the_minimum_has_no_gradient(two):
    model, data = two
    found = dd.fit(model, data, free=["k", "b"])
    loud = model.with_parameters({})
    cost = dd.evaluate(
        dd.Model(
            name="loud", equations=loud.equations, unknowns=list(loud.unknowns), outputs=loud.outputs,
            parameters=loud.parameters, initial=loud.initial, measurement_noise=dict(found.scales),
        ),
        data, free=["k", "b"], values=found.params,
    )  # fmt: skip
    assert cost.value == pytest.approx(found.value, rel=1e-6)
    step = np.linalg.solve(cost.curvature, cost.gradient)
    assert np.all(np.abs(step) < 1e-3 * np.array(list(found.std_errors.values())))


def test_evaluate_tells_where_there_is_no_solution():
    cost = dd.evaluate(escape(0.1), DATA, free=["k"], values={"k": 0.9})
    assert cost.value == np.inf
    assert "not finite" in cost.failure


@pytest.mark.parametrize("criterion", [dd.OutputError(), dd.SimulationPEM(8)])
def test_evaluate_takes_shorter_steps_where_those_of_the_start_are_too_long(criterion):
    """With k = 5000 everything has decayed at the second sample; explicit steps chosen for k = 2 would explode."""
    model = make_lag(outputs={"level": x}, measurement_noise={"level": 0.01})
    cost = dd.evaluate(model, DATA, free=["k"], values={"k": 5000.0}, criterion=criterion)
    left = (DATA["level"] - (TIMES == 0.0)) / 0.01
    assert cost.failure == ""
    assert cost.value == pytest.approx(0.5 * left @ left, rel=1e-3)


def test_evaluate_looks_at_steps_once_in_a_neighbourhood(monkeypatch):
    model, look, calls = decay(2.0), Predictor.estimate_step_error, []
    monkeypatch.setattr(Predictor, "estimate_step_error", lambda *given: calls.append(given) or look(*given))
    for number in range(5):
        dd.evaluate(model, DATA, free=["k"], values={"k": 2.0 + 0.01 * number}, rng=5)
    assert len(calls) == 1
    for number in range(5):
        dd.evaluate(model, DATA, free=["k"], values={"k": 3.0 - 0.01 * number}, rng=5)
    assert len(calls) == 2


def test_evaluate_beyond_a_bound_does_not_answer_for_another_point():
    """Clipped in silence, an optimiser of one's own would see a flat cost with a slope."""
    model = decay(dd.Parameter(2.0, lower=0.5, upper=3.0))
    with pytest.raises(dd.DaedalError, match=r"'k'.*bounds"):
        dd.evaluate(model, DATA, free=["k"], values={"k": 100.0})


def test_steps_are_looked_at_once_for_values_nearby(monkeypatch):
    """Never where they were chosen, once near by, and again far away, where shorter ones are needed."""
    looks = []
    look = LaneRun.estimate_step_error
    monkeypatch.setattr(LaneRun, "estimate_step_error", lambda run, values: looks.append(1) or look(run, values))
    x, k = dd.symbols("x k")
    model = dd.Model(
        name="looked at",
        equations={"rate": dd.der(x) == -k * x},
        unknowns=[x],
        outputs={"x": x},
        parameters={k: 0.5},
        initial={x: 1.0},
    )
    times = np.linspace(0.0, 4.0, 5)
    data = dd.Dataset(times, outputs={"x": np.zeros(5)})

    def find(value):
        cost = dd.evaluate(model, data, free=["k"], values={"k": value}, solver=dd.Lanes(method="rk4"))
        assert cost.value == pytest.approx(0.5 * np.sum(np.exp(-value * times) ** 2), rel=1e-4)
        return len(looks)

    assert find(0.5) == 0
    assert [find(0.5 * (1.0 + 0.01 * count)) for count in range(-9, 10)] == [0] * 19
    assert find(0.6) == 1
    assert [find(0.6 * (1.0 + 0.01 * count)) for count in range(-9, 10)] == [1] * 19
    assert find(40.0) > 1


def swing():
    """A pendulum of period T, fifty times as fast at one end of the bounds as at the start."""
    x, z, T = dd.symbols("x z T")
    return dd.Model(
        name="swing",
        equations={"angle": T * dd.der(x) == z, "speed": T * dd.der(z) == -np.sin(x)},
        unknowns=[x, z],
        outputs={"x": x},
        parameters={T: dd.Parameter(100.0, lower=0.1, upper=200.0)},
        initial={x: 1.0, z: 0.0},
    )


def test_a_cost_does_not_depend_on_what_was_evaluated_before():
    """A small value is no neighbour of a large one because the start is larger still."""
    times = np.linspace(0.0, 50.0, 51)
    data, model = dd.Dataset(times, outputs={"x": np.cos(times)}), swing()
    alone = dd.evaluate(model, data, free=["T"], values={"T": 0.5}, criterion=dd.OutputError(), rng=1)
    dd.evaluate(model, data, free=["T"], values={"T": 10.0}, criterion=dd.OutputError(), rng=2)
    after = dd.evaluate(model, data, free=["T"], values={"T": 0.5}, criterion=dd.OutputError(), rng=2)
    exact = dd.simulate(model.with_parameters({"T": 0.5}), times, solver=dd.IDA(rtol=1e-9, atol=1e-10))
    truth = 0.5 * np.sum((np.cos(times) - exact["x"]) ** 2) / np.var(np.cos(times))  # no accuracy is declared
    assert alone.value == pytest.approx(truth, rel=1e-3)
    assert after.value == pytest.approx(truth, rel=1e-3)


def test_particles_that_are_lost_are_not_replaced_by_another_method():
    """Sharper sensors than so few particles can follow: no cost, and the reason, not Laplace's approximation."""
    x, v, w, r = dd.symbols("x v w r")
    model = dd.Model(
        name="followed",
        equations={"position": dd.der(x) == v, "force": dd.der(v) == -x - 0.3 * v - 0.2 * x**3 + w},
        unknowns=[x, v],
        outputs={"y": x},
        parameters={r: dd.Parameter(0.2, lower=1e-5, upper=5.0)},
        disturbances={w: dd.FilteredNoise.low_pass(std=1.0, time_constant=0.5)},
        measurement_noise={"y": r},
        initial={x: 0.5, v: 0.0},
    )
    times = np.arange(60) * 0.2
    sharp = model.with_parameters({"r": 0.002})
    data = dd.simulate(sharp, times, measurement_noise=True, realizations=1, rng=3).to_dataset()

    def find(method):
        criterion = dd.Likelihood(method=method, particles=100)
        return dd.evaluate(model, data, free=["r"], values={"r": 0.002}, criterion=criterion, rng=1)

    particles, laplace = find("particle"), find("laplace")
    assert np.isfinite(laplace.value)
    assert particles.value != laplace.value
    assert np.isfinite(particles.value) or "particles" in particles.failure
