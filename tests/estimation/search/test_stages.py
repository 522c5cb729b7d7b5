"""Stages of a search: a start that cannot be had is one that failed, and a criterion that never settles is told."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import daedal as dd
from batteries.fits import SINE, sine
from daedal.errors import OutOfMemoryError
from daedal.estimation import Capabilities, Evaluation, Problem
from daedal.estimation.criteria.mean_objective import MeanObjective
from daedal.estimation.problem import make_coordinates
from daedal.estimation.search import search
from daedal.systems import build

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


@dataclass(frozen=True, eq=False)
class Wells:
    """A parabola at 0.7 first; then wells at −0.6 and 1.5, beyond the bound of 1, whose steps are chosen and judged."""

    problem: Problem
    stage: int = 0
    judged: bool = False

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(choose_steps=lambda _: replace(self, judged=False))

    def __call__(self, point):
        (at,) = point
        if not self.stage:
            return Evaluation(point, (at - 0.7) ** 2, 2.0 * (point - 0.7), np.array([[2.0]]))
        left, right = at + 0.6, at - 1.5
        slope = 2.0 * left * right * (left + right)
        return Evaluation(point, (left * right) ** 2, np.array([slope]), np.array([[8.0]]))

    def refine(self, _):
        if not self.stage:
            return replace(self, stage=1)
        return None if self.judged else replace(self, judged=True)


def test_what_more_starts_find_at_the_end_goes_through_the_stages_too():
    x, b = dd.symbols("x b")
    model = dd.Model(
        name="wells", equations={"level": x == b}, unknowns=[x], outputs={"x": x},
        parameters={b: dd.Parameter(0.0, lower=-1.0, upper=1.0)},
    )  # fmt: skip
    data = (dd.Dataset(np.arange(3.0), outputs={"x": np.zeros(3)}),)
    problem = Problem(build(model), data, make_coordinates(model, data, ["b"], None, None), 0, None)
    outcome = search(Wells(problem), [np.array([0.0])])
    assert outcome.more_starts > 0
    assert outcome.evaluation.point[0] == pytest.approx(-0.6, abs=1e-3)
    assert outcome.objective.judged
