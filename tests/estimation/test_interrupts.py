"""Ctrl-C in a fit keeps the best so far."""

import numpy as np
import pytest

import daedal as dd
from batteries.criterion import cases
from batteries.fits import DATA, SINE, TIMES, decay, sine
from daedal import jobs
from daedal.estimation.criteria.mean_objective import MeanObjective


@pytest.fixture
def interrupt(monkeypatch):
    """Press Ctrl-C in the n-th evaluation."""

    def press(number):
        original, seen = MeanObjective.__call__, []

        def counting(self, point):
            seen.append(None)
            if len(seen) == number:
                raise KeyboardInterrupt
            return original(self, point)

        monkeypatch.setattr(MeanObjective, "__call__", counting)
        return seen

    return press


@pytest.mark.parametrize("number", [2, 3, 4, 6])
def test_an_interrupt_returns_the_best_so_far(interrupt, number):
    interrupt(number)
    found = dd.fit(decay(3.0), DATA, free=["k"])
    assert not found.status.ok
    assert "Interrupted" in str(found)
    assert found.evaluations == number - 1
    residual = DATA["level"] - np.exp(-found["k"].value * TIMES)
    assert found.value == pytest.approx(0.5 * residual @ residual / np.var(DATA["level"]), rel=1e-6)
    assert abs(found["k"].value - 1.0) <= 2.0
    assert np.isnan(found.conf_int()["k"]).all()
    (row,) = [line for line in str(found).splitlines() if line.startswith("  k ")]
    assert " … " not in row.partition("3")[0]  # no interval before the start, which is 3
    assert "—" in row


def test_an_interrupt_in_a_later_start_keeps_the_best_of_all(interrupt, monkeypatch):
    monkeypatch.setattr(jobs, "count_workers", lambda: 1)  # one start after the other
    seen = interrupt(10**9)
    dd.fit(sine(4.1), SINE, free=["omega"])
    first = len(seen)
    interrupt(first + 3)  # counts anew
    starts = [{"omega": 4.1}, {"omega": 7.0}]
    found = dd.fit(sine(4.1), SINE, free=["omega"], starts=starts)
    assert "Interrupted" in str(found)
    assert found["omega"].value == pytest.approx(4.0, abs=0.05)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_an_interrupt_while_starts_run_side_by_side_keeps_the_best_of_what_was_seen(monkeypatch, workers):
    """However far each start has come."""
    original, seen = MeanObjective.__call__, []

    def press(self, point):
        if len(seen) >= 9:
            raise KeyboardInterrupt
        evaluation = original(self, point)
        seen.append(evaluation)
        return evaluation

    monkeypatch.setattr(jobs, "count_workers", lambda: workers)
    monkeypatch.setattr(MeanObjective, "__call__", press)
    starts = [{"omega": w} for w in (1.0, 2.0, 3.0, 4.1, 5.0, 6.0)]
    found = dd.fit(sine(4.1), SINE, free=["omega"], starts=starts)
    assert found.status.interrupted
    best = min((one for one in seen if one.ok), key=lambda one: one.value)
    assert found.value == best.value
    assert len(found.attempts) == len(starts)
    assert "interrupted" in next(line for line in str(found).splitlines() if line.startswith("  6 starts: "))


def test_an_interrupt_of_a_later_stage_keeps_its_objective(interrupt):
    """Value, scales and estimates of an interrupted fit belong together."""
    case = cases()["output error, no noise declared"]
    seen = interrupt(10**9)
    full = case.fit()
    interrupt(len(seen) - 1)
    found = case.fit()
    assert "Interrupted" in str(found)
    assert found["a"].value == pytest.approx(full["a"].value, abs=full["a"].std_error)
    assert found.value == pytest.approx(full.value, rel=0.1)


def test_an_interrupt_of_the_very_first_evaluation_propagates(interrupt):
    interrupt(1)
    with pytest.raises(KeyboardInterrupt):
        dd.fit(decay(3.0), DATA, free=["k"])


def test_an_interrupt_while_the_errors_are_computed_keeps_the_estimates(monkeypatch):
    def press(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(MeanObjective, "scatter", press)
    case = cases()["mean"]
    found = case.fit(free=["a"])
    assert "Interrupted" in str(found)
    assert np.isnan(found["a"].monte_carlo_error)
    assert np.isfinite(found["a"].std_error)
