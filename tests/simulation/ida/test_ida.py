"""Runs that stop early, interrupts, silence on the screen, and the options of the solver."""

import re
import signal

import numpy as np
import pytest

import catalogue
import daedal as dd
from daedal import der
from daedal.errors import SimulationError
from daedal.simulation.ida import integration, stepping, threads
from daedal.simulation.ida import solver as ida

x, y, p, q, phi, w, s = dd.symbols("x y p q phi w s")


def stopped(equations, unknowns, initial, guess=None):
    model = dd.Model(name="m", equations=equations, unknowns=unknowns, initial=initial, guess=guess or {})
    return dd.simulate(model, np.linspace(0, 2, 21), solver=dd.IDA())


def test_finite_escape_gives_nan_afterwards_and_nothing_on_the_screen(capfd):
    trajectory = stopped({"growth": der(x) == x**2}, [x], {x: 1.0})
    reached = trajectory.times < 1 - 1e-6
    np.testing.assert_allclose(trajectory["x"][reached], 1 / (1 - trajectory.times[reached]), rtol=1e-5)
    assert np.isnan(trajectory["x"][~reached]).all()
    assert not trajectory.status.ok
    assert "stopped at time 0.9999" in trajectory.status.sentence
    assert "'der(x)'" in trajectory.status.sentence
    assert "growth" in trajectory.status.remedy
    assert str(trajectory.status) in str(trajectory)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("equations", "unknowns", "initial", "guess", "message"),
    [
        ({"drain": der(x) == -np.sqrt(x)}, [x], {x: 0.25}, {}, "beyond which equation 'drain' is not defined"),
        ({"fall": der(x) == -1, "log": y == np.log(x)}, [x, y], {x: 1.0}, {}, "equation 'log' is not defined"),
        ({"pole": der(x) == 1 / (1 - dd.time)}, [x], {x: 1.0}, {}, r"time 1 .*the largest value there is 'der\(x\)'"),
        ({"growth": der(x) == 1000 * x}, [x], {x: 1.0}, {}, r"time 0.70\d+ .*'der\(x\)'"),
        (
            {"turn": der(phi) == 1, "rod": (s - np.cos(phi)) ** 2 + np.sin(phi) ** 2 == 0.64},
            [phi, s],
            {phi: 0.0},
            {s: 1.8},
            r"time 0.92729\d+, where equation 'rod' no longer determines 's'. The model passes through a singular",
        ),
        (
            {"speed": der(p) == 1, "rail": q**2 == 1 - p, "rate": y == der(q)},
            [p, q, y],
            {p: 0.0},
            {q: 1.0},
            r"time 0.99999\d+, where .*'rail'.* no longer determine",
        ),
    ],
)
def test_why_a_run_stopped(equations, unknowns, initial, guess, message, capfd):
    trajectory = stopped(equations, unknowns, initial, guess)
    assert not trajectory.status.ok
    assert not np.isnan(trajectory[unknowns[0]][0])
    assert np.isnan(trajectory[unknowns[0]][-1])
    assert re.search(message, str(trajectory.status))
    assert capfd.readouterr() == ("", "")


def test_a_sparse_system_that_stops(capfd):
    xs = dd.symbols("x", 150)
    equations = {f"drain {i}": der(xs[i]) == -(1 + i / 150) * np.sqrt(xs[i]) for i in range(150)}
    trajectory = stopped(equations, list(xs), dict.fromkeys(xs, 1.0))
    assert "equation 'drain 149' is not defined" in trajectory.status.sentence
    assert capfd.readouterr() == ("", "")


def test_many_steps_between_two_samples(monkeypatch):
    """The limit of steps only asks whether time still advances."""
    monkeypatch.setattr(stepping, "STEPS", 3)
    model = dd.Model(
        name="spin", equations={"x": der(x) == -9 * y, "y": der(y) == 9 * x}, unknowns=[x, y], initial={x: 1.0, y: 0.0}
    )
    trajectory = dd.simulate(model, [0.0, 10.0], solver=dd.IDA(1e-10, 1e-12))
    np.testing.assert_allclose(trajectory["x"][-1], np.cos(90), atol=1e-6)


def test_an_interrupt_keeps_what_was_computed(monkeypatch):
    class Interrupted(ida.Progress):
        def __call__(self, reached):
            if reached > 0.5:
                raise KeyboardInterrupt

    monkeypatch.setattr(ida, "Progress", Interrupted)
    model = dd.Model(name="decay", equations={"rate": der(x) == -x}, unknowns=[x], initial={x: 1.0})
    trajectory = dd.simulate(model, np.linspace(0, 1, 11), solver=dd.IDA())
    assert "interrupted at time 0.6" in trajectory.status.sentence
    assert "kept" in trajectory.status.remedy
    assert not trajectory.status.ok
    np.testing.assert_allclose(trajectory["x"][:6], np.exp(-trajectory.times[:6]), atol=1e-6)
    assert np.isnan(trajectory["x"][6:]).all()


