"""Burg's method and the filters of an autoregression against closed forms, brute force and simulated processes."""

import numpy as np
import pytest
from scipy.linalg import toeplitz

from daedal.errors import DataError
from daedal.estimation.problem.autoregression import (
    Autoregression,
    find_contiguous,
    fit_autoregression,
    fit_autoregressions,
)

SECOND = np.array([-1.5, 0.8])
FOURTH = np.poly([0.9 * np.exp(0.7j), 0.9 * np.exp(-0.7j), 0.6, -0.5]).real[1:]
RESONANT = np.array([-2 * 0.999 * np.cos(0.3), 0.999**2])
MODELS = {
    "white": Autoregression(np.zeros(0), 2.0),
    "first": Autoregression(np.array([-0.7]), 0.5),
    "no memory": Autoregression(np.zeros(3), 1.5),
    "second": Autoregression(SECOND, 1.0),
    "resonant": Autoregression(RESONANT, 0.1),
    "fourth": Autoregression(FOURTH, 3.0),
    "repeated": Autoregression(np.poly([0.8] * 5)[1:], 1.0),
    "slow": Autoregression(np.array([-(1 - 1e-7)]), 1e-7),
}


def simulated(coefficients, count, seed, discard=2000):
    """r_k = e_k − Σ a_i r_{k−i}, sample by sample."""
    e = np.random.default_rng(seed).normal(size=count + discard)
    r = np.zeros(count + discard)
    for k in range(coefficients.size, r.size):
        r[k] = e[k] - coefficients @ r[k - coefficients.size : k][::-1]
    return r[discard:]


def autocovariance(model, count):
    """γ_0 … γ_{count−1} by the Yule–Walker equations Σ_i a_i γ_|k−i| = σ² δ_k0."""
    p = model.order
    equations = np.zeros((p + 1, p + 1))
    for k in range(p + 1):
        for i, a in enumerate(model.polynomial):
            equations[k, abs(k - i)] += a
    found = list(np.linalg.solve(equations, model.variance * np.eye(p + 1)[0]))
    while len(found) < count:
        found.append(-sum(a * found[-1 - i] for i, a in enumerate(model.coefficients)))
    return np.array(found[:count])


def textbook_burg(r, order):
    """One stretch, element by element."""
    n = len(r)
    f, b, a = list(r), list(r), [1.0]
    variance = sum(value**2 for value in r) / n
    for m in range(1, order + 1):
        above = -2 * sum(f[k] * b[k - 1] for k in range(m, n))
        k_m = above / sum(f[k] ** 2 + b[k - 1] ** 2 for k in range(m, n))
        a = [x + k_m * y for x, y in zip([*a, 0.0], [0.0, *a[::-1]], strict=True)]
        new_f, new_b = list(f), list(b)
        for k in range(m, n):
            new_f[k], new_b[k] = f[k] + k_m * b[k - 1], b[k - 1] + k_m * f[k]
        f, b, variance = new_f, new_b, variance * (1 - k_m**2)
    return np.array(a[1:]), variance


def with_gaps(seed, shape):
    rng = np.random.default_rng(seed)
    known = rng.uniform(size=shape[-1]) > 0.06
    return rng.normal(size=shape), known


@pytest.mark.parametrize("order", [0, 1, 2, 7])
def test_one_stretch_agrees_with_the_textbook(order):
    r = simulated(SECOND, 120, seed=4)
    a, variance = textbook_burg(r, order)
    model = fit_autoregression([r], order)
    assert model.order == order
    np.testing.assert_allclose(model.coefficients, a, rtol=0, atol=1e-13)
    assert model.variance == pytest.approx(variance, rel=1e-12)


def test_first_order_over_several_stretches_in_closed_form():
    parts = [simulated(SECOND, count, seed=count) for count in (30, 1, 2, 17)]
    above = -2 * sum(r[1:] @ r[:-1] for r in parts)
    expected = above / sum(r[1:] @ r[1:] + r[:-1] @ r[:-1] for r in parts)
    assert fit_autoregression(parts, 1).coefficients == pytest.approx([expected], rel=1e-14)


