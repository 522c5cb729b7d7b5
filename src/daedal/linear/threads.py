"""One thread for matrix products: those of models are too small to share, and threads that wait for each other cost
more than the work, many times more on a machine with other things to do."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from daedal.errors import run_within

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def one_thread(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The function with the linear algebra of numpy and scipy on one thread while it runs."""
    return run_within(_limit_threads, function)


class _Running:
    """Such functions that run, in all threads, and the limit they share."""

    def __init__(self) -> None:
        self.lock, self.calls = Lock(), set[object]()
        self.limit: Any = None


_running = _Running()


@contextmanager
def _limit_threads() -> Iterator[None]:
    """The limit is the whole process's: the first that comes sets it, the last that goes takes it away."""
    call = object()
    try:  # an interrupt may come anywhere: a call that is not in the set has nothing to take away
        with _running.lock:
            _running.calls.add(call)
            if _running.limit is None:
                _running.limit = _load_controller().limit(limits=1, user_api="blas")
        yield
    finally:
        with _running.lock:
            _running.calls.discard(call)
            if not _running.calls and _running.limit is not None:
                _running.limit.restore_original_limits()
                _running.limit = None


@cache
def _load_controller() -> Any:
    import scipy.linalg  # noqa: F401  # its own library must be there to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