def test_control_c_in_the_middle_of_a_long_run(capfd, monkeypatch):
    """A real signal, which arrives while SUNDIALS calls back; hardly anything is evaluated after it."""
    evaluations, original = [], stepping.Stepper._make_residual_callback

    def watched(self):
        residual = original(self)

        def watch(t, y, yp, res):
            evaluations.append(None)
            if len(evaluations) == 2000:
                signal.raise_signal(signal.SIGINT)
            residual(t, y, yp, res)

        return watch

    monkeypatch.setattr(stepping.Stepper, "_make_residual_callback", watched)
    model, times = catalogue.chain(5).model(), np.linspace(0, 100, 10_001)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it for background jobs
    try:
        trajectory = dd.simulate(model, times, solver=dd.IDA())
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(evaluations) < 2100
    assert "interrupted" in trajectory.status.sentence
    reached = int(np.isfinite(trajectory["x[0]"]).sum())
    assert 1 < reached < times.size
    assert capfd.readouterr() == ("", "")


def test_an_interrupt_before_the_first_sample_says_that_nothing_was_finished(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(integration.Integration, "run", interrupted)
    model = dd.Model(name="decay", equations={"rate": der(x) == -x}, unknowns=[x], initial={x: 1.0})
    with pytest.raises(KeyboardInterrupt, match="simulate was interrupted before anything was finished"):
        dd.simulate(model, [0.0, 1.0], solver=dd.IDA())


@pytest.mark.parametrize("bad", [0, -1e-8, 1.0, np.nan, "1e-8", None, 1j])
def test_an_rtol_that_cannot_be_met(bad):
    with pytest.raises(SimulationError, match="rtol of IDA must lie between 0 and 1, got"):
        dd.IDA(rtol=bad)


@pytest.mark.parametrize("bad", [0, -1e-8, np.inf, "1e-8"])
def test_an_atol_that_cannot_be_met(bad):
    with pytest.raises(SimulationError, match="atol of IDA must be a positive number, got"):
        dd.IDA(atol=bad)


def test_tolerances_are_plain_numbers():
    assert dd.IDA(np.float64(1e-6), np.float32(0.5)) == dd.IDA(1e-6, 0.5)
    assert repr(dd.IDA(np.float64(1e-6))) == "IDA(rtol=1e-06, atol=1e-10)"


@pytest.mark.parametrize("rtol", [1e-5, 1e-7, 1e-9])
def test_the_error_follows_the_tolerance(rtol):
    problem = catalogue.pendulum()
    trajectory = dd.simulate(problem.model(), [0.0, 1.0, 2.0], solver=dd.IDA(rtol, rtol / 100))
    for position, t in ((1, 1.0), (2, 2.0)):
        error = max(abs(trajectory[name][position] - number) for name, number in problem.references[t].items())
        assert error < 3000 * rtol


def test_what_is_not_in_the_error_norm_does_not_loosen_it():
    """The highest derivatives drift between the solver's steps, and told wrong sizes: 2e-4 of this were lost."""
    frequency, end = 100 * np.pi, 9.993
    power = 100 * (1 + np.sin(frequency * dd.time))
    meter = dd.Model(name="meter", equations={"power": der(x) == power}, unknowns=[x], initial={x: 0.0})
    trajectory = dd.simulate(meter, [0.0, end], solver=dd.IDA(3e-10, 3e-12))
    assert trajectory["x"][-1] == pytest.approx(100 * end + 100 / frequency * (1 - np.cos(frequency * end)), rel=1e-6)


@pytest.mark.parametrize(("bobs", "alone"), [(2, False), (15, True)])
def test_a_sparse_factorisation_has_no_other_threads(monkeypatch, bobs, alone):
    """While SUNDIALS steps, OpenMP would start one thread where the system is large, and all its own elsewhere."""
    seen = set()
    fill = stepping.Forcing.make_segment

    def look(forcing, *span):
        segment = fill(forcing, *span)
        write = segment.write_values

        def write_values(*arguments):
            seen.update(one["num_threads"] for one in openmp.info())
            write(*arguments)

        monkeypatch.setattr(segment, "write_values", write_values)
        return segment

    openmp = threads._load_controller()
    with openmp.limit(limits=2):
        monkeypatch.setattr(stepping.Forcing, "make_segment", look)
        model = catalogue.chain(bobs).model()
        assert (len(dd.build(model).states) > stepping.DENSE / 2) == alone
        dd.simulate(model, [0.0, 0.01], solver=dd.IDA())
    assert (1 in seen) == alone
    assert 2 in seen  # where it begins, which factorises nothing
