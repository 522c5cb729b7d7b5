"""What users get wrong with Likelihood: a DaedalError with their names and a remedy, never a raw exception."""

import numpy as np
import pytest

import daedal as dd
from catalogue.drive import drive
from daedal import der

x, v, z, m, u, w, a, b, q, s = dd.symbols("x v z m u w a b q s")
TIMES = np.arange(20) * 0.1
VALUES = np.random.default_rng(1).normal(size=20)


def lag(**changes):
    fields = {
        "name": "lag",
        "equations": {"rate": der(x) == -a * x + u + w},
        "unknowns": [x],
        "inputs": [u],
        "outputs": {"y": x},
        "parameters": {a: 0.8, b: 2.0, q: 0.6, s: 0.15},
        "disturbances": {w: dd.WhiteNoise(intensity=q)},
        "measurement_noise": {"y": s},
        "initial": {x: 0.0},
    }
    return dd.Model(**fields | changes)


def data(values=VALUES, kind="foh", **options) -> dd.Dataset:
    return dd.Dataset(TIMES, inputs={"u": dd.Signal(TIMES, np.sin(TIMES), kind)}, outputs={"y": values}, **options)


STEPS = data(kind="zoh")
COPY = {"rate": der(x) == -a * x + w, "copy": v == u, "speed": z == der(v)}

