"""Errors of ensembles' means from the realizations themselves, against data drawn from the model."""

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.estimation.problem import Autoregression, Problem, make_coordinates
from daedal.systems import build

x, u, w, a, b = dd.symbols("x u w a b")
TIMES = np.arange(120) * 0.2
PUSH = dd.Signal(TIMES, np.repeat(np.random.default_rng(3).uniform(0.2, 1.5, 10), 12), "zoh")


def bilinear(std: float = 1.0) -> dd.Model:
    """The disturbance multiplies the state: residuals are large where the state is."""
    return dd.Model(
        name="bilinear",
        equations={"rate": der(x) == -(a + 0.3 * w) * x + b * u},
        unknowns=[x],
        inputs=[u],
        outputs={"y": x},
        parameters={a: 0.8, b: 1.0},
        initial={x: 1.0},
        disturbances={w: dd.FilteredNoise.low_pass(std=std, time_constant=1.0)},
        measurement_noise={"y": 0.05},
    )


def draw(count: int, rng: int = 5) -> np.ndarray:
    run = dd.simulate(bilinear(), TIMES, inputs={"u": PUSH}, realizations=count, rng=rng, variables=["y"])
    return run["y"] + 0.05 * np.random.default_rng(rng).standard_normal((count, TIMES.size))


def wrap(y: np.ndarray) -> dd.Dataset:
    return dd.Dataset(TIMES, inputs={"u": PUSH}, outputs={"y": y})


@pytest.mark.parametrize("coefficients", [[], [-0.9]])
def test_the_covariance_of_the_gradient_is_that_over_data(coefficients):
    """1000 data sets, at one point and with one filter; 400 realizations."""
    sets = draw(1000)
    data = (wrap(sets[0]),)
    space = make_coordinates(bilinear(), data, ["a", "b"], None, None)
    objective = dd.SimulationPEM(realizations=400).objective(Problem(build(bilinear()), data, space, 0, None))
    filters = {"y": Autoregression(np.array(coefficients), 0.5)} if coefficients else {}
    objective = objective.restore({}, filters)
    evaluation = objective(space.start)
    (part,) = evaluation.parts
    weigh = objective.weighing.apply
    values = space.values(space.start, 0)
    rows = weigh(objective.experiments[0], values, [sets - part.prediction], [part.prediction])[0]
    brute = np.cov(part.slopes @ rows.T)
    expected = objective.expect(evaluation)
    assert expected.realizations == 400
    np.testing.assert_allclose(np.diag(expected.scores), np.diag(brute), rtol=0.25)
    signs = np.sqrt(np.outer(np.diag(brute), np.diag(brute)))
    np.testing.assert_allclose(expected.scores / signs, brute / signs, atol=0.25)


def test_disturbances_of_wrong_size_are_said_and_errors_come_from_the_residuals():
    data = wrap(draw(1)[0])
    weak = dd.fit(bilinear(0.1), data, free=["a", "b"], criterion=dd.SimulationPEM(whiten=None), rng=1)
    assert "times as large as disturbances and measurement noise of the model make them" in str(weak)
    assert weak["a"].freedom != 199.0
    right = dd.fit(bilinear(), data, free=["a", "b"], criterion=dd.SimulationPEM(whiten=None), rng=1)
    assert "times as large" not in str(right)
    assert right["a"].freedom == 199.0


def test_a_few_realizations_tell_no_covariance():
    data = wrap(draw(1)[0])
    found = dd.fit(bilinear(), data, free=["a", "b"], criterion=dd.SimulationPEM(realizations=10), rng=1)
    assert found["a"].freedom != 9.0


def test_residuals_are_whitened_by_default_where_samples_are_regular():
    y = draw(1)[0]
    found = dd.fit(bilinear(), wrap(y), free=["a", "b"], criterion=dd.SimulationPEM(whiten=None), rng=1)
    assert found.filters["y"].order > 0
    assert f"residuals are whitened, by autoregressions of order: y {found.filters['y'].order}" in str(found)
    asked = dd.fit(bilinear(), wrap(y), free=["a", "b"], criterion=dd.SimulationPEM(whiten=True), rng=1)
    assert asked.params == found.params
    plain = dd.fit(bilinear(), wrap(y), free=["a", "b"], criterion=dd.SimulationPEM(whiten=False), rng=1)
    assert not plain.filters
    assert "whitened" not in str(plain)
    uneven = np.delete(np.arange(TIMES.size), [3, 10, 11])
    gappy = dd.Dataset(TIMES[uneven], inputs={"u": PUSH}, outputs={"y": y[uneven]})
    irregular = dd.fit(bilinear(), gappy, free=["a", "b"], criterion=dd.SimulationPEM(whiten=None), rng=1)
    assert not irregular.filters
    assert "residuals are not whitened: whiten needs regular samples" in str(irregular)


def test_evaluate_whitens_only_where_it_is_asked_to():
    data = wrap(draw(1)[0])
    costs = [
        dd.evaluate(bilinear(), data, free=["a"], criterion=dd.SimulationPEM(whiten=whiten), rng=1).value
        for whiten in (None, False, True)
    ]
    assert costs[0] == costs[1] != costs[2]
