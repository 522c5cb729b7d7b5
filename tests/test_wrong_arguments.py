"""Wrong arguments that once gave raw tracebacks, each with the sentence it gives now."""

import gzip
import subprocess
import sys

import numpy as np
import pandas
import pytest
import xarray

import daedal as dd
from daedal.linear.van_loan_integrals import compute_noise_scale

x, v = dd.symbols("x v")
TIMES = np.arange(5.0)
TEXT = 'name = "m"\nunknowns = ["x"]\n[equations]\ne = "der(x) == {}"\n'


def make_model(name="m", equation="e"):
    return dd.Model(name=name, equations={equation: dd.der(x) == -x}, unknowns=[x])


CASES = {
    "no path": (lambda: dd.read_csv(None, step=1.0), "takes the path of a file, got NoneType"),
    "a number for a path": (lambda: dd.read_csv(5, step=1.0), "takes the path of a file, got int"),
    "a NUL in a path": (lambda: dd.read_csv("a\0b", step=1.0), "a character in its name that no file can have"),
    "a surrogate in a path": (lambda: dd.read_csv("\ud800", step=1.0), "a character in its name that no file can have"),
    "a folder": (lambda: dd.read_csv("/tmp", step=1.0), "it is a folder. Name a file in it."),
    "a device": (lambda: dd.read_csv("/dev/zero", step=1.0), "it is a device or a pipe"),
    "a series": (lambda: dd.Dataset.from_pandas(pandas.Series([1.0]), ["y"]), "must be a pandas DataFrame"),
    "an array": (lambda: dd.Dataset.from_xarray(xarray.DataArray([1.0]), ["y"]), "must be an xarray Dataset"),
    "no model": (lambda: dd.analyze(None), "analyze takes a Model, got NoneType"),
    "data for a model": (lambda: dd.build(dd.Dataset(TIMES, {}, {"y": TIMES})), "build takes a Model, got Dataset"),
    "a huge number": (lambda: dd.Parameter(10**400), "got one beyond 1.8e308"),
    "a huge term": (lambda: x + 10**400, "got one beyond 1.8e308"),
    "a huge number in a text": (lambda: dd.Model.from_text(TEXT + "[parameters]\nk = " + "9" * 5000), "not TOML"),
    "nested arrays": (lambda: dd.Model.from_text("a = " + "[" * 5000 + "]" * 5000), "nested deeper than 20"),
    "nested tables": (lambda: dd.Model.from_text("a = " + "{b=" * 5000 + "1" + "}" * 5000), "nested deeper than 20"),
    "dotted keys": (lambda: dd.Model.from_text(".".join(["a"] * 100_000) + " = 1"), "nested deeper than 20"),
    "a long text": (lambda: dd.Model.from_text(" " * 20_000_000), "more than 10000000 characters"),
    "a surrogate in a name": (lambda: make_model("\ud800"), "The name of a model must be a text"),
    "a surrogate in an equation's name": (lambda: make_model("m", "\ud800"), "The name of an equation must be a text"),
    "times and values exchanged": (lambda: dd.Signal([3.0, 1.0, 2.0], [0.0, 1.0, 2.0]), "write Signal(times, values)"),
    "data without times": (lambda: dd.Dataset({"y": TIMES}, TIMES), "Write Dataset(times, inputs={...}"),
    "an equation as condition": (lambda: dd.where(v == 0, x, v), "Write np.where(v != 0, b, a)"),
    "an equation as condition of numbers": (lambda: np.where(v == 0, 1.0, 2.0), "in a condition, ~(a != b)"),
    "Python's max": (lambda: max(v, 0), "write np.maximum and np.minimum for max and min"),
    "brackets left out": (lambda: v > 0 & x > 0, "each in brackets: (x > 0) & (v > 0)"),
    "np.piecewise": (lambda: np.piecewise(v, [v > 0], [1, 2]), "Write np.where(condition, a, b)"),
    "//": (lambda: v // 1, "Write np.floor(a / b)"),
    "// the other way": (lambda: 1 // v, "Write np.floor(a / b)"),
    "int": (lambda: int(v), "is an expression, not a number"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_argument_is_one_sentence(case):
    call, sentence = CASES[case]
    with pytest.raises(dd.DaedalError) as refused:
        call()
    assert sentence in str(refused.value)
    str(refused.value).encode()  # can be printed


def test_a_sentence_stays_short_whatever_was_given():
    with pytest.raises(dd.DaedalError) as refused:
        dd.symbol("a b" * 1_000_000)
    assert len(str(refused.value)) < 10_000


def test_a_compressed_file_that_unfolds_without_end_is_refused(tmp_path):
    with gzip.open(tmp_path / "bomb.csv.gz", "wb", compresslevel=9) as file:
        for _ in range(20):
            file.write(bytes(1_000_000).replace(b"\0", b"1"))
    with pytest.raises(dd.DaedalError, match="it has a line 1 of more than 10000000 characters"):
        dd.read_csv(tmp_path / "bomb.csv.gz", step=1.0, outputs=["y"])


@pytest.mark.parametrize(
    ("write", "compute"),
    [
        (lambda x: np.select([x > 1, x > 0], [x, 2 * x], -1.0), lambda x: np.select([x > 1, x > 0], [x, 2 * x], -1.0)),
        (lambda x: np.heaviside(x, 0.25), lambda x: np.heaviside(x, 0.25)),
        (lambda x: np.clip(x, 0, 1), lambda x: np.clip(x, 0, 1)),
    ],
)
def test_what_newcomers_write_has_numpys_values(write, compute):
    u = dd.symbol("u")
    values = np.array([-2.3, -0.5, 0.0, 0.7, 3.1])
    model = dd.Model(name="m", equations={"e": x == u}, unknowns=[x], inputs=[u], outputs={"y": write(u)})
    drive = dd.Dataset(np.arange(5.0), {"u": values})
    assert np.allclose(dd.simulate(model, drive)["y"], compute(values), atol=1e-9)


def test_a_misspelt_name_is_told_and_loads_nothing():
    code = (
        "import sys, daedal\nbefore = set(sys.modules)\n"
        "try: daedal.simulat\nexcept AttributeError as error: print(error)\n"
        "print(*sorted(name for name in set(sys.modules) - before if 'daedal' in name))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "daedal has no 'simulat'. Did you mean 'simulate'?\ndaedal.errors\n"


def test_states_are_looked_up_by_name():
    model = dd.Model(
        name="walk", equations={"rate": dd.der(x) == -x}, unknowns=[x], outputs={"y": x}, measurement_noise={"y": 0.1}
    )
    states = dd.estimate_states(model, dd.Dataset(TIMES, {}, {"y": np.exp(-TIMES)}))
    assert np.array_equal(states["x"], states.mean["x"])
    assert list(states) == list(states.variables)
    with pytest.raises(dd.DaedalError, match="nothing called 'z'"):
        states["z"]


def test_the_scale_of_the_noise_does_not_depend_on_the_number_of_other_states():
    some, many = (compute_noise_scale(-50.0 * np.eye(n), 2.0 * np.eye(n), 0.01)[0] for n in (100, 400))
    assert many == pytest.approx(some, rel=1e-12)


def evaluate_rod(pieces: int) -> float:
    """The criterion of a rod heated by noise at one end, where its temperature is measured."""
    T, w = dd.symbols("T", pieces), dd.symbol("w")
    sides = [w, *T, 0.0]
    model = dd.Model(
        name="rod",
        equations={f"piece {i}": dd.der(T[i]) == sides[i] - 2 * T[i] + sides[i + 2] for i in range(pieces)},
        unknowns=T,
        outputs={"y": T[0]},
        disturbances={w: dd.FilteredNoise.low_pass(std=1.0, time_constant=1.0)},
        measurement_noise={"y": v},
        parameters={v: 0.1},
    )
    data = dd.Dataset(np.arange(20) * 0.1, {}, {"y": np.sin(np.arange(20) * 0.1)})
    return dd.evaluate(model, data, free=[v], criterion=dd.Likelihood()).value


@pytest.mark.slow
def test_the_likelihood_of_many_states_is_that_of_a_rod_without_end():
    assert evaluate_rod(180) == pytest.approx(evaluate_rod(80), rel=1e-5)


def test_the_fit_to_one_sample_has_no_percentage_and_says_so():
    model = dd.Model(
        name="m", equations={"e": dd.der(x) == -v * x}, unknowns=[x], outputs={"y": x}, parameters={v: 1.0},
        initial={x: 1.0},
    )  # fmt: skip
    table = str(dd.fit(model, dd.Dataset([1.0], {}, {"y": [0.3]}), free=[v]))
    assert "y not defined (its samples do not differ)" in table
    assert "nan" not in table
