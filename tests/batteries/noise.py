"""What every noise declaration meets: its law against closed forms, its start, its parameters, its text, its paths.

A case gives a noise with parameters, numbers for them, and in closed form its spectral density Φ(ω) and its covariance
R(τ) = E w(t + τ) w(t)ᵀ = ∫ Φ(ω) e^{iωτ} dω/2π. White noise has no values in time; what it does is seen behind a lag.
"""

import copy
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad_vec

import daedal as dd
from daedal import der
from daedal.disturbances import (
    Noise,
    count_derivatives,
    differentiate_realization,
    discretize,
    is_noise,
    list_parameters,
    realize,
    rename_parameters,
)
from daedal.errors import ModelError
from daedal.filtering.evolution import make_stochastic_model
from daedal.filtering.parameter_point import Point

STRETCHES, APART = 4000, 25.0  # of one path, far enough apart to be independent; bands are five standard errors wide


@dataclass(frozen=True, eq=False)
class NoiseCase:
    """A noise, numbers for its parameters, and Φ(ω) and R(τ ≥ 0) as (channel, channel); R of white noise is nothing."""

    noise: Noise
    numbers: Mapping[str, float]
    spectrum: Callable[[float], np.ndarray]
    covariance: Callable[[float], np.ndarray] = lambda _: np.zeros((0, 0))

    @property
    def timed(self) -> bool:
        """Whether it has values in time."""
        return self.noise.intensity is None

    @property
    def key(self) -> Any:
        """What a model calls it."""
        names = tuple(dd.symbol(f"w{k}") for k in range(self.noise.channels))
        return names if len(names) > 1 else names[0]

    def model(self) -> dd.Model:
        """x' = −x + Σ w, the lag behind which every noise has a variance."""
        x = dd.symbol("x")
        total = sum(self.key) if self.noise.channels > 1 else self.key
        return dd.Model(
            name="lag",
            equations={"lag": der(x) == -x + total},
            unknowns=[x],
            outputs={"x": x},
            parameters=dict(self.numbers),
            disturbances={self.key: self.noise},
        )


def integrate(function: Callable[[float], Any]) -> np.ndarray:
    """∫ f(ω) dω/2π over all frequencies, f with conjugate symmetry."""
    return np.real(quad_vec(function, 0.0, np.inf, epsabs=1e-12, epsrel=1e-10)[0]) / np.pi


