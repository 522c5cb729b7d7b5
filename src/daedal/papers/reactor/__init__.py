"""An unknown delay in a stirred tank, outputs random with known moments: Tables 1 and 2, Figures 1 to 4 of the paper.

The paper estimates a delay and two parameters by minimising γ E J + (1 − γ) Var J, J being the squared error to outputs
that are random, and shows that γ a little below one lowers the variance of J at hardly any cost in its mean. That is
found again here. Beside it: what γ < 1 does to the parameters, exact values where the paper draws, and what the paper
leaves open: which sample times to choose.

`reproduce(folder)` takes about a minute; `reproduce(folder, full=True)` has 100 data sets for the parameters.

Reference: Q. Lin, R. Loxton, C. Xu, K. L. Teo, Parameter estimation for nonlinear time-delay systems with noisy output
measurements, Automatica 60 (2015) 48–56, section 6.
"""

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from daedal.papers.reactor.estimates import Size, accuracy, designs, drawn, sweep
from daedal.papers.reactor.experiment import EPSILON
from daedal.papers.reactor.figures import fitted_outputs, mean_and_variance, reference_and_samples
from daedal.papers.reactor.tables import (
    accuracy_csv,
    accuracy_text,
    designs_csv,
    designs_text,
    errors_text,
    estimates_text,
    misspecified_text,
    sweep_csv,
)
from daedal.papers.result_files import Result, checked_directory, page, write_files

FULL = Size(weights=101, realizations=100_000, data_sets=100)
QUICK = Size(weights=101, realizations=100_000, data_sets=6)


def reproduce(directory: str | Path, *, full: bool = False) -> Iterator[Result]:
    """Work through tables and figures; each part is yielded when its files are complete.

    Parameters
    ----------
    directory
        Where the tables (CSV) and figures (HTML) go; made if it is not there.
    full
        100 data sets for the accuracy of the parameters instead of 6; all else has the sizes of the paper.
    """
    folder = checked_directory(directory)
    size = FULL if full else QUICK
    yield Result(_introduction(full))
    begin = perf_counter()
    made = sweep(size)
    seconds = perf_counter() - begin
    right, wrong = (drawn(made, size.realizations, misspecified=each) for each in (False, True))
    texts = {
        "sweep.csv": sweep_csv(made, right, wrong),
        "figure1.html": page(reference_and_samples(made)),
        "figure2.html": page(fitted_outputs(made)),
    }
    yield Result(estimates_text(made, seconds), write_files(folder, texts))
    figure = mean_and_variance(made, right, "Figure 3: the squared error under (27)", exact=True)
    yield Result(errors_text(made, right), write_files(folder, {"figure3.html": page(figure)}))
    title = f"Figure 4: the squared error under (28), epsilon = {EPSILON}"
    figure = mean_and_variance(made, wrong, title, exact=False)
    yield Result(misspecified_text(made, right, wrong), write_files(folder, {"figure4.html": page(figure)}))
    chosen = designs()
    yield Result(designs_text(chosen), write_files(folder, {"sample_times.csv": designs_csv(chosen)}))
    parameters = accuracy(size)
    yield Result(accuracy_text(parameters), write_files(folder, {"parameters.csv": accuracy_csv(parameters)}))


def _introduction(full: bool) -> str:
    return (
        "The delay paper: a stirred tank, its recycle delayed by an unknown time, outputs known by their moments.\n"
        + ("100 data sets for the parameters: some minutes." if full else "About a minute (--full: more data sets).")
    )
