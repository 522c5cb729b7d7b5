"""From a charter to a full journal: the runs that are missing are made, and written down as they come."""

from collections.abc import Callable, Sequence
from numbers import Integral
from time import monotonic
from typing import Any

from daedal.errors import StudyError, counted, is_real, show
from daedal.progress import Progress, format_duration
from daedal.studies.charter import CONVERGED, Charter, Row
from daedal.studies.crews import Alone, Crew, Processes
from daedal.studies.journal import Journal

MOST = 4096  # processes on one machine
EVERY = 60.0  # seconds between two lines in a log
Describe = Callable[[Row], str]


def choose_crew(workers: Any) -> Crew:
    """This process, so many others, or those of a Dask cluster."""
    if workers is None:
        return Alone()
    if isinstance(workers, Integral) and is_real(workers) and not isinstance(workers, bool) and 1 <= workers <= MOST:
        return Processes(int(workers))
    if hasattr(workers, "submit") and hasattr(workers, "scheduler_info"):
        from daedal.studies.cluster import Cluster  # its package need not be there

        return Cluster(workers)
    raise StudyError(
        f"workers must be a number of processes from 1 to {MOST}, or a Client of dask.distributed, got "
        f"{show(workers)}.",
        "Write workers=4; without it, this process makes all runs.",
    )


def make_missing(
    charter: Charter, numbers: Sequence[int], journal: Journal, crew: Crew, work: str, describe: Describe | None = None
) -> bool:
    """Make the runs that the journal lacks; True if Ctrl-C ended it before all were there."""
    finished = journal.find_finished()
    missing = [number for number in numbers if number not in finished]
    if not missing:
        return False
    tally = _Tally(len(numbers), len(numbers) - len(missing), crew.size, describe)
    rows = crew.make(charter, missing)
    try:
        with Progress(work, every=EVERY) as progress:  # which tells the time left by the clock: others do the work
            progress.stage(_describe_beginning(len(numbers), len(missing), crew.size))
            for batch in rows:
                journal.write(batch)
                tally.count(batch)
                progress.say(str(tally))
    except KeyboardInterrupt:
        return True
    finally:
        rows.close()  # pyright: ignore[reportAttributeAccessIssue]
    return False


def _describe_beginning(total: int, missing: int, workers: int) -> str:
    """What is there already, and who begins."""
    kept = (
        f"{total - missing} of {counted(total, 'run')} are in the journal" if missing < total else counted(total, "run")
    )
    return f"{kept}, starting {counted(workers, 'worker')}" if workers > 1 else kept


class _Tally:
    """How far a study is: `212/500 · 3 failed · 1.9 s each · 4 workers · 4 minutes left · k 1.99 ± 0.02`."""

    def __init__(self, total: int, before: int, workers: int, describe: Describe | None) -> None:
        self.made, self._total, self._before, self._workers = 0, total, before, workers
        self._failed, self._seconds, self._began, self._describe, self._last = 0, 0.0, monotonic(), describe, ""

    def count(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self.made += 1
            self._failed += row.status != CONVERGED
            self._seconds += row.seconds
            if self._describe is not None:
                self._last = self._describe(row)

    def __str__(self) -> str:
        parts = [f"{self._before + self.made}/{self._total}"]
        parts += [f"{self._failed} failed"] if self._failed else []
        if self.made:
            left = (monotonic() - self._began) / self.made * (self._total - self._before - self.made)
            parts.append(f"{self._seconds / self.made:.2g} s each")
            parts += [counted(self._workers, "worker")] if self._workers > 1 else []
            parts += [f"{format_duration(left)} left", *([self._last] if self._last else [])]
        return " · ".join(parts)
