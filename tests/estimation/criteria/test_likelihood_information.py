"""The curvature of the likelihood is the information, and its intervals cover."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import daedal as dd
from batteries.joint_densities import one_output
from batteries.oscillator import E1, IRREGULAR, NUMBERS, Case, a, q, read, s, signal, u, w, white, x
from daedal import der
from sizes import bound_hits, bound_scatter, choose


def information(case: Case, moments: Callable[[Mapping[str, float]], tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Fisher's information of a joint Gaussian: ∂μᵀ S⁻¹ ∂μ + ½ tr S⁻¹ ∂S S⁻¹ ∂S."""
    _, S = moments(case.values)
    slopes = []
    for name in case.free:
        h = 1e-5 * case.values[name]
        ahead, behind = (moments({**case.values, name: case.values[name] + k * h}) for k in (1, -1))
        slopes.append([(up - down) / (2 * h) for up, down in zip(ahead, behind, strict=True)])
    solved = [(np.linalg.solve(S, m), np.linalg.solve(S, dS)) for m, dS in slopes]
    return np.array(
        [
            [m @ other[0] + 0.5 * np.trace(T @ other[1]) for other in solved]
            for (m, _), (_, T) in zip(slopes, solved, strict=True)
        ]
    )  # fmt: skip


def test_curvature_is_the_information_on_average():
    """Over simulated samples; both parts of it, that of the mean and that of the variances."""
    batches, rng = 8, np.random.default_rng(26)
    count = choose(128, 320)
    case = one_output(IRREGULAR, "foh")
    p = case.values
    template = read(IRREGULAR, np.zeros(8), E1)

    def moments(q: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
        mean, _, S = white(NUMBERS | q).moments(template)
        return mean, S + {**NUMBERS, **q}["s"] ** 2 * np.eye(8)

    mean, S = moments(p)
    factor = np.linalg.cholesky(S)
    curvatures, gradients = [], []
    for _ in range(batches):
        drawn = [
            dd.Dataset(IRREGULAR, inputs={"u": signal()}, outputs={"y": mean + factor @ rng.normal(size=8)})
            for _ in range(count // batches)
        ]
        found = dd.evaluate(case.model, drawn, free=case.free, criterion=dd.Likelihood(), values=p)
        curvatures.append(found.curvature / len(drawn))
        gradients.append(found.gradient / len(drawn))
    expected = information(case, moments)
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    spread = np.std(curvatures, axis=0, ddof=1) / np.sqrt(batches)
    assert np.max(np.abs(np.mean(curvatures, axis=0) - expected) / (spread + 1e-6 * scale)) < 5.0
    assert np.max(np.abs(np.mean(curvatures, axis=0) - expected) / scale) < 0.15
    # The gradient has mean zero, and the information as its covariance.
    assert np.max(np.abs(np.mean(gradients, axis=0)) / np.sqrt(np.diag(expected) / count)) < 4.5


def lag(**changes: Any) -> dd.Model:
    """x' = −a x + u + w with a low-pass disturbance of gain q, an accuracy s."""
    fields: dict[str, Any] = {
        "name": "lag",
        "equations": {"rate": der(x) == -a * x + u + w},
        "unknowns": [x], "inputs": [u], "outputs": {"y": x},
        "parameters": {k: dd.Parameter(NUMBERS[str(k)], lower=1e-4, upper=1e3, scale="log") for k in (a, q, s)},
        "disturbances": {w: dd.FilteredNoise(numerator=[q], denominator=[1.0, 0.5])},
        "measurement_noise": {"y": s}, "initial": {x: 0.0},
    }  # fmt: skip
    return dd.Model(**fields | changes)


def estimate(sets: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Whether 95 % intervals hold the truth, and estimates with their standard errors, (set, parameter)."""
    names, truth = ["a", "q", "s"], np.array([0.8, 0.6, 0.15])
    times = np.arange(count) * 0.3
    push = dd.Signal(times, np.sign(np.sin(0.9 * times + 0.1)), "zoh")
    model = lag()
    run = dd.simulate(model, times, inputs={"u": push}, realizations=sets, measurement_noise=True, rng=11)
    hits, found = [], []
    for values in run["y"]:
        data = dd.Dataset(times, inputs={"u": push}, outputs={"y": values})
        fit = dd.fit(model, data, free=names, criterion=dd.Likelihood())
        intervals = np.array([fit.conf_int()[name] for name in names])
        hits.append((intervals[:, 0] <= truth) & (truth <= intervals[:, 1]))
        found.append([(fit[name].value, fit[name].std_error) for name in names])
    return np.array(hits), np.array(found)


@pytest.mark.slow
def test_intervals_cover():
    """Three parameters of three kinds: plant, disturbance, accuracy."""
    sets = choose(30, 200)
    hits, found = estimate(sets, 150)
    least, most = choose(bound_hits(sets), (180, 196))
    assert np.all((hits.sum(axis=0) >= least) & (hits.sum(axis=0) <= most)), hits.mean(axis=0)
    reported = np.sqrt(np.mean(found[..., 1] ** 2, axis=0)) / np.std(found[..., 0], axis=0, ddof=1)
    low, high = bound_scatter(sets)
    assert np.all((low < reported) & (reported < high)), reported
