"""Measurement noise: as declared, reproducible, and independent of everything else that is random."""

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.errors import DaedalError, SimulationError

x, y, w, s, k = dd.symbols("x y w s k")
TIMES = np.arange(2001) * 0.05


def model(measurement, **changes):
    fields = {
        "name": "pair",
        "equations": {"x": der(x) == -x + w, "y": der(y) == x - 2 * y},
        "unknowns": [x, y],
        "outputs": {"p": x, "q": y, "r": x + y},
        "parameters": {s: 0.3, k: 2.0},
        "disturbances": {w: dd.FilteredNoise([0.6], [1.0, 0.8, 16.0], grid=0.05)},
        "measurement_noise": measurement,
        "initial": {x: 1.0, y: 0.0},
    }
    return dd.Model(**fields | changes)


def residuals(declared, names, **options):
    options = {"realizations": 20, "rng": 4} | options
    clean = dd.simulate(declared, TIMES, **options)
    noisy = dd.simulate(declared, TIMES, measurement_noise=True, **options)
    return [noisy[name] - clean[name] for name in names]


def band(count):
    return 4.5 / np.sqrt(2 * count)


def test_a_number():
    (noise,) = residuals(model({"p": 0.25}), ["p"])
    assert noise.std() == pytest.approx(0.25, rel=band(noise.size))
    assert abs(noise.mean()) < 4.5 * 0.25 / np.sqrt(noise.size)
    lagged = np.mean(noise[:, 1:] * noise[:, :-1]) / 0.25**2
    assert abs(lagged) < 4.5 / np.sqrt(noise.size)


def test_an_expression_of_a_parameter():
    (noise,) = residuals(model({"p": s * k}), ["p"], values={"s": 0.5})
    assert noise.std() == pytest.approx(1.0, rel=band(noise.size))


def test_one_per_sample():
    deviations = np.linspace(0.1, 2.0, TIMES.size)
    (noise,) = residuals(model({"p": deviations}), ["p"])
    scaled = noise / deviations
    assert scaled.std() == pytest.approx(1.0, rel=band(noise.size))
    assert scaled[:, :200].std() == pytest.approx(1.0, rel=band(20 * 200))


def test_a_covariance_matrix():
    covariance = np.array([[0.5, 0.3], [0.3, 0.4]])
    p, q = residuals(model({("p", "q"): covariance}), ["p", "q"])
    found = np.cov(p.ravel(), q.ravel())
    np.testing.assert_allclose(found, covariance, atol=5 * 0.5 * np.sqrt(2 / p.size))


def test_only_declared_outputs_are_noisy_and_nothing_else_changes():
    declared = model({"p": 0.25, "q": 0.1})
    p, q, r, state = residuals(declared, ["p", "q", "r", "x"])
    assert not r.any()
    assert not state.any()
    assert abs(np.corrcoef(p.ravel(), q.ravel())[0, 1]) < 4.5 / np.sqrt(p.size)


def test_realizations_and_disturbances_are_independent_of_it():
    declared = model({"p": 0.25})
    clean = dd.simulate(declared, TIMES, realizations=2, rng=4)
    (noise,) = residuals(declared, ["p"], realizations=2)
    assert abs(np.corrcoef(noise)[0, 1]) < 4.5 / np.sqrt(TIMES.size)
    push = np.diff(clean["x"], axis=1)
    for row, column in zip(noise, push, strict=True):
        assert abs(np.corrcoef(row[1:], column)[0, 1]) < 4.5 / np.sqrt(TIMES.size)


def test_the_same_seed_gives_the_same_noise_for_any_number_of_realizations():
    declared = model({"p": 0.25})
    few = dd.simulate(declared, TIMES[:50], realizations=2, measurement_noise=True, rng=9)
    many = dd.simulate(declared, TIMES[:50], realizations=80, measurement_noise=True, rng=9)
    np.testing.assert_array_equal(few["p"], many["p"][:2])
    other = dd.simulate(declared, TIMES[:50], realizations=2, measurement_noise=True, rng=10)
    assert np.all(other["p"] != few["p"])
    assert few.seed == 9


def test_without_realizations_only_the_measurement_is_random():
    declared = model({"p": 0.25})
    clean = dd.simulate(declared, TIMES)
    noisy = dd.simulate(declared, TIMES, measurement_noise=True, rng=1)
    assert noisy["p"].shape == (TIMES.size,)
    assert np.std(noisy["p"] - clean["p"]) == pytest.approx(0.25, rel=band(TIMES.size))
    np.testing.assert_array_equal(noisy["x"], clean["x"])
    assert noisy.seed == 1
    assert any("disturbances are zero: w" in note for note in noisy.notes)


def test_a_fresh_seed_is_in_the_result_and_gives_the_same_again():
    declared = model({"p": 0.25})
    first = dd.simulate(declared, TIMES[:20], measurement_noise=True, realizations=3)
    again = dd.simulate(declared, TIMES[:20], measurement_noise=True, realizations=3, rng=first.seed)
    np.testing.assert_array_equal(first["p"], again["p"])


def test_the_reference_solver_measures_too():
    noisy = dd.simulate(model({"p": 0.25}), TIMES[:200], measurement_noise=True, rng=1, solver=dd.IDA())
    clean = dd.simulate(model({"p": 0.25}), TIMES[:200], solver=dd.IDA())
    assert np.std(noisy["p"] - clean["p"]) == pytest.approx(0.25, rel=band(200))


def test_what_cannot_be_measured():
    with pytest.raises(SimulationError, match=r"declares no measurement noise.*measurement_noise=\{"):
        dd.simulate(model({}), TIMES[:5], measurement_noise=True)
    with pytest.raises(SimulationError, match="has 3 values for 5 samples"):
        dd.simulate(model({"p": np.ones(3)}), TIMES[:5], measurement_noise=True)
    with pytest.raises(DaedalError, match=r"noise of 'p', -s, is -0\.3 but must be positive"):
        dd.simulate(model({"p": -s}), TIMES[:5], measurement_noise=True)
