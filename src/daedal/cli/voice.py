"""What a command says and where: words for people, numbers for programs."""

import json
import logging
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Any, final

from rich.console import Console

from daedal import progress
from daedal.records import make_plain


@final
@dataclass(frozen=True)
class Voice:
    """Words go to standard output, or with `as_json` to standard error, so that only numbers are on standard output."""

    as_json: bool
    quiet: bool

    def say(self, text: str, style: str | None = None) -> None:
        """Words, which --quiet silences."""
        if not self.quiet:
            self._print(text, sys.stderr if self.as_json else sys.stdout, style)

    def doubt(self, text: str, style: str | None = "yellow") -> None:
        """Words that are said in any case."""
        self._print(text, sys.stderr, style)

    def give(self, numbers: Mapping[str, Any]) -> None:
        """Numbers, where they are asked for."""
        if self.as_json:
            print(write_json(numbers))

    @staticmethod
    def _print(text: str, stream: Any, style: str | None) -> None:
        console = Console(file=stream, highlight=False, soft_wrap=True, markup=False, emoji=False)
        console.print(text, style=style)


def begin(*, as_json: bool, quiet: bool) -> Voice:
    """The voice of this process, in which warnings, the log and progress are as loud as it."""
    warnings.showwarning = _show_warning
    if quiet:
        logging.getLogger("daedal").setLevel(logging.ERROR)
        warnings.simplefilter("ignore")
        progress.PATIENCE = inf
    return Voice(as_json, quiet)


@contextmanager
def leave_notes_to_the_table() -> Iterator[None]:
    """A fit logs its notes before its work; where its table is printed they would be said twice.

    A fit that fails has no table: its notes are said then, and may tell why.
    """
    kept: list[logging.LogRecord] = []

    def is_said_once(record: logging.LogRecord) -> bool:
        if getattr(record, "in_table", False):
            kept.append(record)
            return False
        return True

    logger = logging.getLogger("daedal")
    logger.addFilter(is_said_once)
    try:
        yield
    except BaseException:
        logger.removeFilter(is_said_once)
        for record in kept:
            logger.handle(record)
        raise
    finally:
        logger.removeFilter(is_said_once)


def write_json(content: Any) -> str:
    """JSON as the standard has it: numbers that are not finite are null."""
    return json.dumps(make_plain(content), indent=2, ensure_ascii=False, allow_nan=False)


def _show_warning(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
    """The sentence alone: no line of code is of use to those who did not write it, nor is what arithmetic warns of."""
    if not issubclass(category, RuntimeWarning):
        print(f"{message}", file=sys.stderr)
