"""Samples as measurements: correlated outputs, missing ones, accuracy sample by sample, what is refused."""

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.experiments import match_experiments
from daedal.filtering.evolution import make_stochastic_model
from daedal.filtering.parameter_point import Point
from daedal.filtering.readings import make_readings
from daedal.systems import build

x, u, w, a, s = dd.symbols("x u w a s")
TIMES = np.arange(6) * 0.5


def model(**changes):
    fields = {
        "name": "scale",
        "equations": {"rate": der(x) == -a * x + u + w},
        "unknowns": [x],
        "inputs": [u],
        "outputs": {"one": x, "two": 2 * x, "three": x + u},
        "parameters": {a: 0.7, s: 0.2},
        "disturbances": {w: dd.WhiteNoise()},
        "measurement_noise": {("two", "one"): [[0.5, 0.1], [0.1, 0.3]], "three": s},
        "initial": {x: 0.0},
    }
    return dd.Model(**fields | changes)


def data(**missing) -> dd.Dataset:
    outputs = {}
    for k, name in enumerate(("one", "two", "three")):
        values = np.arange(6.0) + 10 * k
        values[list(missing.get(name, ()))] = np.nan
        outputs[name] = values
    return dd.Dataset(TIMES, inputs={"u": np.ones(6)}, outputs=outputs)


def lined(made=None, given=None, queries=()):
    system = build(made or model())
    (experiment,) = match_experiments(system, [given or data()])
    return make_readings(make_stochastic_model(system.model, "Likelihood", {}), experiment, queries)


def test_mixed_rows_have_unit_covariance_and_an_owner():
    found = lined(given=data(one=[2], two=[3]))
    covariance = np.array([[0.3, 0.1, 0.0], [0.1, 0.5, 0.0], [0.0, 0.0, 0.04]])  # one, two, three
    total = 0.0
    for k, time in enumerate(TIMES):
        mine = found.measuring[found.line.sample_of[found.measuring] == k]
        rows = found.mixing[found.line.events.row[mine]]
        there = [output for output in range(3) if np.isfinite(found.values[k, output])]
        assert not rows[:, [o for o in range(3) if o not in there]].any()
        mixed = rows @ covariance @ rows.T
        deviation = np.sqrt(np.diag(mixed))
        assert np.allclose(mixed, np.diag(deviation**2), atol=1e-14), time
        variance = found.compute_variances(Point(model(), None, ())).value[mine]
        assert np.allclose(variance, deviation**2)
        owners = found.event_outputs[np.isin(found.measuring, mine)]
        assert sorted(owners) == there
        # A density of mixed numbers counts the determinant of the mixing.
        total += 0.5 * np.linalg.slogdet(covariance[np.ix_(there, there)])[1] - 0.5 * np.sum(np.log(variance))
    assert found.log_determinants == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
def test_every_sample_has_its_residual(order):
    """Residuals, in units of their standard deviation, are there for all samples of all outputs and no others."""
    from daedal.estimation.arguments import Arguments, prepare_objective

    matrix = np.array([[0.3, 0.1], [0.1, 0.5]])
    made = model(measurement_noise={order: matrix if order == ("one", "two") else matrix[::-1, ::-1], "three": s})
    given = data(one=[2], two=[3, 4])
    objective, _, _ = prepare_objective("evaluate", Arguments(made, given, ["a"], (), None, dd.Likelihood(), None), 0)
    parts = objective(objective.problem.coordinates.start).parts
    for part in parts:
        assert np.array_equal(np.isfinite(part.residual), np.isfinite(given[part.series.output]))
    assert sum(float(np.nansum(part.residual**2)) for part in parts) > 0.0


def test_slopes_of_accuracies():
    found = lined().compute_variances(Point(model(), {"s": 0.2}, ("s", "a")))
    mine = lined().event_outputs == 2
    assert np.allclose(found.slopes[0][mine], 0.4)
    assert not found.slopes[0][~mine].any()
    assert not found.slopes[1].any()


def test_accuracy_sample_by_sample_follows_its_sample():
    deviations = np.linspace(0.1, 0.6, 6)
    made = model(measurement_noise={"one": deviations, "two": 1.0, "three": 1.0})
    found = lined(made, data(one=[1], three=[0, 1, 2, 3, 4, 5], two=[1]))
    variance = found.compute_variances(Point(made, None, ())).value[found.measuring]
    assert np.allclose(variance[found.event_outputs == 0], np.delete(deviations, 1) ** 2)


CASES = {
    "not said how accurate": (
        lambda: lined(model(measurement_noise={"one": 1.0, "two": 1.0})),
        ("'three'", "'scale'", "measurement_noise"),
    ),
    "too few accuracies": (
        lambda: lined(model(measurement_noise={"one": np.ones(4), "two": 1.0, "three": 1.0})),
        ("'one'", "4", "6 samples"),
    ),
    "no output": (
        lambda: lined(given=dd.Dataset(TIMES, inputs={"u": TIMES}, outputs={"four": TIMES})),
        ("'scale'", "'one'"),
    ),
    "all missing": (
        lambda: lined(given=dd.Dataset(TIMES, inputs={"u": TIMES}, outputs={"one": np.full(6, np.nan)})),
        ("NaN", "'data'"),
    ),
    "an input missing": (lambda: lined(given=dd.Dataset(TIMES, outputs={"one": TIMES})), ("'u'", "'data'", "'scale'")),
    "inputs that end before a time that is asked for": (
        lambda: lined(queries=[1.0, 9.0]),
        ("'u' is known from 0 to 2.5", "needed from 0 to 9"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_refused(name):
    call, words = CASES[name]
    with pytest.raises(dd.DaedalError) as caught:
        call()
    text = f"{caught.value.sentence} {caught.value.remedy}"
    assert all(word in text for word in words), text
    assert caught.value.remedy
