"""A line that says how far long work has come, and one sentence in the log where it will take long.

The line is written where a terminal or a notebook is watched, elsewhere into the log if it is wanted there. The
sentence goes to the logger "daedal" as a warning, once for each call of a user, as soon as two stretches of the work in
a row agree on how long all of it will take. `DAEDAL_PROGRESS=off` in the environment leaves out the line, not the
sentence. What other work takes of the machine comes and goes: stretches are measured
by what this process had of it, and where a clock says much more, the sentence gives both times.
"""

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextvars import ContextVar, Token
from shutil import get_terminal_size
from time import monotonic, process_time
from types import TracebackType
from typing import TextIO, TypeVar

PATIENCE = 2.0  # seconds of silence before the line appears
SOON = 5.0  # the same in a log, which shows that the work goes on
PAUSE = 0.2  # seconds between two versions of it
LONG = 60.0  # seconds of work that are worth a sentence
EARLY = 3.0  # seconds of the first stretch of work
FARTHER = 1.5  # times as far the next stretch ends
AGREE = 1.5  # ratio of what two stretches in a row say about all of the work, if they agree
ENOUGH = 0.001  # share of the work that tells something about the rest
CLEAR = "\r\x1b[K"
SWITCH, OFF = "DAEDAL_PROGRESS", ("off", "0", "no", "false")

Item = TypeVar("Item")
LOGGER = logging.getLogger("daedal")
_TOLD: ContextVar[list[str] | None] = ContextVar("what the call that is under way has told", default=None)
_WHOLE: ContextVar["Progress | None"] = ContextVar("the work of the call that is under way", default=None)


class Progress:
    """Called often with how far the work is, rewrite one line now and then; leaving the block clears it.

    Parameters
    ----------
    work
        What is going on: "simulating 'pendulum': time".
    end
        Where it will be done.
    stream
        Standard error by default; nothing is written unless it is a terminal.
    begin
        Where it begins.
    remedy
        What makes long work shorter: "lower realizations".
    every
        Seconds between two lines in the log where no terminal or notebook is watched, the first of which comes soon; by
        default there are none.

    Examples
    --------
    >>> with Progress("counting", end=3) as progress:
    ...     for k in range(3):
    ...         progress(k)
    """

    def __init__(
        self,
        work: str,
        end: float = 1.0,
        stream: TextIO | None = None,
        *,
        begin: float = 0.0,
        remedy: str = "",
        every: float | None = None,
    ) -> None:
        self._work, self._begin, self._end, self._remedy = work, begin, end, remedy
        self._stream = sys.stderr if stream is None else stream
        self._started, self._worked = monotonic(), process_time()
        self._entered = self._started
        self._log = every is not None and not _is_off() and not _watched(self._stream)
        self._pause = every if every is not None and self._log else PAUSE
        patience = SOON if self._log else PATIENCE
        self._next = self._started + patience if self._log or _watched(self._stream) else float("inf")
        self._shown = 0  # characters of the line that is there
        self._later = EARLY  # seconds after which to look again
        self._stretch = (0.0, 0.0, float("inf"))  # seconds and share at the end of the last one, and what it said
        self._token: Token | None = None
        self._outer: Token | None = None

    def __call__(self, reached: float) -> None:
        if self._end > self._begin:
            self.expect((reached - self._begin) / (self._end - self._begin))
        self.say(f"{reached:.5g} of {self._end:.5g}")

    def begin(self) -> None:
        """Count the time from here on: what was done before does not foretell the rest."""
        self._started, self._worked, self._later = monotonic(), process_time(), EARLY

    def expect(self, share: float) -> None:
        """Tell how long the work will take, if that is long, now that this share of it is done.

        Work may begin slower, or faster, than it goes on: an estimate is told when that of the stretch before agrees
        with it, and until then, after a minute, only how far the work is.
        """
        waited = monotonic() - self._started
        if waited < self._later:  # asking for the other time is not free
            return
        self._later = waited + PAUSE
        elapsed = min(process_time() - self._worked, waited)  # several threads do more than a clock says
        before, seen, total = self._stretch
        if not 0.0 < share < 1.0 or elapsed < max(EARLY, FARTHER * before) or share <= seen:
            return
        latest = elapsed + (1.0 - share) * (elapsed - before) / (share - seen)
        self._stretch = elapsed, share, latest
        remedy = f"; to make it shorter, {self._remedy}" if self._remedy else ""
        if max(latest, total) <= AGREE * min(latest, total) and share >= ENOUGH:
            if latest * waited / elapsed >= LONG:
                self._tell(f"will take about {_describe(latest, waited / elapsed)}{remedy}")
        elif waited >= LONG:
            self._tell(f"takes long: {100.0 * share:.2g} % are done after {format_duration(waited)}{remedy}")

    def _tell(self, what: str) -> None:
        self._clear()
        _tell(f"{self._work.partition(':')[0]} {what}.")

    def endure(self) -> None:
        """Tell that the work takes long, after a minute in which it was not known how long it will."""
        waited = monotonic() - self._entered
        if waited >= LONG:
            remedy = f"; to make it shorter, {self._remedy}" if self._remedy else ""
            self._tell(f"takes long: {format_duration(waited)} so far, and how much is left cannot be told{remedy}")

    def stage(self, word: str) -> None:
        """Show at once what begins now, where somebody watches: nothing may be said for a while."""
        if not self._log and self._next < float("inf") and _watched(self._stream):
            self._next = min(self._next, monotonic())
            self.say(word)

    def say(self, how_far: str) -> None:
        """Show how far the work is in other words than a count."""
        now = monotonic()
        if now < self._next:
            return
        self._next = now + self._pause
        elapsed = now - self._entered
        line = f"{self._work} {how_far}" + (f" · {format_duration(elapsed)}" if elapsed >= 1.0 else "")
        if self._log:
            LOGGER.warning("%s", line)
            return
        line = line[: get_terminal_size().columns - 1]
        self._erase()
        self._stream.write(line)
        self._stream.flush()
        self._shown = len(line)

    def _erase(self) -> None:
        """Notebooks know how to go back to the beginning of a line, but not how to clear it."""
        self._stream.write(f"\r{' ' * self._shown}\r" if _is_notebook(self._stream) else CLEAR)

    def __enter__(self) -> "Progress":
        if _TOLD.get() is None:  # work inside other work tells nothing again
            self._token, self._outer = _TOLD.set([]), _WHOLE.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            _TOLD.reset(self._token)
        if self._outer is not None:
            _WHOLE.reset(self._outer)
        self._clear()

    def _clear(self) -> None:
        if self._shown:
            self._erase()
            self._stream.flush()
            self._shown = 0


