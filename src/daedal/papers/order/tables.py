"""Tables of the order paper: its numbers beside ours, in its normalisation."""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill

import numpy as np

from daedal.papers.order.estimates import (
    GAMMAS,
    METHODS,
    PURSUED_ORDER,
    PURSUED_RATIO,
    REFINED,
    Printed,
    Pursued,
    Searched,
    Size,
)
from daedal.papers.order.experiment import RADIAN, READINGS, SAMPLES, SEED, SYSTEMS, THINNED, Reading, System
from daedal.papers.order.published import NOISELESS, NOISY, TABLE_8, TABLE_9, TABLE_10
from daedal.papers.result_files import write_csv

WIDTH = 110  # of printed text


def write_printed(system: System, printed: Sequence[Printed], size: Size) -> str:
    """One system by the paper's method: its tables beside ours, without and with noise."""
    units = [reading.unit for reading in READINGS]
    lines = [
        f"{system.tables}: {system.equation}",
        "",
        f"{'':>12}{'without noise':<30}ratio 5 to 10, mean ± standard deviation of {size.printed}",
        f"{'n':>2}{'true':>10}{'paper':>10}{units[0]:>10}{units[1]:>10}{'paper':>18}{units[0]:>20}{units[1]:>20}",
    ]
    for assumed in system.columns:
        both = [_find_printed(printed, reading, assumed) for reading in READINGS]
        for name in _list_names(system):
            start = str(assumed) if name == f"a{system.order}" else ""
            lines.append(f"{start:>2}{_write_coefficient(system, assumed, name, both)}")
        shares = "".join(f"{one.supported:>20.0%}" for one in both)
        lines.append(f"{'':>6}{'exactly these differ from zero':<54}{shares}")
    notes = _list_printed_notes(system, printed)
    return "\n".join([*lines, *(f"\n{fill(note, WIDTH)}" for note in notes)])


def _write_coefficient(system: System, assumed: int, name: str, both: Sequence[Printed]) -> str:
    truth = dict(zip(system.names, system.theta, strict=True))[name]
    quiet = [f"{NOISELESS[system.name, assumed][name]:.5g}"]
    noisy = ["{:g} ± {:g}".format(*NOISY[system.name, assumed][name]) if (system.name, assumed) in NOISY else ""]
    for one in both:
        column = one.values[:, one.place(name)]
        quiet.append(f"{one.quiet[one.place(name)]:.4f}")
        noisy.append(f"{column.mean():.4f} ± {column.std():.4f}")
    first = f"{f'{name} = {truth:g}':>10}" + "".join(f"{cell:>10}" for cell in quiet)
    return f"{first}{noisy[0]:>18}{noisy[1]:>20}{noisy[2]:>20}"


def _list_printed_notes(system: System, printed: Sequence[Printed]) -> list[str]:
    notes = []
    for one in printed:
        published = NOISY.get((system.name, one.assumed))
        if published is not None and one.reading == RADIAN:
            notes.append(f"n = {one.assumed}: {_compare_with_paper(published, system, one)}")
    said = " ".join(notes)
    told = [(more, one) for one in printed for more, orders in one.orders.items() if orders]
    if not told:
        return [said] if said else []
    right = sum(order == system.order for more, one in told for order in one.orders[more])
    total = sum(len(one.orders[more]) for more, one in told)
    typed = (
        f"With one or two terms too many the order is right in {right} of {total} data sets: the method returns as "
        "many terms as one types in."
    )
    return [*([said] if said else []), typed]


def _compare_with_paper(published: Mapping[str, tuple[float, float]], system: System, one: Printed) -> str:
    """Errors relative to the coefficients, over all of them."""
    ours, theirs = _compute_rms(one.rmse() / np.abs(system.theta)), _compute_rms(_compute_relative(published, system))
    return f"relative RMSE of all coefficients {ours:.1%} in rad/s, paper {theirs:.1%}."


