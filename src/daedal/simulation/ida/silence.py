"""Keep SUNDIALS from talking: scikit-sundae prints each failure, which a Trajectory reports in the user's names."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, get_ident
from typing import Any


class _Filter:
    """Standard output without the lines of SUNDIALS, which `print` sends in two pieces: text and end of line."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self._dropped: set[int] = set()  # threads whose next end of line belongs to a dropped text

    def write(self, text: str) -> int:
        if text.startswith("\n[") and ", Error: " in text:
            self._dropped.add(get_ident())
            return len(text)
        if text == "\n" and get_ident() in self._dropped:
            self._dropped.remove(get_ident())
            return len(text)
        return len(text) if self.stream is None else self.stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class _Runs:
    """The runs that are under way, and the filter they share."""

    def __init__(self) -> None:
        self.lock, self.under_way = Lock(), set[object]()
        self.filter: _Filter | None = None


_runs = _Runs()
_filters = Lock()


@contextmanager
def ignore_warnings() -> Iterator[None]:
    """Drop warnings; one thread at a time, as filters that two change and put back in turn would stay changed."""
    with _filters, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def silence_sundials() -> Iterator[None]:
    """Drop what SUNDIALS prints; runs in several threads share one filter, and the last one takes it away."""
    run = object()
    try:  # an interrupt may come anywhere: a run that is not in the set has nothing to take away
        with _runs.lock:
            if not _runs.under_way:
                _runs.filter = _Filter(sys.stdout)
                sys.stdout = _runs.filter
            _runs.under_way.add(run)
        yield
    finally:
        with _runs.lock:
            _runs.under_way.discard(run)
            if not _runs.under_way and _runs.filter is not None and sys.stdout is _runs.filter:
                sys.stdout = _runs.filter.stream
