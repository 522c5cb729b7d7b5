"""Several samples at one time, and samples with accuracies of their own, in every criterion."""

import numpy as np
import pytest
from scipy.optimize import least_squares, minimize_scalar
from scipy.stats import multivariate_normal

import daedal as dd
from daedal.data import Dataset, Samples
from daedal.errors import EstimationError
from daedal.symbolic import der, symbols

x, a, w, s = symbols("x a w s")
TIMES = np.repeat([0.2, 0.5, 0.9, 1.4, 2.2, 3.1], [1, 3, 1, 2, 1, 2])
NOISE = 0.02 * (1.0 + np.arange(TIMES.size) % 4)
INTENSITY = 0.05


def decay(**changes) -> dd.Model:
    fields = {
        "name": "decay", "equations": {"x": der(x) == -a * x}, "unknowns": [x], "outputs": {"y": x},
        "parameters": {a: 0.7}, "initial": {x: 1.0},
    }  # fmt: skip
    return dd.Model(**fields | changes)


def disturbed(**changes) -> dd.Model:
    return decay(equations={"x": der(x) == -a * x + w}, disturbances={w: dd.WhiteNoise(intensity=INTENSITY)}, **changes)


def record(seed: int = 0, noise: np.ndarray | None = NOISE) -> Dataset:
    values = np.exp(-TIMES) + NOISE * np.random.default_rng(seed).normal(size=TIMES.size)
    told = {} if noise is None else {"y": noise}
    return Dataset(TIMES, outputs={"y": values}, measurement_noise=told, t0=0.0)


def compute_density(data: Dataset, rate: float, noise: np.ndarray) -> float:
    """The joint density of all samples of the disturbed decay from x(0) = 1."""
    times = data.outputs["y"].times
    apart, together = np.abs(np.subtract.outer(times, times)), np.add.outer(times, times)
    covariance = INTENSITY / (2.0 * rate) * (np.exp(-rate * apart) - np.exp(-rate * together))
    density = multivariate_normal(np.exp(-rate * times), covariance + np.diag(noise**2))
    return float(density.logpdf(data["y"]))


def test_output_error_weighs_each_sample():
    fit = dd.fit(decay(), record(), free=["a"])
    brute = least_squares(lambda p: (record()["y"] - np.exp(-p[0] * TIMES)) / NOISE, 0.7, xtol=1e-14, ftol=1e-14)
    assert fit.params["a"] == pytest.approx(brute.x[0], rel=1e-6)
    assert fit.loglik == pytest.approx(
        -brute.cost - np.sum(np.log(NOISE)) - 0.5 * TIMES.size * np.log(2.0 * np.pi), rel=1e-8
    )


def test_the_likelihood_is_the_joint_density():
    for rate in (0.5, 1.0):
        evaluation = dd.evaluate(disturbed(), record(), free=["a"], criterion=dd.Likelihood(), values={"a": rate})
        assert evaluation.loglik == pytest.approx(compute_density(record(), rate, NOISE), rel=1e-9)
    fit = dd.fit(disturbed(), record(), free=["a"])  # Likelihood is chosen: the data say how accurate they are
    brute = minimize_scalar(lambda rate: -compute_density(record(), rate, NOISE), bounds=(0.1, 5.0), method="bounded")
    assert isinstance(fit.criterion, dd.Likelihood)
    assert fit.params["a"] == pytest.approx(brute.x, rel=1e-4)


def test_replicates_with_an_accuracy_that_is_estimated():
    model = disturbed(parameters={a: 0.7, s: dd.Parameter(0.1, lower=1e-4)}, measurement_noise={"y": s})
    data = record(noise=None)
    evaluation = dd.evaluate(model, data, free=["a", "s"], criterion=dd.Likelihood(), values={"a": 0.8, "s": 0.05})
    assert evaluation.loglik == pytest.approx(compute_density(data, 0.8, np.full(TIMES.size, 0.05)), rel=1e-9)


def test_simulated_means_of_replicates_and_their_scatter():
    coloured = decay(
        equations={"x": der(x) == -a * x * (1.0 + w)},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.3, time_constant=0.5)},
    )
    fit = dd.fit(coloured, record(), free=["a"], criterion=dd.SimulationPEM(realizations=60), rng=1)
    # Three readings of one time are one reading that is √3 times as accurate.
    samples = record().outputs["y"]
    distinct = np.unique(TIMES)
    weights = [1.0 / NOISE[time == TIMES] ** 2 for time in distinct]
    pairs = zip(distinct, weights, strict=True)
    means = [float(np.average(samples.values[time == TIMES], weights=own)) for time, own in pairs]
    merged = Samples(distinct, means, [float(np.sum(own)) ** -0.5 for own in weights])
    other = dd.fit(
        coloured, Dataset(outputs={"y": merged}, t0=0.0), free=["a"], criterion=dd.SimulationPEM(realizations=60), rng=1
    )
    assert fit.params["a"] == pytest.approx(other.params["a"], rel=1e-5)
    assert fit["a"].monte_carlo_error == pytest.approx(other["a"].monte_carlo_error, rel=1e-3)


def test_experiments_of_other_lengths_have_noise_of_their_own(tmp_path):
    short = Dataset(TIMES[:4], outputs={"y": np.exp(-TIMES[:4])}, measurement_noise={"y": NOISE[:4] * 2.0}, t0=0.0)
    fit = dd.fit(decay(), [record(), short], free=["a"])
    times, noise = np.append(TIMES, TIMES[:4]), np.append(NOISE, NOISE[:4] * 2.0)
    values = np.append(record()["y"], short["y"])
    brute = least_squares(lambda p: (values - np.exp(-p[0] * times)) / noise, 0.7, xtol=1e-14, ftol=1e-14)
    assert fit.params["a"] == pytest.approx(brute.x[0], rel=1e-6)
    fit.save(tmp_path / "fit.nc")
    assert dd.load(tmp_path / "fit.nc").data == fit.data == (record(), short)


def test_data_count_before_a_number_of_the_model():
    free, declared = decay(), decay(measurement_noise={"y": 7.0})
    assert dd.fit(declared, record(), free=["a"]).params["a"] == dd.fit(free, record(), free=["a"]).params["a"]


def test_every_verdict_takes_them():
    fit = dd.fit(disturbed(), record(), free=["a"])
    assert dd.compare(fit, record(1)).series
    assert dd.compare(fit, record(1), horizon=[1, 2]).series
    assert "y" in dd.resid(fit).outputs
    states = dd.estimate_states(fit, record(), variables=["x"])
    assert states.mean["x"].shape == np.unique(TIMES).shape


def test_what_contradicts_is_refused():
    model = decay(parameters={a: 0.7, s: 0.1}, measurement_noise={"y": s})
    with pytest.raises(EstimationError, match=r"tell the noise of each sample of 'y', for which the model.*Keep one"):
        dd.fit(model, record(), free=["a"])
    with pytest.raises(EstimationError, match=r"do not tell how accurate 'y' is; other data do.*Give all of them"):
        dd.fit(decay(), [record(), record(noise=None)], free=["a"])
    with pytest.raises(EstimationError, match=r"whiten needs regular samples"):
        dd.fit(decay(), record(), free=["a"], criterion=dd.OutputError(whiten=1))
    driven = Dataset(np.repeat(np.arange(9.0), 2), {"u": np.repeat(np.arange(9.0) % 2, 2)}, {"y": np.arange(18.0)})
    with pytest.raises(EstimationError, match=r"one sample of 'y' for each time, but the data have replicates.*means"):
        dd.select_order(driven, orders=[1])
