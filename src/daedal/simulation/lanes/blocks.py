"""Blocks of lanes in threads: compiled code runs without the interpreter lock, and blocks are independent."""

from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from os import cpu_count
from threading import Event

from daedal.simulation.lanes.run import Failure

BLOCK = 64  # lanes that advance together


def run_blocks(realizations: int, work: Callable[[range, Event], list[Failure]], title: str) -> list[Failure]:
    """Do all blocks; `work(lanes, stop)` returns the lanes that failed, and gives up when `stop` is set."""
    blocks = [range(first, min(first + BLOCK, realizations)) for first in range(0, realizations, BLOCK)]
    stop = Event()
    if len(blocks) == 1:  # a thread would cost more than a short run
        return work(blocks[0], stop)
    with ThreadPoolExecutor(max_workers=cpu_count() or 1) as pool:
        jobs = [pool.submit(work, lanes, stop) for lanes in blocks]
        try:
            _watch(jobs, title)
        except BaseException:
            stop.set()
            for job in jobs:
                job.cancel()
            raise
        return [failure for job in jobs for failure in job.result()]


def _watch(jobs: list[Future], title: str) -> None:
    """Wait for all jobs, awake often enough to see an interrupt and to show progress; raise what a job raised."""
    from daedal.progress import Progress

    with Progress(title, end=len(jobs)) as progress:
        waiting = set(jobs)
        while waiting:
            done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_EXCEPTION)
            for job in done:
                job.result()
            progress(len(jobs) - len(waiting))
