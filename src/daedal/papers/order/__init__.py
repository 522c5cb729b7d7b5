"""Order and coefficients of linear systems: the numerical experiments of the paper, its Tables 1 to 10, Figures 1 to 3.

The paper fits splines to the output that nearly solve a differential equation, and finds the few coefficients of that
equation by a greedy search (`daedal.order.penalized_splines`). It is told how many coefficients there are, which is the
order it is said to find. Here it is run as printed, with too many coefficients, and beside searches that are not told:
`select_order` with refined instrumental variables and with spline starts.

`reproduce(folder)` takes some 20 seconds; `reproduce(folder, full=True)` has 50 data sets and takes some minutes.

Reference: S. K. Varanasi, P. Jampana, Parameter estimation and model order identification of LTI systems,
IFAC-PapersOnLine 49-7 (2016) 1002–1007.
"""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from multiprocessing import active_children, get_context
from pathlib import Path

import numpy as np

from daedal.papers.kept_pieces import KeptPieces
from daedal.papers.order.estimates import (
    METHODS,
    REFINED,
    Searched,
    Size,
    estimate_as_printed,
    join_searches,
    list_searched,
    pursue,
    run,
)
from daedal.papers.order.experiment import READINGS, SYSTEMS, System
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
AT_ONCE = 5  # searches that one process makes before it reports


def reproduce(directory: str | Path, *, full: bool = False, processes: int | None = None) -> Iterator[Result]:
    """Work through the tables; each result is yielded when its files are complete.

    Parameters
    ----------
    directory
        Where the tables (CSV) and figures (HTML) go; made if it is not there.
    full
        50 data sets instead of few.
    processes
        How many share the work; by default one for each processor. A script that asks for more than one calls this
        under ``if __name__ == "__main__":``.
    """
    folder = make_directory(directory)
    size = FULL if full else QUICK
    yield Result(_introduce(full))
    count = processes or os.cpu_count() or 1
    if count == 1:
        yield from _work_through(folder, size, None)
        return
    others = set(active_children())
    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_end_quietly)
    try:
        yield from _work_through(folder, size, pool)
    except BaseException:
        for process in set(active_children()) - others:  # which would finish what nobody waits for
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _end_quietly() -> None:
    """Ctrl-C reaches all processes: the one that started the others answers, the others just end."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _introduce(full: bool) -> str:
    return "The order paper: how many derivatives does a system have, and what are their coefficients?\n" + (
        "50 data sets: some minutes." if full else "Few data sets: some 20 seconds (--full: 50, some minutes)."
    )


def _work_through(folder: Path, size: Size, pool: Executor | None) -> Iterator[Result]:
    pieces = KeptPieces(folder, "order", size)
    for system in SYSTEMS:
        name = system.name.replace(" ", "_").replace("'", "").lower()
        yield pieces.take_result(name, partial(_estimate_system, system, name, folder, size, pool))
    searches = _search_all(size, pool, pieces)
    pursuits = run([(pursue, (SYSTEMS[3], reading)) for reading in READINGS], pool)
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


def _estimate_system(system: System, name: str, folder: Path, size: Size, pool: Executor | None) -> Result:
    tasks = [(estimate_as_printed, (system, reading, n, size)) for n in system.columns for reading in READINGS]
    printed = run(tasks, pool)
    files = write_files(folder, {f"{name}.csv": tabulate_printed(printed)})
    return Result(write_printed(system, printed, size), files)


def _search_all(size: Size, pool: Executor | None, pieces: KeptPieces) -> list[Searched]:
    """All searches, in portions that processes can share."""
    counts = dict(zip(METHODS, (size.refined, size.splines), strict=True))
    cases = [(system, reading, method) for system in SYSTEMS for reading in READINGS for method in METHODS]
    portions = [
        (case, range(first, min(first + AT_ONCE, counts[case[2]])))
        for case in cases
        for first in range(0, counts[case[2]], AT_ONCE)
    ]
    names = [
        f"search_{SYSTEMS.index(system)}_{reading.name}_{list(METHODS).index(method)}_{numbers.start}"
        for (system, reading, method), numbers in portions
    ]
    lists = pieces.take_all(names, [(list_searched, (*case, numbers)) for case, numbers in portions], pool)
    searches = [
        Searched(*case, *(np.array(one[name]) for name in ("orders", "values", "optimal", "leading")))
        for one, (case, _) in zip(lists, portions, strict=True)
    ]
    return [
        join_searches([one for one, (mine, _) in zip(searches, portions, strict=True) if mine is case])
        for case in cases
    ]
