"""Directions that the data do not show, found by name; singular values against finite differences of closed forms."""

import numpy as np
import pytest

import daedal as dd
from catalogue.estimation import alpha_pinene
from daedal import der
from daedal.errors import EstimationError

x, z, a, b, c, k, m = dd.symbols("x z a b c k m")
TIMES = np.arange(40) * 0.05


def model(expression, parameters, **options):
    return dd.Model(
        name="decay",
        equations={"rate": der(x) == expression, "other": der(z) == -c * z},
        unknowns=[x, z],
        outputs={"x": x},
        parameters={c: 1.0, **parameters},
        initial={x: 1.0, z: 1.0},
        **options,
    )


@pytest.fixture(scope="module")
def data():
    noise = 0.01 * np.random.default_rng(1).standard_normal(TIMES.size)
    return dd.Dataset(TIMES, outputs={"x": np.exp(-1.5 * TIMES) + noise})


def test_of_a_product_only_the_product_is_determined(data):
    found = dd.identifiability(dd.fit(model(-a * b * x, {a: 1.0, b: 2.0}), data, free=["a", "b"]))
    best, worst = found.directions
    np.testing.assert_allclose([best.weights["a"], best.weights["b"]], np.sqrt([0.5, 0.5]), rtol=1e-4)
    assert worst.weights["a"] * worst.weights["b"] == pytest.approx(-0.5, rel=1e-4)
    assert worst.sentence in (
        "a and b move together: raising a by 10 % and lowering b by 10 % changes no prediction",
        "a and b move together: lowering a by 10 % and raising b by 10 % changes no prediction",
    )
    assert found.not_determined == ("a", "b")
    assert found.condition == np.inf
    assert worst.deviation == np.inf
    assert "a: not determined by these data: fix it, or measure more" in str(found)
    assert "NOT DETERMINED" in str(found)


def test_a_power_weighs_more(data):
    """In a² b, b must move twice as much: a by 5 %."""
    found = dd.identifiability(dd.fit(model(-(a**2) * b * x, {a: 1.0, b: 2.0}), data, free=["a", "b"]))
    assert found.directions[-1].weights["b"] == pytest.approx(-2.0 * found.directions[-1].weights["a"], rel=1e-4)
    assert "lowering a by 5 % and raising b by 10 %" in found.directions[-1].sentence


def test_a_log_scale_counts_in_factors(data):
    free = {"a": dd.Parameter(1e-3, scale="log"), "b": dd.Parameter(1.5e3, scale="log")}
    found = dd.identifiability(dd.fit(model(-a * b * x, {a: 1.0, b: 2.0}), data, free=free))
    assert abs(found.directions[-1].weights["a"]) == pytest.approx(np.sqrt(0.5), rel=1e-4)


def test_a_parameter_without_effect_is_named_alone(data):
    found = dd.identifiability(dd.fit(model(-k * x, {k: 1.0}), data, free=["k", "c"]))
    assert found.directions[-1].sentence == "c alone: raising c by 10 % changes no prediction"
    assert found.verdicts == {"k": "determined", "c": "not determined"}
    assert found["k"].startswith("determined, 1.5")
    assert found.not_determined == ("c",)


def test_what_is_at_a_bound_takes_part(data):
    """That it is there is not known from elsewhere."""
    free = {"k": dd.Parameter(0.5, lower=0.1, upper=1.0), "c": 1.0}
    found = dd.identifiability(dd.fit(model(-k * x, {k: 1.0}), data, free=free))
    assert found.verdicts == {"k": "at its bound", "c": "not determined"}
    assert found["k"] == "at its bound, 1: widen it if it is not a physical limit"
    assert [max(one.weights, key=lambda name: abs(one.weights[name])) for one in found.directions] == ["k", "c"]
    assert "poor fit" not in str(found)


