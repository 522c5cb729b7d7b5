"""What users get wrong: a DaedalError with a sentence in their names and a remedy, before any work."""

import numpy as np
import pytest

import daedal as dd
from batteries.criterion import first_order, push, square
from daedal import der

x, u, w, k, b, a, s = dd.symbols("x u w k b a s")
TIMES = np.linspace(0.0, 3.0, 31)


def decay(**changes):
    fields = {
        "name": "decay",
        "equations": {"rate": der(x) == -k * x},
        "unknowns": [x],
        "outputs": {"level": b * x},
        "parameters": {k: dd.Parameter(2.0, lower=0.1, upper=5.0), b: 1.0},
        "initial": {x: 1.0},
    }
    return dd.Model(**fields | changes)


def levels(values=None, times=TIMES, **options):
    return dd.Dataset(times, outputs={"level": np.exp(-np.asarray(times)) if values is None else values}, **options)


MODEL, DATA = decay(), levels()
WET = square()
WET_DATA = dd.Dataset(TIMES, inputs={"u": push(TIMES)}, outputs={"level": np.ones(TIMES.size)})
DRIVEN = first_order()
PEM = dd.SimulationPEM
HALVES = DATA.split(at=1.5)

# name: (words that the message holds, model, data, options)
CASES = {
    "unknown name": (("'kk'", "'k'"), MODEL, DATA, {"free": ["kk"]}),
    "unknown local name": (("'kk'", "'k'"), MODEL, DATA, {"local": ["kk"]}),
    "nothing free": (("free", "'k'"), MODEL, DATA, {}),
    "nothing free, empty mapping": (("free",), MODEL, DATA, {"free": {}}),
    "free is a string": (("'k'", "list"), MODEL, DATA, {"free": "k"}),
    "free is a string, not the first": (("free=['b']",), MODEL, DATA, {"free": "b"}),
    "free is a symbol": (("list", "free=['b']"), MODEL, DATA, {"free": b}),
    "free is a number": (("list",), MODEL, DATA, {"free": 3}),
    "free holds a number": (("3",), MODEL, DATA, {"free": [3]}),
    "free holds None": (("None",), MODEL, DATA, {"free": [None]}),
    "free holds an expression": (("2*k",), MODEL, DATA, {"free": [2 * k]}),
    "free holds a list": (("['k']",), MODEL, DATA, {"free": [["k"]]}),
    "free twice": (("'k'", "twice"), MODEL, DATA, {"free": ["k", k]}),
    "free is an unknown": (("'x'", "unknown", "initial"), MODEL, DATA, {"free": ["x"]}),
    "free is an output": (("'level'", "output"), MODEL, DATA, {"free": ["level"]}),
    "free is an input": (("'u'", "input"), DRIVEN, WET_DATA, {"free": ["u"]}),
    "free is a disturbance": (("'w'", "disturbance"), WET, WET_DATA, {"free": ["w"]}),
    "free mapped to text": (("'k'",), MODEL, DATA, {"free": {"k": "big"}}),
    "free mapped to NaN": (("'k'",), MODEL, DATA, {"free": {"k": np.nan}}),
    "free start outside its bounds": (("'k'", "50"), MODEL, DATA, {"free": {"k": 50.0}}),
    "free start of zero on a log scale": (("'k'",), MODEL, DATA, {"free": {"k": dd.Parameter(0.0, scale="log")}}),
    "free and local": (("'k'", "local"), MODEL, DATA, {"free": ["k"], "local": ["k"]}),
    "free and fixed": (("'k'", "fixed"), MODEL, DATA, {"free": ["k"], "fixed": {"k": 1.0}}),
    "local and fixed": (("'k'", "fixed"), MODEL, DATA, {"local": ["k"], "fixed": {k: 1.0}}),
    "fixed unknown name": (("'bb'", "'b'"), MODEL, DATA, {"free": ["k"], "fixed": {"bb": 1.0}}),
    "fixed NaN": (("'b'", "nan"), MODEL, DATA, {"free": ["k"], "fixed": {"b": np.nan}}),
    "fixed text": (("'b'",), MODEL, DATA, {"free": ["k"], "fixed": {"b": "one"}}),
    "fixed outside its bounds": (("'k'", "9"), MODEL, DATA, {"free": ["b"], "fixed": {"k": 9.0}}),
    "fixed is a number": (("fixed", "mapping"), MODEL, DATA, {"free": ["k"], "fixed": 1.0}),
    "fixed is a list of pairs": (("fixed",), MODEL, DATA, {"free": ["k"], "fixed": [("b", 1.0)]}),
    "fixed list too long": (("fixed", "2"), MODEL, DATA, {"free": ["k"], "fixed": [{"b": 1.0}, {"b": 2.0}]}),
    "fixed list empty": (("fixed",), MODEL, DATA, {"free": ["k"], "fixed": []}),
    "swapped": (("model first",), DATA, MODEL, {"free": ["k"]}),
    "swapped list": (("model first",), [DATA], MODEL, {"free": ["k"]}),
    "model missing": (("Model",), None, DATA, {"free": ["k"]}),
    "data missing": (("Dataset",), MODEL, None, {"free": ["k"]}),
    "data empty list": (("Dataset", "empty"), MODEL, [], {"free": ["k"]}),
    "data an array": (("Dataset",), MODEL, TIMES, {"free": ["k"]}),
    "data a file name": (("Dataset", "read_csv"), MODEL, "data.csv", {"free": ["k"]}),
    "data a mapping": (("Dataset",), MODEL, {"level": TIMES}, {"free": ["k"]}),
    "data a list with a number": (("Dataset", "int"), MODEL, [DATA, 3], {"free": ["k"]}),
    "no output of the model": (
        ("'leven'", "'level'"),
        MODEL,
        dd.Dataset(TIMES, outputs={"leven": TIMES}),
        {"free": ["k"]},
    ),
    "data without outputs": (("output",), DRIVEN, dd.Dataset(TIMES, inputs={"u": TIMES}), {"free": ["a"]}),
    "inputs missing": (("'u'",), DRIVEN, dd.Dataset(TIMES, outputs={"level": TIMES}), {"free": ["a"]}),
    "inputs too late": (
        ("'u'",),
        DRIVEN,
        dd.Dataset(outputs={"level": dd.Samples(TIMES, TIMES)}, inputs={"u": dd.Signal(TIMES[5:], TIMES[5:])}),
        {"free": ["a"]},
    ),
    "inputs too short": (
        ("'u'",),
        DRIVEN,
        dd.Dataset(outputs={"level": dd.Samples(TIMES, TIMES)}, inputs={"u": dd.Signal(TIMES[:5], TIMES[:5])}),
        {"free": ["a"]},
    ),
    "fewer samples than parameters": (
        ("1 scored sample", "2"),
        MODEL,
        levels([np.nan, 0.3], [0.0, 1.0]),
        {"free": ["k", "b"]},
    ),
    "all NaN": (("NaN", "data"), MODEL, levels(np.full(TIMES.size, np.nan)), {"free": ["k"]}),
    "all NaN in the second": (
        ("NaN", "night"),
        MODEL,
        [DATA, levels(np.full(TIMES.size, np.nan), name="night")],
        {"free": ["k"]},
    ),
    "transient longer than the data": (
        ("transient", "100"),
        MODEL,
        DATA,
        {"free": ["k"], "criterion": dd.OutputError(transient=100.0)},
    ),
    "transient longer than one of the data": (
        ("transient", "short"),
        MODEL,
        [DATA, dd.Dataset(TIMES[:5], outputs={"level": TIMES[:5]}, name="short")],
        {"free": ["k"], "criterion": dd.OutputError(transient=1.0)},
    ),
    "criterion a class": (("criterion", "OutputError"), MODEL, DATA, {"free": ["k"], "criterion": dd.OutputError}),
    "criterion a name": (("criterion", "OutputError"), MODEL, DATA, {"free": ["k"], "criterion": "OutputError"}),
    "criterion a model": (("criterion",), MODEL, DATA, {"free": ["k"], "criterion": MODEL}),
    "criterion without disturbances": (
        ("disturbances", "OutputError"),
        MODEL,
        DATA,
        {"free": ["k"], "criterion": PEM(20)},
    ),
    "solver a name": (("Lanes",), MODEL, DATA, {"free": ["k"], "solver": "IDA"}),
    "solver another": (("Lanes",), MODEL, DATA, {"free": ["k"], "solver": dd.IDA()}),
    "rng text": (("seed",), MODEL, DATA, {"free": ["k"], "rng": "seven"}),
    "rng negative": (("seed",), MODEL, DATA, {"free": ["k"], "rng": -1}),
    "rng fraction": (("seed",), MODEL, DATA, {"free": ["k"], "rng": 1.5}),
    "starts a number": (("starts",), MODEL, DATA, {"free": ["k"], "starts": 5}),
    "starts a mapping": (("starts",), MODEL, DATA, {"free": ["k"], "starts": {"k": 1.0}}),
    "starts a class": (("starts",), MODEL, DATA, {"free": ["k"], "starts": dd.LatinHypercube}),
    "starts empty": (("starts",), MODEL, DATA, {"free": ["k"], "starts": []}),
    "starts of numbers": (("start", "mapping"), MODEL, DATA, {"free": ["k"], "starts": [1.0, 2.0]}),
    "starts outside the bounds": (("'k'", "50"), MODEL, DATA, {"free": ["k"], "starts": [{"k": 50.0}]}),
    "starts NaN": (("'k'", "nan"), MODEL, DATA, {"free": ["k"], "starts": [{"k": np.nan}]}),
    "starts infinite": (("'b'", "inf"), MODEL, DATA, {"free": ["b"], "starts": [{"b": np.inf}]}),
    "starts text": (("'k'", "number"), MODEL, DATA, {"free": ["k"], "starts": [{"k": "big"}]}),
    "starts None": (("'k'", "number"), MODEL, DATA, {"free": ["k"], "starts": [{"k": None}]}),
    "starts of what is not free": (("'b'",), MODEL, DATA, {"free": ["k"], "starts": [{"b": 1.0}]}),
    "hypercube without bounds": (("'b'", "bounds"), MODEL, DATA, {"free": ["b"], "starts": dd.LatinHypercube(3)}),
    "grid without bounds": (("'b'", "bounds"), MODEL, DATA, {"free": ["b"], "starts": dd.Grid({"b": 3})}),
    "grid of what is not free": (("'b'",), MODEL, DATA, {"free": ["k"], "starts": dd.Grid({"b": 3})}),
    "disturbance seen by nobody": (
        ("'tau'", "disturbance"),
        WET,
        WET_DATA,
        {"free": ["tau"], "criterion": dd.OutputError()},
    ),
    "accuracy of the wrong length": (
        ("'level'", "5", "31"),
        decay(measurement_noise={"level": np.ones(5)}),
        DATA,
        {"free": ["k"]},
    ),
    "infinite cost at the start": (
        ("infinite", "start"),
        decay(equations={"rate": der(x) == k * x**2}),
        DATA,
        {"free": ["k"]},
    ),
    "parameter of nothing": (
        ("'idle'", "no equation"),
        decay(parameters={k: 2.0, b: 1.0, "idle": 1.0}),
        DATA,
        {"free": ["idle"]},
    ),
}