# name: (words of the message, model, data, what is free, options of Likelihood)
REFUSED = {
    "squared white noise": (
        ("'rate'", "White noise 'w'", "FilteredNoise"),
        lag(equations={"rate": der(x) == -a * x + u + w**2}),
        data(),
        ["a"],
        {},
    ),
    "white noise times a state": (
        ("'rate'", "White noise 'w'", "depends on the state", "FilteredNoise"),
        lag(equations={"rate": der(x) == -a * x + u + x * w}),
        data(),
        ["a"],
        {},
    ),
    "a held value": (
        ("equation 'rate'", "hold(x, 0.1)", "switches", "Declare 'w' as FilteredNoise", "method='moments'"),
        lag(equations={"rate": der(x) == -a * dd.hold(x, 0.1) + u + w}),
        data(),
        ["a"],
        {},
    ),
    "a latched value": (
        ("output 'y'", "hysteresis(x, 0, 1)", "switches", "Declare 'w' as FilteredNoise", "method='moments'"),
        lag(outputs={"y": a * dd.hysteresis(x, 0, 1)}),
        data(),
        ["a"],
        {},
    ),
    "dry friction with white noise": (
        ("equation 'rate'", "sign(x)", "switches", "Declare 'w' as FilteredNoise", "method='moments'"),
        lag(equations={"rate": der(x) == -a * np.sign(x) + u + w}),
        data(),
        ["a"],
        {},
    ),
    "a delay with white noise": (
        ("'lag' contains delays", "Declare 'w' as FilteredNoise", "method='moments'"),
        lag(equations={"rate": der(x) == -a * dd.delay(x**3, 0.1) + u + w}),
        data(),
        ["a"],
        {},
    ),
    "white noise to be simulated": (
        ("Disturbance 'w'", "FilteredNoise"),
        lag(outputs={"y": np.sin(x)}),
        data(),
        ["a"],
        {"method": "moments"},
    ),
    "a step where its jump enters": (
        ("'y'", "'u'", "first derivative", "zoh", "foh"),
        lag(equations=COPY, unknowns=[x, v, z], outputs={"y": x + z}),
        STEPS,
        ["a"],
        {},
    ),
    "a line where its second derivative enters": (
        ("'y'", "'u'", "second derivative", "spline"),
        lag(equations={**COPY, "bend": m == der(z)}, unknowns=[x, v, z, m], outputs={"y": x + m}),
        data(),
        ["a"],
        {},
    ),
    "white noise measured": (
        ("'y'", "'w'", "infinite variance", "with_presampling_filter"),
        lag(outputs={"y": der(x)}),
        data(),
        ["a"],
        {},
    ),
    "an acceleration with a white torque": (
        ("'shake'", "'load.tau'", "infinite variance"),
        drive(dd.WhiteNoise(1.0)).with_outputs({"shake": drive()["disc.a"]}).with_measurement_noise({"shake": 1.0}),
        dd.Dataset(TIMES, inputs={"supply.v": TIMES}, outputs={"shake": VALUES, "speed": VALUES}),
        ["shaft.c"],
        {},
    ),
    "all samples missing": (("NaN", "'data'"), lag(), data(np.full(20, np.nan)), ["a"], {}),
    "all samples missing in one of two": (
        ("NaN", "'night'"),
        lag(),
        [data(), data(np.full(20, np.nan), name="night")],
        ["a"],
        {},
    ),
    "no accuracy": (("'y'", "'lag'", "measurement_noise"), lag(measurement_noise={}), data(), ["a"], {}),
    "an accuracy of zero": (("'y'", "s", "positive"), lag().with_parameters({"s": 0.0}), data(), ["a"], {}),
    "a negative accuracy": (("'y'", "s", "-0.1"), lag().with_parameters({"s": -0.1}), data(), ["a"], {}),
    "a negative intensity": (("'w'", "q", "-1"), lag().with_parameters({"q": -1.0}), data(), ["a"], {}),
    "an unstable disturbance": (
        ("pole", "not stable"),
        lag(disturbances={w: dd.FilteredNoise(numerator=[q], denominator=[1.0, -a])}),
        data(),
        ["a"],
        {},
    ),
    "a parameter in nothing": (("'b'", "'lag'", "free"), lag(), data(), ["a", "b"], {}),
    "fewer samples than parameters": (
        ("2 scored samples", "3"),
        lag(),
        dd.Dataset([0.0, 1.0], inputs={"u": [0.0, 0.0]}, outputs={"y": [1.0, 2.0]}),
        ["a", "q", "s"],
        {},
    ),
    "standard deviation of an unknown that is not held": (
        ("'v'", "'lag'", "'x'"),
        lag(),
        data(),
        ["a"],
        {"initial_std": {"v": 1.0}},
    ),
    "singular at the start values": (
        ("'sum'", "'double'", "'v'", "'z'"),
        lag(
            equations={"rate": der(x) == -a * x + u + w, "sum": v + z == x, "double": 2 * v + b * z == x},
            unknowns=[x, v, z],
        ),
        data(),
        ["a"],
        {},
    ),
    "a root of a negative number": (
        ("'rate'", "a = -1"),
        lag(equations={"rate": der(x) == -np.sqrt(a) * x + u + w}).with_parameters({"a": -1.0}),
        data(),
        ["a"],
        {},
    ),
    "held where a disturbance decides": (
        ("'v'", "disturbance"),
        lag(
            equations={"rate": der(x) == -a * x + u, "leak": v == w},
            unknowns=[x, v],
            initial={x: 0.0, v: 1.0},
            disturbances={w: dd.FilteredNoise.low_pass(std=q, time_constant=1.0)},
        ),
        data(),
        ["a"],
        {},
    ),
    "held at two values": (
        ("'v'", "contradicts", "1"),
        lag(equations={"rate": der(x) == -a * x + u + w, "copy": v == x}, unknowns=[x, v], initial={x: 0.0, v: 1.0}),
        data(),
        ["a"],
        {},
    ),
    "an average longer than the time between samples": (
        ("0.5", "0.1"),
        lag(outputs={"mean": x}, measurement_noise={"mean": s}).with_integrating_sampling({"mean": 0.5}),
        dd.Dataset(TIMES, inputs={"u": TIMES}, outputs={"mean": VALUES}),
        ["a"],
        {},
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_the_users_names(name):
    words, model, given, free, options = REFUSED[name]
    with pytest.raises(dd.DaedalError) as caught:
        dd.fit(model, given, free=free, criterion=dd.Likelihood(**options))
    text = f"{caught.value.sentence} {caught.value.remedy}"
    assert all(word in text for word in words), text
    assert len(caught.value.remedy) > 5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"initial": "open"}, ("'open'", "'free'", "'diffuse'", "'guess'")),
        ({"initial": ["free"]}, ("free",)),
        ({"initial_std": 0.1}, ("mapping", "0.1")),
        ({"initial_std": {"x": -0.1}}, ("'x'", "-0.1")),
        ({"initial_std": {"x": np.nan}}, ("'x'", "nan")),
        ({"initial_std": {"x": "wide"}}, ("'x'", "wide")),
        ({"initial_std": {"x": True}}, ("'x'", "True")),
        ({"initial_std": {"x": np.inf}}, ("'x'", "inf")),
    ],
)
def test_wrong_options(options, words):
    with pytest.raises(dd.DaedalError) as caught:
        dd.Likelihood(**options)
    text = f"{caught.value.sentence} {caught.value.remedy}"
    assert all(word in text for word in words), text


