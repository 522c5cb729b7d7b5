"""Finished pieces of a reproduction, kept until it is complete, so that the same command goes on where it stopped.

One JSON file for each piece, in a folder beside the results: what it was made from (paper, sizes, version of daedal),
its content, and a digest of that. A piece made from anything else, or damaged, is made again. Many pieces that one
function makes are a study: a journal of their own, by as many processes as are wanted (`daedal.studies`).
"""

import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from shutil import rmtree
from typing import Any, Protocol, TypeVar, final

from daedal.errors import ReportError
from daedal.papers.result_files import Result, write_files
from daedal.simulation import Status
from daedal.studies import (
    CONVERGED,
    Make,
    Row,
    choose_crew,
    count_runs,
    make_missing,
    open_journal,
    read_study,
    write_charter,
)

FOLDER = ".unfinished"
LOGGER = logging.getLogger("daedal")

Take = Callable[[str, Callable[[], Any]], Any]  # name of a piece, and what makes it
MakeAll = Callable[[str, str, Sequence[Sequence[Any]]], list[Any]]  # name, "module:function", arguments of each


def count_pieces(directory: str | Path) -> int:
    """How many are kept beside the results."""
    folder = Path(directory) / FOLDER
    return len(list(folder.glob("*.json"))) + sum(map(count_runs, folder.glob("*.study")))


class _Finished(Protocol):
    """What says how it ended."""

    @property
    def status(self) -> Status: ...


Finished = TypeVar("Finished", bound=_Finished)


def make_anew(_: str, make: Callable[[], Any]) -> Any:
    """Keep nothing."""
    return make()


def make_all_anew(_: str, function: str, tasks: Sequence[Sequence[Any]]) -> list[Any]:
    """One after the other, and keep nothing."""
    make = _find_function(function)
    return [make(*arguments) for arguments in tasks]


def _find_function(name: str) -> Callable[..., Any]:
    home, _, own = name.partition(":")
    return getattr(import_module(home), own)


def prepare_tasks(content: Mapping[str, Any]) -> Make:
    """Run number → row with what the function makes of the arguments of that number."""
    make, tasks = _find_function(content["function"]), content["tasks"]
    return lambda number: Row(number, CONVERGED, words=make(*tasks[number]))


def refuse_interrupted(result: Finished) -> Finished:
    """What Ctrl-C left of a result is not enough for a table: the interrupt goes on."""
    if result.status.interrupted:
        raise KeyboardInterrupt
    return result


@final
class KeptPieces:
    """The pieces of one paper and size in a folder."""

    def __init__(self, directory: Path, paper: str, size: object, workers: int | None = None) -> None:
        self._directory, self._folder, self._workers = directory, directory / FOLDER, workers
        self._made_from = {"paper": paper, "size": repr(size), "daedal": version("daedal")}

    def take(self, name: str, make: Callable[[], Any]) -> Any:
        """The piece of this name, numbers and texts as JSON has them; made, and kept, if it is not there."""
        content = self._read(name)
        return self._write(name, make()) if content is None else content

    def make_all(self, name: str, function: str, tasks: Sequence[Sequence[Any]]) -> list[Any]:
        """What a function makes of each of these arguments; those that are not there are made, by other processes too.

        Arguments and contents are numbers and texts as JSON has them.
        """
        charter = write_charter("daedal.papers.kept_pieces:prepare_tasks", {"function": function, "tasks": tasks})
        identity = {**self._made_from, "tasks": json.dumps([function, tasks])}
        self._folder.mkdir(exist_ok=True)
        path = self._folder / f"{name}.study"
        other = path.exists() and path.stat().st_size > 0 and read_study(path) != identity
        if other:
            LOGGER.warning("'%s' was made with other sizes or another version: it is made again", path)
        crew = choose_crew(None if self._workers == 1 else self._workers)  # one process is this one
        journal = open_journal(path, identity, {}, fresh=other)
        try:
            if make_missing(charter, range(len(tasks)), journal, crew, f"{name}:"):
                raise KeyboardInterrupt
            contents = journal.read()
        finally:
            journal.close()
        for status, message in zip(contents.status, contents.messages, strict=True):
            if status != CONVERGED:
                raise ReportError(f"A piece of '{name}' could not be made: {message}", "Run the same command again.")
        return contents.words

    def take_result(self, name: str, make: Callable[[], Result]) -> Result:
        """A result whose files are there as they were written, or one that is made."""
        content = self._read(name)
        if content is not None:
            files = tuple(self._directory / file for file in content["files"])
            if all(_digest_file(file) == content["files"][file.name] for file in files):
                return Result(content["text"], files)
            LOGGER.warning("files of '%s' were changed: it is made again", name)
        result = make()
        self._write(name, {"text": result.text, "files": {file.name: _digest_file(file) for file in result.files}})
        return result

    def remove(self) -> None:
        """All of them, when the reproduction is complete."""
        rmtree(self._folder, ignore_errors=True)  # with what a killed process left of a file

    def _read(self, name: str) -> Any:
        path = self._folder / f"{name}.json"
        if not path.exists():
            return None
        try:
            piece = json.loads(path.read_text(encoding="utf-8"))
            made_from, content, digest = piece["made_from"], piece["content"], piece["digest"]
        except (OSError, ValueError, TypeError, KeyError):
            made_from, content, digest = None, None, ""
        if digest != _digest(made_from, content):
            LOGGER.warning("'%s' is damaged: it is made again", path)
            return None
        if made_from != self._made_from:
            LOGGER.warning("'%s' was made with other sizes or another version: it is made again", path)
            return None
        return content

    def _write(self, name: str, content: Any) -> Any:
        """The content as it will be read."""
        piece = {"made_from": self._made_from, "content": content, "digest": _digest(self._made_from, content)}
        self._folder.mkdir(exist_ok=True)
        write_files(self._folder, {f"{name}.json": json.dumps(piece)})
        return json.loads(json.dumps(content))


def _digest(made_from: Any, content: Any) -> str:
    return hashlib.sha256(json.dumps([made_from, content]).encode()).hexdigest()


def _digest_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""
