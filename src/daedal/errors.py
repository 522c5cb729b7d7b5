"""Every failure: one sentence in the user's names, and a remedy.

Each class names the stage of the pipeline that refused, so that a caller can tell a typing mistake in a model from a
broken data file or a simulation that could not go on. All are `DaedalError`, and those about wrong arguments are
`ValueError` too.
"""

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from numbers import Integral, Real
from signal import SIGINT, default_int_handler, getsignal
from signal import signal as set_handler
from threading import Event, current_thread, main_thread
from types import FrameType, FunctionType
from typing import Any, ParamSpec, TypeGuard, TypeVar, cast

import numpy as np

Arguments = ParamSpec("Arguments")
Entry = TypeVar("Entry")
Result = TypeVar("Result")

LONGEST = 4000  # characters of a sentence
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def _make_printable(text: str) -> str:
    """A text that any terminal takes: what users gave may stand in it, whatever it is and however long."""
    text = UNPRINTABLE.sub(lambda match: ascii(match[0])[1:-1], text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} … {text[-LONGEST // 4 :]}"


class DaedalError(Exception):
    """A failure with a `sentence` that says what is wrong and a `remedy` that says what to do."""

    def __init__(self, sentence: str, remedy: str) -> None:
        sentence, remedy = _make_printable(sentence), _make_printable(remedy)
        super().__init__(sentence, remedy)
        self.sentence = sentence
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy}"


class ExpressionError(DaedalError, TypeError):
    """An expression that cannot be formed or read."""


class ModelError(DaedalError, ValueError):
    """A model whose declaration contradicts itself."""


class DataError(DaedalError, ValueError):
    """A signal, data set or data file that cannot be used as given."""


class StructureError(DaedalError, ValueError):
    """Equations that do not determine the unknowns."""


class InitialValueError(DaedalError, ValueError):
    """Values at the start that contradict the equations, or that could not be found."""


class SimulationError(DaedalError, ValueError):
    """A simulation that was asked for in a way that cannot work."""


class EstimationError(DaedalError, ValueError):
    """An estimation that was asked for in a way that cannot work, or that could not begin."""


class ReportError(DaedalError, ValueError):
    """A table, picture or report that was asked for in a way that cannot work."""


class DaedalWarning(UserWarning):
    """Something that was done as asked, but probably not as meant; the result has the same sentence in its notes."""


def warn_user(sentence: str) -> None:
    """A `DaedalWarning` at the line that called daedal."""
    frame, level, outside = sys._getframe(1), 2, 2
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] == "daedal":  # others, as decorators, may lie between
            outside = level + 1
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, DaedalWarning, stacklevel=outside)