@pytest.mark.parametrize("coefficients", [SECOND, FOURTH], ids=["second", "fourth"])
@pytest.mark.parametrize("pieces", [1, 10])
def test_simulated_coefficients_are_recovered(coefficients, pieces):
    count = 20_000
    model = fit_autoregression(np.split(simulated(coefficients, count, seed=pieces), pieces), coefficients.size)
    # Asymptotic covariance of the coefficients: σ² Γ⁻¹ / n.
    gamma = toeplitz(autocovariance(Autoregression(coefficients, 1.0), coefficients.size))
    standard_error = np.sqrt(np.diag(np.linalg.inv(gamma)) / count)
    assert (np.abs(model.coefficients - coefficients) < 4.5 * standard_error).all()
    assert abs(model.variance - 1.0) < 4.5 * np.sqrt(2 / count)


def test_coverage_of_the_standard_errors():
    gamma = toeplitz(autocovariance(Autoregression(SECOND, 1.0), 2))
    inverse = np.linalg.inv(np.linalg.inv(gamma) / 500)
    distances = []
    for seed in range(100):
        error = fit_autoregression([simulated(SECOND, 500, seed, discard=200)], 2).coefficients - SECOND
        distances.append(error @ inverse @ error)
    assert 1.4 < np.mean(distances) < 2.6  # mean of χ² with 2 degrees of freedom, standard deviation 2 / √100


def test_white_noise_has_order_zero_in_most_cases():
    orders = [fit_autoregression([np.random.default_rng(seed).normal(size=400)]).order for seed in range(50)]
    assert orders.count(0) >= 45


def test_order_of_a_strong_process_is_found():
    orders = [fit_autoregression([simulated(SECOND, 1000, seed, discard=200)]).order for seed in range(20)]
    assert orders.count(2) >= 17
    assert min(orders) == 2


@pytest.mark.parametrize(("most", "count", "highest"), [(3, 400, 3), (40, 50, 5), (40, 9, 0)])
def test_chosen_order_stays_within_its_limits(most, count, highest):
    line = np.cos(0.3 * np.arange(count)) + np.cos(1.1 * np.arange(count)) + np.cos(2.3 * np.arange(count))
    assert fit_autoregression([line], most=most).order <= highest


def test_chosen_order_is_shorter_than_the_stretches():
    assert fit_autoregression([np.array([1.0, -1.0])] * 30).order <= 1


@pytest.mark.parametrize("seed", range(20))
def test_short_data_give_stable_models(seed):
    rng = np.random.default_rng(seed)
    parts = [rng.normal(size=size) for size in rng.integers(1, 12, size=3)]
    longest = max(part.size for part in parts)
    model = fit_autoregression(parts, longest - 1)
    assert np.abs(np.roots(model.polynomial)).max(initial=0.0) < 1
    assert model.variance >= 0


@pytest.mark.parametrize(
    "series",
    [
        np.ones(30),
        np.zeros(30),
        (-1.0) ** np.arange(30),
        np.cos(0.3 * np.arange(400)),
        0.5 ** np.arange(400),
        np.array([3.0]),
    ],
    ids=["constant", "zero", "alternating", "wave", "decay", "single"],
)
@pytest.mark.parametrize("order", [None, 0, 10])
def test_degenerate_series(series, order):
    model = fit_autoregression([series], None if order is None else min(order, series.size - 1))
    assert np.abs(np.roots(model.polynomial)).max(initial=0.0) < 1
    assert np.isfinite(model.long_run(series)).all()


def test_short_stretches_count_only_where_they_are_long_enough():
    long, short = simulated(SECOND, 50, seed=1), np.array([100.0])
    np.testing.assert_array_equal(
        fit_autoregression([long, short], 3).coefficients, fit_autoregression([long], 3).coefficients
    )


@pytest.mark.parametrize(
    ("stretches", "order", "sentence"),
    [
        ([], None, "needs samples"),
        ([np.zeros(0)], 0, "needs samples"),
        ([np.array([1.0, np.nan])], 0, "must be finite"),
        ([np.ones(3), np.ones(2)], 3, "from 0 to 2 here, got 3"),
        ([np.ones(3)], -1, "got -1"),
    ],
)
def test_what_cannot_be_fitted(stretches, order, sentence):
    with pytest.raises(DataError, match=sentence):
        fit_autoregression(stretches, order)


def test_coefficients_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        MODELS["first"].coefficients[0] = 0.0


