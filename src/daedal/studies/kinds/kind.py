"""What a kind of study is: the extension point of studies.

A `StudyKind` is a choice, a small frozen dataclass such as `BlockBootstrap(length=5.0)`. Before any work it gives its
`Outline`: how many runs there are, what they say about the estimates; and it refuses what does not fit. Then it turns
the number of a run into data and options, a `Run`, always the same for the same fit, number and seed: runs are made by
whatever process is free, in any order, and again after an interruption.

One of your own needs no more than that; `tests/own_kinds.py` has one in 20 lines. It is kept, and sent to other
processes, as the name of its module and its fields, never as code: its fields are numbers, texts, lists, mappings or
models, and with workers it must stand at the top level of a module that they can import.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from importlib import import_module
from typing import Any, Literal, Protocol, final, runtime_checkable

from daedal.data import Dataset, FrozenMapping
from daedal.errors import StudyError, show, tell_reason
from daedal.estimation import Fit
from daedal.models import Model

Reading = Literal["bootstrap", "truth", "jackknife", "starts", "table"]
HOME = "daedal.studies"  # of the kinds that are here
PLAIN = (str, int, float, bool, type(None))
_spelled: dict[str, type] = {}  # those of this process, which may stand in a notebook or inside a function


@final
@dataclass(frozen=True)
class Outline:
    """What the runs of a study are, told before any work.

    Attributes
    ----------
    runs
        How many there are; None where there may be any number.
    reading
        What their spread says. "bootstrap": what the error of the fit is like; "truth": the same, and the truth is
        known; "jackknife": the same after `factor`; "starts": which minima there are; "table": nothing of the kind.
    truth
        Name of an estimate → what it should be, where that is known.
    factor
        Jackknife: variance by mean square of the spread, and bias by that of the mean.
    """

    runs: int | None = None
    reading: Reading = "table"
    truth: Mapping[str, float] = field(default_factory=dict)
    factor: float = 1.0


@final
@dataclass(frozen=True, eq=False)
class Run:
    """Data and options of one fit; what is left out is as in the fit that the study is about.

    Attributes
    ----------
    data
        The experiments, named as those of the fit that they stand for.
    start
        Name of an estimate → where its search begins; the estimate itself where it is left out.
    fixed
        Parameter → number, in all experiments; one that was free is then not estimated.
    seed
        Of the realizations in the criterion; each run has its own where none is given.
    labels
        What tells this run from others, as columns of the table: numbers or texts.
    """

    data: Sequence[Dataset]
    start: Mapping[str, float] = field(default_factory=dict)
    fixed: Mapping[str, float] = field(default_factory=dict)
    seed: int | None = None
    labels: Mapping[str, float | str] = field(default_factory=dict)


@runtime_checkable
class StudyKind(Protocol):
    """A choice of what the runs of a study are: a frozen dataclass, which is kept by its fields."""

    def outline(self, fit: Fit, /) -> Outline:
        """What the runs are; what does not fit this fit is refused here, before any work."""
        ...

    def make_run(self, fit: Fit, number: int, seed: int, /) -> Run:
        """Run `number`, counted from 0. `derive_seed(seed, purpose, number)` makes a seed of its own for it."""
        ...


def check_kind(given: Any) -> StudyKind:
    """A kind as it was given, or a sentence about what it lacks."""
    if isinstance(given, StudyKind) and not isinstance(given, type) and is_dataclass(given):
        return given
    name = given.__name__ if isinstance(given, type) else show(given)
    raise StudyError(
        f"The kind of a study must be one such as ParametricBootstrap() or LeaveOut(1), got {name}.",
        f"Write {name}()."
        if isinstance(given, type)
        else "One of your own is a dataclass with outline(fit) and make_run(fit, number, seed).",
    )


def check_other_data(fit: Fit) -> None:
    """Refuse a criterion that can only judge the data it was made for."""
    if getattr(fit.criterion, "holds_data", False):
        raise StudyError(
            f"{type(fit.criterion).__name__} holds moments of the data that it was made for, so that it cannot judge "
            "others.",
            "Use Starts(...) or Scan(...), which keep the data, or fit by OutputError() for this study.",
        )


def spell_kind(kind: StudyKind) -> dict[str, Any]:
    """Name and fields of a kind, as JSON has them; refused where these would not lead back to it."""
    home, name = type(kind).__module__, type(kind).__qualname__
    told = {"kind": name if home.startswith(f"{HOME}.") else f"{home}:{name}"}
    _spelled[told["kind"]] = type(kind)
    try:
        return told | {"fields": {one.name: _spell(getattr(kind, one.name)) for one in fields(kind)}}  # pyright: ignore[reportArgumentType]
    except TypeError as error:
        raise StudyError(
            f"The kind {name} cannot be kept in a journal: {tell_reason(error)}.",
            "Give it numbers, texts, lists, mappings or models as fields.",
        ) from None


def _spell(value: Any) -> Any:
    if isinstance(value, Model):
        return {"model": value.to_text()}
    if isinstance(value, Mapping):
        return {"mapping": [[_spell(key), _spell(entry)] for key, entry in value.items()]}
    if isinstance(value, (list, tuple)):
        return [_spell(entry) for entry in value]
    if isinstance(value, PLAIN):
        return value
    raise TypeError(f"a field is {type(value).__name__}")


def read_kind(told: Mapping[str, Any]) -> StudyKind:
    """The kind of these words; that of a user as this process met it, or from a module that is there already."""
    home, _, name = told["kind"].rpartition(":")
    module = sys.modules.get(home) if home else import_module(HOME)
    kind = _spelled.get(told["kind"]) or getattr(module, name, None)
    if not isinstance(kind, type):
        raise StudyError(
            f"The kind '{name}' of the module '{home}' is not there.",
            "Define it at the top level of a module, and import that.",
        )
    return check_kind(kind(**{key: _read(value) for key, value in told["fields"].items()}))


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_read(entry) for entry in value)
    if isinstance(value, dict):
        if "model" in value:
            return Model.from_text(value["model"])
        return FrozenMapping({_read(key): _read(entry) for key, entry in value["mapping"]})
    return value


def describe_kind(told: Mapping[str, Any]) -> str:
    """The kind as it would be typed, models by their names."""
    name = told["kind"].rpartition(":")[2]
    return f"{name}({', '.join(f'{key}={_describe(value)}' for key, value in told['fields'].items())})"


def _describe(value: Any) -> str:
    if isinstance(value, list):
        shown = [_describe(entry) for entry in value[:4]]
        return f"[{', '.join(shown + ['…'] * (len(value) > 4))}]"
    if isinstance(value, dict):
        if "model" in value:
            return f"'{Model.from_text(value['model']).name}'"
        return f"{{{', '.join(f'{_describe(key)}: {_describe(entry)}' for key, entry in value['mapping'])}}}"
    return f"{value:.10g}" if isinstance(value, float) and not value.is_integer() else repr(value)
