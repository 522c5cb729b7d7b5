"""Work in several threads of one process: nothing crashes, and every bit is as in one thread."""

import os
import subprocess
import sys
import threading
import traceback
import warnings

import pytest
from threadpoolctl import threadpool_info

import daedal as dd
import stress
from daedal import linear
from daedal.kernels import compiler
from daedal.simulation.ida.silence import ignore_warnings
from daedal.simulation.lanes.scenario import Scenario
from daedal.symbolic import intern_symbol, symbol_table
from running import ROOT


def meet(count, work):
    """Let so many threads begin at once."""
    together = threading.Barrier(count)
    failures = []

    def begin(number):
        together.wait()
        try:
            work(number)
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_mixed_jobs_in_fresh_processes():
    """The full size is a command of its own, see CONTRIBUTING."""
    assert stress.find_differences(processes=1, jobs=4) == []


def test_a_symbol_asked_for_while_it_is_made_is_the_same(monkeypatch):
    asked, answers = threading.Barrier(2), {}
    make = symbol_table.ca.SX.sym

    class Slow:
        @staticmethod
        def sym(name):
            with pytest.raises(threading.BrokenBarrierError):
                asked.wait(0.2)  # nobody else is here while one is made
            return make(name)

    class Library:
        SX = Slow

    monkeypatch.setattr(symbol_table, "ca", Library)
    meet(2, lambda number: answers.update({number: intern_symbol("made_by_two_threads")}))
    assert answers[0] is answers[1]


def test_code_asked_for_while_it_is_made_is_made_once(monkeypatch):
    texts, codes = [], {}

    def make(text):
        texts.append(text)
        threading.Event().wait(0.05)  # lets the others come
        return object()

    monkeypatch.setattr(compiler, "_make_code", make)
    compiler.forget()
    meet(8, lambda number: codes.update({number: compiler.load("text")}))
    compiler.forget()
    assert texts == ["text"]
    assert len(set(codes.values())) == 1


def test_code_lives_as_long_as_a_function_taken_from_it():
    text = "define void @nothing(ptr %a) {\n  store double 2.0, ptr %a\n  ret void\n}\n"
    import numpy as np

    function = compiler.load(text).function("nothing", 1, 0)
    compiler.forget()
    number = np.zeros(1)
    function(number.ctypes.data)
    assert number[0] == 2.0


def test_matrix_products_stay_on_one_thread_until_the_last_is_done():
    def count_threads():
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    before, seen = count_threads(), []
    inside, first_left = threading.Barrier(2), threading.Event()

    @linear.one_thread
    def work(number):
        inside.wait()
        if number:
            first_left.wait()
            seen.append(count_threads())

    def run(number):
        work(number)
        if not number:
            first_left.set()

    meet(2, run)
    assert seen == [{1}]
    assert count_threads() == before


def test_nobody_waits_while_others_find_initial_values(monkeypatch):
    """Each thread goes on only when the other is there too, inside what begins a simulation."""
    inside, initialize, trajectories = threading.Barrier(2), Scenario.initialize, {}

    def wait_inside(*arguments):
        inside.wait(60.0)
        return initialize(*arguments)

    monkeypatch.setattr(Scenario, "initialize", wait_inside)
    oscillators = [stress.declare_oscillator(number) for number in range(2)]
    solver = dd.Lanes("rk4", step=0.1)

    def work(number):
        trajectories[number] = dd.simulate(oscillators[number], [0.0, 1.0], inputs={"u": 0.0}, solver=solver)

    meet(2, work)
    assert len(trajectories) == 2


def test_filters_of_warnings_are_as_before():
    filters = list(warnings.filters)

    def work(_):
        for _ in range(200):
            with ignore_warnings():
                warnings.warn("nobody sees this", stacklevel=1)

    meet(8, work)
    assert warnings.filters == filters


@pytest.mark.parametrize("verb", [dd.fit, dd.estimate_states, dd.select_order, dd.compare, dd.evaluate])
def test_a_misspelled_argument_fails_at_the_call(verb):
    with pytest.raises(TypeError, match=f"{verb.__name__}.. got an unexpected keyword argument 'daat'"):
        verb(daat=1)
    try:
        verb(daat=1)
    except TypeError:
        frames = traceback.extract_tb(sys.exc_info()[2])
    assert [frame.filename for frame in frames] == [__file__]


FORKED = """
import os, warnings
import numpy as np
import daedal as dd
from studying import make_data, make_fit, make_model

def work():
    many = dd.ensemble(make_model(), [0.0, 1.0], realizations=64, rng=1, solver=dd.Lanes("rk4", step=0.1))
    x, q = dd.symbols("x q")
    rate = {"rate": dd.der(x) == -q * x}
    other = dd.Model(name="other", equations=rate, unknowns=[x], parameters={q: 2.0}, initial={x: 1.0})
    late = dd.simulate(other, [0.0, 1.0], solver=dd.Lanes("rk4", step=0.125))  # compiled by each process
    found = dd.fit(make_model(), make_data(), free=["k", "a"], criterion=dd.OutputError(), rng=1)
    return many.mean["y"].tobytes() + late["x"].tobytes() + np.array(list(found.params.values())).tobytes()

make_fit()
dd.study(make_fit(), dd.Starts(2), rng=1)
reading, writing = os.pipe()
warnings.simplefilter("ignore", DeprecationWarning)  # of pools of threads that have ended but are still known
child = os.fork()
if not child:
    os.write(writing, work())
    os._exit(0)
os.close(writing)
with os.fdopen(reading, "rb") as stream:
    told = stream.read()
assert os.waitpid(child, 0)[1] == 0
assert told == work() and told
print("same")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked")
def test_a_forked_process_has_the_same_bits():
    """After use, as pools of processes begin on Linux: code that is compiled, pools of threads, symbols."""
    tests = os.pathsep.join([str(ROOT / "tests"), *filter(None, sys.path)])
    command, environment = [sys.executable, "-c", FORKED], {**os.environ, "PYTHONPATH": tests}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.stdout == "same\n", done.stderr
