"""A line on the terminal that says how far long work has come; nothing where no one is watching."""

import sys
from shutil import get_terminal_size
from time import monotonic
from types import TracebackType
from typing import TextIO

PATIENCE = 2.0  # seconds of silence before the line appears
PAUSE = 0.2  # seconds between two versions of it
CLEAR = "\r\x1b[K"


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

    Examples
    --------
    >>> with Progress("counting", end=3) as progress:
    ...     for k in range(3):
    ...         progress(k)
    """

    def __init__(self, work: str, end: float = 1.0, stream: TextIO | None = None) -> None:
        self._work, self._end = work, end
        self._stream = sys.stderr if stream is None else stream
        self._next = monotonic() + PATIENCE if _watched(self._stream) else float("inf")
        self._shown = False

    def __call__(self, reached: float) -> None:
        self.say(f"{reached:.5g} of {self._end:.5g}")

    def say(self, how_far: str) -> None:
        """Show how far the work is in other words than a count."""
        now = monotonic()
        if now < self._next:
            return
        self._next = now + PAUSE
        self._shown = True
        line = f"{self._work} {how_far}"
        self._stream.write(CLEAR + line[: get_terminal_size().columns - 1])
        self._stream.flush()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._stream.write(CLEAR)
            self._stream.flush()


def _watched(stream: TextIO | None) -> bool:
    """A terminal, not a file, a notebook, or nothing at all as in a windowed program."""
    return stream is not None and not stream.closed and stream.isatty()
