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
from functools import cached_property
from pathlib import Path
from time import perf_counter

from daedal.papers.kept_pieces import KeptPieces
from daedal.papers.reactor.estimates import (
    Drawn,
    Size,
    Sweep,
    assess_accuracy,
    assess_designs,
    draw_errors,
    sweep_weights,
)
from daedal.papers.reactor.experiment import EPSILON
from daedal.papers.reactor.figures import draw_fitted_outputs, draw_mean_and_variance, draw_samples
from daedal.papers.reactor.tables import (
    tabulate_accuracy,
    tabulate_designs,
    tabulate_sweep,
    write_accuracy,
    write_designs,
    write_errors,
    write_estimates,
    write_misspecified,
)
from daedal.papers.result_files import Result, make_directory, write_files, write_page

FULL = Size(weights=101, realizations=100_000, data_sets=100)
QUICK = Size(weights=101, realizations=100_000, data_sets=6)


def reproduce(directory: str | Path, *, full: bool = False, workers: int | None = None) -> Iterator[Result]:
    """Work through tables and figures; each result is yielded when its files are complete.

    `full`: 100 data sets for the accuracy of the parameters instead of 6; all else has the sizes of the paper.
    `workers` processes share them.
    """
    folder = make_directory(directory)
    size = FULL if full else QUICK
    yield Result(_introduce(full))
    pieces, work = KeptPieces(folder, "reactor", size, workers), _Work(folder, size)
    yield pieces.take_result("table1", work.write_table_1)
    yield pieces.take_result("table2", work.write_table_2)
    yield pieces.take_result("misspecified", work.write_misspecified)
    yield pieces.take_result("sample_times", work.write_sample_times)
    parameters = assess_accuracy(size, pieces.make_all)
    yield Result(write_accuracy(parameters), write_files(folder, {"parameters.csv": tabulate_accuracy(parameters)}))
    pieces.remove()


class _Work:
    """The results, which share a sweep and draws; these are made for the first that is not there."""

    def __init__(self, folder: Path, size: Size) -> None:
        self._folder, self._size = folder, size

    @cached_property
    def _sweep(self) -> tuple[Sweep, float]:
        """And the seconds it took."""
        begin = perf_counter()
        sweep = sweep_weights(self._size)
        return sweep, perf_counter() - begin

    @cached_property
    def _errors(self) -> tuple[Drawn, Drawn]:
        """By the right law and by a wrong one."""
        sweep, count = self._sweep[0], self._size.realizations
        return draw_errors(sweep, count), draw_errors(sweep, count, misspecified=True)

    def write_table_1(self) -> Result:
        (sweep, seconds), (right, wrong) = self._sweep, self._errors
        texts = {
            "sweep.csv": tabulate_sweep(sweep, right, wrong),
            "figure1.html": write_page(draw_samples(sweep)),
            "figure2.html": write_page(draw_fitted_outputs(sweep)),
        }
        return Result(write_estimates(sweep, seconds), write_files(self._folder, texts))

    def write_table_2(self) -> Result:
        sweep, right = self._sweep[0], self._errors[0]
        figure = draw_mean_and_variance(sweep, right, "Figure 3: the squared error under (27)", exact=True)
        return Result(write_errors(sweep, right), write_files(self._folder, {"figure3.html": write_page(figure)}))

    def write_misspecified(self) -> Result:
        sweep, (right, wrong) = self._sweep[0], self._errors
        title = f"Figure 4: the squared error under (28), epsilon = {EPSILON}"
        figure = draw_mean_and_variance(sweep, wrong, title, exact=False)
        files = write_files(self._folder, {"figure4.html": write_page(figure)})
        return Result(write_misspecified(sweep, right, wrong), files)

    def write_sample_times(self) -> Result:
        chosen = assess_designs()
        files = write_files(self._folder, {"sample_times.csv": tabulate_designs(chosen)})
        return Result(write_designs(chosen), files)


def _introduce(full: bool) -> str:
    return (
        "The delay paper: a stirred tank, its recycle delayed by an unknown time, outputs known by their moments.\n"
        + ("100 data sets for the parameters: some minutes." if full else "About a minute (--full: more data sets).")
    )
