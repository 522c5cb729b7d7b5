"""On which line of a TOML text each key stands: `tomllib` reads values and forgets where they were.

The text has been read by `tomllib` before, so that only what separates one key from the next must be understood here:
headers, dotted keys, strings, arrays and inline tables. Whatever else there is, is a word.
"""

import re
import tomllib
from bisect import bisect_left
from typing import final

Address = tuple[str | int, ...]  # ("data", 1, "inputs", "pump"): keys, and numbers of entries in arrays

SPACE = re.compile(r"[ \t]*")
BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
STRING = re.compile(r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'', re.DOTALL)
BARE = re.compile(r"[A-Za-z0-9_-]+")
WORD = re.compile(r"\d{4}-\d\d-\d\d \d[\d:.+Z-]*|[^\s,\]}#]+")  # a date may have a space before its time


def list_lines(text: str) -> dict[Address, int]:
    """The line, counted from 1, of every key, header and entry of an array in a text that is TOML.

    Examples
    --------
    >>> list_lines('[[data]]\\nfile = "run.csv"\\ninputs = { pump = "u" }\\n')["data", 0, "inputs", "pump"]
    3
    """
    return _Scan(text).read()


@final
class _Scan:
    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0
        self._ends = [match.start() for match in re.finditer("\n", text)]
        self.lines: dict[Address, int] = {}
        self.counts: dict[Address, int] = {}  # of arrays of tables: entries so far

    def read(self) -> dict[Address, int]:
        table: Address = ()
        self._skip(BLANK)
        while self.place < len(self.text):
            if self.text.startswith("[", self.place):
                table = self._read_header()
            else:
                self._read_entry(table)
            self._skip(BLANK)
        return self.lines

    def _read_header(self) -> Address:
        repeated = self.text.startswith("[[", self.place)
        begin = self.place
        self.place += 2 if repeated else 1
        self._skip(SPACE)
        *parents, last = self._read_key()
        self.place += 2 if repeated else 1
        table: Address = ()
        for key in parents:
            table = self._enter((*table, key))
        table = (*table, last)
        if repeated:
            self.lines.setdefault(table, self._count(begin))
            self.counts[table] = self.counts.get(table, 0) + 1
        table = self._enter(table)
        self.lines.setdefault(table, self._count(begin))
        return table

    def _enter(self, table: Address) -> Address:
        """The last entry of an array of tables stands for it."""
        return (*table, self.counts[table] - 1) if table in self.counts else table

    def _read_entry(self, table: Address) -> None:
        begin = self.place
        address = table
        for key in self._read_key():
            address = (*address, key)
            self.lines.setdefault(address, self._count(begin))
        self.place += 1  # the equals sign
        self._skip(SPACE)
        self._read_value(address)

    def _read_key(self) -> list[str]:
        keys = []
        while True:
            if quoted := STRING.match(self.text, self.place):
                keys.append(str(tomllib.loads(f"key = {quoted[0]}")["key"]))
                self.place = quoted.end()
            else:
                keys.append(self._skip(BARE))
            self._skip(SPACE)
            if not self.text.startswith(".", self.place):
                return keys
            self.place += 1
            self._skip(SPACE)

    def _read_value(self, address: Address) -> None:
        opening = self.text[self.place : self.place + 1]
        if opening == "[":
            self._read_list("]", address, numbered=True)
        elif opening == "{":
            self._read_list("}", address, numbered=False)
        elif opening in ('"', "'"):
            self._skip(STRING)
        else:
            self._skip(WORD)

    def _read_list(self, closing: str, address: Address, *, numbered: bool) -> None:
        """An array, or an inline table."""
        self.place += 1
        self._skip(BLANK)
        number = 0
        while not self.text.startswith(closing, self.place):
            if numbered:
                self.lines.setdefault((*address, number), self._count(self.place))
                self._read_value((*address, number))
            else:
                self._read_entry(address)
            number += 1
            self._skip(BLANK)
            if self.text.startswith(",", self.place):
                self.place += 1
                self._skip(BLANK)
        self.place += 1

    def _skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.place)
        if match is None:
            raise ValueError(f"no TOML at character {self.place}")
        self.place = match.end()
        return match[0]

    def _count(self, place: int) -> int:
        return bisect_left(self._ends, place) + 1
