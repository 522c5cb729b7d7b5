"""Who makes runs: this process, or processes on this machine, restarted when they die.

A crew turns a charter and numbers into rows as they are finished, in any order; now and then it gives none, so that
whoever waits can look around. What is under way when the waiting ends is given up.

A thread for each process hands it one number after the other. A process that dies, whatever killed it, is replaced, and
its run made again; a run whose process died twice is given up, and its row says so.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, final

from daedal.errors import StudyError, often
from daedal.files import resolve
from daedal.jobs import collect
from daedal.studies.charter import DIED, Charter, Row, check_portable, prepare, read_row
from daedal.studies.worker import NAMES

TRIES = 2  # processes that a run may cost
REMEDY = "Try the study without workers, and look at memory and limits of the machine."
LOST = 5  # processes in a row that may die before they have done anything


class Crew(Protocol):
    """Whoever makes runs."""

    @property
    def size(self) -> int:
        """How many runs are made at a time."""
        ...

    def make(self, charter: Charter, numbers: Sequence[int], /) -> Iterator[list[Row]]:
        """Rows as they are finished, none now and then; closing it gives up the rest."""
        ...


@final
@dataclass(frozen=True)
class Alone:
    """This process, one run after the other."""

    size: int = 1

    def make(self, charter: Charter, numbers: Sequence[int]) -> Iterator[list[Row]]:
        """In their order."""
        run = prepare(charter)
        for number in numbers:
            yield [run(number)]


@final
@dataclass(frozen=True)
class Processes:
    """So many processes on this machine, with one thread for linear algebra each."""

    size: int

    def make(self, charter: Charter, numbers: Sequence[int]) -> Iterator[list[Row]]:
        """In whatever order they end."""
        check_portable(charter)
        tasks: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for number in numbers:
            tasks.put(number)
        members = [_Member(charter.text, tasks, answers) for _ in range(min(self.size, len(numbers)))]
        left, deaths = set(numbers), Counter[int]()
        idle = 0  # processes in a row that died before they had done anything
        try:
            for member in members:
                member.start()
            while left:
                rows = []
                for answer in collect(answers):
                    if isinstance(answer, StudyError):
                        raise answer
                    if isinstance(answer, Row):
                        idle = 0
                        rows.append(answer)
                        left.discard(answer.number)
                        continue
                    idle += answer.number is None
                    if idle >= LOST:
                        raise StudyError(
                            f"The processes of the study end before they begin ({answer.how}).",
                            REMEDY,
                        )
                    if answer.number is None:
                        continue
                    deaths[answer.number] += 1
                    if deaths[answer.number] < TRIES:
                        tasks.put(answer.number)
                    else:
                        rows.append(_give_up(answer.number, answer.how))
                        left.discard(answer.number)
                yield rows
        finally:
            for member in members:
                member.stop()
            for _ in members:
                tasks.put(None)
            for member in members:
                member.join()


@dataclass(frozen=True)
class _Death:
    """A process ended: how, and during which run, if any."""

    number: int | None
    how: str


def _give_up(number: int, how: str) -> Row:
    message = f"The process that made this run died {often(TRIES)} ({how}). The same call tries it again."
    return Row(number, DIED, message)


class _Member(threading.Thread):
    """A process, the one that replaces it, and so on; and the thread that feeds them."""

    def __init__(self, charter: str, tasks: "queue.SimpleQueue[int | None]", answers: "queue.SimpleQueue[Any]") -> None:
        super().__init__(daemon=True)
        self._charter, self._tasks, self._answers = charter, tasks, answers
        self._process: subprocess.Popen[str] | None = None
        self._words: Any = None  # what it writes to standard error
        self._stopped = False
        self._lock = threading.Lock()

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()

    def run(self) -> None:
        """Feed the process until nothing is left."""
        try:
            while not self._stopped:
                if not self._is_alive() and not self._begin():
                    continue
                number = self._tasks.get()
                if number is None:
                    return
                answer = self._ask(str(number))
                if answer is not None:
                    self._answers.put(read_row(answer))
                elif not self._stopped:
                    self._answers.put(_Death(number, self._end()))
        except BaseException as error:  # a thread has nobody to raise it to
            self._answers.put(StudyError(f"The study cannot go on: {type(error).__name__}: {error}.", REMEDY))
        finally:
            self._end()

    def _is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _begin(self) -> bool:
        """Start a process; False if it died before it was ready."""
        self._end()
        with self._lock:
            if self._stopped:
                return False
            self._words = tempfile.TemporaryFile()  # noqa: SIM115 (closed where its process ends)
            self._process = subprocess.Popen(
                [sys.executable, "-m", "daedal.studies.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._words,
                env=_make_environment(),
                text=True,
                encoding="utf-8",
                start_new_session=True,  # Ctrl-C is for the process that started it
            )
        answer = self._ask(self._charter)
        if answer is None:
            if not self._stopped:
                self._answers.put(_Death(None, self._end()))
            return False
        told = json.loads(answer)
        if "sentence" in told:
            self._answers.put(StudyError(told["sentence"], told["remedy"]))
            self._stopped = True
        return "ready" in told

    def _ask(self, line: str) -> str | None:
        """The answer to a line; None if the process died instead."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except (OSError, ValueError):
            return None
        return answer if answer.endswith("\n") else None

    def _end(self) -> str:
        """Clear away the process, and say how it ended."""
        process, self._process = self._process, None
        if process is None:
            if self._words is not None:  # of a process that could not be started
                self._words.close()
            return ""
        process.kill()
        code = process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        with self._words as words:
            words.seek(max(words.tell() - 2000, 0))
            last = words.read().decode(errors="replace").strip().splitlines()[-1:]
        return ": ".join([_describe_code(code), *last])


def _make_environment() -> dict[str, str]:
    folders = [str(resolve(folder)) for folder in sys.path]
    return {**os.environ, **dict.fromkeys(NAMES, "1"), "PYTHONPATH": os.pathsep.join(folders)}


def _describe_code(code: int) -> str:
    if code >= 0:
        return f"it ended with {code}"
    with suppress(ValueError):
        name = signal.Signals(-code).name
        return f"{name}, often for lack of memory" if name == "SIGKILL" else name
    return f"signal {-code}"
