"""Tables of the descriptor paper: our numbers beside those worked out by hand and beside the truth."""

from collections.abc import Iterator, Mapping
from textwrap import fill

import numpy as np

from daedal.analysis import WellPosedness
from daedal.papers.descriptor.estimates import (
    LEVEL,
    LIKELIHOOD,
    METHODS,
    NOISE_TOO,
    OUTPUT_ERROR,
    Estimates,
    Size,
    find_truth,
)
from daedal.papers.descriptor.examples import (
    CHAIN,
    FILTERED_VARIANCE,
    INTEGRATED_VARIANCE,
    TIME_CONSTANT,
    WINDOW,
    Examples,
)
from daedal.papers.descriptor.experiment import INTERVAL, LOAD, SAMPLES, SEED, STATES, TRUTH
from daedal.papers.descriptor.states import (
    FILTERED,
    KINDS,
    SMOOTHED,
    WITH_ESTIMATES,
    StateErrors,
    compute_chi_square_band,
)
from daedal.papers.descriptor.structure import FREQUENCIES, DriveStructure
from daedal.papers.result_files import write_csv

WIDTH = 110  # of printed text
TITLES = {"disc.w": "speed of the disc", "shaft.tau": "torque in the shaft", LOAD: "load torque"}
COLUMN_NAMES = {
    LIKELIHOOD: "likelihood",
    OUTPUT_ERROR: "output_error",
    NOISE_TOO: "likelihood_noise_too",
    FILTERED: "filtered",
    SMOOTHED: "smoothed",
    WITH_ESTIMATES: "smoothed_parameters_estimated",
}


def write_examples(examples: Examples) -> str:
    """Verdicts on the examples, variances and poles beside those worked out by hand."""
    chain = "; ".join(f"{name} needs {examples.chain[name]} (by hand {needed})" for name, needed in CHAIN.items())
    lines = [
        "Equation (10): ż₁ = −2 z₁ + v₁, 0 = −z₂ + v₁, y = z₁ + z₂ + v₂",
        "",
        "as it stands:",
        write_verdict(examples.plain),
        f"through a low-pass sensor with a time constant of {TIME_CONSTANT:g} s:",
        write_verdict(examples.filtered),
        f"  variance {examples.filtered_variance:.10f}, by hand 5225/102 = {FILTERED_VARIANCE:.10f}",
        f"integrated over {WINDOW:g} s before each sample:",
        write_verdict(examples.integrated),
        f"  variance {examples.integrated_variance:.10f}, by hand {INTEGRATED_VARIANCE:.10f}",
        "through the low-pass sensor, and z₂ is wanted besides:",
        write_verdict(examples.wanted),
        "",
        fill(f"A chain ż₂ = z₁, ż₃ = z₂, z₃ = w, poles of w that make the variance finite: {chain}.", WIDTH),
    ]
    return "\n".join(lines)


def write_structure(structure: DriveStructure) -> str:
    """What the drive is made of, its verdicts, and how close the standard form is."""
    matrices = structure.matrices
    poles = ", ".join(_write_complex(pole) for pole in matrices.poles)
    lines = [
        f"The drive: {len(matrices.equations)} equations from connected parts, index {matrices.index}, "
        f"{matrices.states} states",
        f"  eigenvalues of λE − F in rad/s: {poles}",
        "  (0: nothing measures or resists the absolute angle)",
        "",
        "the load torque with one pole:",
        write_verdict(structure.coloured),
        "a white load torque:",
        write_verdict(structure.white),
        "a white load torque, and the acceleration of the disc is wanted:",
        write_verdict(structure.wanted),
        "",
    ]
    sentence = (
        "Transfer functions of the standard form differ from those of the equations by at most "
        f"{structure.largest_difference:.0e}, relative, for {FREQUENCIES[0]:g} … {FREQUENCIES[-1]:g} rad/s."
    )
    return "\n".join([*lines, fill(sentence, WIDTH)])


