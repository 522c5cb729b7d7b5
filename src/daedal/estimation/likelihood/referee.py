"""Whether an approximation of log L can be trusted at its maximum: particles judge it.

Let ℓ be the approximation, C its information and L the likelihood itself, as particle filters know it. A gap
g = log L − ℓ that is the same everywhere is harmless; one that changes along a parameter moves the maximum, to first
order by

    δ = C⁻¹ ∂g.

Two ways to ∂g: differences of g one standard error (1/√C_jj, the others held) to one side, and to both where one tells
of a bias, where log L is known well enough, as guided particles know it; or the score of the particles (Fisher's
identity, exact but for its Monte-Carlo error), at one point for all parameters. Where particles do not tell, records
that the model makes do (`redrawn`, beside this file). The approximation is biased where δ is more than a share of a
standard error and than chance; it is trusted where neither it nor what chance may hide is more than twice that share.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from daedal.filtering import PooledRuns
from daedal.linear import invert_semidefinite

BIASED = 0.3  # standard errors that an approximation may move an estimate by,
SLIGHT = 0.1  # and where guided particles, which cost little, tell it
CHANCE = 2.0  # standard deviations of the Monte-Carlo error
CERTAIN = 4.0  # the same where noise alone could hide a bias
HARMLESS = 0.5  # of what it may move, within which one side is enough: the other may tell more
BLIND = 0.25  # Monte-Carlo error of δ, in standard errors, beyond which nothing can be said
TRUSTED = 2.0 * BIASED  # that an estimate may move, chance included, for the approximation to be trusted


@final
@dataclass(frozen=True, eq=False)
class Verdict:
    """How far each estimate would move, in its standard errors, and the Monte-Carlo error of that; who says it.

    Particles tell the gap of log L too. With `settled`, what is more probable counts, for certain or not.
    """

    names: tuple[str, ...]
    shifts: np.ndarray
    noise: np.ndarray
    gap: float | None
    gap_error: float
    judges: str = "particles"
    settled: bool = False
    limit: float = BIASED

    @property
    def biased(self) -> bool:
        """Whether an estimate would move by more than it may, for certain; chance alone moves noisy ones far."""
        sure = 0.0 if self.settled else np.where(self.noise <= BLIND, CHANCE, CERTAIN)
        return bool(np.any(np.abs(self.shifts) > self.limit + sure * self.noise))

    @property
    def certain(self) -> bool:
        """Whether it is biased beyond doubt: no further run would change that."""
        return bool(np.any((np.abs(self.shifts) > self.limit + CERTAIN * self.noise) & (self.noise <= BLIND)))

    @property
    def harmless(self) -> bool:
        """Whether no estimate would move far, for certain."""
        return bool(np.all(np.abs(self.shifts) + CHANCE * self.noise < HARMLESS * self.limit))

    @property
    def vague(self) -> bool:
        """Whether chance is more than a slight bias."""
        return bool(np.any(~(self.noise <= SLIGHT))) and not self.biased

    @property
    def blind(self) -> bool:
        """Whether chance may hide a bias; one that is found for certain counts, whatever is unknown of the others."""
        hidden = np.abs(self.shifts) + (0.0 if self.settled else CHANCE) * self.noise
        return bool(np.any(~(hidden <= TRUSTED))) and not self.biased

    def describe(self) -> str:
        """In words, the parameter that moves farthest."""
        gap = ""
        if self.gap is not None:
            gap = f"find log likelihood {_write_shift(self.gap)} ± {self.gap_error:.2f} off"
        if not self.names:
            return f"{self.judges} {gap or 'find nothing'}"
        worst = int(np.argmax(np.abs(self.shifts) - CHANCE * self.noise))
        shift = f"{_write_shift(self.shifts[worst])} ± {self.noise[worst]:.2f} standard errors"
        return f"{self.judges} would move {self.names[worst]} by {shift}{gap and f', and {gap}'}"

    def describe_noise(self) -> str:
        """In words, the parameter that chance moves farthest; how far it would move says nothing then."""
        worst = int(np.argmax(np.nan_to_num(self.noise, nan=np.inf)))
        moved = f"chance alone moves {self.names[worst]} by {self.noise[worst]:.2g} standard errors"
        return f"{self.judges} are too noisy to tell, {moved}"


def _write_shift(value: float) -> str:
    """With its sign, which a rounded zero has not."""
    return f"{value:+.2f}" if abs(value) >= 0.005 else "0.00"


@final
@dataclass(frozen=True, eq=False)
class Gap:
    """log L − ℓ at a point, by independent runs (run,): what they do at other points shares their random numbers."""

    runs: np.ndarray

    @property
    def value(self) -> float:
        """Their mean."""
        return float(self.runs.mean())

    @property
    def error(self) -> float:
        """Its standard deviation over random numbers."""
        return float(self.runs.std(ddof=1) / np.sqrt(self.runs.size))


def list_sides(information: np.ndarray) -> np.ndarray:
    """Steps of one standard error along each parameter, (parameter,); zero for those that are not determined."""
    diagonal = np.diag(information)
    return np.where(diagonal > 0.0, 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)), 0.0)


def judge_gaps(
    names: Sequence[str],
    information: np.ndarray,
    middle: Gap,
    sides: Sequence[tuple[Gap, Gap] | None],
    apart: float = 2.0,
) -> Verdict:
    """By gaps above and below along each parameter, so many standard errors apart; None for one that was left out."""
    steps = 0.5 * apart * list_sides(information)
    known = [k for k, pair in enumerate(sides) if pair is not None]
    pairs = [pair for pair in sides if pair is not None]
    slopes = np.array([(up.runs - down.runs) / (2.0 * steps[k]) for k, (up, down) in zip(known, pairs, strict=True)])
    slopes = slopes.reshape(len(known), middle.runs.size)
    noise = np.atleast_2d(np.cov(slopes)) / middle.runs.size if known else np.zeros((0, 0))
    verdict = _weigh(names, known, information, slopes.mean(axis=1), noise, middle.value, middle.error)
    return replace(verdict, limit=SLIGHT)


def judge_score(
    names: Sequence[str], information: np.ndarray, loglik: float, gradient: np.ndarray, pooled: PooledRuns
) -> Verdict:
    """By runs at the same point; `gradient` is that of −ℓ."""
    memory = pooled.choose_memory()
    known = np.flatnonzero(list_sides(information)).tolist()
    slopes = (pooled.score(memory) + gradient)[known]
    noise = pooled.scatter(memory)[np.ix_(known, known)]
    return _weigh(names, known, information, slopes, noise, pooled.loglik - loglik, pooled.loglik_error)


def judge_records(names: Sequence[str], information: np.ndarray, scores: np.ndarray) -> Verdict:
    """By scores of the approximation over records that the model makes at its estimate, (record, parameter)."""
    known = np.flatnonzero(list_sides(information)).tolist()
    noise = np.atleast_2d(np.cov(scores[:, known], rowvar=False)) / len(scores)
    verdict = _weigh(names, known, information, -scores[:, known].mean(axis=0), noise)
    return replace(verdict, judges="records that the model makes")


def _weigh(
    names: Sequence[str],
    known: list[int],
    information: np.ndarray,
    slopes: np.ndarray,
    noise: np.ndarray,
    gap: float | None = None,
    gap_error: float = 0.0,
) -> Verdict:
    inverse = invert_semidefinite(information[np.ix_(known, known)])
    errors = np.sqrt(np.maximum(np.diag(inverse), 1e-300))
    spread = np.sqrt(np.maximum(np.diag(inverse @ noise @ inverse), 0.0))
    shifts = inverse @ slopes / errors
    return Verdict(tuple(names[k] for k in known), shifts, spread / errors, gap, gap_error)