SEARCHING = {name for name, case in CASES.items() if "starts" in case[3]} | {"infinite cost at the start"}
PAIRS = [(name, verb) for name in CASES for verb in (dd.fit, dd.evaluate) if verb is dd.fit or name not in SEARCHING]


@pytest.mark.parametrize(("name", "verb"), PAIRS)
def test_wrong_arguments(name, verb):
    words, model, data, options = CASES[name]
    with pytest.raises(dd.DaedalError) as caught:
        verb(model, data, **options)
    message = str(caught.value)
    for word in words:
        assert word in message
    check_style(caught.value)


def check_style(error):
    """One sentence and one remedy, no traces of the machinery."""
    assert error.sentence.endswith(".")
    assert error.remedy
    assert error.remedy.endswith((".", "?", ")"))
    for trace in ("object at 0x", "<class", "Traceback", "np.float64"):
        assert trace not in str(error)


CONSTRUCTORS = {
    "negative transient": (lambda: dd.OutputError(transient=-1.0), "transient"),
    "transient NaN": (lambda: dd.OutputError(transient=np.nan), "transient"),
    "transient infinite": (lambda: PEM(20, transient=np.inf), "transient"),
    "transient text": (lambda: PEM(20, transient="10 s"), "transient"),
    "transient a boolean": (lambda: dd.OutputError(transient=True), "transient"),
    "segments zero": (lambda: dd.OutputError(segments=0), "segments"),
    "segments a fraction": (lambda: dd.OutputError(segments=2.5), "segments"),
    "realizations zero": (lambda: PEM(0), "realizations"),
    "realizations one with debias": (lambda: PEM(1), "realizations"),
    "realizations a fraction": (lambda: PEM(20.0), "realizations"),
    "realizations text": (lambda: PEM("many"), "realizations"),
    "realizations a boolean": (lambda: PEM(True, debias=False), "realizations"),
    "debias text": (lambda: PEM(20, debias="yes"), "debias"),
    "whiten negative": (lambda: PEM(20, whiten=-1), "whiten"),
    "whiten a fraction": (lambda: PEM(20, whiten=2.5), "whiten"),
    "hypercube zero": (lambda: dd.LatinHypercube(0), "hypercube"),
    "hypercube a fraction": (lambda: dd.LatinHypercube(2.5), "hypercube"),
    "grid empty": (lambda: dd.Grid({}), "grid"),
    "grid a number": (lambda: dd.Grid(5), "grid"),
    "grid of zero": (lambda: dd.Grid({"k": 0}), "'k'"),
    "grid of values": (lambda: dd.Grid({"k": [1.0, 2.0]}), "'k'"),
}


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_wrong_choices(name):
    make, word = CONSTRUCTORS[name]
    with pytest.raises(dd.DaedalError, match=word) as caught:
        make()
    check_style(caught.value)


