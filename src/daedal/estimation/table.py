"""A Fit as one table."""

from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from daedal.errors import counted
from daedal.estimation.criteria import describe_for_reading
from daedal.tables import align_columns, format_error, format_number, format_relative

if TYPE_CHECKING:
    from daedal.estimation.result import Estimate, Fit

WIDEST = 1e6  # factor beyond which an interval on a log scale is not worth its ink
TIGHT = 0.9  # correlation of two estimates that is worth a word
MOST_PAIRS = 5  # of them
MOST_FAILED = 3  # starts that failed for one reason, and reasons
REMARKS = {
    "determined": "",
    "loosely determined": "loose",
    "not determined": "NOT DETERMINED",
    "at its bound": "AT BOUND",
    "known from its prior": "FROM ITS PRIOR",
}


def list_lines(fit: "Fit") -> list[str]:
    """Values, errors, intervals, starts and bounds, one row a parameter; then what is to be known about the fit."""
    experiments = f" in {len(fit.data)} experiments" if len(fit.data) > 1 else ""
    lines = [
        f"fit of '{fit.model.name}' by {describe_for_reading(fit.criterion)}: "
        f"{counted(fit.samples, 'sample')}{experiments}",
        f"  {fit.status}",
        *_list_rows(fit),
    ]
    percents = ", ".join(
        f"{name} {percent:.1f} %" if isfinite(percent) else f"{name} not defined (its samples do not differ)"
        for name, percent in fit.fit_percent.items()
    )
    seed = f", seed {fit.seed}" if np.any(fit.monte_carlo_cov != 0.0) else ""
    ahead = "fit" if fit.criterion.condition is None else "one-step fit"
    lines.append(f"  {ahead}: {percents}; criterion {fit.value:.6g}{seed}")
    if fit.loglik is not None:
        numbers = [f"log likelihood {fit.loglik:.6g}"]
        if fit.aic is not None:
            numbers.append(f"AIC {fit.aic:.6g}, BIC {fit.bic:.6g}")
        elif fit.log_posterior != fit.loglik:  # there are priors
            numbers.append(f"log posterior {fit.log_posterior:.6g}")
        lines.append(f"  {', '.join(numbers)}")
    lines += _list_correlations(fit)
    lines += _count_starts(fit)
    if len(fit.minima) > 1:
        lines.append(f"  {len(fit.minima)} minima were found:")
        lines += [
            f"    {one.value:.6g} ({counted(one.count, 'start') if one.count else 'looked for'}): "
            f"{_describe_params(one.params)}"
            for one in fit.minima[:5]
        ]
    lines += [f"  {note}" for note in fit.notes]
    return lines


def _count_starts(fit: "Fit") -> list[str]:
    """What became of several starts, and why some could not be evaluated."""
    if len(fit.attempts) < 2:
        return []
    reasons: dict[str, list[str]] = {}
    for one in fit.attempts:
        if one.failure:
            reasons.setdefault(one.failure, []).append(_describe_params(one.start))
    ended = [one for one in fit.attempts if one.value is not None]
    counts = {
        "converged": sum(one.converged for one in ended),
        "stopped before": sum(not one.converged for one in ended),
        "failed": sum(map(len, reasons.values())),
        "interrupted": sum(one.value is None and not one.failure for one in fit.attempts),
    }
    shown = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    failed = [f"    failed at {_cut(where)}: {reason}" for reason, where in list(reasons.items())[:MOST_FAILED]]
    return [f"  {len(fit.attempts)} starts: {shown}", *failed]


def _cut(starts: list[str]) -> str:
    """The first of them, and how many more."""
    more = f" and {len(starts) - MOST_FAILED} more" if len(starts) > MOST_FAILED else ""
    return f"{'; '.join(starts[:MOST_FAILED])}{more}"


def _list_correlations(fit: "Fit") -> list[str]:
    """Pairs of estimates that hardly move apart."""
    names, matrix = list(fit.estimates), np.nan_to_num(fit.correlation)
    if fit.status.interrupted:
        return []
    pairs = [(matrix[i, j], names[j], names[i]) for i in range(len(names)) for j in range(i)]
    tight = sorted((pair for pair in pairs if abs(pair[0]) > TIGHT), key=lambda pair: -abs(pair[0]))
    shown = ", ".join(f"{one} and {other} {value:+.3f}" for value, one, other in tight[:MOST_PAIRS])
    more = f" and {len(tight) - MOST_PAIRS} more pairs" if len(tight) > MOST_PAIRS else ""
    return [f"  correlated: {shown}{more}".replace("-", "−")] if tight else []


def _describe_params(params) -> str:
    return ", ".join(f"{name} = {value:.5g}" for name, value in params.items())


def _list_rows(fit: "Fit") -> list[str]:
    heads = ["", "value", "std error", "%", "MC error", "95 % interval", "from the data", "start", "bounds", ""]
    intervals = fit.conf_int()
    simulated = any(one.monte_carlo_error > 0.0 or np.isnan(one.monte_carlo_error) for one in fit.estimates.values())
    withheld = fit.status.interrupted
    rows = [heads, *(_make_row(one, intervals[one.name], withheld) for one in fit.estimates.values())]
    informed = any(one.from_data is not None for one in fit.estimates.values())
    shown = [simulated or head != "MC error" for head in heads]
    shown = [yes and (informed or head != "from the data") for yes, head in zip(shown, heads, strict=True)]
    return align_columns([[cell for cell, yes in zip(row, shown, strict=True) if yes] for row in rows])


def _make_row(one: "Estimate", interval: tuple[float, float], withheld: bool) -> list[str]:
    unit = f" [{one.unit}]" if one.unit else ""
    wide = one.scale == "log" and not one.at_bound and not interval[1] < WIDEST * one.value
    finite = bool(np.all(np.isfinite(interval))) and not wide
    error = np.nan if withheld else one.std_error
    width = interval[1] - interval[0]
    unsure = width / 4.0 if not error <= width < np.inf else error  # at a bound, or cut to its bounds
    return [
        f"{one.name}{unit}",
        format_number(one.value, unsure),
        format_error(error),
        format_relative(error, one.value),
        format_error(one.monte_carlo_error),
        " … ".join(format_number(end, min(unsure, _limit(one, end))) for end in interval) if finite else "—",
        "—" if one.from_data is None else f"{100.0 * one.from_data:.0f} %",
        f"{one.start:.6g}",
        f"{one.lower:.4g} … {one.upper:.4g}{' log' if one.scale == 'log' else ''}",
        REMARKS[one.verdict],
    ]


def _limit(one: "Estimate", end: float) -> float:
    """An end on a log scale is never zero, however far the other one is."""
    return 0.1 * abs(end) if one.scale == "log" and end else np.inf
