"""Tables of the pendulum paper: our numbers beside the paper's and beside an independent study."""

from collections.abc import Iterator
from textwrap import fill

import numpy as np

from daedal.papers.pendulum.estimates import (
    OUTPUT_ERROR,
    OUTPUT_ERROR_SMOOTH,
    PROPOSED,
    PROPOSED_SMOOTH,
    WHITENED,
    Estimates,
    Summary,
)
from daedal.papers.pendulum.experiment import GRID, PROGRAM, SEED, TRUTH
from daedal.papers.pendulum.fits import START
from daedal.papers.pendulum.smoothness import Smoothness, count_minima, measure_roughness
from daedal.papers.result_files import write_csv

# N, method → mean and root mean square error of a study independent of this code, with another input realization
# (E = 400, M = 400).
REFERENCE = {
    (1000, OUTPUT_ERROR): ("7.64", "2.28"),
    (5000, OUTPUT_ERROR): ("7.33", "1.41"),
    (10_000, OUTPUT_ERROR): ("6.81", "0.74"),
    (50_000, OUTPUT_ERROR): ("6.98", "0.77"),
    (1000, PROPOSED): ("6.45", "1.83"),
    (5000, PROPOSED): ("6.37", "0.72"),
    (10_000, PROPOSED): ("6.29", "0.44"),
    (50_000, PROPOSED): ("6.269", "0.214"),
}
PAPER = {(50_000, OUTPUT_ERROR): "mean 7.20", (50_000, PROPOSED): "bias 0.0343"}
REFERENCE_ROUGHNESS = {"fixed": "1.3e-16", "fresh": "2.7e-9"}
REFERENCE_MINIMA = {"fixed": 1, "fresh": 25}
WIDTH = 110  # of printed text


def write_estimates(estimates: Estimates) -> str:
    """The table of Figure 1 for printing."""
    program, width = estimates.reading is PROGRAM, max(map(len, estimates.methods)) + 2
    known = {key: value for key, value in REFERENCE.items() if program and key[1] in estimates.methods}
    columns = f"{'N':>6}  {'method':<{width}}{'mean ± s.e.':>15}{'RMSE':>8}{'at bounds':>11}"
    lines = [
        f"Figure 1, {estimates.reading.title}: true {estimates.reading.quantity} = {TRUTH}",
        f"({estimates.size}; seed {SEED}; error of the steps {estimates.wind.error:.0e} of the largest angle)",
        "",
        columns + ("   reference        paper" if known else ""),
    ]
    for samples in estimates.size.samples:
        for number, method in enumerate(estimates.methods):
            line = _write_line(samples if not number else "", f"{method:<{width}}", estimates.summary(samples, method))
            mean, rmse = known.get((samples, method), ("", ""))
            beside = f"   {mean} / {rmse}".ljust(20) + PAPER.get((samples, method), "") if mean else ""
            lines.append((line + beside).rstrip())
    if not program:
        notes = _list_printed_notes(estimates)
    else:
        notes = [_compare_study(estimates) if known else _describe_fits(estimates), *_list_program_notes(estimates)]
    return "\n".join([*lines, *(f"\n{fill(note, WIDTH)}" for note in notes)])


def write_short(estimates: Estimates) -> str:
    """The table of short records for printing: what a likelihood makes of the samples that the paper leaves out."""
    (samples,), width = estimates.size.samples, max(map(len, estimates.methods)) + 2
    lines = [
        f"Beyond the paper, {samples} samples: true {estimates.reading.quantity} = {TRUTH}",
        f"({estimates.size}; seed {SEED})",
        "",
        f"{'N':>6}  {'method':<{width}}{'mean ± s.e.':>15}{'RMSE':>8}{'at bounds':>11}",
    ]
    for number, method in enumerate(estimates.methods):
        summary = estimates.summary(samples, method)
        lines.append(_write_line(samples if not number else "", f"{method:<{width}}", summary))
    *_, whitened, likelihood = (estimates.summary(samples, method) for method in estimates.methods)
    note = (
        "The mean over winds uses one moment of the samples; a likelihood uses all that they say of the wind on its "
        f"way: its RMSE is {whitened.rmse / likelihood.rmse:.1f} times smaller than that of the whitened mean."
    )
    return "\n".join([*lines, "", fill(note, WIDTH)])


