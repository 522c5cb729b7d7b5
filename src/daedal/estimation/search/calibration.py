"""What it costs that the noise is estimated from the same residuals as everything else.

Residuals have lost what the estimate took out of them, and most where noise is slow and few samples are independent:
an autoregression of them remembers too little, and the errors that follow from it are too small and uncertain
themselves. How much is seen by repeating it all in the problem made linear at the estimate, with noise e drawn from the
autoregression that was found:

    θ = H⁻¹ Σ ψ e,   r = e − ψᵀ θ,   v̂_j from an autoregression of r,

against v_j from the one that e was drawn from. With c = v / mean(v̂) the variance of an estimate is too small by c in
the drawn problem; the autoregression found was too short already, by as much, so that c² corrects it. Student's
distribution has 2 mean(v̂)²/var(v̂) degrees of freedom (Satterthwaite). Where residuals were whitened, the filter too is
made anew from each r, and the estimate with it: v is then the mean variance of what such filters estimate.

References: B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap (1993), sections 6.5 and 10.4;
F. E. Satterthwaite, Biometrics Bulletin 2 (1946) 110–114.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from daedal.estimation.criteria import Evaluation, Part, count_samples, list_outputs
from daedal.estimation.problem import Autoregression, find_contiguous, fit_autoregressions
from daedal.estimation.search.curvature import compute_covariance
from daedal.estimation.search.scores import choose_models, model_residual, settle
from daedal.linear import invert_semidefinite

MANY = 50_000  # samples that tell the noise well enough, whatever its memory
NUMBERS = 200_000  # drawn in all
FEWEST, MOST = 16, 100  # repetitions
# By benchmarks/errors.py, 30 regressions with poles from 0 to 0.95 and 50 to 300 samples: 95 % intervals hold the truth
# in 91.3 % without c, 94.4 % with c up to 1.5, 94.5 % up to 2 or without a limit; with evidence above 30, 10 and 0 in
# 92.9, 94.5 and 95.0 %, white noise alike. Whitened: 91.6, 94.9, 95.0 %; 93.6, 95.0, 95.5 %.
LARGEST = 2.0  # c beyond which the samples are too few to tell it
EVIDENCE = 0.0  # for a memory, as a difference of BIC, from which it is corrected for


@dataclass(frozen=True, eq=False)
class Calibration:
    """By how much standard errors are too small, and degrees of freedom of their square, (coordinate,)."""

    factors: np.ndarray
    freedom: np.ndarray


@dataclass(frozen=True, eq=False)
class _Setting:
    """The linear problem: parts, slopes ψ of each (coordinate, time), H⁻¹, and the noise of each output."""

    parts: Sequence[Part]
    slopes: Sequence[np.ndarray]
    inverse: np.ndarray
    noise: Mapping[str, Autoregression]

    @property
    def spare(self) -> float:
        """n / (n − p)."""
        count = count_samples(self.parts)
        return count / max(count - len(self.inverse), 1)

    def draw(self) -> list[np.ndarray]:
        """Noise of each part, (row, time), zero where nothing is scored; the same numbers every time."""
        count = sum(part.residual.size for part in self.parts)
        rows = int(np.clip(NUMBERS // max(count, 1), FEWEST, MOST))
        random = np.random.default_rng(0)
        drawn = [
            self.noise[part.series.output].draw(random.standard_normal((rows, part.residual.size)))
            for part in self.parts
        ]
        return [np.where(np.isfinite(part.residual), e, 0.0) for part, e in zip(self.parts, drawn, strict=True)]

    def estimate(self, noise: Sequence[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
        """θ (row, coordinate), and the residuals that it leaves."""
        theta = np.sum([e @ S.T for e, S in zip(noise, self.slopes, strict=True)], axis=0) @ self.inverse
        return theta, [e - theta @ S for e, S in zip(noise, self.slopes, strict=True)]

    def select(self, output: str) -> list[int]:
        return [k for k, part in enumerate(self.parts) if part.series.output == output]


def calibrate(
    evaluation: Evaluation, inside: np.ndarray, filters: Mapping[str, Autoregression], raw: Evaluation | None
) -> Calibration:
    """Of the coordinates `inside`; `raw` is the evaluation without filters, where these whiten."""
    nothing = Calibration(np.ones(inside.size), np.full(inside.size, np.inf))
    source = evaluation if raw is None else raw
    known = evaluation.scores is not None or evaluation.loglik is not None or not source.ok
    if known or not inside.size or count_samples(source.parts) > MANY:
        return nothing
    source = settle(source)
    noise = filters if raw is not None else {key: model_residual(source, key) for key in list_outputs(source.parts)}
    if not any(weigh_memory(source, output, model) > EVIDENCE for output, model in noise.items()):
        return nothing
    slopes = [np.nan_to_num(part.slopes[inside]) for part in source.parts]
    inverse = compute_covariance(np.sum([S @ S.T for S in slopes], axis=0))
    if not np.isfinite(inverse).all():
        return nothing
    setting = _Setting(source.parts, slopes, inverse, noise)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        truth, stated = _repeat(setting) if raw is None else _repeat_whitened(setting)
        ratio = np.clip(truth / stated.mean(axis=0), 1.0, LARGEST)
        freedom = 2.0 * stated.mean(axis=0) ** 2 / stated.var(axis=0)
    good = np.isfinite(ratio) & np.isfinite(freedom)
    return Calibration(np.where(good, ratio, 1.0), np.where(good, np.maximum(freedom, 1.0), np.inf))


def weigh_memory(evaluation: Evaluation, output: str, model: Autoregression) -> float:
    """The evidence for the autoregression, as a difference of BIC: few residuals look correlated by chance."""
    residuals = np.concatenate([part.residual for part in evaluation.parts if part.series.output == output])
    count, power = int(np.isfinite(residuals).sum()), float(np.nanmean(residuals**2))
    if not model.order or not model.variance > 0.0 or not power > 0.0:
        return -np.inf
    return float(count * np.log(power / model.variance) - model.order * np.log(count))


def _repeat(setting: _Setting) -> tuple[np.ndarray, np.ndarray]:
    """v (coordinate,), and v̂ (row, coordinate)."""
    _, residuals = setting.estimate(setting.draw())
    weights = [setting.inverse @ S for S in setting.slopes]
    curvature = invert_semidefinite(setting.inverse)
    truth, stated = np.zeros(len(curvature)), np.zeros((len(residuals[0]), len(curvature)))
    for output, model in setting.noise.items():
        mine = setting.select(output)
        truth += _sum_squares(model, [weights[k] for k in mine])
        parts = [replace(setting.parts[k], slopes=setting.slopes[k]) for k in mine]
        chosen = choose_models(parts, [residuals[k] for k in mine], curvature)
        stated += [_sum_squares(one, [weights[k] for k in mine]) for one in chosen]
    return truth, stated * setting.spare


def _sum_squares(model: Autoregression, weights: Sequence[np.ndarray]) -> np.ndarray:
    """Of all series, those that are equally long at once: there may be thousands of short ones."""
    alike: dict[int, list[np.ndarray]] = {}
    for X in weights:
        alike.setdefault(X.shape[-1], []).append(X)
    return np.sum([np.sum(model.long_run(np.stack(series)) ** 2, axis=(0, 2)) for series in alike.values()], axis=0)


def _repeat_whitened(setting: _Setting) -> tuple[np.ndarray, np.ndarray]:
    """v (coordinate,), and v̂ (row, coordinate), when filters are made from the residuals of a first estimate."""
    noise = setting.draw()
    _, residuals = setting.estimate(noise)
    filters = {output: _make_filters(setting, output, residuals) for output in setting.noise}
    pairs = [_weigh(setting, noise, filters, row) for row in range(len(noise[0]))]
    return np.mean([true for true, _ in pairs], axis=0), np.array([stated for _, stated in pairs])


def _make_filters(setting: _Setting, output: str, residuals: Sequence[np.ndarray]) -> list[Autoregression]:
    mine = setting.select(output)
    stretches = [residuals[k][:, stretch] for k in mine for stretch in find_contiguous(setting.parts[k].residual)]
    return fit_autoregressions(stretches)


def _weigh(
    setting: _Setting, noise: Sequence[np.ndarray], filters: Mapping[str, list[Autoregression]], row: int
) -> tuple[np.ndarray, np.ndarray]:
    """v and v̂ (coordinate,) of an estimate that the filters of one row weigh."""
    slopes, errors, back = [], [], []
    for part, S, e in zip(setting.parts, setting.slopes, noise, strict=True):
        model = filters[part.series.output][row]
        both = np.where(np.isfinite(part.residual), np.vstack([S, e[row]]), np.nan)
        weighed = np.nan_to_num(model.whiten(both)) / np.sqrt(model.variance)
        slopes.append(weighed[:-1])
        errors.append(weighed[-1])
        back.append(model.adjoint(weighed[:-1] / np.sqrt(model.variance), np.isfinite(part.residual)))
    inverse = invert_semidefinite(np.sum([S @ S.T for S in slopes], axis=0))
    theta = inverse @ np.sum([S @ e for S, e in zip(slopes, errors, strict=True)], axis=0)
    left = np.sum([np.sum((e - theta @ S) ** 2) for S, e in zip(slopes, errors, strict=True)])
    pairs = zip(setting.parts, back, strict=True)
    true = np.sum([_sum_squares(setting.noise[part.series.output], [inverse @ X]) for part, X in pairs], axis=0)
    return true, np.diag(inverse) * left / count_samples(setting.parts) * setting.spare
