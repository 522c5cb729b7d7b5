"""Drag of a pendulum in an unmeasured wind: the numerical experiment of the paper, its Figures 1 and 2.

The paper estimates a parameter θ of a differential-algebraic model from y(t₁) … y(t_N), by minimising

    (3a)   1/(N − 500) Σ_{k > 500} (y(t_k) − ȳ_M(t_k; θ))²,

ȳ_M being the mean of M simulated outputs whose disturbances come from innovations that stay fixed while θ moves, and
compares it with output error, which ignores the disturbance.

The experiment that the article prints does not give the article's figure; the program that its authors published does
(`daedal.papers.pendulum.experiment`). Both are run.

`reproduce(folder)` takes about two minutes: a few dozen data sets, each fitted by `fit` as any measured one would be
(`daedal.papers.pendulum.fits`), and a dozen short ones by `Likelihood` too, which the paper does not have.
`reproduce(folder, full=True)` has the sizes of the paper, which a study of its own makes fast
(`daedal.papers.pendulum.estimates`); two estimators that the paper does not have see the same data there: Gauss–Newton
on the continuous parameter, and the same whitened by a model of its residual. Removing the bias Var(ŷ)/M of (3a) is not
part of that study.

Reference: M. R.-H. Abdalmoaty, O. Eriksson, R. Bereza, D. Broman, H. Hjalmarsson, Identification of Non-Linear
Differential-Algebraic Equation Models with Process Disturbances, IEEE Conf. on Decision and Control 2021, section V.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from daedal.papers.kept_pieces import KeptPieces
from daedal.papers.pendulum.estimates import Estimates, Size, estimate_all
from daedal.papers.pendulum.experiment import PRINTED, PROGRAM
from daedal.papers.pendulum.figures import draw_costs, draw_estimates
from daedal.papers.pendulum.fits import fit_data_sets
from daedal.papers.pendulum.smoothness import compute_costs
from daedal.papers.pendulum.tables import (
    tabulate_costs,
    tabulate_estimates,
    tabulate_smoothness,
    tabulate_summary,
    write_estimates,
    write_short,
    write_smoothness,
)
from daedal.papers.result_files import Result, make_directory, write_files, write_page

FULL = {
    PROGRAM: Size(samples=(1000, 5000, 10_000, 50_000), data_sets=1000, realizations=500),
    PRINTED: Size(samples=(1000, 5000, 10_000, 50_000), data_sets=200, realizations=128),
}
SHORT = Size(samples=(500,), data_sets=12, realizations=64)  # for likelihoods
QUICK = {
    PROGRAM: Size(samples=(5000,), data_sets=24, realizations=64),
    PRINTED: Size(samples=(2000,), data_sets=6, realizations=16),
}


def reproduce(directory: str | Path, *, full: bool = False, workers: int | None = None) -> Iterator[Result]:
    """Work through the figures; each result is yielded when its files are complete.

    Parameters
    ----------
    directory
        Where the tables (CSV) and figures (HTML) go; made if it is not there.
    full
        The sizes of the paper (E = 1000, M = 500, N up to 50 000) instead of small ones.
    workers
        How many processes share the two readings of the experiment, in full; each uses all processors for a while.
    """
    folder = make_directory(directory)
    sizes = FULL if full else QUICK
    pieces = KeptPieces(folder, "pendulum", [SHORT, *(sizes[reading] for reading in sizes)], workers)
    yield Result(_introduce(full))
    both = estimate_all(FULL, pieces.make_all) if full else {}
    for reading in (PROGRAM, PRINTED):
        if full:
            yield pieces.take_result(reading.name, partial(_draw_figure_1, folder, both[reading]))
            continue
        estimates = fit_data_sets(reading, QUICK[reading], pieces.take)
        yield _draw_figure_1(folder, estimates)
        if estimates.interrupted:
            raise KeyboardInterrupt
    if not full:
        estimates = fit_data_sets(PROGRAM, SHORT, pieces.take, short=True)
        yield _tabulate_short(folder, estimates)
        if estimates.interrupted:
            raise KeyboardInterrupt
    yield pieces.take_result("figure2", lambda: _draw_figure_2(folder))
    pieces.remove()


def _introduce(full: bool) -> str:
    return (
        "The pendulum paper: a pendulum is pushed by a known force and by wind that nobody measures; "
        "what does its angle tell?\n"
        + ("Sizes of the paper: some minutes." if full else "Small sizes: about two minutes (--full: the paper's).")
    )


def _draw_figure_1(folder: Path, estimates: Estimates) -> Result:
    name = f"figure1_{estimates.reading.name}"
    texts = {
        f"{name}_estimates.csv": tabulate_estimates(estimates),
        f"{name}_table.csv": tabulate_summary(estimates),
        f"{name}.html": write_page(draw_estimates(estimates)),
    }
    return Result(write_estimates(estimates), write_files(folder, texts))


def _tabulate_short(folder: Path, estimates: Estimates) -> Result:
    texts = {"short_estimates.csv": tabulate_estimates(estimates), "short_table.csv": tabulate_summary(estimates)}
    return Result(write_short(estimates), write_files(folder, texts))


def _draw_figure_2(folder: Path) -> Result:
    smoothness = compute_costs()
    texts = {
        "figure2_costs.csv": tabulate_costs(smoothness),
        "figure2_table.csv": tabulate_smoothness(smoothness),
        "figure2.html": write_page(draw_costs(smoothness)),
    }
    return Result(write_smoothness(smoothness), write_files(folder, texts))
