"""Values that are open at the start, in many short experiments too.

The samples are y ~ N(μ + X δ, Ω) with δ open. Integrated over a flat prior of δ,

    −log L = −log L(δ̂) + ½ log |Xᵀ Ω⁻¹ X| − ½ k log 2π:

each open value divides the likelihood by how much it moves the samples, in units of their noise. The size of noise in
it is right: without it samples that tell the start would count as if they told how large the noise is. That of X is
not: what scales a state, as the gain c of y = c x, gets a factor 1/c from every experiment. At the maximum of L(δ̂) it
is Ω alone that has a mean slope, ½ ∂ log |Xᵀ Ω⁻¹ X| with X held. So what is minimised is

    −log L − ½ log |Xᵀ W X| + ½ log |X₀ᵀ W X₀| − bᵀ(φ − φ₀),
    b = tr (X₀ᵀ Ω₀⁻¹ X₀)⁻¹ X₀ᵀ Ω₀⁻¹ ∂X − tr (X₀ᵀ W X₀)⁻¹ X₀ᵀ W ∂X,

with W the inverse variances of the innovations and X₀, Ω₀ at a reference φ₀, refreshed until the minimum does not move.
There the value is −log L and the slope has mean zero; without noise that depends on φ it is that of L(δ̂), where W is as
good as Ω₀⁻¹. No unit of a state and no pair of a gain and a start that samples cannot tell apart matters. Without b, or
with Ω₀⁻¹ for W, it is a marginal likelihood (Francke et al. 2010), biased where disturbances drive states, or not a
minimum where X grows. Far from φ₀ all this says nothing, and need not have a minimum: where X grows as noise does, or
where data hardly tell φ and b goes on. So of what is added to −log L in one experiment, d, a negative one is bent to
τ tanh d/τ.

P. McCullagh, R. Tibshirani, A simple method for the adjustment of profile likelihoods, J. R. Statist. Soc. B 52 (1990)
325–344. M. K. Francke, S. J. Koopman, A. F. de Vos, Journal of Time Series Analysis 31 (2010) 407–414.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daedal.experiments import Experiment
from daedal.filtering import Evolution, Innovated, LinearExperiment, Point, measure_shown
from daedal.linear import Dual

MANY = 0.05  # open values for each sample, from which on a flat prior is worth a word
FLAT, ESTIMATED = "unknown, with a flat prior", "estimated too"
LARGEST_GAIN = 1.0  # τ for each open value: of log L, by which no point may profit
MOST = 2e7  # numbers in the covariances of all events: beyond, samples are so many that a start does not matter
GROWN = (
    30.0  # times: what the second half of the samples sees of a start, beside the first, where an unstable plant grows
)


class OpenColumns:
    """X of experiments at one point, made once for those that are sampled alike: no input moves it."""

    def __init__(self, experiments: Sequence[LinearExperiment]) -> None:
        self.experiments = experiments
        self._known: list[tuple[int, Point, Dual]] = []

    def at(self, number: int, evolution: Evolution, at: Point) -> Dual:
        """X (event, δ) of an experiment."""
        for other, known, X in self._known:
            if known is at and self.experiments[number].is_sampled_as(self.experiments[other]):
                return X
        X = self.experiments[number].show_open(evolution, at)
        self._known.append((number, at, X))
        return X


@dataclass(frozen=True, eq=False)
class Reference:
    """Of one experiment: φ₀, W (event,), ½ log |X₀ᵀ W X₀|, b in the coordinates, and how many values are open."""

    point: np.ndarray
    weights: np.ndarray
    shown: float
    tilt: np.ndarray
    count: int

    def correct(self, X: Dual, innovated: Innovated, own: np.ndarray, point: np.ndarray) -> Dual:
        """What is added to −log L at a point φ, with slopes in the coordinates; `own` are ∂θ/∂φ there."""
        most, kept = LARGEST_GAIN * self.count, list(innovated.opened.kept)
        if len(kept) != self.count:  # another likelihood, whose values cannot be compared
            return Dual(np.array(0.0), np.zeros(point.size))
        if not _is_finite(X):  # it has grown beyond all numbers
            return Dual(np.array(-most), np.zeros(point.size))
        shown = measure_shown(X[:, kept], self.weights)
        added, slopes = self.shown - shown.value - self.tilt @ (point - self.point), -own @ shown.slopes - self.tilt
        bent = np.tanh(min(added / most, 0.0))
        return Dual(np.maximum(added, most * bent), (1.0 - bent**2) * slopes)


def make_reference(
    seen: OpenColumns,
    number: int,
    innovated: Innovated,
    at: Point,
    evolution: Evolution,
    own: np.ndarray,
    point: np.ndarray,
    *,
    tilted: bool,
) -> Reference | None:
    """At what an experiment is evaluated at; None where nothing is open, and where the flat prior has to do.

    That is where samples are very many, and where X grows: a plant is unstable, and samples that a controller feeds
    back are not y ~ N(μ + X δ, Ω) given the inputs.
    """
    kept, experiment = list(innovated.opened.kept), seen.experiments[number]
    if not kept or experiment.readings.line.events.row.size * len(evolution.A.value) ** 2 > MOST:
        return None
    X = seen.at(number, evolution, at)[:, kept]
    if not _is_finite(X) or _is_growing(X.value):
        return None
    weights = 1.0 / innovated.s.value
    shown = measure_shown(X, weights)
    tilt = np.zeros(len(X.slopes))
    if tilted:
        weighed = experiment.weigh_open(evolution, at)[:, kept]
        tilt = (
            np.einsum("ik,dik->d", weighed @ innovated.opened.covariance[np.ix_(kept, kept)], X.slopes) - shown.slopes
        )
    return Reference(point, weights, float(shown.value), own @ tilt, len(kept))


def _is_finite(X: Dual) -> bool:
    return bool(np.isfinite(X.value).all() and np.isfinite(X.slopes).all())


def _is_growing(X: np.ndarray) -> bool:
    """Whether later samples see far more of a value at the start than earlier ones."""
    early, late = (np.abs(half).max(axis=0, initial=0.0) for half in np.array_split(X, 2))
    return bool(np.any((late > GROWN * early) & (early > 0.0)))


def tell_open(opened: Sequence[Sequence[str]], how: str) -> list[str]:
    """Which values are `opened` in each experiment, and how they are treated; nothing where none are."""
    names = list(dict.fromkeys(name for some in opened for name in some))
    return [f"at the start {', '.join(names)} {'is' if len(names) == 1 else 'are'} open: {how}"] if names else []


def has_many_open(opened: Sequence[Sequence[str]], experiments: Sequence[Experiment]) -> bool:
    """Whether open values are many for the samples of several experiments."""
    return len(experiments) > 1 and _count(opened) > MANY * _count_samples(experiments)


def _count(opened: Sequence[Sequence[str]]) -> int:
    return sum(len(some) for some in opened)


def _count_samples(experiments: Sequence[Experiment]) -> int:
    return sum(int(np.isfinite(series.values).sum()) for one in experiments for series in one.series)


def describe_open(opened: Sequence[Sequence[str]], experiments: Sequence[Experiment], *, diffuse: bool) -> list[str]:
    """The same where a flat prior is all there is, and whether it pulls."""
    notes = tell_open(opened, FLAT if diffuse else ESTIMATED)
    if diffuse and has_many_open(opened, experiments):
        counted = f"{_count(opened)} open values at starts for {_count_samples(experiments)} samples"
        notes.append(
            f"there are {counted}: their flat prior pulls parameters that "
            "scale the state; Likelihood(initial='free') estimates them instead, or the model holds them (initial) as "
            "local parameters"
        )
    return notes
