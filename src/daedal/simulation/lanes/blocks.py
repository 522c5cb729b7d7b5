"""Blocks of lanes in threads: compiled code runs without the interpreter lock, and blocks are independent."""

from collections.abc import Callable
from functools import partial
from itertools import chain, pairwise

from daedal.simulation.lanes.run import Failure, RunInterrupted

BLOCK = 32  # lanes that advance together, about: few, so that a usual number of them is work for two cores
UNIT = 16  # lanes that are in one block whatever the number of cores, so that their moments have the same bits
LIGHT_WORK = 1e8  # operations for which a second thread does not pay
BRIEF_WORK = 1e10  # operations of a block that no one needs to watch

Work = Callable[[range, list[Failure]], None]


def divide_lanes(realizations: int, workers: int) -> list[range]:
    """Blocks of whole units, as even as they can be and as many for each core, the larger ones first.

    What is no whole unit goes to the last.
    """
    units, wanted = max(realizations // UNIT, 1), -(-realizations // BLOCK)
    count = min(-(-wanted // workers) * workers, units)
    size, more = divmod(units, count)
    ends = [UNIT * (size * k + min(k, more)) for k in range(1, count)]
    return [range(*pair) for pair in pairwise([0, *ends, realizations])]


def run_blocks(
    realizations: int,
    work: Work,
    title: str,
    *,
    operations: float = 0.0,
    find_share: Callable[[], float] | None = None,
) -> list[Failure]:
    """Do all blocks; `work(lanes, failures)` lists the lanes that failed, and gives up when nobody waits any more.

    A block of many operations is watched, even if it is alone; `find_share` tells how much of the work is done, where
    that can be told more closely than by blocks.
    """
    blocks = [range(realizations)]
    if realizations > BLOCK or operations >= LIGHT_WORK:
        from daedal.jobs import count_workers  # loaded for what is work for several

        blocks = divide_lanes(realizations, count_workers())
    failures: list[list[Failure]] = [[] for _ in blocks]
    try:
        if len(blocks) == 1 and operations < BRIEF_WORK:  # a thread would cost more than a short run
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