class NoiseBattery:
    """Inherit with a fixture `case`."""

    def test_it_is_a_declaration_and_its_class_is_none(self, case):
        assert is_noise(case.noise)
        assert not is_noise(type(case.noise))
        with pytest.raises(ModelError, match="must be a noise declaration"):
            replace(case.model(), disturbances={case.key: type(case.noise)})

    def test_it_is_a_value(self, case):
        for other in (
            pickle.loads(pickle.dumps(case.noise)),
            copy.deepcopy(case.noise),
            type(case.noise)(**case.noise.entries()),
        ):
            assert other == case.noise
            assert hash(other) == hash(case.noise)
        assert case.noise != dd.WhiteNoise(intensity=123.0)

    def test_its_parameters_are_named(self, case):
        assert set(list_parameters(case.noise)) == set(case.numbers)
        other = rename_parameters(case.noise, {name: f"pump.{name}" for name in case.numbers})
        assert set(list_parameters(other)) == {f"pump.{name}" for name in case.numbers}
        assert rename_parameters(other, {f"pump.{name}": name for name in case.numbers}) == case.noise
        assert other.entries().keys() == case.noise.entries().keys()

    def test_its_text_is_read_back(self, case):
        read = dd.Model.from_text(case.model().to_text())
        assert next(iter(read.disturbances.values())) == case.noise

    def test_it_drives_as_many_symbols_as_it_has_channels(self, case):
        assert case.spectrum(1.0).shape == (case.noise.channels, case.noise.channels)
        assert len(count_derivatives(case.noise, case.numbers)) == case.noise.channels
        with pytest.raises(ModelError, match="drives"):
            replace(case.model(), disturbances={(*dd.symbols("a b c d"),): case.noise})

    def test_its_derivatives_are_those_of_its_spectrum(self, case):
        """w has d derivatives when ω²ᵈ Φ(ω) can be integrated: Φ falls like ω^{−2(d + 1)}."""
        low, high = np.diag(case.spectrum(1e5)).real, np.diag(case.spectrum(1e6)).real
        counts = np.array(count_derivatives(case.noise, case.numbers))
        assert np.allclose(np.log10(high / low), -2.0 * (counts + 1), atol=1e-3)

    def test_its_spectrum_is_the_closed_form(self, case):
        if not case.timed:
            with pytest.raises(ModelError, match="white noise has no values in time"):
                realize(case.noise, case.numbers)
            return
        space = realize(case.noise, case.numbers)
        for frequency in (0.0, 0.3, 2.0, 17.0):
            response = space.C @ np.linalg.solve(1j * frequency * np.eye(len(space.A)) - space.A, space.B)
            assert np.allclose(response @ response.conj().T, case.spectrum(frequency), rtol=1e-10, atol=1e-14)

    def test_its_matrices_move_with_the_parameters(self, case):
        if not case.timed:
            return
        for name, number in case.numbers.items():
            slope = differentiate_realization(case.noise, case.numbers, name)
            step = 1e-6 * abs(number)
            up, down = (realize(case.noise, {**case.numbers, name: number + sign * step}) for sign in (1, -1))
            for letter in "ABC":
                difference = (getattr(up, letter) - getattr(down, letter)) / (2 * step)
                assert np.allclose(getattr(slope, letter), difference, rtol=1e-6, atol=1e-8)

    def test_a_lag_behind_it_has_the_variance_of_the_closed_form(self, case):
        """Through the filter's matrices, which take white noise as it is."""
        ones = np.ones(case.noise.channels)
        expected = integrate(lambda frequency: (ones @ case.spectrum(frequency) @ ones) / (1.0 + frequency**2))
        evolution = make_stochastic_model(case.model(), "test", {}).at(Point(case.model(), None, ()))
        A, Q, C = evolution.A.value, evolution.Q.value, evolution.C.value
        n = len(A)
        P = np.linalg.solve(np.kron(A, np.eye(n)) + np.kron(np.eye(n), A), -Q.ravel()).reshape(n, n)
        assert float((C @ P @ C.T)[0, 0]) == pytest.approx(float(expected), rel=1e-8)

    def test_it_starts_and_stays_with_its_stationary_law(self, case):
        if not case.timed:
            return
        expected = case.covariance(0.0)
        assert np.allclose(integrate(case.spectrum), expected, rtol=1e-6)
        matrices = discretize(case.noise, case.numbers, 0.1).matrices
        start = matrices.start @ matrices.start.T
        assert np.allclose(matrices.rows @ start @ matrices.rows.T, expected, rtol=1e-8, atol=1e-12)
        later = matrices.transition @ start @ matrices.transition.T + matrices.factor @ matrices.factor.T
        assert np.allclose(later, start, rtol=1e-8, atol=1e-12)
        rest = type(case.noise)(**case.noise.entries() | {"initial": "rest"})
        assert not discretize(rest, case.numbers, 0.1).matrices.start.any()

    def test_paths_are_those_of_their_seed_and_have_its_law(self, case):
        lags = np.array([0.0, 0.4, 0.5])
        if not case.timed:
            with pytest.raises(ModelError, match="cannot be sampled"):
                dd.sample_path(case.noise, lags, rng=1, values=case.numbers)
            return
        times = (APART * np.arange(STRETCHES)[:, None] + lags).ravel()
        path, same, other = (dd.sample_path(case.noise, times, rng=seed, values=case.numbers) for seed in (7, 7, 8))
        assert np.array_equal(path, same)
        assert not np.array_equal(path, other)
        stretches = path.reshape(STRETCHES, lags.size, -1)
        sizes = np.sqrt(np.diag(case.covariance(0.0)))
        band = 5.0 * np.sqrt(2.0 / STRETCHES) * np.outer(sizes, sizes)
        for later, earlier in ((0, 0), (1, 0), (2, 0), (2, 1), (2, 2)):
            expected = case.covariance(lags[later] - lags[earlier])
            assert np.all(np.abs(stretches[:, later].T @ stretches[:, earlier] / STRETCHES - expected) < band)
