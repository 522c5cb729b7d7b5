"""Every failure: one sentence in the user's names, and a remedy.

Each class names the stage of the pipeline that refused, so that a caller can tell a typing mistake in a model from a
broken data file or a simulation that could not go on. All are `DaedalError`, and those about wrong arguments are
`ValueError` too.

A `RefusalError` lies in model, data or arguments and comes again with them: whoever has another way to go may catch it.
What only the machine lacks (`OutOfMemoryError`) is none: taken for a property of the model, it would alter results.
"""

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from itertools import islice
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
MOST_ENTRIES = 1_000_000  # of a list that users give: iterators need not end, and nobody can stop Python counting
SPEECHLESS = "It failed without saying why."
# What CasADi, Python and the loader of libraries say without memory, in errors of other kinds.
SHORTAGES = "bad_alloc", "can't start new thread", "failed to map segment", "Cannot allocate memory"
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def _make_printable(text: str) -> str:
    """A text that any terminal takes: what users gave may stand in it, whatever it is and however long."""
    text = UNPRINTABLE.sub(lambda match: ascii(match[0])[1:-1], text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} … {text[-LONGEST // 4 :]}"


class DaedalError(Exception):
    """A failure with a `sentence` that says what is wrong and a `remedy` that says what to do.

    Examples
    --------
    >>> from daedal import Model, symbols
    >>> x, l = symbols("x l")
    >>> try:
    ...     Model(name="m", equations={"rod": x == l}, unknowns=[x])
    ... except DaedalError as refused:
    ...     print(refused.sentence)
    Equation 'rod' contains 'l', which is not declared.
    """

    def __init__(self, sentence: str, remedy: str) -> None:
        sentence, remedy = _make_printable(sentence) or SPEECHLESS, _make_printable(remedy)
        super().__init__(sentence, remedy)
        self.sentence = sentence
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy}"


class RefusalError(DaedalError):
    """A failure for a reason in model, data or arguments: it comes each time."""


class OutOfMemoryError(DaedalError, MemoryError):
    """Work that needs more memory than is left now."""


class ExpressionError(RefusalError, TypeError):
    """An expression that cannot be formed or read."""


class ModelError(RefusalError, ValueError):
    """A model whose declaration contradicts itself."""


class DataError(RefusalError, ValueError):
    """A signal, data set or data file that cannot be used as given."""


class StructureError(RefusalError, ValueError):
    """Equations that do not determine the unknowns."""


class InitialValueError(RefusalError, ValueError):
    """Values at the start that contradict the equations, or that could not be found."""


class SimulationError(RefusalError, ValueError):
    """A simulation that was asked for in a way that cannot work."""


class EstimationError(RefusalError, ValueError):
    """An estimation that was asked for in a way that cannot work, or that could not begin."""


class StudyError(RefusalError, ValueError):
    """A study of many runs that was asked for in a way that cannot work, or whose journal cannot be used."""


class ProjectError(RefusalError, ValueError):
    """A project file that cannot be used as it is, with the line to look at."""


class ReportError(RefusalError, ValueError):
    """A table, picture or report that was asked for in a way that cannot work."""


class DaedalWarning(UserWarning):
    """Something that was done as asked, but probably not as meant; the result has the same sentence in its notes.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", DaedalWarning)  # what is worth a warning ends the script
    """


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
    def say_what_is_kept() -> Iterator[Callable[[Any], Any]]:
        with _note_interrupts() as was_pressed:

            def mark(result: Any) -> Any:
                return _mark_interrupted(result, sentence) if was_pressed() else result

            try:
                yield mark
            except KeyboardInterrupt as interrupt:
                interrupt.args = (sentence,)
                raise
            except Exception as error:
                if was_pressed():
                    raise KeyboardInterrupt(sentence) from error
                refuse_shortage(error, verb.__name__)
                raise

    return run_within(say_what_is_kept, verb)


def refuse_shortage(error: Exception, work: str) -> None:
    """Say it in a sentence, if an error tells that memory is gone; nothing happens to others, nor to one of ours."""
    others = (RuntimeError, ImportError, OSError)
    lacks = isinstance(error, others) and any(word in str(error) for word in SHORTAGES)
    if (lacks or isinstance(error, MemoryError)) and not isinstance(error, DaedalError):
        raise OutOfMemoryError(
            f"{work} ran out of memory: {tell_reason(error)}.",
            "End other programs, or ask for less: fewer samples, realizations or free parameters.",
        ) from error


_PRESSED: list[int] = []  # signals of Ctrl-C since the outermost verb began; only the main thread gets any


def _note(number: int, frame: FrameType | None) -> None:
    _PRESSED.append(number)
    default_int_handler(number, frame)


@contextmanager
def _note_interrupts() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed meanwhile, in a program that leaves it to Python.

    CasADi loses the exception of a signal that meets it while it looks at its arguments or makes an array, and answers
    with an error about types, or with None, or goes on: what fails afterwards fails for that reason, and a verb that
    does not fail, whether called by a user or by another verb, has been interrupted all the same.
    """
    main = current_thread() is main_thread()
    outermost = main and getsignal(SIGINT) is default_int_handler
    if outermost:
        _PRESSED.clear()
        set_handler(SIGINT, _note)
    before = len(_PRESSED)
    try:
        yield lambda: main and len(_PRESSED) > before
    finally:
        if outermost:
            set_handler(SIGINT, default_int_handler)


def _mark_interrupted(result: Any, sentence: str) -> Any:
    """A result that came although Ctrl-C was pressed: it says so where it can, and is not returned where it cannot."""
    if not hasattr(result, "status"):
        raise KeyboardInterrupt(sentence)
    if result.status.interrupted:
        return result
    said = f"{result.status.sentence} It was interrupted so late that all was finished."
    return replace(result, status=replace(result.status, sentence=said, interrupted=True))


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
    """The function, run in a context; it keeps its parameters, so that Python itself says which argument is wrong.

    What the context gives, if anything, is asked for the result to return instead.
    """
    parameters = signature(function).parameters.values()
    named = [p for p in parameters if p.kind is Parameter.KEYWORD_ONLY]
    star = [p for p in parameters if p.kind is Parameter.VAR_POSITIONAL]
    listed = [f"*{p.name}" if p in star else p.name for p in parameters if p not in named]
    taken = ", ".join([*listed, *(["*"] if named and not star else []), *(p.name for p in named)])
    passed = ", ".join([*listed, *(f"{p.name}={p.name}" for p in named)])
    text = (  # no parameter is called so
        f"def run({taken}):\n    with __context() as __finish:\n        __result = __function({passed})\n"
        "        return __finish(__result) if __finish else __result\n"
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


def tell_reason(error: BaseException) -> str:
    """What an error says, to end a sentence with; its class, where it says nothing."""
    return str(error).rstrip(". \n") or type(error).__name__


def often(count: int) -> str:
    """How many times: once, twice, 3 times."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def with_article(noun: str) -> str:
    """A noun with its article: an input, a parameter."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def nearest(name: Any, known: Iterable[Any], listing: str = "Known are") -> str:
    """A suggestion "Did you mean 'x'?", or the list of what there is; names that are no texts count as shown."""
    known = [show(other, str) for other in known]
    folded = {other.casefold(): other for other in known}
    close = get_close_matches(show(name, str).casefold(), folded, n=1)
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


def is_one_of(value: Any, words: Iterable[str]) -> TypeGuard[str]:
    """Whether a value is one of some words; arrays, which compare element by element, are not."""
    return isinstance(value, str) and any(str.__eq__(value, word) for word in words)  # whatever a subclass does


def is_list(value: Any) -> bool:
    """Whether a value has elements to go through, as a list has; a text and an array without dimensions have none."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes)) and getattr(value, "ndim", 1) != 0


def list_entries(value: Any) -> list[Any] | None:
    """The elements of what can be gone through; None where there is nothing of the kind, or no end of it in sight."""
    if not is_list(value):
        return None
    entries = list(islice(value, MOST_ENTRIES + 1))
    return entries if len(entries) <= MOST_ENTRIES else None


def check_whole_number(
    number: Any, error: type[DaedalError], sentence: str, remedy: str, *, least: int, most: float = 10**12
) -> int:
    """`number` as an int, or an error with a sentence that says what it must be."""
    whole = isinstance(number, Integral) and is_real(number) and not isinstance(number, bool)
    if not whole or not least <= int(number) <= most:
        raise error(f"{sentence}, got {show(number)}.", remedy)
    return int(number)
