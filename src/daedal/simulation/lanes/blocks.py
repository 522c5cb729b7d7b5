"""Blocks of lanes in threads: compiled code runs without the interpreter lock, and blocks are independent."""

from collections.abc import Callable
from functools import partial
from itertools import chain

from daedal.simulation.lanes.run import Failure, RunInterrupted

BLOCK = 32  # lanes that advance together: few, so that a usual number of them is work for two cores

Work = Callable[[range, list[Failure]], None]


def run_blocks(
    realizations: int,
    work: Work,
    title: str,
    *,
    brief: bool,
    find_share: Callable[[], float] | None = None,
) -> list[Failure]:
    """Do all blocks; `work(lanes, failures)` lists the lanes that failed, and gives up when nobody waits any more.

    A block that is not brief is watched, even if it is alone; `find_share` tells how much of the work is done, where
    that can be told more closely than by blocks.
    """
    blocks = [range(first, min(first + BLOCK, realizations)) for first in range(0, realizations, BLOCK)]
    failures: list[list[Failure]] = [[] for _ in blocks]
    try:
        if len(blocks) == 1 and brief:  # a thread would cost more than a short run
            work(blocks[0], failures[0])
        else:
            _run_in_threads(blocks, work, failures, title, find_share)
    except KeyboardInterrupt as interrupt:
        raise RunInterrupted(list(chain(*failures))) from interrupt
    return list(chain(*failures))


def _run_in_threads(
    blocks: list[range],
    work: Work,
    failures: list[list[Failure]],
    title: str,
    find_share: Callable[[], float] | None,
) -> None:
    """Watched, with the line and the sentence of long work."""
    from daedal.jobs import run_jobs
    from daedal.progress import Progress

    jobs = [partial(work, block, own) for block, own in zip(blocks, failures, strict=True)]
    with Progress(title, end=len(jobs), remedy="take fewer realizations or samples, or longer steps") as progress:

        def tell(done: int) -> None:
            if find_share is not None:
                progress.expect(find_share())
            progress(done)

        run_jobs(jobs, tell)
