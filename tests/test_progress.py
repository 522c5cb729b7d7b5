"""The line on the terminal: when it appears, what it says, that it goes away."""

import io

import numpy as np
import pytest

import daedal as dd
from daedal import der, progress
from daedal.kernels import compiler
from daedal.progress import CLEAR, Progress, endure


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves."""
    now = {"time": 100.0, "share": 1.0}
    monkeypatch.setattr(progress, "monotonic", lambda: now["time"])
    monkeypatch.setattr(progress, "process_time", lambda: now["share"] * now["time"])
    return now


def test_short_work_says_nothing(clock):
    stream = Terminal()
    with Progress("counting", 10, stream) as show:
        for k in range(10):
            clock["time"] += 0.15
            show(k)
    assert stream.getvalue() == ""


def test_long_work_rewrites_one_line_and_clears_it(clock):
    stream = Terminal()
    with Progress("simulating 'pendulum': time", 30.0, stream) as show:
        for k in range(31):
            clock["time"] += 0.25
            show(k)
    lines = stream.getvalue().split(CLEAR)
    assert lines[0] == ""
    assert lines[1] == "simulating 'pendulum': time 7 of 30 · 2 seconds"
    assert lines[-2] == "simulating 'pendulum': time 30 of 30 · 8 seconds"
    assert lines[-1] == ""
    assert "\n" not in stream.getvalue()


class Notebook(io.StringIO):
    def isatty(self):
        return False


Notebook.__module__ = "ipykernel.iostream"


def test_a_notebook_shows_the_line_too(clock):
    stream = Notebook()
    with Progress("counting", 10, stream) as show:
        clock["time"] += 3.0
        show.say("9 of 10")
        clock["time"] += 1.0
        show.say("10")
    first, second = "counting 9 of 10 · 3 seconds", "counting 10 · 4 seconds"
    assert stream.getvalue() == f"\r\r{first}\r{' ' * len(first)}\r{second}\r{' ' * len(second)}\r"
    assert "\x1b" not in stream.getvalue()


def test_a_log_gets_a_line_now_and_then_where_it_is_wanted(clock, caplog):
    with Progress("study of 'tank':", 100, io.StringIO(), every=60.0) as show:
        for k in range(300):
            clock["time"] += 1.0
            show.say(f"{k}/300")
    assert [record.getMessage() for record in caplog.records] == [
        "study of 'tank': 4/300 · 5 seconds",
        "study of 'tank': 64/300 · 65 seconds",
        "study of 'tank': 124/300 · 2 minutes",
        "study of 'tank': 184/300 · 3 minutes",
        "study of 'tank': 244/300 · 4 minutes",
    ]
    caplog.clear()
    with Progress("simulating", 100, io.StringIO()) as show:
        clock["time"] += 1000.0
        show.say("50")
    assert not caplog.records


def test_not_rewritten_at_every_call(clock):
    stream = Terminal()
    with Progress("counting", 1000, stream) as show:
        clock["time"] += 3
        for k in range(1000):
            clock["time"] += 0.001
            show(k)
    assert stream.getvalue().count("counting") < 10


def test_cut_to_the_width_of_the_terminal(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    stream = Terminal()
    with Progress("a long description of the work", 1, stream) as show:
        clock["time"] += 3
        show(0)
    assert max(map(len, stream.getvalue().split(CLEAR))) == 19


def test_nothing_where_no_one_is_watching(clock):
    closed = Terminal()
    closed.close()
    quiet = io.StringIO()
    for stream in (quiet, closed):
        with Progress("counting", 1, stream) as show:
            clock["time"] += 100
            show(0.5)
    assert quiet.getvalue() == ""


def test_no_standard_error_at_all(clock, monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    with Progress("counting", 1) as show:
        clock["time"] += 100
        assert show(0.5) is None, "it must stay silent rather than fail"


def test_cleared_when_the_work_fails(clock):
    stream = Terminal()

    def work():
        with Progress("counting", 1, stream) as show:
            clock["time"] += 3
            show(0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert stream.getvalue().endswith(CLEAR)


def work_for(clock, seconds, pieces=1000, **options):
    """Work of so many seconds in equal pieces."""
    with Progress("simulating 'pendulum': block", pieces, io.StringIO(), **options) as show:
        for k in range(pieces):
            show(k)
            clock["time"] += seconds / pieces


def test_what_takes_long_says_so_once_and_early(clock, caplog):
    work_for(clock, 720.0, remedy="lower realizations")
    [told] = caplog.records
    assert (told.name, told.levelname) == ("daedal", "WARNING")
    sentence = "simulating 'pendulum' will take about 12 minutes; to make it shorter, lower realizations."
    assert told.getMessage() == sentence


def test_a_busy_machine_is_told_apart_from_long_work(clock, caplog):
    clock["share"] = 0.2
    work_for(clock, 720.0)
    told = [record.getMessage() for record in caplog.records]
    assert told == [
        "simulating 'pendulum' will take about 2 minutes of a processor, 12 minutes while it is as busy as now."
    ]


def test_a_machine_that_is_busy_for_a_while_does_not_change_the_estimate(clock, caplog):
    """Of 20 seconds of work the first five take half a minute."""
    with Progress("simulating", 1.0, io.StringIO()) as show:
        begun, worked = clock["time"], 0.0
        for k in range(200):
            worked += 0.1
            clock["time"] += 0.6 if worked <= 5.0 else 0.1
            clock["share"] = (begun + worked) / clock["time"]
            show(k / 200)
    said = " ".join(record.getMessage() for record in caplog.records)
    assert "will take about 20 seconds of a processor" in said


def test_several_threads_count_once(clock, caplog):
    clock["share"] = 2.0
    work_for(clock, 720.0)
    assert [record.getMessage() for record in caplog.records] == ["simulating 'pendulum' will take about 12 minutes."]


@pytest.mark.parametrize("seconds", [0.1, 5.0, 59.0])
def test_what_takes_less_than_a_minute_does_not(clock, caplog, seconds):
    work_for(clock, seconds)
    assert not caplog.records


def test_a_slow_beginning_is_no_reason(clock, caplog):
    with Progress("simulating", 1.0, io.StringIO()) as show:
        for reached, elapsed in ((1e-9, 10.0), (1e-6, 20.0), (0.5, 21.0), (0.9, 22.0)):
            clock["time"] = 100.0 + elapsed
            show(reached)
    assert not caplog.records


def test_work_that_goes_faster_and_faster_is_not_said_to_take_long(clock, caplog):
    """As a stiff model whose steps grow: thirteen minutes after three seconds, and done after twelve."""
    with Progress("simulating", 1.0, io.StringIO()) as show:
        for k in range(240):
            clock["time"] += 0.05
            show(np.exp(0.05 * k - 12.0))
    assert not caplog.records


def test_a_slow_first_piece_is_not_all_there_is(clock, caplog):
    """As code that is compiled once: eight of the ten seconds."""
    with Progress("fitting 'pendulum':", 12, io.StringIO()) as show:
        for k in range(1, 12):
            clock["time"] += 8.0 if k == 1 else 0.2
            show(k)
    assert not caplog.records


def test_work_that_no_estimate_fits_says_after_a_minute_how_far_it_is(clock, caplog):
    with Progress("simulating", 1.0, io.StringIO(), remedy="take fewer") as show:
        for elapsed, reached in ((10, 0.3), (20, 0.301), (30, 0.6), (50, 0.601), (80, 0.9)):
            clock["time"] = 100.0 + elapsed
            show(reached)
    sentence = "simulating takes long: 90 % are done after 80 seconds; to make it shorter, take fewer."
    assert [record.getMessage() for record in caplog.records] == [sentence]


def test_work_inside_other_work_tells_nothing_again(clock, caplog):
    with Progress("fitting 'pendulum':", 1.0, io.StringIO()) as show:
        for k in range(5):
            work_for(clock, 100.0)
            show(k / 100)
    assert [record.getMessage() for record in caplog.records] == ["simulating 'pendulum' will take about 100 seconds."]
    work_for(clock, 100.0)
    assert len(caplog.records) == 2, "another call tells again"


def test_time_that_does_not_begin_at_zero(clock, caplog):
    with Progress("simulating", 1100.0, io.StringIO(), begin=1000.0) as show:
        for reached in (1005.0, 1010.0):
            clock["time"] += 6.0
            show(reached)
    assert [record.getMessage() for record in caplog.records] == ["simulating will take about 2 minutes."]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(61.0, "61 seconds"), (119.0, "2 minutes"), (7200.0, "2 hours"), (2e5, "2 days"), (3.2e9, "1e+02 years")],
)
def test_times_as_people_say_them(seconds, text):
    assert progress.format_duration(seconds) == text


def test_a_simulation_shows_model_and_time(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    x = dd.symbol("x")
    model = dd.Model(name="decay", equations={"rate": der(x) == -x}, unknowns=[x], initial={x: 1.0})
    dd.simulate(model, np.linspace(0, 5, 100), solver=dd.IDA())
    assert "simulating 'decay': time 0.05" in stream.getvalue()
    assert " of 5" in stream.getvalue()
    assert stream.getvalue().endswith(CLEAR)


def test_code_that_compiles_long_says_so_before(optimised_code, monkeypatch, caplog, tmp_path):
    """A large model: text of many megabytes, in blocks of which long ones take longer than in proportion."""
    monkeypatch.setenv("DAEDAL_CACHE", str(tmp_path))
    built = []

    def build(text, target):
        built.append(len(caplog.records))
        raise InterruptedError

    monkeypatch.setattr(compiler, "build", build)
    for size, block, sentences in ((10**4, 10**4, 0), (10**6, 10**6, 0), (2 * 10**7, 10**5, 0), (2 * 10**7, 10**7, 1)):
        with pytest.raises(InterruptedError):
            compiler.load(";" + "\nb1:\n".join(["x" * block] * (size // block)))
        assert built[-1] == sentences
    assert "Compiling the steps of a simulation will take about 3 minutes; it" in caplog.text


@pytest.mark.parametrize("word", ["off", "OFF", "0"])
def test_the_environment_switches_it_off(clock, monkeypatch, caplog, word):
    monkeypatch.setenv("DAEDAL_PROGRESS", word)
    for stream, every in ((Terminal(), None), (Notebook(), None), (io.StringIO(), 1.0)):
        with Progress("counting", 10, stream, every=every) as show:
            clock["time"] += 3.0
            show.stage("preparing")
            show.say("9 of 10")
        assert stream.getvalue() == ""
    assert not caplog.records


def test_a_stage_is_shown_at_once_where_somebody_watches(clock):
    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        with Progress("fitting:", 10, stream) as show:
            show.stage("preparing")
        assert ("fitting: preparing" in stream.getvalue()) == shown


def test_a_first_fit_is_not_silent(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    x, k = dd.symbols("x k")
    decay = dd.Model(
        name="decay", equations={"rate": der(x) == -k * x}, unknowns=[x], outputs={"x": x}, parameters={k: 2.0},
        initial={x: 1.0},
    )  # fmt: skip
    data = dd.Dataset([0.0, 0.5, 1.0, 1.5, 2.0], outputs={"x": [1.0, 0.61, 0.36, 0.23, 0.13]})
    found = dd.fit(decay, data, free=["k"], criterion=dd.OutputError())
    dd.profile(found, ["k"])
    dd.study(found, dd.ParametricBootstrap(), runs=2, rng=1)
    said = stream.getvalue()
    for words in ("fitting: preparing", "fitting 'decay': compiling", "profile of k", "2 runs"):
        assert words in said
    assert said.endswith(CLEAR)


def test_work_that_cannot_tell_how_long_it_takes_says_so_once_after_a_minute(clock, caplog):
    """From deep inside of it, in the name of what the user called."""
    endure()
    with Progress("comparing 'crank':", remedy="compare fewer samples"), Progress("fitting 'crank':"):
        for _ in range(20):
            clock["time"] += 5.0
            endure()
    clock["time"] += 100.0
    endure()
    assert caplog.messages == [
        "comparing 'crank' takes long: 60 seconds so far, and how much is left cannot be told; to make it shorter, "
        "compare fewer samples."
    ]
