"""Memory that is gone for a moment is no property of the model: no cost is infinite and no estimate differs for it."""

import re
from functools import cache
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

import daedal as dd
from daedal import memory
from daedal.errors import DaedalError, OutOfMemoryError, refuse_shortage
from daedal.estimation.criteria import Evaluation, fail_at, mean_objective

ROOT = Path(dd.__file__).parent
CRITERIA = [dd.Likelihood(), dd.OutputError(), dd.SimulationPEM(realizations=8), dd.OutputError(segments=3)]


@cache
def make_problem():
    x, k, w = dd.symbols("x k w")
    t = np.linspace(0.0, 3.0, 25)
    model = dd.Model(
        name="lag",
        equations={"rate": dd.der(x) == -k * x + w},
        unknowns=[x],
        outputs={"y": x},
        parameters={k: dd.Parameter(1.0, lower=0.1, upper=5.0)},
        initial={x: 1.0},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.1, time_constant=1.0)},
        measurement_noise={"y": 0.02},
    )
    return model, dd.Dataset(t, outputs={"y": np.exp(-1.3 * t) + 0.02 * np.random.default_rng(0).normal(size=t.size)})


def fit(criterion):
    return dd.fit(*make_problem(), free=["k"], criterion=criterion, rng=1)


class Shortage:
    """Nothing left when it is asked for the nth time."""

    def __init__(self, number):
        self.number, self.asked = number, 0

    def __call__(self, *_):
        self.asked += 1
        return 0.0 if self.asked == self.number else None


def tell_end(criterion):
    """The estimate, or how the sentence of what came instead speaks of memory."""
    try:
        fitted = fit(criterion)
    except OutOfMemoryError as error:
        refused = re.search(r"needs about .* of memory, but only 0 bytes are left\.$", error.sentence)
        return "refused" if refused else error.sentence
    given_up = fitted.status.interrupted and "no memory left" in fitted.status.sentence
    return "given up" if given_up else fitted["k"].value


@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
def test_a_moment_without_memory(criterion, monkeypatch):
    """Whenever it comes: a sentence about memory, or what was found so far and why no more."""
    whole = fit(criterion)["k"].value
    monkeypatch.setattr(memory, "SMALL", 0.0)
    watch = Shortage(0)
    monkeypatch.setattr(memory, "find_available", watch)
    assert fit(criterion)["k"].value == whole
    assert watch.asked > 0
    for number in sorted({1, 2, 3, watch.asked // 2, watch.asked - 1, watch.asked} - {0}):
        monkeypatch.setattr(memory, "find_available", Shortage(number))
        assert tell_end(criterion) in (whole, "refused", "given up")


@pytest.mark.parametrize("number", [1, 2, 5])
def test_an_allocation_that_fails(number, monkeypatch):
    """As numpy tells it, without a word."""
    stack, watch = mean_objective._stack, Shortage(number)

    def run_out(*given):
        if watch() == 0.0:
            raise MemoryError
        return stack(*given)

    monkeypatch.setattr(mean_objective, "_stack", run_out)
    if number == 1:
        with pytest.raises(OutOfMemoryError, match=r"^fit ran out of memory: MemoryError\. End other programs"):
            fit(dd.OutputError())
        return
    status = fit(dd.OutputError()).status
    assert status.interrupted
    assert status.sentence.endswith("The search was given up, as there was no memory left.")


def test_how_casadi_and_threads_tell_it(monkeypatch):
    with pytest.raises(OutOfMemoryError, match=r"^Work ran out of memory: std::bad_alloc\."):
        refuse_shortage(RuntimeError("std::bad_alloc"), "Work")
    refusal = Mock(side_effect=RuntimeError("can't start new thread"))
    monkeypatch.setattr("threading._start_new_thread", refusal)
    with pytest.raises(OutOfMemoryError, match=r"^ensemble ran out of memory: can't start new thread\."):
        dd.ensemble(make_problem()[0], [0.0, 1.0], realizations=100, rng=0)
    with pytest.raises(OutOfMemoryError, match=r"failed to map segment"):
        refuse_shortage(ImportError("libhdf5.so: failed to map segment from shared object"), "Work")
    assert refuse_shortage(ImportError("No module named 'h5py'"), "Work") is None
    assert refuse_shortage(RuntimeError("Factor is exactly singular"), "Work") is None
    assert refuse_shortage(OutOfMemoryError("It is ours.", "Wait."), "Work") is None


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_no_evaluation_fails_without_a_reason(value):
    nothing = np.zeros(1)
    assert not Evaluation(nothing, value, nothing, np.zeros((1, 1))).ok
    assert Evaluation(nothing, value, nothing, np.zeros((1, 1))).failure == "The cost is not finite there."
    assert fail_at(nothing, "").failure == "The cost is not finite there."
    assert fail_at(nothing, "It is too far.").failure == "It is too far."


def test_no_error_is_without_a_sentence():
    assert DaedalError("", "").sentence == "It failed without saying why."


TELLING = {  # where the sentence of whatever failed goes to the user, and what was finished is kept
    "cli/running.py", "data/arrays.py", "estimation/likelihood/auto.py", "estimation/search/stages.py",
    "estimation/search/trials.py", "modelica/variables.py", "models/text.py", "projects/data_blocks.py",
    "projects/model_files.py", "projects/source.py", "report/exploring.py", "report/page/evidence.py",
    "report/sections/making.py", "report/sections/model.py", "studies/charter.py", "studies/cluster.py",
    "studies/worker.py", "validation/comparison.py",
}  # fmt: skip


def test_nobody_goes_another_way_for_want_of_memory():
    """Only a `RefusalError` is a reason to take another method, start or step, or to leave something out."""
    caught = re.compile(r"^\s*(except\b.*|with suppress\(.*)\b(DaedalError|OutOfMemoryError)\b", re.MULTILINE)
    places = {str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py") if caught.search(path.read_text())}
    assert places - TELLING == set()