@pytest.mark.parametrize("text", ["", "x", ".", "xx", "..", ".xx.x..xxx", "x.x", "xx..x."])
def test_contiguous_stretches(text):
    values = np.array([1.0 if letter == "x" else np.nan for letter in text])
    expected = [part for part in text.split(".") if part]
    found = find_contiguous(values)
    assert [text[part] for part in found] == expected
    assert sum(part.stop - part.start for part in found) == text.count("x")


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"slow"}))
@pytest.mark.parametrize("shape", [(90,), (3, 90), (2, 3, 40), (2,)])
def test_whitening_is_that_of_the_stationary_process(name, shape):
    """Of each stretch without gaps e = σ L⁻¹ x, L Lᵀ being its Toeplitz covariance."""
    model = MODELS[name]
    values, known = with_gaps(7, shape)
    x = np.where(known, values, np.nan)
    expected = np.full(shape, np.nan)
    for stretch in find_contiguous(np.where(known, 0.0, np.nan)):
        covariance = toeplitz(autocovariance(model, stretch.stop - stretch.start))
        factor = np.linalg.cholesky(covariance)
        solved = np.linalg.solve(factor, x[..., stretch].reshape(-1, len(factor)).T).T
        expected[..., stretch] = np.sqrt(model.variance) * solved.reshape(x[..., stretch].shape)
    np.testing.assert_allclose(model.whiten(x), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_adjoint_is_the_transpose(name, seed):
    model = MODELS[name]
    (u, v), known = with_gaps(seed, (2, 80))
    image = np.nan_to_num(model.whiten(np.where(known, u, np.nan)))
    back = model.adjoint(v, known)
    assert image @ v == pytest.approx(np.where(known, u, 0.0) @ back, abs=1e-10)
    assert (back[~known] == 0).all()


def test_adjoint_ignores_values_where_nothing_is_known():
    model = MODELS["second"]
    values, known = with_gaps(1, (3, 60))
    np.testing.assert_array_equal(model.adjoint(np.where(known, values, np.nan), known), model.adjoint(values, known))


@pytest.mark.parametrize("name", MODELS)
def test_long_run_agrees_with_the_toeplitz_matrix(name):
    model = MODELS[name]
    x, known = with_gaps(5, (4, 70))
    x = np.where(known, x, 0.0)
    expected = x @ toeplitz(autocovariance(model, 70)) @ x.T
    image = model.long_run(x)
    assert image.shape == (4, 70)
    np.testing.assert_allclose(image @ image.T, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())
    np.testing.assert_allclose(model.long_run(x[0]), image[0], rtol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_long_run_of_series_about_as_short_as_the_order(count):
    model = MODELS["fourth"]
    x = np.random.default_rng(count).normal(size=(2, count))
    image = model.long_run(x)
    assert image @ image.T == pytest.approx(x @ toeplitz(autocovariance(model, count)) @ x.T, rel=1e-10)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("count", [1, 3, 12])
def test_drawn_series_have_the_covariance_of_the_process(name, count):
    """What unit vectors become is a root of the Toeplitz matrix."""
    model = MODELS[name]
    root = model.draw(np.eye(count))
    expected = toeplitz(autocovariance(model, count))
    np.testing.assert_allclose(root.T @ root, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_rows_are_fitted_like_series_of_their_own():
    rows = np.random.default_rng(4).normal(size=(3, 90)).cumsum(axis=1) * np.array([[0.1], [1.0], [10.0]])
    together = fit_autoregressions([rows[:, :60], rows[:, 60:]])
    assert together == [fit_autoregression([row[:60], row[60:]]) for row in rows]


def test_long_run_agrees_with_a_zero_padded_tail():
    model = fit_autoregression([np.random.default_rng(2).normal(size=200).cumsum()], 30)
    x = np.random.default_rng(3).normal(size=(3, 100))
    impulse = np.zeros(60_000)
    impulse[:100] = x[0][::-1]
    padded = np.zeros(60_000)
    for k in range(impulse.size):
        past = padded[max(k - 30, 0) : k][::-1]
        padded[k] = impulse[k] - model.coefficients[: past.size] @ past
    assert abs(padded[-1]) < 1e-12 * np.abs(padded).max()
    assert np.sum(model.long_run(x)[0] ** 2) == pytest.approx(model.variance * padded @ padded, rel=1e-9)


def test_no_series_at_all_are_none():
    assert MODELS["second"].draw(np.zeros((0, 50))).shape == (0, 50)
    assert MODELS["second"].long_run(np.zeros((0, 50))).shape[0] == 0
