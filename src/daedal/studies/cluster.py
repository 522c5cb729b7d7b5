"""Runs on a Dask cluster: `workers=` takes a `dask.distributed.Client` (extra `cluster`).

A task is the digest of a charter and the number of a run, its answer one line of text. Its function belongs to daedal,
so nothing of the user's is pickled. A process that has not met the charter says so, and gets it with the next task: new
ones that join a cluster later do no worse. What Dask makes again after a process has died gives the same row, as a run
depends on its number alone; only this process writes the journal.
"""

import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, final

from daedal.errors import DaedalError, StudyError
from daedal.jobs import collect, limit_threads
from daedal.studies.charter import DIED, Charter, Make, Row, check_portable, prepare, read_charter, read_row, write_row

AHEAD = 2  # tasks for each thread of the cluster that are handed out at a time
KEPT = 4  # charters that a process remembers
ENDED = ("closing", "closed")  # what a client says of itself
GO_ON = "Start one that stays, and make the same call: it goes on with what is in the journal."
_known: "OrderedDict[str, Make]" = OrderedDict()
_lock = threading.Lock()


def make_remotely(digest: str, number: int, charter: str | None) -> str:
    """On a process of the cluster: the row of a run, or that the charter is needed, or why it cannot be used.

    It has one thread, as the cluster has a task for each processor; those of BLAS are the cluster's own to choose.
    """
    limit_threads(1)
    with _lock:
        make = _known.get(digest)
        if make is None and charter is None:
            return json.dumps({"needs": digest})
        if make is None and charter is not None:
            try:
                make = _known[digest] = prepare(read_charter(charter))
            except DaedalError as refused:
                return json.dumps({"sentence": refused.sentence, "remedy": refused.remedy})
            while len(_known) > KEPT:
                _known.popitem(last=False)
    assert make is not None
    return write_row(make(number))


@final
@dataclass(frozen=True)
class Cluster:
    """The processes of a Dask cluster, however many there are at a time."""

    client: Any

    @property
    def size(self) -> int:
        """Threads of the cluster at the moment."""
        with _reach():
            workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
            return max(sum(one["nthreads"] for one in workers), 1)

    def make(self, charter: Charter, numbers: Sequence[int]) -> Iterator[list[Row]]:
        """In whatever order they end; tasks are handed out as others come back."""
        check_portable(charter)
        waiting, answers = list(reversed(numbers)), SimpleQueue[Any]()
        futures: dict[Any, int] = {}

        def submit(number: int, text: str | None) -> None:
            with _reach():
                future = self.client.submit(make_remotely, charter.digest, number, text, pure=False)
            futures[future] = number
            future.add_done_callback(answers.put)

        try:
            while waiting or futures:
                if self.client.status in ENDED:  # what was under way will never be answered
                    raise StudyError("The cluster is gone: its client is closed.", GO_ON)
                room = AHEAD * self.size - len(futures)
                for _ in range(min(room, len(waiting))):
                    submit(waiting.pop(), None)
                rows = []
                for future in collect(answers):
                    number = futures.pop(future)
                    row = _read_answer(future, number)
                    if row is None:
                        submit(number, charter.text)
                    else:
                        rows.append(row)
                yield rows
        finally:
            with suppress(Exception):  # of a cluster that is gone
                self.client.cancel(list(futures))


@contextmanager
def _reach() -> Iterator[None]:
    """What Dask raises, in words."""
    try:
        yield
    except Exception as error:
        told = f"{type(error).__name__}: {error}".rstrip(". ")
        raise StudyError(f"The cluster cannot be reached: {told}.", GO_ON) from None


def _read_answer(future: Any, number: int) -> Row | None:
    """A row; None if the charter must be sent along, or the task was lost with its process."""
    if future.status == "finished":
        told = json.loads(line := future.result())
        if isinstance(told, list):
            return read_row(line)
        if "sentence" in told:
            raise StudyError(told["sentence"], told["remedy"])
        return None
    if future.status in ("cancelled", "lost"):
        return None
    error = future.exception()
    if type(error).__name__ == "KilledWorker":
        message = f"The processes of the cluster that made this run died: {error}. The same call tries it again."
        return Row(number, DIED, message)
    raise StudyError(
        f"The cluster cannot make run {number}: {type(error).__name__}: {error}.",
        "Install the same daedal on all of its machines.",
    )
