"""Ctrl-C, a real one, in every verb: what is finished comes back marked, or a sentence says that nothing was."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, is_dataclass
from math import exp

import casadi as ca
import pytest

import daedal as dd
from batteries.fits import DATA, decay
from daedal.errors import interruptible
from daedal.estimation.criteria.mean_objective import MeanObjective
from daedal.kernels import arguments
from daedal.simulation import REACHED, Status
from interrupting import MOMENTS, make_data, make_late, make_linear, receive_signals
from running import ROOT

X = ca.SX.sym("x")
KEEPING = {
    "ensemble",
    "ensemble, small",
    "simulate",
    "simulate, single",
    "simulate, IDA",
    "fit",
    "select_order",
    "profile",
}


@pytest.mark.parametrize("job", MOMENTS)
def test_a_signal_at_any_moment_is_answered(job):
    command = [sys.executable, str(ROOT / "tests" / "interrupting.py"), job]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert answers
    for answer in answers:
        assert answer["alive"] == pytest.approx(exp(-2.0), rel=1e-6)
        if "raised" in answer:
            assert answer["raised"].endswith("was interrupted before anything was finished; nothing is kept.")
            continue
        assert answer["interrupted"], answer
        assert "nterrupted" in answer["printed"]
        assert answer["same"], answer
    kept = [answer for answer in answers if "raised" not in answer]
    assert bool(kept) == (job in KEEPING)
    if job == "ensemble":
        assert all(0 < answer["realizations"] <= 640 for answer in kept)
        early = [answer for answer in kept if answer["number"] <= answer["of"] // 2]
        assert all(answer["of"] - answer["number"] > 10 for answer in early), "more chunks than ten blocks have at once"
        assert all(answer["realizations"] < 640 for answer in early), "so that not all of them were under way"
        assert all(answer["compared"] == 400 * answer["realizations"] for answer in kept)
    if job == "ensemble, small":
        assert all(answer["realizations"] == 10 and 0 < answer["compared"] < 4000 for answer in kept)


def test_a_second_interrupt_ends_a_fit_at_once(monkeypatch):
    presses = []

    def press(*_):
        presses.append(None)
        raise KeyboardInterrupt

    original = MeanObjective.__call__
    monkeypatch.setattr(MeanObjective, "__call__", lambda self, point: press() if presses else original(self, point))
    monkeypatch.setattr("daedal.estimation.fitting.assess_uncertainty", press)
    with pytest.raises(KeyboardInterrupt, match="fit was interrupted"):
        dd.fit(decay(3.0), DATA, free=["k"])
    assert len(presses) == 2


@pytest.fixture
def receiving():
    """A program in the foreground; those in the background ignore Ctrl-C."""
    before = signal.getsignal(signal.SIGINT)
    receive_signals()
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@interruptible
def call(function, *arguments):
    return function(*arguments)


def lose_interrupt():
    """As CasADi does with one that meets it while it looks at its arguments or makes an array."""
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        return


@pytest.mark.parametrize(
    ("work", "error"),
    [(lambda answer: answer.shape, AttributeError), (ca.Function("f", [X], [X]), NotImplementedError)],
    ids=["None for an array", "wrong type of argument"],
)
def test_what_fails_after_an_interrupt_was_lost_is_one(receiving, work, error):
    with pytest.raises(KeyboardInterrupt, match="call was interrupted"):
        call(lambda: work(lose_interrupt()))
    with pytest.raises(error):
        call(lambda: work(None))


@dataclass(frozen=True)
class Ended:
    status: Status


@dataclass(frozen=True)
class Told:
    number: float = 1.0


def finish(result):
    """Work that goes on, although an interrupt was lost, to its end."""
    lose_interrupt()
    return result


def test_a_verb_that_ends_after_an_interrupt_was_lost_is_marked(receiving):
    """Whatever the moment: what can say that it was interrupted does, what cannot is not returned."""
    status = call(finish, Ended(REACHED)).status
    assert (status.ok, status.interrupted) == (True, True)
    assert status.sentence == f"{REACHED.sentence} It was interrupted so late that all was finished."
    part = Status(False, "The first of two was finished.", interrupted=True)
    assert call(finish, Ended(part)).status is part
    with pytest.raises(KeyboardInterrupt, match="call was interrupted before anything was finished; nothing is kept"):
        call(finish, Told())
    assert call(lambda: Ended(REACHED)).status is REACHED, "the next call knows nothing of it"


def test_a_verb_inside_another_tells_it_at_once(receiving):
    later = []

    def work():
        call(finish, Told())
        later.append("went on")

    with pytest.raises(KeyboardInterrupt, match="call was interrupted"):
        call(work)
    assert not later


def test_what_any_verb_returns_can_be_asked():
    nouns = [dd.Model, dd.System, dd.Structure, dd.TransferFunction, dd.Descriptor, dd.WellPosedness, dd.Cost, dd.Fit]
    nouns += [dd.Comparison, dd.Residuals, dd.Identifiability, dd.StateEstimate, dd.Trajectory, dd.Ensemble, dd.Profile]
    assert all(map(is_dataclass, [*nouns, dd.OrderSearch, dd.OrderSearches]))


def test_loops_in_pieces_give_the_same_bits(monkeypatch):
    """Compiled loops come back to Python now and then; where they do changes nothing."""

    def run():
        late = dd.simulate(make_late(), [0.0, 1.0, 7.0, 20.0], solver=dd.Lanes(step=0.02))["x"]
        states = dd.estimate_states(make_linear(), make_data())
        return [late.tobytes(), states.mean["v"].tobytes(), states.std["v"].tobytes()]

    whole = run()
    monkeypatch.setattr(arguments, "PIECE", 1e3)
    assert run() == whole


@pytest.mark.slow
def test_sigterm_and_ctrl_c_of_the_command_line(tmp_path):
    """What is kept is listed, the exit code is that of the signal, and the same command goes on to the same files."""
    whole = _reproduce(tmp_path / "whole", "SIGTERM", 99)
    assert whole.returncode == 0, whole.stderr
    stopped = _reproduce(tmp_path / "other", "SIGTERM", 5)  # in the second data set
    assert stopped.returncode == 143, stopped.stderr
    assert "1 finished piece kept: the same command goes on from there." in stopped.stderr
    again = _reproduce(tmp_path / "other", "SIGINT", 5)  # in the third, two after the second
    assert again.returncode == 130, again.stderr
    assert "2 finished pieces kept" in again.stderr
    resumed = _reproduce(tmp_path / "other", "SIGINT", 99)
    assert resumed.returncode == 0, resumed.stderr
    assert int(resumed.stdout.split()[-1]) == int(whole.stdout.split()[-1]) - 6
    assert {path.name for path in (tmp_path / "whole").glob("*.csv")} >= {"figure1_program_estimates.csv"}
    for path in (tmp_path / "whole").glob("*.csv"):
        assert (tmp_path / "other" / path.name).read_bytes() == path.read_bytes()
    assert not (tmp_path / "other" / ".unfinished").exists()


REPRODUCE = """
import os, signal, sys
from types import SimpleNamespace
from daedal.cli import main
from daedal.papers import pendulum
from daedal.papers.pendulum import fits
from daedal.papers.pendulum.estimates import Size
from daedal.papers.pendulum.experiment import PRINTED, PROGRAM
from daedal.papers.result_files import Result
from daedal.simulation import REACHED

signal.signal(signal.SIGINT, signal.default_int_handler)
pendulum.QUICK = {one: Size(samples=(700,), data_sets=3, realizations=8) for one in (PROGRAM, PRINTED)}
pendulum.SHORT = Size(samples=(60,), data_sets=2, realizations=8)
pendulum._draw_figure_2 = lambda folder: Result("figure 2")
original, count = fits.fit, 0

def fit(model, data, **options):  # one is real; of the others it matters that the same data give the same number
    global count
    count += 1
    if count == int(sys.argv[3]):
        os.kill(os.getpid(), getattr(signal, sys.argv[2]))
        return original(model, data, **options)
    return SimpleNamespace(params={options["free"][0]: float(data["angle"][-9:].sum())}, status=REACHED)

fits.fit = fit
code = main(["reproduce", "pendulum", "--out", sys.argv[1]])
print(count)
sys.exit(code)
"""


def _reproduce(folder, name, number):
    command = [sys.executable, "-c", REPRODUCE, str(folder), name, str(number)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ)


def test_no_signal_is_left_installed():
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    from daedal.cli import main

    assert main([]) == 0
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
