"""Independent jobs in threads: compiled code runs without the interpreter lock, so that they do run side by side.

Whatever ends the waiting, an interrupt or what a job raises, sets a `Stop` that the jobs, jobs inside them and their
compiled loops look at (`give_up_if_stopped`). What a job has found until then is kept where its caller wants it.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import ContextVar, copy_context
from functools import partial
from itertools import pairwise
from queue import Empty, SimpleQueue
from typing import TypeVar

from daedal.errors import STOP, Stop, give_up_if_stopped

Answer = TypeVar("Answer")
AWAKE = 0.2  # seconds between two looks at interrupts and progress
GROUPS = 4  # for each processor, so that none waits long for another at the end


_most: ContextVar[int | None] = ContextVar("most threads", default=None)


def limit_threads(most: int) -> None:
    """Have this thread and its jobs, one of several that do the same work, use no more threads than this."""
    _most.set(most)


def count_workers() -> int:
    """How many processors this process may use."""
    most = _most.get()
    if most is not None:
        return most
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux tells
        return os.cpu_count() or 1


def collect(answers: SimpleQueue[Answer]) -> list[Answer]:
    """All that there are, after waiting a moment for the first."""
    found: list[Answer] = []
    with suppress(Empty):
        found.append(answers.get(timeout=AWAKE))
        while True:
            found.append(answers.get_nowait())
    return found


def run_jobs(jobs: Sequence[Callable[[], object]], tell: Callable[[int], None]) -> None:
    """Run all jobs side by side, and `tell` now and then how many are done.

    The first exception of a job, or an interrupt of the waiting, stops the others and comes out when all have ended.
    """
    stop = Stop()
    token = STOP.set(stop)
    try:
        with ThreadPoolExecutor(max_workers=count_workers()) as pool:
            try:
                waiting = {pool.submit(copy_context().run, job) for job in jobs}
                while waiting:
                    done, waiting = wait(waiting, timeout=AWAKE, return_when=FIRST_COMPLETED)
                    for job in done:
                        job.result()
                    tell(len(jobs) - len(waiting))
            except BaseException:
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    finally:
        STOP.reset(token)


def map_jobs(work: Callable[[int], Answer], count: int) -> list[Answer]:
    """`[work(0), work(1), …]`, side by side; what the first of them raises comes out, whichever was faster."""
    answers: dict[int, Answer] = {}
    errors: dict[int, Exception] = {}

    def answer(numbers: range) -> None:
        for number in numbers:
            give_up_if_stopped()
            try:
                answers[number] = work(number)
            except Exception as error:  # what the others do is not to tell which of them is told
                errors[number] = error
                return

    groups = min(count, GROUPS * count_workers())
    ends = [count * k // groups for k in range(groups + 1)]
    run_jobs([partial(answer, range(*pair)) for pair in pairwise(ends)], lambda _: None)
    if errors:
        raise errors[min(errors)]
    return [answers[number] for number in range(count)]