VISITED = {
    "intensity below zero": ({"q": -1.0}, "'w'"),
    "accuracy of zero": ({"s": 0.0}, "'y'"),
    "a pole far to the right": ({"a": -1e6}, "variance"),
    "no number": ({"a": np.inf}, "'a'"),
}


@pytest.mark.parametrize("name", VISITED)
def test_values_without_a_likelihood_are_failures_with_a_reason(name):
    values, word = VISITED[name]
    found = dd.evaluate(lag(), data(), free=["a", "q", "s"], criterion=dd.Likelihood(), values=values)
    assert found.value == np.inf
    assert word in found.failure


@pytest.mark.parametrize("exponent", [-300, -30, -9, 9, 30, 300])
@pytest.mark.parametrize("name", ["a", "q", "s"])
def test_extreme_values_give_a_number_or_a_reason(name, exponent):
    found = dd.evaluate(lag(), data(), free=["a", "q", "s"], criterion=dd.Likelihood(), values={name: 10.0**exponent})
    assert found.failure or (np.isfinite(found.value) and np.isfinite(found.gradient).all())


def test_a_parameter_that_no_output_shows_is_said_to_be_undetermined():
    model = lag(
        equations={"rate": der(x) == -a * x + u + w, "aside": der(v) == -b * v + x},
        unknowns=[x, v],
        initial={x: 0.0, v: 0.0},
    )
    fit = dd.fit(model, data(), free=["a", "b"], criterion=dd.Likelihood())
    assert fit["b"].verdict == "not determined"
    assert "not determined by these data: b" in str(fit)


def test_a_disturbance_that_is_not_there_ends_at_its_bound():
    """Samples of a noiseless run: the intensity goes as low as it may, and says so."""
    model = lag().with_parameters({"q": dd.Parameter(0.1, lower=1e-6, upper=10.0, scale="log")})
    quiet = dd.simulate(
        lag(disturbances={}, equations={"rate": der(x) == -a * x + u}),
        TIMES,
        inputs={"u": dd.Signal(TIMES, np.sin(TIMES))},
    )
    given = data(quiet["y"] + 0.01 * VALUES)
    fit = dd.fit(model.with_parameters({"s": 0.01}), given, free=["a", "q"], criterion=dd.Likelihood())
    assert fit["q"].at_bound or fit["q"].verdict != "determined"
    assert fit["a"].value == pytest.approx(0.8, abs=0.2)


LOW_PASS = {
    "disturbances": {w: dd.FilteredNoise.low_pass(std=0.5, time_constant=0.05)},
    "measurement_noise": {"y": 1.0},
}
TAKEN = {
    "a held value": lag(equations={"rate": der(x) == -a * dd.hold(x, 0.1) + u + w}, **LOW_PASS),
    "a latched value": lag(outputs={"y": a * dd.hysteresis(x, 0, 1)}, **LOW_PASS),
    "squared noise": lag(equations={"rate": der(x) == -a * x + u + w**2}, **LOW_PASS),
    "nonlinear output": lag(outputs={"y": x + 0.1 * np.sin(x)}),
    "product with an input": lag(equations={"rate": der(x) == -a * x * u + w}),
    "a coefficient that changes with time": lag(equations={"rate": der(x) == -a * x * np.sin(dd.time) + u + w}),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_was_refused_once_and_the_remedies_are_taken(name):
    criterion = dd.Likelihood(particles=100, realizations=200)
    assert np.isfinite(dd.evaluate(TAKEN[name], data(), free=["a"], criterion=criterion, rng=1).value)