def test_an_error_is_told_in_the_unit_of_the_directions(data):
    """A value near zero has its range for a size: no "determined (540 %)" beside "uncertain by 0.3 %"."""
    free = {"k": dd.Parameter(1.0, lower=-5.0, upper=5.0)}
    found = dd.identifiability(dd.fit(model(-1.5 * x - k * x, {k: 1.0}), data, free=free))
    assert "% of its range)" in found["k"]
    inside = float(found["k"].rpartition("(")[2].split(" ")[0])
    assert inside == pytest.approx(100.0 * found.directions[0].deviation, rel=0.05)


def test_an_offset_that_may_be_zero_is_determined_in_every_line(data):
    """No "determined (480 %)", and no direction of it that is "loosely determined"."""
    free = {"k": 1.0, "m": dd.Parameter(0.1)}
    fit = dd.fit(model(m - k * x, {k: 1.0, m: 0.0}), data, free=free)
    assert fit["m"].std_error > abs(fit["m"].value)
    found = dd.identifiability(fit)
    assert found["m"].startswith("determined")
    assert found["m"].endswith("(zero is inside its interval)")
    assert {one.verdict for one in found.directions} == {"determined"}


def test_a_prior_is_no_knowledge_from_the_data(data):
    free = {"k": 1.0, "c": dd.Parameter(1.0, prior=dd.Normal(1.0, 0.1))}
    found = dd.identifiability(dd.fit(model(-k * x, {k: 1.0}), data, free=free))
    assert found.verdicts["c"] == "known from its prior"
    assert found.not_determined == ("c",)


def test_singular_values_of_alpha_pinene_by_finite_differences():
    problem = alpha_pinene()
    start = {name: dd.Parameter(value) for name, value in problem.optimum.items()}
    fit = dd.fit(problem.model(), problem.data(), free=start)
    found = dd.identifiability(fit)
    theta = np.array(list(fit.params.values()))

    def moved(place, change):
        point = theta.copy()
        point[place] *= 1.0 + change
        return problem.predicted(point).ravel()

    J = np.stack([(moved(j, 1e-5) - moved(j, -1e-5)) / 2e-5 for j in range(5)], axis=1)
    _, singular, directions = np.linalg.svd(J)
    np.testing.assert_allclose(found.singular_values, singular, rtol=1e-4)
    for each, expected in zip(found.directions, directions, strict=True):
        assert abs(np.dot(list(each.weights.values()), expected)) == pytest.approx(1.0, abs=1e-4)
    assert found.condition == pytest.approx(singular[0] / singular[-1], rel=1e-3)
    assert list(found.verdicts) == list(fit.params)


def test_a_value_of_zero_is_measured_by_its_range(data):
    exact = dd.Dataset(TIMES, outputs={"x": np.exp(-1.5 * TIMES)})
    free = {"m": dd.Parameter(0.0, lower=-2.0, upper=2.0), "k": 1.5}
    fit = dd.fit(model(-k * x - m * x**2, {k: 1.0, m: 0.3}), exact, free=free)
    assert abs(fit["m"].value) < 1e-5
    direction = dd.identifiability(fit).directions[-1]
    relative = fit.curvature * np.outer([4.0, 1.5], [4.0, 1.5])
    assert direction.singular_value == pytest.approx(np.sqrt(np.linalg.eigvalsh(relative)[0]), rel=1e-4)
    assert "m by" in direction.sentence
    assert "% of its range" in direction.sentence


def test_what_has_no_directions(data):
    with pytest.raises(EstimationError, match="identifiability takes a Fit, got the model 'decay'"):
        dd.identifiability(model(-k * x, {k: 1.0}))
    with pytest.raises(EstimationError, match="identifiability takes a Fit first, got data"):
        dd.identifiability(data)
    with pytest.raises(EstimationError, match="identifiability takes a Fit, got NoneType"):
        dd.identifiability(None)
    found = dd.identifiability(dd.fit(model(-k * x, {k: 1.0}), data, free=["k"]))
    with pytest.raises(EstimationError, match=r"no estimate 'K'. Did you mean 'k'"):
        found["K"]
