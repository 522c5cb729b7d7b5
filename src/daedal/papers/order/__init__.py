"""Order and coefficients of linear systems: the numerical experiments of the paper, its Tables 1 to 10, Figures 1 to 3.

The paper fits splines to the output that nearly solve a differential equation, and finds the few coefficients of that
equation by a greedy search (`daedal.order.penalized_splines`). It is told how many coefficients there are, which is the
order it is said to find. Here it is run as printed, with too many coefficients, and beside searches that are not told:
`select_order` with refined instrumental variables and with spline starts.

`reproduce(folder)` takes some 20 seconds; `reproduce(folder, full=True)` has 50 data sets and takes some minutes.

Reference: S. K. Varanasi, P. Jampana, Parameter estimation and model order identification of LTI systems,
IFAC-PapersOnLine 49-7 (2016) 1002–1007.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from daedal.jobs import count_workers
from daedal.papers.kept_pieces import KeptPieces
from daedal.papers.order.estimates import REFINED, Size, estimate_system, pursue_all, search_all
from daedal.papers.order.experiment import SYSTEMS, System
from daedal.papers.order.figures import draw_frequency_responses, draw_step_responses
from daedal.papers.order.tables import (
    tabulate_printed,
    tabulate_pursuits,
    tabulate_searches,
    write_printed,
    write_pursuits,
    write_searches,
)
from daedal.papers.result_files import Result, make_directory, write_files, write_page

FULL = Size(printed=50, too_many=5, refined=50, splines=10)
QUICK = Size(printed=3, too_many=1, refined=1, splines=1)


def reproduce(directory: str | Path, *, full: bool = False, workers: int | None = None) -> Iterator[Result]:
    """Work through the tables; each result is yielded when its files are complete.

    Parameters
    ----------
    directory
        Where the tables (CSV) and figures (HTML) go; made if it is not there.
    full
        50 data sets instead of few.
    workers
        How many processes share the work; by default one for each processor.
    """
    folder = make_directory(directory)
    size = FULL if full else QUICK
    yield Result(_introduce(full))
    pieces = KeptPieces(folder, "order", size, count_workers() if workers is None else workers)
    for system in SYSTEMS:
        name = system.name.replace(" ", "_").replace("'", "").lower()
        yield pieces.take_result(name, partial(_estimate_system, system, name, folder, size, pieces))
    searches = search_all(size, pieces.make_all)
    pursuits = pursue_all(pieces.make_all)
    first = {
        one.reading.name: one.values[0, ::-1] for one in searches if one.system == SYSTEMS[3] and one.method == REFINED
    }
    texts = {
        "tables_8_to_10.csv": tabulate_pursuits(pursuits),
        "figure1.html": write_page(draw_step_responses(pursuits)),
        "figure2.html": write_page(draw_frequency_responses(pursuits)),
        "figure3.html": write_page(draw_frequency_responses(pursuits, first)),
    }
    yield Result(write_pursuits(pursuits), write_files(folder, texts))
    yield Result(write_searches(searches, size), write_files(folder, {"searches.csv": tabulate_searches(searches)}))
    pieces.remove()


def _introduce(full: bool) -> str:
    return "The order paper: how many derivatives does a system have, and what are their coefficients?\n" + (
        "50 data sets: some minutes." if full else "Few data sets: some 20 seconds (--full: 50, some minutes)."
    )


def _estimate_system(system: System, name: str, folder: Path, size: Size, pieces: KeptPieces) -> Result:
    printed = estimate_system(system, size, pieces.make_all)
    files = write_files(folder, {f"{name}.csv": tabulate_printed(printed)})
    return Result(write_printed(system, printed, size), files)
