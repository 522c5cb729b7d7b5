"""Only the lines of SUNDIALS disappear, and the standard output comes back as it was."""

import sys
import threading

import pytest

from daedal.simulation.ida.silence import silence_sundials


def test_only_the_messages_of_sundials_are_dropped(capsys):
    with silence_sundials():
        print("before")
        print("\n[IDASolve, Error: -22] At t = 1, mxstep steps taken before reaching tout.\n")
        print()
        print("after")
    assert capsys.readouterr().out == "before\n\nafter\n"


def test_the_standard_output_comes_back():
    stream = sys.stdout

    def work():
        with silence_sundials(), silence_sundials():
            assert sys.stdout is not stream
            assert sys.stdout.encoding == stream.encoding
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert sys.stdout is stream


def test_runs_in_threads_that_end_in_another_order():
    stream = sys.stdout
    first, second = threading.Event(), threading.Event()

    def run():
        with silence_sundials():
            first.set()
            second.wait()

    thread = threading.Thread(target=run)
    with silence_sundials():
        thread.start()
        first.wait()
    second.set()
    thread.join()
    assert sys.stdout is stream


def test_without_a_standard_output(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with silence_sundials():
        print("\n[IDASolve, Error: -22] nothing\n")
        print("nothing")
    assert sys.stdout is None
