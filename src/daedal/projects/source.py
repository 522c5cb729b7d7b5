"""The text of a project: what stands in it, on which line, and sentences that say so."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from daedal.errors import DaedalError, DataError, ProjectError, is_real, nearest, quoted, show
from daedal.files import check_file
from daedal.limits import nests_deeper
from daedal.projects.lines import Address, list_lines

DEEPEST = 100  # brackets that are open at once, and parts of a key
LARGE = 1e300  # numbers are smaller
LARGEST = 1 << 40  # bytes of a file that is named: what reads it has limits of its own
NOT_TOML = (
    "Texts stand in quotes, lists in [ ], tables in { }; numbers have a decimal point, and paths / between folders."
)
SINGLE = re.compile(r"^\s*\[data\]", re.MULTILINE)


@final
@dataclass(frozen=True)
class Source:
    """A project file that was read."""

    path: Path
    text: str
    lines: Mapping[Address, int]

    def explain(self, address: Address, sentence: str, remedy: str) -> ProjectError:
        """The failure at an address: the file, the line and the sentence."""
        while address not in self.lines and address:
            address = address[:-1]
        line = f", line {self.lines[address]}" if address in self.lines else ""
        return ProjectError(f"{self.path}{line}: {sentence}", remedy)

    @contextmanager
    def at(self, address: Address) -> Iterator[None]:
        """What fails inside is told with the line of this address."""
        try:
            yield
        except ProjectError:
            raise
        except DaedalError as error:
            raise self.explain(address, error.sentence, error.remedy) from None

    def find_file(self, address: Address, name: str, what: str) -> Path:
        """A file beside the project; that it is there is looked at."""
        path = self.path.parent / name
        with self.at(address):
            try:
                return check_file(path, DataError, f"the {what} '{name}'", LARGEST)
            except FileNotFoundError:
                others = list_beside(path)
        advice = nearest(path.name, others, "There are") if others else "Check its name."
        slashes = ", with / between folders" if "\\" in name or "\r" in name or "\t" in name else ""
        sentence = f"there is no {what} '{name}'."
        raise self.explain(address, sentence, f"{advice} Paths are relative to the project file{slashes}.")


def list_beside(path: Path) -> list[str]:
    """Files in the same folder with the same ending: one of them may have been meant."""
    try:
        return sorted(one.name for one in path.parent.iterdir() if one.suffix == path.suffix and one.is_file())
    except (OSError, ValueError):
        return []


def read_source(path: Path, text: str) -> tuple[Source, "Table"]:
    """The text as a table that knows its lines."""
    if nests_deeper(text, DEEPEST):
        sentence = f"{path}: there are more than {DEEPEST} brackets within each other, or parts of one key."
        raise ProjectError(sentence, "Close some, or leave some out.")
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:  # ValueError: a number of 5000 digits
        reason, _, where = str(error).partition(" (at ")
        line = f", {where.partition(',')[0]}" if where.startswith("line") else ""
        remedy = "Write [[data]] in double brackets above each block." if SINGLE.search(text) else NOT_TOML
        raise ProjectError(f"{path}{line}: this is not TOML: {reason[:1].lower()}{reason[1:]}.", remedy) from None
    source = Source(path, text, list_lines(text))
    return source, Table(source, (), content)


@final
@dataclass(frozen=True)
class Table:
    """A table of a project: entries are taken by key, and a wrong one is told with its line.

    What a block of data takes over from another one it is `like` has its line there.
    """

    source: Source
    address: Address
    content: Mapping[str, Any]
    inherited: "Table | None" = None

    def find(self, key: str) -> Address:
        """Where an entry stands."""
        if key not in self.content and self.inherited is not None and key in self.inherited:
            return self.inherited.find(key)
        return (*self.address, key)

    def __contains__(self, key: str) -> bool:
        return key in self.content or (self.inherited is not None and key in self.inherited)

    def get(self, key: str, default: Any = None) -> Any:
        """The entry as it is."""
        if key in self.content or self.inherited is None:
            return self.content.get(key, default)
        return self.inherited.get(key, default)

    def explain(self, key: str, sentence: str, remedy: str) -> ProjectError:
        """The failure at an entry."""
        return self.source.explain(self.find(key), sentence, remedy)

    def refuse_unknown(self, known: Iterable[str], where: str) -> None:
        """Every key must be one of these."""
        known = list(known)
        for key in self.content:
            if key not in known:
                raise self.explain(key, f"there is no '{key}' in {where}.", nearest(key, known))

    def take_text(self, key: str, default: str = "") -> str:
        """A text."""
        return self._take(key, default, lambda value: isinstance(value, str), "a text", f'{key} = "..."')

    def take_number(self, key: str, example: str) -> float | None:
        """A number, or None."""
        large = isinstance(self.get(key), float)
        kind = f"a number between -{LARGE:g} and {LARGE:g}" if large else "a number"
        value = self._take(key, None, _is_number, kind, f"{key} = {example}")
        return None if value is None else float(value)

    def take_numbers(self, key: str, example: str) -> tuple[float, ...]:
        """A list of numbers, or one."""
        value = self.get(key, [])
        listed = value if isinstance(value, list) else [value]
        if not all(map(_is_number, listed)):
            raise self._explain_kind(key, "a list of numbers", f"{key} = {example}")
        return tuple(map(float, listed))

    def take_names(self, key: str) -> tuple[str, ...]:
        """A list of names."""
        value = self._take(key, [], _are_texts, "a list of names", f'{key} = ["a", "b"]')
        repeated, count = Counter(value).most_common(1)[0] if value else ("", 0)
        if count > 1:
            raise self.explain(key, f"'{repeated}' is named twice in {key}.", "Name it once.")
        return tuple(value)

    def take_table(self, key: str, example: str = "") -> "Table":
        """A table; an empty one where there is none."""
        value = self._take(key, {}, lambda one: isinstance(one, dict), "a table", example or f"[{key}]")
        return Table(self.source, self.find(key), value)

    def take_choice(self, key: str, words: Iterable[str], default: str) -> str:
        """One of some words."""
        words, value = list(words), self.get(key, default)
        if value not in words:
            advice = nearest(value, words) if isinstance(value, str) else ""
            raise self._explain_kind(key, f"one of {quoted(words)}", f'{key} = "{words[0]}"', advice)
        return value

    def _take(self, key: str, default: Any, suits: Any, kind: str, example: str) -> Any:
        value = self.get(key, default)
        if key in self and not suits(value):
            raise self._explain_kind(key, kind, example)
        return value

    def _explain_kind(self, key: str, kind: str, example: str, advice: str = "") -> ProjectError:
        given = show(self.get(key))
        return self.explain(key, f"{key} must be {kind}, got {given}.", advice or f"Write {example}.")


def _is_number(value: Any) -> bool:
    return is_real(value) and not isinstance(value, bool) and abs(value) < LARGE


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