VALUES = {
    "not free, and no number": ({"b": "big"}, "'b'"),
    "unknown": ({"kk": 1.0}, "'kk'"),
    "text": ({"k": "big"}, "'k'"),
    "None": ({"k": None}, "'k'"),
    "NaN": ({"k": np.nan}, "'k'"),
    "a list": ([1.0], "values"),
    "a number": (1.0, "values"),
    "outside the bounds": ({"k": 50.0}, "'k'"),
}


@pytest.mark.parametrize("name", VALUES)
def test_wrong_values_to_evaluate_at(name):
    values, word = VALUES[name]
    with pytest.raises(dd.DaedalError, match=word) as caught:
        dd.evaluate(MODEL, DATA, free=["k"], values=values)
    check_style(caught.value)


def test_values_of_what_is_not_free_fix_it():
    given = dd.evaluate(MODEL, DATA, free=["k"], values={"k": 1.3, "b": 1.7})
    fixed = dd.evaluate(MODEL, DATA, free=["k"], values={"k": 1.3}, fixed={"b": 1.7})
    assert given.value == fixed.value != dd.evaluate(MODEL, DATA, free=["k"], values={"k": 1.3}).value


def test_zero_and_negative_values_on_a_log_scale_are_refused():
    model = decay(parameters={k: dd.Parameter(1.0, scale="log"), b: 1.0})
    for value in (0.0, -1.0):
        with pytest.raises(dd.DaedalError, match="'k'"):
            dd.evaluate(model, DATA, free=["k"], values={"k": value})
        with pytest.raises(dd.DaedalError, match="'k'"):
            dd.fit(model, DATA, free=["k"], starts=[{"k": value}])


