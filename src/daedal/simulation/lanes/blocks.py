"""Blocks of lanes in threads: compiled code runs without the interpreter lock, and blocks are independent."""

from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from os import cpu_count
from threading import Event

from daedal.simulation.lanes.run import Failure

BLOCK = 64  # lanes that advance together


def run_blocks(
    realizations: int,
    work: Callable[[range, Event], list[Failure]],
    title: str,
    *,
    brief: bool,
    find_share: Callable[[], float] | None = None,
) -> list[Failure]:
    """Do all blocks; `work(lanes, stop)` returns the lanes that failed, and gives up when `stop` is set.

    A block that is not brief is watched, even if it is alone; `find_share` tells how much of the work is done, where
    that can be told more closely than by blocks.
    """
    blocks = [range(first, min(first + BLOCK, realizations)) for first in range(0, realizations, BLOCK)]
    stop = Event()
    if len(blocks) == 1 and brief:  # a thread would cost more than a short run
        return work(blocks[0], stop)
    with ThreadPoolExecutor(max_workers=cpu_count() or 1) as pool:
        jobs = [pool.submit(work, lanes, stop) for lanes in blocks]
        try:
            _watch(jobs, title, find_share)
        except BaseException:
            stop.set()
            for job in jobs:
                job.cancel()
            raise
        return [failure for job in jobs for failure in job.result()]


def _watch(jobs: list[Future], title: str, find_share: Callable[[], float] | None) -> None:
    """Wait for all jobs, awake often enough to see an interrupt and to show progress; raise what a job raised."""
    from daedal.progress import Progress

    with Progress(title, end=len(jobs), remedy="take fewer realizations or samples, or longer steps") as progress:
        waiting = set(jobs)
        while waiting:
            done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_EXCEPTION)
            for job in done:
                job.result()
            if find_share is not None:
                progress.expect(find_share())
            progress(len(jobs) - len(waiting))
