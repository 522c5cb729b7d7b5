"""What a process needs in order to make runs, as one text: nothing is pickled, no code is sent.

A charter names a function, "module:function", that every process with the same daedal has, and the text it is given;
that function returns the one that makes run number k. Modules that hold classes of the user's (a criterion, a kind of
study) are imported by name before, from the same folders.
"""

import json
import logging
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from threading import get_ident
from time import perf_counter
from typing import Any, NamedTuple, final

from daedal.errors import DaedalError, StudyError, tell_reason
from daedal.files import resolve

CONVERGED, STOPPED, FAILED, DIED = "converged", "stopped", "failed", "died"  # how a run ended
OWN = "__main__"


class Row(NamedTuple):
    """What is kept of a run: how it ended, in words if not well; numbers; what else there is, as JSON has it."""

    number: int
    status: str
    message: str = ""
    numbers: tuple[float, ...] = ()
    words: Any = None
    seconds: float = 0.0
    host: str = ""


Make = Callable[[int], Row]


@final
@dataclass(frozen=True)
class Charter:
    """Function and text, the modules to import before and where they are, and the version all processes must have."""

    function: str
    content: str
    modules: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    version: str = ""

    @cached_property
    def text(self) -> str:
        """For another process."""
        return json.dumps(asdict(self))

    @cached_property
    def digest(self) -> str:
        """The same for the same charter."""
        return sha256(self.text.encode()).hexdigest()


def write_charter(function: str, content: Any, owners: Sequence[type] = ()) -> Charter:
    """A charter with what JSON can hold, and the homes of classes that are not daedal's own."""
    homes = {kind.__module__: None for kind in owners if not kind.__module__.startswith("daedal.")}
    folders = tuple(str(resolve(folder)) for folder in sys.path) if homes else ()
    return Charter(function, json.dumps(content), tuple(homes), folders, version("daedal"))


def check_portable(charter: Charter) -> None:
    """Refuse to send what only the script that is running has."""
    if OWN in charter.modules:
        raise StudyError(
            "A criterion or kind of study that is defined in the script or notebook itself cannot be found by other "
            "processes.",
            "Put it into a module of its own and import it, or leave out workers.",
        )


def read_charter(text: str) -> Charter:
    """What `Charter.text` was written from."""
    told = json.loads(text)
    return Charter(**{**told, "modules": tuple(told["modules"]), "folders": tuple(told["folders"])})


def prepare(charter: Charter) -> Make:
    """The function that makes runs, ready; it raises nothing but interrupts."""
    if charter.version != version("daedal"):
        raise StudyError(
            f"The study was begun by daedal {charter.version}, but {socket.gethostname()} has {version('daedal')}.",
            "Install the same version everywhere.",
        )
    sys.path += [folder for folder in charter.folders if folder not in sys.path]
    for name in charter.modules:
        if name != OWN:
            _import(name)
    home, _, name = charter.function.partition(":")
    make: Callable[[int], Row] = getattr(import_module(home), name)(json.loads(charter.content))
    return lambda number: _run_safely(make, number)


def _import(name: str) -> None:
    try:
        import_module(name)
    except Exception as error:  # whatever a module of the user's does
        raise StudyError(
            f"The module '{name}' cannot be imported by {socket.gethostname()}: {tell_reason(error)}.",
            "Install it there too.",
        ) from None


@contextmanager
def _keep_quiet() -> Iterator[None]:
    """Drop what this thread tells the log: every run would say the same."""
    thread = get_ident()

    def is_other(_: logging.LogRecord) -> bool:
        return get_ident() != thread

    logger = logging.getLogger("daedal")
    logger.addFilter(is_other)
    try:
        yield
    finally:
        logger.removeFilter(is_other)


def _run_safely(make: Make, number: int) -> Row:
    begin = perf_counter()
    try:
        with _keep_quiet():
            row = make(number)
    except (MemoryError, OSError) as error:  # of the machine, not of the run
        told = ": ".join(filter(None, (type(error).__name__, str(error))))
        row = Row(number, DIED, f"{told}. The same call tries it again.")
    except DaedalError as error:
        row = Row(number, FAILED, str(error))
    except Exception as error:  # of a criterion or kind of the user's
        row = Row(number, FAILED, f"{type(error).__name__}: {error}")
    return row._replace(seconds=perf_counter() - begin, host=socket.gethostname())


def write_row(row: Row) -> str:
    """One line; numbers come back with all their bits."""
    return json.dumps(row)


def read_row(line: str) -> Row:
    """What `write_row` wrote."""
    number, status, message, numbers, *rest = json.loads(line)
    return Row(number, status, message, tuple(numbers), *rest)
