"""Moments of measured outputs, where the samples themselves are random with a law that is partly known.

Of the vector ŷ of all samples (time by time, at each time output by output) are needed

    m = E ŷ,   Ξ = Cov(ŷ, ŷ),   υ_k = Σ_l Cov(ŷ_l², ŷ_k),   Var ŷᵀŷ   (equation (6) of Lin et al., see `mean_variance`).

For ŷ = M s, sources s_i independent with mean μ, variance σ² and third raw moment ρ, and c_i = ρ − 3μσ² − μ³ the third
central moment,

    Ξ = M diag(σ²) Mᵀ,   Cov(ŷ_l², ŷ_k) = Σ_i M_li² M_ki c_i + 2 m_l Ξ_lk,

With the fourth central moments κ_i too, G = MᵀM and g = Gμ,

    Var ŷᵀŷ = Σ_i (4 g_i² σ_i² + 4 g_i G_ii c_i + G_ii² (κ_i − σ_i⁴)) + 2 Σ_{i ≠ j} G_ij² σ_i² σ_j²,

a constant that moves no estimate.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from daedal.data import frozen
from daedal.errors import EstimationError, as_float, check_whole_number, counted, is_real, show
from daedal.memory import check_memory

SEMIDEFINITE = 1e-10  # of the largest eigenvalue: how negative the smallest may be by rounding
STILL = 1e-4  # of the size of a moment that must be zero: what rounding may leave of it
MATRICES = 5  # of the size of the covariance, in use at once
AGREES = 1e-8  # of a moment, relative to its size


@final
@dataclass(frozen=True, eq=False)
class MeasurementMoments:
    """m (sample,), Ξ (sample, sample), υ (sample,) and Var ŷᵀŷ (None where unknown).

    Made by `mixture`, `independent` or `from_samples`. `repetitions` says of how many experiments the mean is taken:
    standard errors of estimates are those of that mean, of one experiment by default.

    Examples
    --------
    >>> MeasurementMoments.independent(mean=[1.0, 2.0], variance=[0.1, 0.1], third_raw_moment=[1.3, 8.6]).mean
    array([1., 2.])
    """

    mean: np.ndarray
    covariance: np.ndarray
    square_covariance: np.ndarray
    variance_of_squares: float | None = None
    repetitions: int = 1

    def __post_init__(self) -> None:
        mean = _check_vector(self.mean, "mean")
        covariance = _check_numbers(self.covariance, "covariance")
        if covariance.shape != (mean.size, mean.size):
            raise EstimationError(
                f"The covariance of {mean.size} samples must have the shape {(mean.size, mean.size)}, got "
                f"{covariance.shape}.",
                "Give one row and one column for each sample.",
            )
        square = _check_vector(self.square_covariance, "square_covariance", mean.size)
        if self.variance_of_squares is not None and not is_real(self.variance_of_squares):
            raise EstimationError(
                f"The variance_of_squares must be a number, got {show(self.variance_of_squares)}.",
                "Leave it out where it is not known.",
            )
        sentence, remedy = "The repetitions must be a positive whole number", "Write repetitions=20."
        check_whole_number(self.repetitions, EstimationError, sentence, remedy, least=1)
        _check_possible(covariance, square, self.variance_of_squares)
        for name, value in (("mean", mean), ("covariance", covariance), ("square_covariance", square)):
            object.__setattr__(self, name, frozen(value.copy()))

    def __repr__(self) -> str:
        return f"MeasurementMoments({self.mean.size} samples)"

    @staticmethod
    def mixture(
        mixing: Any, *, mean: Any, variance: Any, third_raw_moment: Any, fourth_raw_moment: Any = None
    ) -> "MeasurementMoments":
        """Of samples that mix independent sources: ŷ = mixing (sample, source) s.

        Parameters
        ----------
        mixing
            Array (sample, source).
        mean, variance
            Of each source.
        third_raw_moment
            E s³ of each source, not central: μ³ + 3 μ σ² where the law is symmetric.
        fourth_raw_moment
            E s⁴, where it is known: it only adds a constant to the variance of the error.
        """
        M = _check_numbers(mixing, "mixing")
        if M.ndim != 2:
            raise EstimationError(
                f"The mixing must be an array (sample, source), got the shape {M.shape}.",
                "Write np.eye(20) for one each.",
            )
        _check_size(max(M.shape))
        sources = M.shape[1]
        mu, sigma2, rho = (
            _check_vector(value, name, sources, "source")
            for value, name in ((mean, "mean"), (variance, "variance"), (third_raw_moment, "third_raw_moment"))
        )
        if (sigma2 < 0.0).any():
            raise EstimationError(
                f"The variance of source {int(np.argmin(sigma2))} is negative, {float(sigma2.min()):g}.",
                "Give variances from zero on.",
            )
        third = rho - 3.0 * mu * sigma2 - mu**3
        still = (sigma2 == 0.0) & (np.abs(third) > AGREES * (np.abs(rho) + np.abs(mu) ** 3))
        if still.any():
            k = int(np.argmax(still))
            raise EstimationError(
                f"Source {k} has variance zero, so its third raw moment must be {mu[k] ** 3:g}, not {rho[k]:g}.",
                "Give moments of one and the same law.",
            )
        m, covariance = M @ mu, (M * sigma2) @ M.T
        square = M @ (np.sum(M**2, axis=0) * third) + 2.0 * m @ covariance
        if fourth_raw_moment is None:
            return MeasurementMoments(m, covariance, square)
        raw = _check_vector(fourth_raw_moment, "fourth_raw_moment", sources, "source")
        fourth = raw - 4.0 * mu * rho + 6.0 * mu**2 * (sigma2 + mu**2) - 3.0 * mu**4
        rounding = AGREES * (np.abs(raw) + mu**4)  # what subtracting large raw moments may leave
        impossible = (fourth + rounding) * sigma2 < sigma2**3 + third**2  # kurtosis ≥ 1 + skewness²
        if impossible.any():
            k = int(np.argmax(impossible))
            raise EstimationError(
                f"No random variable has the moments of source {k}: its fourth is too small for its variance and "
                "third.",
                "Give raw moments, not central ones.",
            )
        return MeasurementMoments(m, covariance, square, _compute_variance_of_squares(M, mu, sigma2, third, fourth))

    @staticmethod
    def independent(
        *, mean: Any, variance: Any, third_raw_moment: Any, fourth_raw_moment: Any = None
    ) -> "MeasurementMoments":
        """Of independent samples, each with its moments as in `mixture`."""
        center = _check_numbers(mean, "mean")
        _check_size(center.size)
        return MeasurementMoments.mixture(
            np.eye(center.size),
            mean=center,
            variance=variance,
            third_raw_moment=third_raw_moment,
            fourth_raw_moment=fourth_raw_moment,
        )

    @staticmethod
    def from_samples(array: Any) -> "MeasurementMoments":
        """From repeated experiments, an array (repetition, sample); the data are then the mean over the repetitions."""
        samples = _check_numbers(array, "array of repeated experiments")
        if samples.ndim != 2 or samples.shape[0] < 2:
            raise EstimationError(
                f"Repeated experiments must be an array (repetition, sample) with at least two repetitions, got the "
                f"shape {samples.shape}.",
                "Put one experiment in each row.",
            )
        count = samples.shape[0]
        _check_size(samples.shape[1])
        mean = samples.mean(axis=0)
        apart, squares = samples - mean, samples**2
        covariance = apart.T @ apart / (count - 1)
        sums = np.sum(squares, axis=1)
        square = (sums - sums.mean()) @ apart / (count - 1)
        return MeasurementMoments(mean, covariance, square, float(np.var(sums, ddof=1)), count)

    def error(self, y: np.ndarray) -> tuple[float, float]:
        """E and Var of Σ (y − ŷ)² for predictions y (sample,); Var without the constant Var ŷᵀŷ where it is unknown."""
        expectation = float(np.sum((y - self.mean) ** 2) + np.trace(self.covariance))
        variance = 4.0 * float(y @ self.covariance @ y - y @ self.square_covariance)
        return expectation, variance + (self.variance_of_squares or 0.0)


def _check_size(samples: int) -> None:
    """A covariance, its eigenvectors and what is made on the way."""
    subject = f"The covariance of {counted(samples, 'sample')} of each with each"
    check_memory(MATRICES * 8.0 * samples**2, subject, "Give fewer samples, data.resample(step) say.")


def _compute_variance_of_squares(
    M: np.ndarray, mu: np.ndarray, sigma2: np.ndarray, third: np.ndarray, fourth: np.ndarray
) -> float:
    G = M.T @ M
    g, own = G @ mu, np.diag(G)
    mixed = 2.0 * float(sigma2 @ (G**2 - np.diag(own**2)) @ sigma2)
    single = 4.0 * g**2 * sigma2 + 4.0 * g * own * third + own**2 * (fourth - sigma2**2)
    return mixed + float(single.sum())


def _check_possible(covariance: np.ndarray, square: np.ndarray, variance_of_squares: float | None) -> None:
    """Refuse what no random vector can have: with |ŷ|² as one more variable, the covariance is semidefinite."""
    if np.abs(covariance - covariance.T).max(initial=0.0) > AGREES * np.abs(covariance).max(initial=0.0):
        raise EstimationError("The covariance is not symmetric.", "Give Cov(y_k, y_l) = Cov(y_l, y_k).")
    eigenvalues, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    largest = max(float(eigenvalues.max(initial=0.0)), 1e-300)
    if eigenvalues.min(initial=0.0) < -SEMIDEFINITE * largest:
        raise EstimationError(
            f"No random vector has this covariance: it has the negative eigenvalue {float(eigenvalues[0]):.3g}.",
            "Check variances and mixing.",
        )
    still = eigenvalues <= SEMIDEFINITE * largest
    along = vectors.T @ square
    if np.abs(along[still]).max(initial=0.0) > STILL * np.linalg.norm(square):
        k = int(np.argmax(np.abs(vectors[:, still] @ along[still])))
        raise EstimationError(
            f"No random vector has this square_covariance: sample {k}, or what it is part of, does not vary, but is "
            "said to vary with the squares.",
            "Give moments of one and the same law.",
        )
    if variance_of_squares is not None:
        least = float(np.sum(along[~still] ** 2 / eigenvalues[~still]))
        if not as_float(variance_of_squares) >= least * (1.0 - STILL):
            raise EstimationError(
                f"No random vector has these moments: the variance of the sum of squares is "
                f"{as_float(variance_of_squares):g}, "
                f"but the other moments need at least {least:g}.",
                "Give moments of one and the same law.",
            )


def _check_numbers(value: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(value)
        with np.errstate(over="ignore"):  # longer floats become infinite
            numbers = array.astype(float, casting="unsafe" if array.dtype.kind == "O" else "same_kind")
    except Exception:  # whatever the method of a stranger raises
        raise EstimationError(
            f"The {name} must be numbers, got {show(value):.60}.", "Give an array of numbers."
        ) from None
    if not np.isfinite(numbers).all():
        raise EstimationError(f"The {name} contains values that are not finite.", "Give finite numbers.")
    return numbers


def _check_vector(value: Any, name: str, size: int | None = None, axis: str = "sample") -> np.ndarray:
    numbers = _check_numbers(value, name)
    if numbers.ndim != 1 or (size is not None and numbers.size != size):
        wanted = f"({axis},)" if size is None else f"({size},), one for each {axis}"
        raise EstimationError(
            f"The {name} must have the shape {wanted}, got {numbers.shape}.", f"Give one number for each {axis}."
        )
    return numbers