def test_experiments_with_other_accuracies_for_each_sample_are_told_which():
    model = decay(measurement_noise={"level": np.full(31, 0.1)})
    with pytest.raises(dd.DaedalError, match="'night'"):
        dd.fit(model, [DATA, levels(times=TIMES[:7], name="night")], free=["k"])


def test_correlated_outputs_need_common_times():
    model = decay(outputs={"level": x, "other": b * x}, measurement_noise={("level", "other"): np.eye(2)})
    other = dd.Samples(TIMES[::2], TIMES[::2])
    data = dd.Dataset(outputs={"level": DATA.outputs["level"], "other": other})
    with pytest.raises(dd.DaedalError, match="common times"):
        dd.fit(model, data, free=["k"])


def test_an_accuracy_that_is_not_positive_is_told():
    model = decay(parameters={k: 2.0, b: 1.0, s: -0.1}, measurement_noise={"level": s})
    with pytest.raises(dd.DaedalError, match=r"'level'.*positive"):
        dd.fit(model, DATA, free=["k", "s"])


def test_nothing_is_left_behind_by_a_refusal():
    """The model and data are the same, and the next fit is as if nothing had happened."""
    before = str(MODEL)
    expected = dd.fit(MODEL, DATA, free=["k"])["k"].value
    for _ in range(2):
        with pytest.raises(dd.DaedalError):
            dd.fit(MODEL, DATA, free={"k": 50.0})
        with pytest.raises(dd.DaedalError):
            dd.fit(MODEL, DATA, free={"k": dd.Parameter(1.0)}, fixed={"b": np.nan})
    assert str(MODEL) == before
    assert dd.fit(MODEL, DATA, free=["k"])["k"].value == expected


def test_data_that_begin_before_the_inputs_are_named():
    assert HALVES[1].t0 >= 1.4
    late = dd.Dataset(
        outputs={"level": dd.Samples(TIMES, TIMES)}, inputs={"u": dd.Signal(TIMES + 1.0, TIMES)}, name="winter"
    )
    with pytest.raises(dd.DaedalError, match=r"'u'") as caught:
        dd.fit(DRIVEN, late, free=["a"])
    assert caught.value.remedy
