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
from daedal.papers.descriptor.examples import examples
from daedal.papers.descriptor.experiment import simulated
from daedal.papers.descriptor.figures import estimate_scatter, transfer_functions, unmeasured_torques
from daedal.papers.descriptor.states import state_errors
from daedal.papers.descriptor.structure import drive_structure
from daedal.papers.descriptor.tables import (
    estimates_csv,
    estimates_text,
    examples_text,
    states_csv,
    states_text,
    structure_text,
    summary_csv,
    transfer_csv,
    verdicts_file,
)
from daedal.papers.result_files import Result, checked_directory, page, write_files

FULL = Size(data_sets=200, noise_too=60)
QUICK = Size(data_sets=20, noise_too=5)


def reproduce(directory: str | Path, *, full: bool = False) -> Iterator[Result]:
    """Work through the paper; each part is yielded when its files are complete.

    Parameters
    ----------
    directory
        Where the tables (CSV), verdicts (text) and figures (HTML) go; made if it is not there.
    full
        200 data sets, so that coverage can be told to 1.5 %, instead of few.
    """
    folder = checked_directory(directory)
    size = FULL if full else QUICK
    yield Result(_introduction(full))
    judged, structure = examples(), drive_structure()
    yield Result(examples_text(judged))
    texts = {
        "verdicts.txt": verdicts_file(judged, structure),
        "transfer.csv": transfer_csv(structure),
        "transfer.html": page(transfer_functions(structure)),
    }
    yield Result(structure_text(structure), write_files(folder, texts))
    data = simulated(size.data_sets)
    found = estimate(data, size)
    texts = {
        "estimates.csv": estimates_csv(found),
        "estimates_table.csv": summary_csv(found),
        "estimates.html": page(estimate_scatter(found, size)),
    }
    yield Result(estimates_text(found, size), write_files(folder, texts))
    errors = state_errors(data, found[LIKELIHOOD])
    texts = {"states_table.csv": states_csv(errors), "states.html": page(unmeasured_torques(data, errors))}
    yield Result(states_text(errors), write_files(folder, texts))


def _introduction(full: bool) -> str:
    return (
        "The descriptor paper: does noise in differential-algebraic equations make sense, and what does it hide?\n"
        + ("200 data sets: some minutes." if full else "Few data sets: some seconds (--full: 200, some minutes).")
    )