def interruptible(verb: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The verb, with a sentence in the KeyboardInterrupt that leaves it: where anything is finished it returns that."""

    sentence = f"{verb.__name__} was interrupted before anything was finished; nothing is kept."

    @contextmanager
    def say_what_is_kept() -> Iterator[None]:
        with _note_interrupts() as noted:
            try:
                yield
            except KeyboardInterrupt as interrupt:
                interrupt.args = (sentence,)
                raise
            except Exception as error:
                if noted:
                    raise KeyboardInterrupt(sentence) from error
                raise

    return run_within(say_what_is_kept, verb)


@contextmanager
def _note_interrupts() -> Iterator[list[int]]:
    """The signals of Ctrl-C that come meanwhile, in a program that leaves them to Python.

    CasADi loses the exception of one that meets it while it looks at its arguments or makes an array, and answers with
    an error about types, or with None: what fails afterwards fails for that reason.
    """
    noted: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        noted.append(number)
        default_int_handler(number, frame)

    own = current_thread() is main_thread() and getsignal(SIGINT) is default_int_handler
    if own:
        set_handler(SIGINT, note)
    try:
        yield noted
    finally:
        if own:
            set_handler(SIGINT, default_int_handler)


class Stop:
    """Whether nobody waits for some jobs any more, or for those that they are a part of.

    Ctrl-C reaches the main thread alone, and a thread cannot be ended from outside: it looks at this now and then.
    """

    def __init__(self) -> None:
        self._event, self._outer = Event(), STOP.get()

    def set(self) -> None:
        """Ask all of them to give up."""
        self._event.set()

    def is_set(self) -> bool:
        """Whether to give up."""
        return self._event.is_set() or (self._outer is not None and self._outer.is_set())


STOP: ContextVar[Stop | None] = ContextVar("what the job of this thread looks at", default=None)


def give_up_if_stopped() -> None:
    """End the job of this thread as Ctrl-C would, if nobody waits for it any more; outside of jobs, do nothing."""
    stop = STOP.get()
    if stop is not None and stop.is_set():
        raise KeyboardInterrupt


def run_within(
    context: Callable[[], AbstractContextManager], function: Callable[Arguments, Result]
) -> Callable[Arguments, Result]:
    """The function, run in a context; it keeps its parameters, so that Python itself says which argument is wrong."""
    parameters = signature(function).parameters.values()
    named = [p for p in parameters if p.kind is Parameter.KEYWORD_ONLY]
    star = [p for p in parameters if p.kind is Parameter.VAR_POSITIONAL]
    listed = [f"*{p.name}" if p in star else p.name for p in parameters if p not in named]
    taken = ", ".join([*listed, *(["*"] if named and not star else []), *(p.name for p in named)])
    passed = ", ".join([*listed, *(f"{p.name}={p.name}" for p in named)])
    text = (
        f"def run({taken}):\n    with __context():\n        return __function({passed})\n"  # no parameter is called so
    )
    names: dict[str, Any] = {"__function": function, "__context": context, "__name__": function.__module__}
    exec(compile(text, f"<{function.__name__}>", "exec"), names)
    run, plain = cast(FunctionType, wraps(function)(names["run"])), cast(FunctionType, function)
    run.__defaults__, run.__kwdefaults__ = plain.__defaults__, plain.__kwdefaults__
    return run


def quoted(names: Iterable[str], most: int = 8) -> str:
    """Names for a sentence: 'a', 'b' and 'c'; a long list is cut with a count."""
    listed = [f"'{name}'" for name in names]
    if len(listed) > most:
        return ", ".join(listed[:most]) + f" and {len(listed) - most} more"
    return " and ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)


def counted(count: int, noun: str) -> str:
    """A count with its noun: 1 equation, 3 equations."""
    return f"{count} {noun}{'s' * (count != 1)}"


def often(count: int) -> str:
    """How many times: once, twice, 3 times."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def with_article(noun: str) -> str:
    """A noun with its article: an input, a parameter."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def nearest(name: str, known: Iterable[str], listing: str = "Known are") -> str:
    """A suggestion "Did you mean 'x'?", or the list of what there is."""
    known = list(known)
    folded = {other.casefold(): other for other in known}
    close = get_close_matches(name.casefold(), folded, n=1)
    if close:
        return f"Did you mean '{folded[close[0]]}'?"
    return f"{listing} {quoted(known)}." if known else "There are none."


def show(value: Any, write: Callable[[Any], str] = repr) -> str:
    """What a user gave, for a sentence: objects that cannot be written, as huge integers, are called by their type."""
    try:
        return write(value)
    except Exception:  # whatever the method of a stranger raises
        return f"{with_article(type(value).__name__)} that cannot be written"


def look_up(entries: Mapping[str, Entry], name: Any, error: type[DaedalError], sentence: str) -> Entry:
    """The entry of a name or symbol, or an error with a sentence that ends in that name."""
    key = show(name, str)
    if key not in entries:
        raise error(f"{sentence} '{key}'.", nearest(key, entries))
    return entries[key]


def is_real(value: Any) -> TypeGuard[float]:
    """Whether a value is a real number; durations of numpy, which say that they are integers, are not."""
    return isinstance(value, Real) and not isinstance(value, np.timedelta64)


def as_float(number: Any) -> float:
    """A real number as a float; an integer beyond all floats is infinite, as 1e400 is."""
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else -float("inf")


def is_one_of(value: Any, words: Iterable[str]) -> bool:
    """Whether a value is one of some words; arrays, which compare element by element, are not."""
    return isinstance(value, str) and value in words


def is_list(value: Any) -> bool:
    """Whether a value has elements to go through, as a list has; a text and an array without dimensions have none."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes)) and getattr(value, "ndim", 1) != 0


def check_whole_number(
    number: Any, error: type[DaedalError], sentence: str, remedy: str, *, least: int, most: float = 10**12
) -> int:
    """`number` as an int, or an error with a sentence that says what it must be."""
    whole = isinstance(number, Integral) and is_real(number) and not isinstance(number, bool)
    if not whole or not least <= int(number) <= most:
        raise error(f"{sentence}, got {show(number)}.", remedy)
    return int(number)