def _compute_relative(published: Mapping[str, tuple[float, float]], system: System) -> list[float]:
    """Bias and standard deviation of the paper together, relative to each coefficient."""
    pairs = zip(system.names, system.theta, strict=True)
    return [float(np.hypot(published[name][0] - truth, published[name][1]) / abs(truth)) for name, truth in pairs]


def _compute_rms(values: Sequence[float] | np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def write_pursuits(pursuits: Sequence[Pursued]) -> str:
    """Tables 8 to 10."""
    lines = [f"Table 8: {SYSTEMS[3].equation}, one data set with a ratio of {PURSUED_RATIO:g}, n = {PURSUED_ORDER}", ""]
    lines += _write_columns(TABLE_8, [one.table_8 for one in pursuits], pursuits)
    for title, published, ours in (
        ("Table 9: the same without noise, beside basis pursuit", TABLE_9, [one.quiet for one in pursuits]),
        ("Table 10: the same with noise, beside basis pursuit", TABLE_10, [one.noisy for one in pursuits]),
    ):
        lines += ["", title, "", *_write_columns(published, ours, pursuits)]
    note = (
        f"γ = {GAMMAS[0]:g} and {GAMMAS[1]:g} is how much more than least squares basis pursuit may leave of the "
        f"{SAMPLES} samples of the input; the paper does not say how many it had. The smallest sum of magnitudes takes "
        "from large coefficients first: the true ones come out too small, whatever the order."
    )
    return "\n".join([*lines, "", fill(note, WIDTH)])


def _write_columns(
    published: Mapping[str, Sequence[float]], ours: Sequence[Mapping[str, np.ndarray]], pursuits: Sequence[Pursued]
) -> list[str]:
    sources = [
        ("paper", published),
        *((pursuit.reading.unit, one) for pursuit, one in zip(pursuits, ours, strict=True)),
    ]
    heads = [f"{source:^{11 * len(published)}}" for source, _ in sources]
    names = ["".join(f"{name:>11}" for name in published)] * len(sources)
    lines = [_join("", heads), _join("", names)]
    for k in range(PURSUED_ORDER + 1):
        cells = ["".join(f"{values[name][k]:>11.4f}" for name in published) for _, values in sources]
        lines.append(_join(f"a{PURSUED_ORDER - k}", cells))
    return lines


def _join(start: str, parts: Sequence[str]) -> str:
    return f"{start:>4}{'  '.join(parts)}".rstrip()


def write_searches(searches: Sequence[Searched], size: Size) -> str:
    """How often searches find the order, and how near to the optimum they come."""
    lines = [
        f"The order from the data alone: every {THINNED}th sample, all orders of the tables (seed {SEED})",
        f"({size})",
        "",
        f"{'system':<19}{'input':<7}{'method':<17}{'right':>6}{'chosen':>8}{'/ optimum':>11}   RMSE of coefficients",
    ]
    lines += [_write_search(one) for one in searches]
    return "\n".join([*lines, *(f"\n{fill(note, WIDTH)}" for note in _list_search_notes(searches))])


def _write_search(one: Searched) -> str:
    chosen = "/".join(str(order) for order in np.unique(one.orders))
    rmse = dict(zip(one.system.names, one.rmse(), strict=True))
    errors = "  ".join(f"{name} {rmse[name]:.2g}" for name in _list_names(one.system))
    start = f"{one.system.name:<19}{one.reading.unit:<7}{one.method:<17}{one.right:>6.0%}{chosen:>8}"
    return f"{start}{one.ratio():>11.3f}   {errors}"


def is_hidden(system: System, reading: Reading) -> bool:
    """Whether the data hardly show the highest derivative: four poles, and an input slower than all of them."""
    return system.order == SYSTEMS[3].order and reading == RADIAN


def _list_search_notes(searches: Sequence[Searched]) -> list[str]:
    seen = [one for one in searches if not is_hidden(one.system, one.reading)]
    unseen = [one for one in searches if is_hidden(one.system, one.reading) and one.method == REFINED]
    worst = {method: min(one.right for one in seen if one.method == method) for method in METHODS}
    farthest = {method: max(one.ratio() for one in seen if one.method == method) for method in METHODS}
    notes = [
        "/ optimum: RMSE relative to output error that starts from the truth, on the same data and at the true orders, "
        "the largest of the coefficients. Where the data contain the order it is right at least in "
        + " and ".join(f"{share:.0%} ({method})" for method, share in worst.items())
        + " of the searches, and errors are at most "
        + " and ".join(f"{ratio:.3f} times ({method})" for method, ratio in farthest.items())
        + " those of the optimum."
    ]
    notes += _write_beside_paper([one for one in searches if one.method == REFINED and one.reading == RADIAN])
    if unseen:
        doubts = ", ".join(f"{np.median(one.leading):.0%} in {one.system.name}" for one in unseen)
        notes.append(
            "With an input of at most 1 rad/s the fourth derivative is hardly in the data: at order 4 the standard "
            f"error of its coefficient is, in the median, {doubts}, and the searches take fewer poles."
        )
    return notes


def _write_beside_paper(searches: Sequence[Searched]) -> list[str]:
    """Errors over all coefficients beside the best of the paper's columns."""
    told = []
    for one in searches:
        published = [numbers for (name, _), numbers in NOISY.items() if name == one.system.name]
        if published:
            theirs = min(_compute_rms(_compute_relative(numbers, one.system)) for numbers in published)
            told.append(
                f"{one.system.name} {_compute_rms(one.rmse() / np.abs(one.system.theta)):.1%} (paper {theirs:.1%})"
            )
    if not told:
        return []
    return [
        f"Relative RMSE of all coefficients in rad/s, {REFINED} from {SAMPLES // THINNED + 1} samples, a tenth of "
        "those that the paper's method was given above, and not told the order, beside the best of the paper's "
        f"columns: {'; '.join(told)}."
    ]


def tabulate_printed(printed: Sequence[Printed]) -> str:
    """Every coefficient of every data set, and without noise (data set −1)."""

    def rows() -> Iterator[list[str | float | int]]:
        for one in printed:
            names = [f"a{k}" for k in range(one.assumed + 1)] + [f"b{k + 1}" for k in range(one.system.input_order)]
            for number, theta in enumerate([one.quiet, *one.values], start=-1):
                for name, value in zip(names, theta, strict=True):
                    yield [one.system.name, one.reading.name, one.assumed, number, name, float(value)]

    return write_csv(["system", "reading", "assumed_order", "data_set", "coefficient", "value"], rows())


def tabulate_searches(searches: Sequence[Searched]) -> str:
    """Every search: the order chosen, and the coefficients at the true orders beside the optimum."""

    def rows() -> Iterator[list[str | float | int]]:
        for one in searches:
            for number, order in enumerate(one.orders):
                for name, value, best in zip(one.system.names, one.values[number], one.optimal[number], strict=True):
                    case = [one.system.name, one.reading.name, one.method, number]
                    yield [*case, int(order), name, float(value), float(best)]

    header = ["system", "reading", "method", "data_set", "chosen_order", "coefficient", "value", "optimum"]
    return write_csv(header, rows())


def tabulate_pursuits(pursuits: Sequence[Pursued]) -> str:
    """Tables 8 to 10."""

    def rows() -> Iterator[list[str | float | int]]:
        for one in pursuits:
            tables = ((8, one.table_8, TABLE_8), (9, one.quiet, TABLE_9), (10, one.noisy, TABLE_10))
            for number, ours, published in tables:
                for name, values in ours.items():
                    for k, value in enumerate(values):
                        coefficient = f"a{PURSUED_ORDER - k}"
                        yield [number, one.reading.name, name, coefficient, float(value), published[name][k]]

    return write_csv(["table", "reading", "column", "coefficient", "value", "paper"], rows())


def _find_printed(printed: Sequence[Printed], reading: Reading, assumed: int) -> Printed:
    return next(one for one in printed if one.reading == reading and one.assumed == assumed)


def _list_names(system: System) -> list[str]:
    """Names as the paper lists them: a_n … a_0, b_m … b_1."""
    return [*reversed(system.names[: system.order + 1]), *reversed(system.names[system.order + 1 :])]