def _write_line(samples: int | str, method: str, summary: Summary) -> str:
    mean = f"{summary.mean:.3f} ± {summary.standard_error:.3f}"
    return f"{samples:>6}  {method}{mean:>15}{summary.rmse:>8.3f}{summary.at_bounds:>11.1%}"


def _compare_study(estimates: Estimates) -> str:
    return (
        "reference: mean / RMSE of an independent study (E = 400, M = 400, another input; over 12 inputs its output "
        "error at N = 50000 has means from 6.66 to 7.24); paper: stated in its text. "
        f"Gauss–Newton lies within {estimates.disagreement():.2f} grid steps of the best grid value."
    )


def _describe_fits(estimates: Estimates) -> str:
    (samples,) = estimates.size.samples
    blind, proposed = (REFERENCE.get((samples, method), ("—", "—"))[0] for method in (OUTPUT_ERROR, PROPOSED))
    return (
        f"Every estimate is one call of fit(pendulum, data, free=['{estimates.reading.free}'], criterion=…), which "
        f"starts at {START:g}. An independent study of the same experiment with another input has means of {blind} "
        f"with the wind ignored and {proposed} with it (E = 400, N = {samples})."
    )


def _list_program_notes(estimates: Estimates) -> list[str]:
    counts, wind = estimates.size.samples, estimates.wind
    ignoring, averaging, *_, whitening = (
        (OUTPUT_ERROR, PROPOSED_SMOOTH, WHITENED) if OUTPUT_ERROR in estimates.methods else estimates.methods
    )
    means = ", ".join(f"{estimates.summary(samples, ignoring).mean:.2f}" for samples in counts)
    blind, smooth, whitened = (estimates.summary(counts[-1], method) for method in (ignoring, averaging, whitening))
    ahead = f"With the wind ignored the mean drag is {means},"
    if len(counts) > 1:
        ahead = (
            "Ignoring the wind is wrong however much data there are: for N = "
            f"{', '.join(map(str, counts))} the mean drag is {means}, at last"
        )
    common = ""
    if OUTPUT_ERROR in estimates.methods:
        shared = smooth.rmse / np.sqrt(estimates.size.realizations)
        common = (
            f", and about ±{shared:.3f} common to all data sets, since they share M realizations; the bias falls with "
            "M and N"
        )
    return [
        f"{ahead} {_write_offset(blind)} standard errors from the truth. Averaging over simulated wind "
        f"gives {smooth.mean:.3f} ({smooth.mean - TRUTH:+.3f} ± {smooth.standard_error:.3f}{common}). Whitening makes "
        f"the RMSE {smooth.rmse / whitened.rmse:.1f} times smaller on the same data.",
        f"Why: the wind shakes the pendulum, by {wind.shaking:.4f} rad on a swing of {wind.swing:.4f} rad, "
        "and drag in v|v| damps a shaken pendulum more than a calm one. Who ignores the wind takes that for drag.",
    ]


def _list_printed_notes(estimates: Estimates) -> list[str]:
    longest, wind = estimates.size.samples[-1], estimates.wind
    ignoring = OUTPUT_ERROR_SMOOTH if OUTPUT_ERROR_SMOOTH in estimates.methods else next(iter(estimates.methods))
    blind = estimates.summary(longest, ignoring)
    return [
        f"The experiment as printed does not produce the paper's Figure 1: with {longest} samples, ignoring the wind "
        f"gives {blind.mean:.4f} ± {blind.standard_error:.4f}; there is no bias to remove. Why: the length is read "
        f"off the swing of {wind.swing:.3f} rad, which the wind hardly touches (it moves the mean by "
        f"{wind.shift:.4f} rad and shakes it by {wind.shaking:.4f} rad; "
        f"measurement noise {estimates.reading.noise:.4f} rad). The "
        "program that the authors published estimates the drag, with other scales, and gives the paper's picture.",
        f"(Because there is nothing to see, this reading is run with only {estimates.size}.)",
    ]