def write_verdict(verdict: WellPosedness) -> str:
    """A verdict in lines of readable length."""
    lines = str(verdict).splitlines()
    indents = ["  " + line[: len(line) - len(line.lstrip())] for line in lines]
    return "\n".join(
        fill(line.lstrip(), WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ")
        for line, indent in zip(lines, indents, strict=True)
    )


def write_estimates(estimates: Mapping[str, Estimates], size: Size) -> str:
    """The table of estimates."""
    lines = [
        f"Estimates from {(SAMPLES - 1) * INTERVAL:g} s of data ({size}; seed {SEED})",
        "",
        f"{'method':<31}{'parameter':<15}{'truth':>6}{'mean ± s.e.':>20}{'RMSE':>9}{'std error':>11}{'coverage':>10}",
    ]
    for method in METHODS:
        for parameter in estimates[method].parameters:
            title = method if parameter == estimates[method].parameters[0] else ""
            lines.append(_write_line(title, parameter, estimates[method]))
    return "\n".join([*lines, *(f"\n{fill(note, WIDTH)}" for note in _list_notes(estimates))])


def _write_line(title: str, parameter: str, estimates: Estimates) -> str:
    one = estimates.summary(parameter)
    mean = f"{one.mean:.5f} ± {one.standard_error:.5f}"
    start = f"{title:<31}{parameter:<15}{find_truth(parameter):>6g}{mean:>20}"
    return f"{start}{one.rmse:>9.5f}{one.reported:>11.5f}{one.coverage:>10.1%}"


def _list_notes(estimates: Mapping[str, Estimates]) -> list[str]:
    exact, blind = ({p: estimates[method].summary(p) for p in TRUTH} for method in (LIKELIHOOD, OUTPUT_ERROR))
    times = " and ".join(f"{blind[p].rmse / exact[p].rmse:.1f}" for p in TRUTH)
    offsets = "; ".join(
        f"{p} {exact[p].bias / exact[p].standard_error:+.1f} and {blind[p].bias / blind[p].standard_error:+.1f}"
        for p in TRUTH
    )
    one = next(iter(exact.values()))
    few = estimates[NOISE_TOO].summary(next(iter(TRUTH)))
    failures = sum(one.failures for one in estimates.values())
    return [
        "std error: mean of those that come with the estimates, to be compared with the RMSE; coverage: how often a "
        f"{LEVEL:.0%} interval contains the truth, ± {one.coverage_error:.1%} over {one.count} data sets by chance "
        f"alone (± {few.coverage_error:.1%} over {few.count}). "
        + (f"{failures} searches did not converge." if failures else "Every search converged."),
        "The model is linear: a load torque of mean zero does not move the mean of what is measured, and ignoring it "
        "need not bias an estimate (bias in standard errors of the mean, by maximum likelihood and by output error: "
        f"{offsets}). But the errors are {times} times as large on the same data.",
    ]


def write_states(errors: Mapping[str, StateErrors]) -> str:
    """The table of state estimates."""
    count = len(next(iter(errors[SMOOTHED].errors.values())))
    lower, upper = compute_chi_square_band(count)
    lines = [
        f"States from the same data sets: e is the error of an estimate, σ its standard deviation (E = {count})",
        "",
        f"{'variable':<21}{'estimate':<32}{'median σ':>10}{'mean e²/σ²':>17}{'in χ² band':>12}{'|e| < 1.96σ':>13}",
    ]
    for variable in STATES:
        for kind in KINDS:
            one = errors[kind].calibration(variable)
            mean = f"{one.mean:.3f} ± {one.standard_error:.3f}"
            title = TITLES[variable] if kind == KINDS[0] else ""
            start = f"{title:<21}{kind:<32}{one.deviation:>10.5f}{mean:>17}"
            lines.append(f"{start}{one.inside:>12.1%}{one.coverage:>13.1%}")
    ratio = [
        errors[FILTERED].calibration(variable).deviation / errors[SMOOTHED].calibration(variable).deviation
        for variable in STATES
    ]
    inflated = max(errors[WITH_ESTIMATES].calibration(variable).mean for variable in STATES)
    notes = [
        f"mean e²/σ²: 1 is right; in χ² band: share of the {len(errors[SMOOTHED].times)} sample times at which the "
        f"mean over the data sets lies in {lower:.2f} … {upper:.2f}, 95 % are expected. The smoother, which knows what "
        f"follows, is {min(ratio):.1f} to {max(ratio):.1f} times as accurate as the filter. Speed of the disc, "
        "torque in the shaft (an algebraic variable) and load torque have no sensor.",
        f"Parameters estimated from the same data are off by their own errors, which σ leaves out: e²/σ² reaches "
        f"{inflated:.2f} in the mean.",
    ]
    return "\n".join([*lines, *(f"\n{fill(note, WIDTH)}" for note in notes)])


def write_verdicts(examples: Examples, structure: DriveStructure) -> str:
    """All verdicts as the program words them."""
    titled = {
        "equation (10)": examples.plain,
        "equation (10), low-pass sensor": examples.filtered,
        "equation (10), low-pass sensor, z2 wanted": examples.wanted,
        "equation (10), integrating sampling": examples.integrated,
        "drive": structure.coloured,
        "drive, white load torque": structure.white,
        "drive, white load torque, acceleration of the disc wanted": structure.wanted,
    }
    return "\n\n".join(f"{title}\n{verdict}" for title, verdict in titled.items()) + "\n"


def tabulate_transfer(structure: DriveStructure) -> str:
    """Gains from the equations, and relative differences of the standard form."""
    header = ["frequency"]
    columns = [FREQUENCIES]
    for (source, variable), direct in structure.direct.items():
        name = f"{source} to {variable}".replace(" ", "_")
        header += [name, f"{name}_difference"]
        columns += [np.abs(direct), structure.difference(source, variable)]
    return write_csv(header, np.stack(columns, axis=1).tolist())


def tabulate_estimates(estimates: Mapping[str, Estimates]) -> str:
    """Every estimate with its standard error: one line per method, data set and parameter."""

    def rows() -> Iterator[list[str | float | int]]:
        for method in METHODS:
            one = estimates[method]
            for number in range(len(one.values)):
                for k, parameter in enumerate(one.parameters):
                    numbers = [float(one.values[number, k]), float(one.std_errors[number, k])]
                    yield [COLUMN_NAMES[method], number, parameter, *numbers, int(one.covered[number, k])]

    return write_csv(["method", "data_set", "parameter", "value", "std_error", "covered"], rows())


def tabulate_summary(estimates: Mapping[str, Estimates]) -> str:
    """The table of estimates."""

    def rows() -> Iterator[list[str | float | int]]:
        for method in METHODS:
            for parameter in estimates[method].parameters:
                one = estimates[method].summary(parameter)
                numbers = [one.mean, one.standard_error, one.bias, one.rmse, one.reported, one.coverage]
                yield [COLUMN_NAMES[method], parameter, one.count, find_truth(parameter), *numbers]

    statistics = ["mean", "standard_error", "bias", "rmse", "mean_std_error", "coverage"]
    return write_csv(["method", "parameter", "data_sets", "truth", *statistics], rows())


def tabulate_states(errors: Mapping[str, StateErrors]) -> str:
    """The table of state estimates."""

    def rows() -> Iterator[list[str | float]]:
        for variable in STATES:
            for kind in KINDS:
                one = errors[kind].calibration(variable)
                numbers = [one.deviation, one.mean, one.standard_error, one.inside, one.coverage]
                yield [variable, COLUMN_NAMES[kind], *numbers]

    statistics = ["median_deviation", "mean_normalised_square", "standard_error", "in_chi_square_band", "coverage"]
    return write_csv(["variable", "estimate", *statistics], rows())


def _write_complex(pole: complex) -> str:
    rounded = complex(round(pole.real, 4) + 0.0, round(pole.imag, 4))
    return f"{rounded.real:g}{rounded.imag:+g}j" if rounded.imag else f"{rounded.real:g}"
