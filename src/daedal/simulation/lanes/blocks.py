"""Blocks of lanes in threads: compiled code runs without the interpreter lock, and blocks are independent."""

from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from itertools import chain
from os import cpu_count
from threading import Event

from daedal.simulation.lanes.run import Failure, RunInterrupted

BLOCK = 64  # lanes that advance together

Work = Callable[[range, Event, list[Failure]], None]


def run_blocks(
    realizations: int,
    work: Work,
    title: str,
    *,
    brief: bool,
    find_share: Callable[[], float] | None = None,
) -> list[Failure]:
    """Do all blocks; `work(lanes, stop, failures)` lists the lanes that failed, and gives up when `stop` is set.

    A block that is not brief is watched, even if it is alone; `find_share` tells how much of the work is done, where
    that can be told more closely than by blocks.
    """
    blocks = [range(first, min(first + BLOCK, realizations)) for first in range(0, realizations, BLOCK)]
    failures: list[list[Failure]] = [[] for _ in blocks]
    try:
        if len(blocks) == 1 and brief:  # a thread would cost more than a short run
            work(blocks[0], Event(), failures[0])
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
    """Whatever ends it, no thread goes on: each gives up at its next look at `stop`."""
    stop = Event()
    with ThreadPoolExecutor(max_workers=cpu_count() or 1) as pool:
        try:
            jobs = [pool.submit(work, *one) for one in zip(blocks, [stop] * len(blocks), failures, strict=True)]
            _watch(jobs, title, find_share)
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def give_up_if(stop: Event) -> None:
    """End a block that nobody waits for any more."""
    if stop.is_set():
        raise InterruptedError


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
