"""What all benchmarks share: a command line that names figures and their size, and a stopwatch.

Seconds are processor time of this process, because the machine has other things to do; ratios of two works that were
timed in turns are what to read.
"""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Collection
from time import process_time
from typing import TypeVar

import numpy as np

from daedal.linear import one_thread

T = TypeVar("T")


def command_line(document: str, figures: Collection[str]) -> ArgumentParser:
    """Words that name figures, none of them for all; `--tiny` only shows that they can be computed."""
    reader = ArgumentParser(description=document, formatter_class=RawDescriptionHelpFormatter)
    reader.add_argument("figures", nargs="*", choices=[*figures, []], metavar="figure")
    reader.add_argument("--tiny", action="store_true", help="sizes so small that the numbers mean nothing")
    return reader


def seconds(work: Callable[[], T], clock: Callable[[], float] = process_time) -> tuple[float, T]:
    """What a work takes, and its result."""
    start = clock()
    result = work()
    return clock() - start, result


@one_thread  # as fit and evaluate do
def fastest(*works: Callable[[], object], attempts: int) -> list[float]:
    """Seconds of the fastest of several attempts at each work, taken in turns; a first one warms up."""
    for work in works:
        work()
    return np.min([[seconds(work)[0] for work in works] for _ in range(attempts)], axis=0).tolist()
