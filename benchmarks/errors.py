"""How often 95 % intervals of regressions with slow noise hold the truth, by the limits of `search/calibration`.

    python benchmarks/errors.py [plain] [whitened] [--sets 200] [--tiny]

A line (offset and slope) and the step response of a lag to a binary input, with autoregressive noise of the poles
0 … 0.95 and N = 50 … 300 samples. Every row has the share of intervals that hold the truth in per cent for several
`LARGEST` (1: standard errors are not corrected) and, beside the chosen one, for several `EVIDENCE`. The last rows are
means over all cells. 200 sets of two numbers scatter by about ± 1.5, means by ± 0.4.
"""

from collections.abc import Mapping
from itertools import product

import numpy as np
from scipy.signal import lfilter
from scipy.stats import t
from shared import command_line

from daedal.estimation.criteria import Evaluation, Part
from daedal.estimation.problem import Autoregression, fit_autoregression
from daedal.estimation.search import calibration, compute_covariance, estimate_scores, model_residual
from daedal.experiments import Series
from daedal.linear import one_thread

LIMITS = (1.0, 1.5, 2.0, 3.0, np.inf)  # LARGEST
THRESHOLDS = (10.0, 30.0)  # EVIDENCE, beside the chosen one
POLES = (0.0, 0.5, 0.8, 0.9, 0.95)


def make_slopes(count: int) -> dict[str, np.ndarray]:
    """Regressors, (coordinate, time)."""
    time = np.linspace(-1.0, 1.0, count)
    push = np.repeat(np.random.default_rng(3).choice([-1.0, 1.0], count // 10 + 1), 10)[:count]
    return {"line": np.stack([np.ones(count), time]), "lag": np.stack([lfilter([0.1], [1.0, -0.9], push), push])}


def evaluate(residual: np.ndarray, slopes: np.ndarray) -> Evaluation:
    """A regression at its minimum."""
    times = np.arange(residual.size, dtype=float)
    series = Series(0, "y", 0, np.arange(residual.size), times, residual)
    part = Part(series, residual, slopes, np.zeros(len(slopes)), 1.0, np.zeros(residual.size))
    value = 0.5 * float(residual @ residual)
    return Evaluation(np.zeros(len(slopes)), value, -slopes @ residual, slopes @ slopes.T, parts=(part,))


def regress(y: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, Evaluation]:
    theta = np.linalg.lstsq(slopes.T, y, rcond=None)[0]
    return theta, evaluate(y - theta @ slopes, slopes)


def whiten(y: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, Evaluation, dict[str, Autoregression], Evaluation]:
    """By an autoregression of the residuals of a first regression, as `fit` does."""
    _, first = regress(y, slopes)
    model = fit_autoregression([first.parts[0].residual])
    filtered = model.whiten(np.vstack([slopes, y])) / np.sqrt(model.variance)
    theta, evaluation = regress(filtered[-1], filtered[:-1])
    return theta, evaluation, {"y": model}, evaluate(y - theta @ slopes, slopes)


def judge(noise: np.ndarray, slopes: np.ndarray, whitened: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """|θ − truth| in standard errors without correction, (coordinate,); factors, degrees of freedom, evidence."""
    filters: Mapping[str, Autoregression] = {}
    raw = None
    if whitened:
        theta, evaluation, filters, raw = whiten(noise, slopes)
    else:
        theta, evaluation = regress(noise, slopes)
    source = evaluation if raw is None else raw
    model = filters["y"] if whitened else model_residual(source, "y")
    covariance = compute_covariance(evaluation.curvature, estimate_scores(evaluation))
    found = calibration.calibrate(evaluation, np.arange(len(slopes)), filters, raw)
    away = np.abs(theta) / np.sqrt(np.diag(covariance))
    return away, found.factors, found.freedom, calibration.weigh_memory(source, "y", model)


def cover(rows: list[tuple], limit: float, threshold: float, count: int) -> float:
    """The share of intervals that hold the truth, in per cent."""
    hits = []
    for away, factors, freedom, evidence in rows:
        believed = evidence > threshold
        width = np.where(believed, np.minimum(factors, limit), 1.0)
        left = np.minimum(np.where(believed, freedom, np.inf), count - away.size)
        hits.append(away <= width * t.ppf(0.975, left))
    return 100.0 * float(np.mean(hits))


def show(whitened: bool, sets: int, lengths: tuple[int, ...]) -> None:
    chosen = calibration.LARGEST, calibration.EVIDENCE
    calibration.LARGEST, calibration.EVIDENCE = np.inf, -np.inf  # everything is computed, limits come afterwards
    options = [*product(LIMITS, [chosen[1]]), *product([chosen[0]], THRESHOLDS)]
    print(f"{'whitened' if whitened else 'plain'} residuals, per cent of {sets} sets")
    print(f"  {'N':>5} {'pole':>5} {'':>5}" + "".join(f"{limit:>8g}/{threshold:<3g}" for limit, threshold in options))
    table = []
    for count, pole in product(lengths, POLES):
        for name, slopes in make_slopes(count).items():
            random = np.random.default_rng([count, int(100 * pole)])
            noise = lfilter([1.0], [1.0, -pole], random.standard_normal((sets, count + 500)))[:, 500:]
            rows = [judge(one, slopes, whitened) for one in noise]
            table.append([cover(rows, *option, count) for option in options])
            cells = "".join(f"{share:>8.1f}    " for share in table[-1])
            print(f"  {count:>5} {pole:>5} {name:>5}{cells}", flush=True)
    for title, figure in (("mean", np.mean), ("worst", np.min)):
        print(f"  {title:>17}" + "".join(f"{share:>8.1f}    " for share in figure(table, axis=0)))
    calibration.LARGEST, calibration.EVIDENCE = chosen


@one_thread
def main() -> None:
    reader = command_line(__doc__ or "", ("plain", "whitened"))
    reader.add_argument("--sets", type=int, default=200)
    asked = reader.parse_args()
    for name in asked.figures or ("plain", "whitened"):
        show(name == "whitened", 2 if asked.tiny else asked.sets, (50,) if asked.tiny else (50, 100, 300))


if __name__ == "__main__":
    main()