def announce(work: str, seconds: float, remedy: str) -> None:
    """Tell before it begins that work whose size is known takes long, if it does."""
    if seconds >= LONG / 2.0:  # other machines are slower
        _tell(f"{work} will take about {format_duration(seconds)}; {remedy}.")


def _tell(sentence: str) -> None:
    """Once for each call of a user."""
    told = _TOLD.get()
    if not told:
        LOGGER.warning("%s", sentence)
        if told is not None:
            told.append(sentence)


def endure() -> None:
    """Let the work under way tell that it takes long: for loops inside it whose end nobody knows."""
    if (whole := _WHOLE.get()) is not None:
        whole.endure()


def watch(items: Sequence[Item], work: str, remedy: str = "") -> Iterator[Item]:
    """The items one by one, with the line and the sentence of the work on them."""
    with Progress(work, end=len(items), remedy=remedy) as progress:
        for number, item in enumerate(items):
            progress(number)
            yield item


def _describe(seconds: float, busy: float) -> str:
    """How long work takes that waits for a busy machine so many times longer than it works."""
    if busy <= AGREE:
        return format_duration(seconds * busy)
    return f"{format_duration(seconds)} of a processor, {format_duration(seconds * busy)} while it is as busy as now"


def format_duration(seconds: float) -> str:
    """A time as people say it: 90 seconds, 12 minutes, 5 hours, 3 days."""
    for size, unit, most in ((1.0, "seconds", 100.0), (60.0, "minutes", 100.0), (3600.0, "hours", 48.0)):
        if seconds < most * size:
            return f"{seconds / size:.0f} {unit}"
    days = seconds / 86400.0
    return f"{days:.0f} days" if days < 1000.0 else f"{days / 365.25:.2g} years"


def _is_off() -> bool:
    return os.environ.get(SWITCH, "").strip().lower() in OFF


def _watched(stream: TextIO | None) -> bool:
    """A terminal or a notebook, not a file, or nothing at all as in a windowed program."""
    if _is_off() or stream is None or stream.closed:
        return False
    return stream.isatty() or _is_notebook(stream)


def _is_notebook(stream: TextIO) -> bool:
    return type(stream).__module__.partition(".")[0] == "ipykernel"
