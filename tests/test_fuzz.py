"""Whatever is given: an error of daedal's own, Python's TypeError at the call itself, or a result.

Every public function is called with one or two of its arguments replaced by odd ones, and every reader with a text that
was damaged. `FUZZ=20000 pytest tests/test_fuzz.py` makes that many random calls of each kind, not few fixed ones.
"""

import inspect
import os
import signal
import traceback
import warnings
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daedal as dd
from fuzzing.calls import CALLS, CSV, MODELICA, PROJECT, RESULTS, TEXT, make_folder
from fuzzing.odd_values import POOL, Cloud, OwnError


@pytest.fixture(autouse=True, scope="module")
def _elsewhere(tmp_path_factory):
    """What is saved under an odd name goes into a folder of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("fuzz"))
        yield


EXAMPLES = int(os.environ.get("FUZZ", "0"))
LONGEST = 120  # seconds of processor of one call; times up to 1e200 take longest, half a minute
WAITING = 10  # times as many seconds of a clock, for what waits: other work on the machine may take the rest


class Hang(BaseException):
    """A call that did not come back."""


@contextmanager
def limited():
    """No warning, and an end."""

    def stop(*_):
        raise Hang(f"no answer after {LONGEST} s")

    timers = {}
    if hasattr(signal, "setitimer"):
        timers = {
            signal.ITIMER_PROF: (signal.SIGPROF, LONGEST),
            signal.ITIMER_REAL: (signal.SIGALRM, WAITING * LONGEST),
        }
    before = {number: signal.signal(number, stop) for number, _ in timers.values()}
    for timer, (_, seconds) in timers.items():
        signal.setitimer(timer, seconds)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        for timer in timers:
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def check(function, arguments) -> None:
    """Call it, and read all of what it returns; errors that never came near daedal, as Python's at the call, pass.

    So does what the user's own object raises where daedal needs its value: it is the user's to see, as it is. Where
    daedal only writes an object, in a sentence or in what it prints, nothing of that comes out.
    """
    try:
        with limited():
            read(function(**arguments))
    except dd.DaedalError as error:
        str(error).encode()
    except OwnError:
        pass
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        if any("daedal" in frame.filename and "tests" not in frame.filename for frame in frames):
            raise


def read(result) -> None:
    """Write it, and ask for whatever its class computes."""
    str(result), repr(result)
    if type(result).__module__.startswith("daedal"):
        for name, value in vars(type(result)).items():
            if isinstance(value, property) and not name.startswith("_"):
                str(getattr(result, name))


def test_every_public_name_is_fuzzed():
    called = {name.split(".")[0].split()[0].rstrip("()[]") for name in CALLS}
    assert set(dd.__all__) - called - RESULTS == set()


def test_every_public_method_is_fuzzed():
    """Methods that take arguments, of what users make and read; those of the extension points have their batteries."""
    inner = {
        "objective",
        "solve",
        "simulate",
        "simulate_cheaply",
        "entries",
        "matrices",
        "estimate",
        "narrow",
        "renamed",
        "check",
        "error",
    }
    inner |= {"deviate", "spread", "log_density", "check_bounds", "matrix", "outline", "make_run"}
    missing = [
        f"{name}.{method}"
        for name in dd.__all__
        if inspect.isclass(kind := getattr(dd, name)) and name not in ("DaedalError", "Expression")
        for method, value in vars(kind).items()
        if not method.startswith("_") and method not in inner and inspect.isfunction(getattr(value, "__func__", value))
        if len(inspect.signature(getattr(value, "__func__", value)).parameters) > (not isinstance(value, staticmethod))
        if f"{name}.{method}" not in CALLS
    ]
    assert missing == []


def test_every_argument_is_fuzzed():
    missing = {
        name: left
        for name, call in CALLS.items()
        if (left := set(inspect.signature(call.function()).parameters) - {"args"} - set(call.arguments()))
    }
    assert missing == {}


@pytest.mark.parametrize("name", CALLS)
def test_the_call_without_change_is_valid(name):
    call = CALLS[name]
    assert call.function()(**call.arguments()) is not None or name == "Fit.save"


SETTINGS = settings(max_examples=EXAMPLES or 300, derandomize=not EXAMPLES, database=None)


@SETTINGS
@given(data=st.data())
def test_any_arguments(data):
    name = data.draw(st.sampled_from(sorted(CALLS)), "function")
    call = CALLS[name]
    arguments = call.arguments()
    if arguments:
        for argument in data.draw(st.lists(st.sampled_from(sorted(arguments)), min_size=1, max_size=2), "arguments"):
            arguments[argument] = POOL[data.draw(st.sampled_from(sorted(POOL)), argument)]()
    check(call.function(), arguments)


# What once gave a raw error, a warning of numpy, a silently lost part of a number, or took forever.
ONCE_RAW = [
    ("Signal", "times", "__array__"),
    ("Signal", "values", "longdouble"),
    ("Signal()", "derivative", "10**5000"),
    ("Dataset", "t0", "np.complex"),
    ("Dataset", "inputs", "spoilt keys"),
    ("Dataset", "name", "__str__"),
    ("Dataset[]", "name", "[]"),
    ("Dataset.resample", "step", "__float__"),
    ("Dataset.from_pandas", "outputs", "many"),
    ("Dataset.from_pandas", "measurement_noise", "to derivative"),
    ("Dataset.from_pandas", "time", "10**5000"),
    ("Dataset.from_xarray", "measurement_noise", "odd keys"),
    ("Dataset.from_xarray", "time", "__repr__"),
    ("read_csv", "measurement_noise", "tuple keys"),
    ("evaluate by Likelihood particle", "solver", "one lane"),
    ("read_csv", "inputs", "3-d"),
    ("read_csv", "time", "pandas.NA"),
    ("read_csv", "outputs", "many"),
    ("Parameter", "lower", "NaT"),
    ("Normal", "std", "NaT"),
    ("Equation", "rhs", "object"),
    ("Expression.add", "other", "deep"),
    ("round", "digits", "3-d"),
    ("Model", "equations", "deep"),
    ("Model", "unknowns", "spoilt keys"),
    ("Model.from_descriptor", "parameters", "0.1"),
    ("Model.from_descriptor", "initial", "frame"),
    ("Model.from_descriptor", "f", "__array__"),
    ("System.function", "name", "[]"),
    ("FilteredNoise.low_pass", "time_constant", "5e-324"),
    ("FilteredNoise.low_pass", "std", "1.8e308"),
    ("TransferFunction", "denominator", "subnormal"),
    ("TransferFunction", "delay", "10**400"),
    ("TransferFunction", "numerator", "big integers"),
    ("TransferFunction.response", "s", "longdouble"),
    ("MeasurementMoments", "variance_of_squares", "complex"),
    ("MeasurementMoments", "repetitions", "frame"),
    ("MeasurementMoments.from_samples", "array", "frame of complexes"),
    ("Fit.conf_int", "level", "NaT"),
    ("OutputError", "whiten", "NaT"),
    ("LatinHypercube", "count", "10**5000"),
    ("fit", "data", "large data"),
    ("evaluate", "fixed", "deep"),
    ("simulate", "t0", "NaT"),
    ("compare", "horizon", "10**400"),
    ("compare", "horizon", "0-d"),
    ("select_order", "output", "deep"),
    ("OrderSearch[]", "key", "structured"),
    ("OrderSearch[]", "key", "frame"),
    ("Dataset.detrend", "signals", "endless count"),
    ("Model", "unknowns", "endless symbols"),
    ("Model[]", "key", "text __eq__"),
    ("Signal", "intersample", "text __eq__"),
    ("StateSpaceNoise", "A", "endless repeat"),
    ("System.function", "name", "text __eq__"),
    ("TransferFunction", "numerator", "endless ones"),
    ("assemble", "connections", "endless iterable"),
    ("check_noise", "variables", "endless symbols"),
    ("compare", "horizon", "endless ones"),
    ("ensemble", "sensitivities", "endless symbols"),
    ("estimate_states", "variables", "endless symbols"),
    ("evaluate", "free", "endless symbols"),
    ("plot", "names", "endless count"),
    ("plot of several", "result", "long range"),
    ("profile", "names", "endless iterable"),
    ("select_order", "inputs", "long range"),
    ("select_order", "orders", "endless ones"),
    ("select_order", "output", "__iter__"),
    ("simulate", "variables", "long range"),
    ("symbol", "name", "text __eq__"),
]


@pytest.mark.parametrize(("name", "argument", "value"), ONCE_RAW)
def test_what_once_was_raw(name, argument, value):
    call = CALLS[name]
    check(call.function(), {**call.arguments(), argument: POOL[value]()})


def test_what_only_is_written_never_raises():
    """An object whose words fail is refused in other words; one whose value is asked for raises what it raises."""
    for name, argument in (("Model", "name"), ("Parameter", "unit"), ("simulate", "solver"), ("fit", "criterion")):
        call = CALLS[name]
        with pytest.raises(dd.DaedalError, match="that cannot be written"):
            call.function()(**{**call.arguments(), argument: POOL["__repr__"]()})
    with pytest.raises(OwnError):
        dd.plot(CALLS["plot"].arguments()["result"], POOL["list __iter__"]())


def test_an_array_beside_what_is_none():
    check(CALLS["np.select"].function(), {"c": dd.symbol("x") > 0, "a": POOL["3-d"](), "b": POOL["xarray"]()})


def test_arrays_in_both_branches():
    check(
        CALLS["where"].function(), {"condition": dd.symbol("x") > 0, "yes": POOL["longdouble"](), "no": POOL["tiny"]()}
    )
    check(CALLS["where"].function(), {"condition": dd.symbol("x") > 0, "yes": POOL["empty array"](), "no": [Cloud()]})
    check(CALLS["where"].function(), {"condition": True, "yes": POOL["empty array"](), "no": POOL["itself"]()})


def test_a_range_of_numbers_that_memory_cannot_hold_is_refused():
    with pytest.raises(dd.DaedalError, match=r"A range of 1e\+15 times needs about 14.2 PiB of memory"):
        dd.Signal(range(10**15), [0.0, 1.0])


TOKENS = ["(", ")", "[", "]", "{", "}", '"', "'", "=", "==", ";", ",", ".", "\n", "\0", "\ud800", "x", "k", "der", "if"]
TOKENS += [
    "1e999",
    "9**9**9",
    "-",
    "+",
    "*",
    "**",
    "%",
    "//",
    "/*",
    "#",
    "é",
    "𝟙",
    "end",
    "model",
    "\t",
    "__class__",
    ":",
]


@st.composite
def damaged(draw, text: str) -> str:
    """The text with a few pieces deleted, doubled, moved or put in."""
    for _ in range(draw(st.integers(1, 3))):
        begin, end, place = sorted(draw(st.tuples(*[st.integers(0, len(text))] * 3)))
        change = draw(st.sampled_from(["delete", "double", "move", "put"]))
        if change == "delete":
            text = text[:begin] + text[end:]
        elif change == "double":
            text = text[:end] + text[begin:end] + text[end:]
        elif change == "move":
            text = text[:begin] + text[end:place] + text[begin:end] + text[place:]
        else:
            text = text[:begin] + draw(st.sampled_from(TOKENS)) + text[begin:]
    return text


@SETTINGS
@given(text=damaged(TEXT))
def test_any_text_of_a_model(text):
    check(dd.Model.from_text, {"text": text})


@SETTINGS
@given(formula=damaged("where(x > 0, sin(x)**2 + delay(x, 0.5)/k, -1.5e-3) == hypot(x, k) - 2*(x + k)"))
def test_any_formula(formula):
    check(dd.Model.from_text, {"text": TEXT.replace("der(x) == -k*x", formula)})


@settings(SETTINGS, max_examples=EXAMPLES // 10 or 30)
@given(text=damaged(MODELICA))
def test_any_modelica(text):
    check(dd.read_modelica, {"path_or_text": text})


@settings(SETTINGS, max_examples=EXAMPLES or 100)
@given(text=damaged(CSV))
def test_any_csv(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    path.write_bytes(text.encode(errors="surrogatepass"))
    check(dd.read_csv, {"path": path, "time": "t", "outputs": ["y"], "inputs": ["u"]})


@SETTINGS
@given(text=damaged(PROJECT))
def test_any_project(text):
    check(dd.read_project, {"path": make_folder() / "project.toml", "text": text})
