"""Which solver a single trajectory takes; the costs themselves are what `benchmarks/scale.py catalogue` compares."""

import numpy as np
import pytest

import catalogue
import daedal as dd
from daedal.simulation import check_request
from daedal.simulation.ida import cost


def limit(problem, samples):
    times = np.linspace(problem.start, problem.end, samples)
    return cost.limit_calls(check_request("simulate", problem.model(), times, problem.inputs(), None))


def test_between_few_samples_ida_goes_on_to_the_end():
    assert limit(catalogue.pendulum(), 101) == np.inf


def test_many_samples_leave_it_to_the_lanes_at_once():
    assert limit(catalogue.pendulum(), 5000) == 0.0


def test_between_them_ida_may_take_as_long_as_the_lanes_would():
    small, large = limit(catalogue.pendulum(), 150), limit(catalogue.chain(10), 150)
    assert 0 < small < large < np.inf


def test_knots_of_inputs_count():
    x, u = dd.symbols("x u")
    lag = dd.Model(name="lag", equations={"rate": dd.der(x) == u - x}, unknowns=[x], inputs=[u], initial={x: 0.0})
    fine = np.linspace(0, 1, 1000)
    asked = check_request("simulate", lag, [0.0, 1.0], {"u": dd.Signal(fine, np.sin(fine))}, None)
    assert cost.limit_calls(asked) == 0.0


@pytest.mark.parametrize(
    ("problem", "samples", "solver"),
    [(catalogue.hires(), 300, "IDA"), (catalogue.pendulum(), 1001, "Lanes"), (catalogue.pendulum(), 11, "IDA")],
    ids=["stiff", "many samples", "few samples"],
)
def test_the_solver_of_a_single_trajectory(problem, samples, solver):
    run = dd.simulate(problem.model(), np.linspace(problem.start, problem.end, samples))
    assert run.status.ok
    assert run.solver.startswith(solver)


def test_what_ida_gives_up_the_lanes_do_as_if_alone(monkeypatch):
    model, times = catalogue.pendulum().model(), np.linspace(0, 10, 150)
    monkeypatch.setattr(cost, "SETUP", 100)
    monkeypatch.setattr(cost, "PROJECTED", 0)
    given_up = dd.simulate(model, times)
    monkeypatch.setattr(cost, "SETUP", 0)
    monkeypatch.setattr(cost, "COMPILED", 0)
    alone = dd.simulate(model, times)
    assert given_up.solver == alone.solver
    assert given_up.solver.startswith("Lanes")
    assert np.array_equal(given_up["x"], alone["x"])


@pytest.mark.parametrize("problem", [p for p in catalogue.PROBLEMS if p.name != "over the top"], ids=lambda p: p.name)
def test_default_digits(problem):
    """At least six, relative to the largest value: over the top is chaos for a hundred seconds."""
    times = np.unique([problem.start, *problem.references])
    run = dd.simulate(problem.model(), times, inputs=problem.inputs())
    for time, values in problem.references.items():
        place = int(np.flatnonzero(run.times == time)[0])
        for name, value in values.items():
            assert run[name][place] == pytest.approx(value, abs=2e-6 * max(np.max(np.abs(run[name])), abs(value))), name


def test_a_long_oscillation_in_time_keeps_its_digits():
    (x,) = dd.symbols("x")
    power = 100.0 * (1 + np.sin(2 * np.pi * 50 * dd.time))
    meter = dd.Model(name="meter", equations={"x": dd.der(x) == power}, unknowns=[x], initial={x: 0.0})
    run = dd.simulate(meter, np.arange(61.0))
    assert run["x"][-1] == pytest.approx(6000.0, rel=1e-7)
