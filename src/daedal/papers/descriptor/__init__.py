"""Linear stochastic differential-algebraic equations: when estimates make sense, and how good they are.

The paper says when a model

    E ż = F z + G u + Σ J_l w_l,   y(t_k) = H z(t_k) + e(t_k)

with singular E has samples of a finite variance, and then reduces likelihood and state estimation to the Kalman
filter. Its examples are worked through, and its motor with a weak shaft is estimated from simulated data, which the
paper leaves out: it gives no numbers. Those printed beside ours come from closed formulas or are the truth behind the
data.

`reproduce(folder)` takes some seconds, `reproduce(folder, full=True)` has 200 data sets and takes some minutes.

Reference: M. Gerdin, T. B. Schön, T. Glad, F. Gustafsson, L. Ljung, On parameter and state estimation for linear
differential-algebraic equations, 2006, sections 3 to 7.
"""

from collections.abc import Iterator
from pathlib import Path

from daedal.papers.descriptor.estimates import LIKELIHOOD, Size, estimate
from daedal.papers.descriptor.examples import judge_examples
from daedal.papers.descriptor.experiment import simulate_data_sets
from daedal.papers.descriptor.figures import draw_estimates, draw_torques, draw_transfer_functions
from daedal.papers.descriptor.states import find_state_errors
from daedal.papers.descriptor.structure import analyze_drive
from daedal.papers.descriptor.tables import (
    tabulate_estimates,
    tabulate_states,
    tabulate_summary,
    tabulate_transfer,
    write_estimates,
    write_examples,
    write_states,
    write_structure,
    write_verdicts,
)
from daedal.papers.kept_pieces import KeptPieces
from daedal.papers.result_files import Result, make_directory, write_files, write_page

FULL = Size(data_sets=200, noise_too=60)
QUICK = Size(data_sets=20, noise_too=5)


def reproduce(directory: str | Path, *, full: bool = False, workers: int | None = None) -> Iterator[Result]:
    """Work through the paper; each result is yielded when its files are complete.

    Parameters
    ----------
    directory
        Where the tables (CSV), verdicts (text) and figures (HTML) go; made if it is not there.
    full
        200 data sets, so that coverage can be told to 1.5 %, instead of few.
    workers
        How many processes share them.
    """
    folder = make_directory(directory)
    size = FULL if full else QUICK
    yield Result(_introduce(full))
    judged, structure = judge_examples(), analyze_drive()
    yield Result(write_examples(judged))
    texts = {
        "verdicts.txt": write_verdicts(judged, structure),
        "transfer.csv": tabulate_transfer(structure),
        "transfer.html": write_page(draw_transfer_functions(structure)),
    }
    yield Result(write_structure(structure), write_files(folder, texts))
    pieces = KeptPieces(folder, "descriptor", size, workers)
    data = simulate_data_sets(size.data_sets)
    estimates = estimate(size, pieces.make_all)
    texts = {
        "estimates.csv": tabulate_estimates(estimates),
        "estimates_table.csv": tabulate_summary(estimates),
        "estimates.html": write_page(draw_estimates(estimates, size)),
    }
    yield Result(write_estimates(estimates, size), write_files(folder, texts))
    errors = find_state_errors(data, estimates[LIKELIHOOD])
    texts = {"states_table.csv": tabulate_states(errors), "states.html": write_page(draw_torques(data, errors))}
    yield Result(write_states(errors), write_files(folder, texts))
    pieces.remove()


def _introduce(full: bool) -> str:
    return (
        "The descriptor paper: does noise in differential-algebraic equations make sense, and what does it hide?\n"
        + ("200 data sets: some minutes." if full else "Few data sets: some seconds (--full: 200, some minutes).")
    )
