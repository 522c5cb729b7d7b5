"""Stages of a search: a start that cannot be had is one that failed, and a criterion that never settles is told."""

from dataclasses import replace

import numpy as np
import pytest

import daedal as dd
from batteries.fits import SINE, sine
from daedal.errors import OutOfMemoryError
from daedal.estimation.criteria.mean_objective import MeanObjective

FAR = 7.0


def refuse_far(method):
    """A method of an objective that runs out of memory where the unknown is large."""

    def call(self, point):
        if self.problem.coordinates.natural(point)[0] > FAR:
            raise OutOfMemoryError("Steps for it need about 7.5 PiB of memory, but only 1 GiB are left.", "Wait.")
        return method(self, point)

    return call


def fit(*starts):
    return dd.fit(sine(1.2), SINE, free=["omega"], starts=[{"omega": start} for start in starts], rng=3)


@pytest.mark.parametrize("asked", ["choose_steps", "__call__"])
@pytest.mark.parametrize("starts", [(3.9, 7.5), (7.5, 3.9), (7.5, 3.9, 7.8)])
def test_a_start_without_memory_is_one_that_failed(asked, starts, monkeypatch):
    alone = fit(3.9)
    monkeypatch.setattr(MeanObjective, asked, refuse_far(getattr(MeanObjective, asked)))
    several = fit(*starts)
    assert several.status.ok
    assert several["omega"].value == pytest.approx(alone["omega"].value, rel=1e-9)
    if asked == "__call__" or starts[0] < FAR:  # the first start has the steps that were chosen before
        assert f"{sum(start > FAR for start in starts)} failed" in str(several)
        assert "Steps for it need about 7.5 PiB of memory" in str(several)


@pytest.mark.parametrize("starts", [(7.5,), (7.5, 7.8)])
def test_without_memory_for_any_start_the_refusal_comes_out(starts, monkeypatch):
    monkeypatch.setattr(MeanObjective, "__call__", refuse_far(MeanObjective.__call__))
    with pytest.raises(OutOfMemoryError, match=r"need about 7\.5 PiB of memory"):
        fit(*starts)


def test_a_criterion_that_never_settles_is_no_convergence(monkeypatch):
    assert fit(3.9).status.ok
    monkeypatch.setattr(MeanObjective, "refine", lambda self, _: replace(self))
    status = fit(3.9).status
    assert not status.ok
    assert "where the criterion is not settled" in status.sentence
    assert "starts=fit" in status.remedy


def test_a_criterion_that_settles_in_the_last_stage_converges(monkeypatch):
    left = [12]

    def refine(self, _):
        left[0] -= 1
        return replace(self) if left[0] >= 0 else None

    monkeypatch.setattr(MeanObjective, "refine", refine)
    found = fit(3.9)
    assert found.status.ok
    assert np.isfinite(found["omega"].std_error)
