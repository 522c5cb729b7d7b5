"""`Source`: the text of a Modelica file, and where in it a thing stands."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

from daedal.errors import ModelError, show
from daedal.files import check_file

Span = Mapping[str, int]

LARGEST = 10_000_000  # bytes; a model of 2000 equations has a tenth of a million

BEGIN = re.compile(r";|\b(?:equation|then|loop|else)\b")
HIDDEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"', re.DOTALL)


@dataclass(frozen=True)
class Source:
    """A text with the name it has in messages; places in it are counted in bytes of UTF-8, as rumoca counts them."""

    text: str
    name: str
    file: int | None = None  # rumoca's number of this text, which spans of other files do not have

    @cached_property
    def code(self) -> str:
        """The text with spaces in place of comments, strings and annotations; every character keeps its place."""
        code = HIDDEN.sub(lambda match: _blank(match.group()), self.text)
        parts, end = [], 0
        for match in re.finditer(r"\bannotation\s*\(", code):
            if match.start() >= end:  # else it stands inside the one before
                begin, closing = match.start(), _find_closing(code, match.end())
                parts += [code[end:begin], _blank(code[begin:closing])]
                end = closing
        return "".join([*parts, code[end:]])

    @cached_property
    def beginnings(self) -> list[int]:
        """The places behind the words that a statement can follow."""
        return [0, *(match.end() for match in BEGIN.finditer(self.code))]

    @cached_property
    def encoded(self) -> bytes:
        """The text in UTF-8."""
        return self.text.encode()

    @property
    def opening(self) -> str:
        """The name at the beginning of a sentence."""
        return self.name.replace("the text", "The text")

    def holds(self, span: Span | None) -> bool:
        """Whether a span is one of this text, not of a library."""
        return span is not None and (self.file is None or span["source"] == self.file)

    def find_line(self, span: Span) -> int:
        """The number of the line where a span begins."""
        return self.encoded.count(b"\n", 0, span["start"]) + 1

    def find_statement(self, span: Span) -> str:
        """The equation around the place where a span begins, in one line."""
        place = len(self.encoded[: span["start"]].decode(errors="replace"))
        begin = self.beginnings[bisect_right(self.beginnings, place) - 1]
        end, depth = place, 0
        while end < len(self.code) and (depth or self.code[end] != ";"):  # a matrix has semicolons of its own
            depth += {"[": 1, "]": -1}.get(self.code[end], 0)
            end += 1
        return " ".join(self.code[begin:end].split())

    def find_lines(self, pattern: str) -> list[int]:
        """The lines whose code contains the pattern."""
        matches = re.finditer(pattern, self.code, re.MULTILINE)
        return list(dict.fromkeys(self.code.count("\n", 0, match.end()) + 1 for match in matches))

    def locate(self, span: Span | None) -> str:
        """File and line, to begin a sentence with."""
        return f"{self.opening}, line {self.find_line(span)}" if span and self.holds(span) else self.opening


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _find_closing(code: str, start: int) -> int:
    """The place behind the bracket that closes the one before `start`."""
    depth = 1
    for place in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[place], 0)
        if not depth:
            return place + 1
    return len(code)


def read_source(path_or_text: Any) -> Source:
    """The text itself when it has a newline or a semicolon, else the file of that name."""
    if isinstance(path_or_text, str) and re.search(r"[\n;]", path_or_text):
        return _check_text(Source(path_or_text, "the text"))
    if not isinstance(path_or_text, (str, PathLike)) or path_or_text == "":
        raise ModelError(
            f"A Modelica model is read from a file or a text, got {show(path_or_text)}.",
            "Write read_modelica('drive.mo').",
        )
    opening = f"The file '{path_or_text}'"
    try:
        path = check_file(path_or_text, ModelError, opening, LARGEST)
        return _check_text(Source(path.read_text(encoding="utf-8-sig"), path.name))
    except FileNotFoundError:
        raise ModelError(
            f"There is no file '{path_or_text}'.",
            "Check the path; a text of Modelica has a newline or a semicolon in it.",
        ) from None
    except UnicodeDecodeError:
        raise ModelError(f"{opening} is not UTF-8 text.", "Save it as UTF-8.") from None
    except OSError as error:
        raise ModelError(f"{opening} cannot be read: {error.strerror}.", "Give a file ending in .mo.") from None


def _check_text(source: Source) -> Source:
    if len(source.text) > LARGEST:
        raise ModelError(f"{source.opening} has more than {LARGEST} characters.", "Put the classes into several files.")
    odd = re.search(r"[\x00-\x08\x0e-\x1f\ud800-\udfff]", source.text)
    if odd:
        line = source.text.count("\n", 0, odd.start()) + 1
        raise ModelError(f"{source.opening}, line {line}: {odd[0]!r} is no character of a text.", "Remove it.")
    return source


def find_own_file(source: Source, flat: Mapping[str, Any]) -> int | None:
    """rumoca's number of the text: that of the declarations which are found in it."""
    count: Counter[int] = Counter()
    for name, variable in flat["variables"].items():
        span, word = variable["source_span"], name.rsplit(".", 1)[-1].split("[")[0]
        count[span["source"]] += source.encoded.endswith(word.encode(), 0, span["end"])
    return max(count, key=count.__getitem__, default=None)