def _write_offset(summary: Summary) -> str:
    return f"{summary.mean - TRUTH:+.2f} or {abs(summary.mean - TRUTH) / summary.standard_error:.0f}"


def tabulate_estimates(estimates: Estimates) -> str:
    """Every estimate: one line per number of samples and data set."""

    def rows() -> Iterator[list[float | int]]:
        for samples in estimates.size.samples:
            columns = [estimates.values[samples, method] for method in estimates.methods]
            for number, row in enumerate(zip(*columns, strict=True)):
                yield [samples, number, *map(float, row)]

    return write_csv(["samples", "data_set", *estimates.methods.values()], rows())


def tabulate_summary(estimates: Estimates) -> str:
    """The table of Figure 1, with the reference and the paper's statements where there are any."""

    def rows() -> Iterator[list[str | float | int]]:
        for samples in estimates.size.samples:
            for method, column in estimates.methods.items():
                one, key = estimates.summary(samples, method), (samples, method)
                known = [*REFERENCE.get(key, ("", "")), PAPER.get(key, "")]
                own = [one.mean, one.standard_error, one.median, one.rmse, one.at_bounds]
                yield [samples, column, *own, *(known if estimates.reading is PROGRAM else ["", "", ""])]

    statistics = ["mean", "standard_error", "median", "rmse", "at_bounds"]
    return write_csv(["samples", "method", *statistics, "reference_mean", "reference_rmse", "paper"], rows())


def write_smoothness(smoothness: Smoothness) -> str:
    """The two numbers of Figure 2 beside the reference."""
    lines = [
        f"Figure 2: the cost of one data set over the drag (M = 20, 10 s, {len(GRID)} values; seed {SEED})",
        "",
        f"{'noise':<28}{'squared second differences':>28}{'local minima':>14}   reference",
    ]
    for kind, title, cost in _list_both(smoothness):
        known = f"{REFERENCE_ROUGHNESS[kind]}, {REFERENCE_MINIMA[kind]}"
        lines.append(f"{title:<28}{measure_roughness(cost):>28.1e}{count_minima(cost):>14}   {known}")
    times = measure_roughness(smoothness.fresh) / measure_roughness(smoothness.fixed)
    sentence = (
        f"Innovations that stay fixed make the cost {times:.0e} times smoother, which is what lets Gauss–Newton work. "
        "(The reference has another input and data set: orders of magnitude compare.)"
    )
    return "\n".join([*lines, "", fill(sentence, WIDTH)])


def tabulate_costs(smoothness: Smoothness) -> str:
    """The cost curves of Figure 2."""
    rows = zip(GRID.tolist(), smoothness.fixed.tolist(), smoothness.fresh.tolist(), strict=True)
    return write_csv(["drag", "fixed", "fresh"], rows)


def tabulate_smoothness(smoothness: Smoothness) -> str:
    """The two numbers of Figure 2 beside the reference."""
    rows = [
        [kind, measure_roughness(cost), count_minima(cost), REFERENCE_ROUGHNESS[kind], REFERENCE_MINIMA[kind]]
        for kind, _, cost in _list_both(smoothness)
    ]
    header = ["noise", "squared_second_differences", "local_minima", "reference_roughness", "reference_local_minima"]
    return write_csv(header, rows)


def _list_both(smoothness: Smoothness) -> list[tuple[str, str, np.ndarray]]:
    fixed = ("fixed", "fixed (the paper's proposal)", smoothness.fixed)
    return [fixed, ("fresh", "fresh at each value", smoothness.fresh)]
