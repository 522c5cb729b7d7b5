"""A Study as one table."""

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from daedal.errors import counted
from daedal.studies.charter import STOPPED
from daedal.tables import align_columns, format_error

if TYPE_CHECKING:
    from daedal.studies.result import Study

MOST_REASONS = 3
MOST_MINIMA = 8
MOST_RUNS = 12
SAME = 1e-4  # of the criterion: minima that are told apart
ENOUGH = 39  # runs that percentiles of 95 % need
SURE = 400  # runs from which on BCa lies about as surely as percentiles do


def list_lines(study: "Study") -> list[str]:
    """What the runs say, then which of them failed, and why."""
    size = counted(study.numbers.size, "run")
    lines = [f"study of '{study.fit.model.name}' by {study.kind}: {size}, seed {study.seed}", f"  {study.status}"]
    if study.converged.any():
        lines += {
            "bootstrap": _list_bootstrap,
            "truth": _list_accuracy,
            "starts": _list_minima,
            "table": _list_runs,
        }.get(study.outline.reading, _list_spreads)(study)
    return [*lines, *_list_failures(study)]


def _list_bootstrap(study: "Study") -> list[str]:
    ends, corrected = study.conf_int(), study.conf_int(method="bca")
    heads = ["", "estimate", "mean", "sd", "bias", "std error", "95 % percentiles", "95 % BCa"]
    rows = [heads]
    for name, one in study.spreads.items():
        error = study.fit[name].std_error
        numbers = [_write(one.estimate, one.std), _write(one.mean, one.std), format_error(one.std), f"{one.bias:+.1g}"]
        rows.append([name, *numbers, format_error(error), _join(ends[name], one.std), _join(corrected[name], one.std)])
    return [*align_columns(rows), *_list_doubts(int(study.converged.sum()))]


def _list_doubts(runs: int) -> list[str]:
    """What few runs leave unsure. BCa moves both ends by 2 z₀ sd, and z₀ has the standard error √(π/2n) = 1.25/√n."""
    if runs < ENOUGH:
        return [f"  fewer than {ENOUGH} runs: intervals from mean and spread, wider for it"] if runs > 1 else []
    if runs < SURE:
        share = 2.5 / np.sqrt(runs)
        return [f"  BCa counts its correction from {runs} runs, which tell its ends to {share:.2g} sd: take {SURE}"]
    return []


def _list_accuracy(study: "Study") -> list[str]:
    rows = [["", "truth", "mean", "bias", "sd", "RMSE", "std error", "coverage of 95 %"]]
    for name, one in study.spreads.items():
        known = np.isfinite(one.truth)
        share = f"{100.0 * one.coverage:.1f} ± {100.0 * one.coverage_error:.1f} %" if known else "—"
        truth, rmse = (f"{one.truth:.6g}", f"{one.rmse:.2g}") if known else ("—", "—")
        bias = f"{one.bias:+.2g}" if known else "—"
        reported = f"{one.reported:.2g}" if known else "—"
        rows.append([name, truth, _write(one.mean, one.std), bias, format_error(one.std), rmse, reported, share])
    return align_columns(rows)


def _list_spreads(study: "Study") -> list[str]:
    jackknife = study.outline.reading == "jackknife"
    rows = [["", "estimate", "mean", "std error" if jackknife else "sd", "bias", "lowest", "highest"]]
    for name, one in study.spreads.items():
        column = study.estimates[name][study.converged]
        known = column[np.isfinite(column)]
        ends = [f"{end:.5g}" for end in (known.min(), known.max())] if known.size else ["—", "—"]
        rows.append([name, f"{one.estimate:.5g}", f"{one.mean:.5g}", format_error(one.std), f"{one.bias:+.1g}", *ends])
    best = study.numbers[study.converged][np.argmin(study.values[study.converged])]
    least = f"  lowest criterion: {np.min(study.values[study.converged]):.6g} in run {best}"
    return [*align_columns(rows), *([] if jackknife else [least])]


def _list_runs(study: "Study") -> list[str]:
    """Few runs that each have a meaning, as those of a scan, one by one; of many, their spread."""
    if study.numbers.size > MOST_RUNS or not any(study.contents.words):
        return _list_spreads(study)
    names = list(study.fit.estimates)
    labels = [
        key for key in dict.fromkeys(key for one in study.contents.words for key in one or {}) if key not in names
    ]
    rows = [["run", *labels, *names, "criterion"]]
    for k in np.flatnonzero(study.converged):
        told = study.contents.words[k] or {}
        values = [f"{study.estimates[name][k]:.5g}" for name in names]
        rows.append(
            [str(study.numbers[k]), *(_show(told.get(key)) for key in labels), *values, f"{study.values[k]:.6g}"]
        )
    return align_columns(rows)


def _show(label: float | str | None) -> str:
    return f"{label:.6g}" if isinstance(label, float) else "—" if label is None else str(label)


def _list_minima(study: "Study") -> list[str]:
    """The minima, best first: how many starts ended in each."""
    order = [int(k) for k in np.argsort(study.values) if study.converged[k]]
    groups: list[list[int]] = []
    for k in order:
        near = groups and study.values[k] - study.values[groups[-1][0]] <= SAME * max(
            abs(study.values[groups[-1][0]]), 1.0
        )
        groups[-1].append(k) if near else groups.append([k])
    names = list(study.fit.estimates)
    rows = [["criterion", "starts", *names]]
    rows += [
        [f"{study.values[first]:.6g}", str(count), *(f"{study.estimates[name][first]:.5g}" for name in names)]
        for first, count in [(group[0], len(group)) for group in groups[:MOST_MINIMA]]
    ]
    more = [f"  and {len(groups) - MOST_MINIMA} more"] if len(groups) > MOST_MINIMA else []
    return [*align_columns(rows), *more]


def _list_failures(study: "Study") -> list[str]:
    stopped = sum(one == STOPPED for one in study.contents.status)
    failed = int(study.numbers.size - study.converged.sum()) - stopped
    lines = []
    if stopped:
        lines.append(
            f"  {counted(stopped, 'run')} stopped without converging, and {'is' if stopped == 1 else 'are'} left out"
        )
    if failed:
        lines.append(f"  {counted(failed, 'run')} failed:")
        told = zip(study.contents.status, study.contents.messages, strict=True)
        reasons = Counter(message for status, message in told if status != STOPPED and message)
        first = {message: run for run, message in reversed(list(study.failures.items()))}
        lines += [
            f"    {count} × (first run {first[message]}): {message}"
            for message, count in reasons.most_common(MOST_REASONS)
        ]
    return lines


def _join(ends: tuple[float, float], spread: float) -> str:
    return " … ".join(_write(end, spread) for end in ends) if np.all(np.isfinite(ends)) else "—"


def _write(value: float, spread: float) -> str:
    """As many digits as the spread leaves, two of them uncertain."""
    if not (np.isfinite(spread) and spread > 0.0 and np.isfinite(value)):
        return f"{value:.6g}"
    decimals = 1 - int(np.floor(np.log10(spread)))
    return f"{value:.{decimals}f}" if 0 <= decimals <= 9 and abs(value) < 1e6 else f"{value:.6g}"
