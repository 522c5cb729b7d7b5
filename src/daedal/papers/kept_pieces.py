"""Finished pieces of a reproduction, kept until it is complete, so that the same command goes on where it stopped.

One JSON file for each piece, in a folder beside the results: what it was made from (paper, sizes, version of daedal),
its content, and a digest of that. A piece made from anything else, or damaged, is made again.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, as_completed
from importlib.metadata import version
from pathlib import Path
from shutil import rmtree
from typing import Any, Protocol, TypeVar, final

from daedal.papers.result_files import Result, write_files
from daedal.simulation import Status

FOLDER = ".unfinished"
LOGGER = logging.getLogger("daedal")

Take = Callable[[str, Callable[[], Any]], Any]  # name of a piece, and what makes it


def count_pieces(directory: str | Path) -> int:
    """How many are kept beside the results."""
    return len(list((Path(directory) / FOLDER).glob("*.json")))


class _Finished(Protocol):
    """What says how it ended."""

    @property
    def status(self) -> Status: ...


Finished = TypeVar("Finished", bound=_Finished)


def make_anew(_: str, make: Callable[[], Any]) -> Any:
    """Keep nothing."""
    return make()


def refuse_interrupted(result: Finished) -> Finished:
    """What Ctrl-C left of a result is not enough for a table: the interrupt goes on."""
    if result.status.interrupted:
        raise KeyboardInterrupt
    return result


@final
class KeptPieces:
    """The pieces of one paper and size in a folder."""

    def __init__(self, directory: Path, paper: str, size: object) -> None:
        self._directory, self._folder = directory, directory / FOLDER
        self._made_from = {"paper": paper, "size": repr(size), "daedal": version("daedal")}

    def take(self, name: str, make: Callable[[], Any]) -> Any:
        """The piece of this name, numbers and texts as JSON has them; made, and kept, if it is not there."""
        content = self._read(name)
        return self._write(name, make()) if content is None else content

    def take_all(
        self, names: Sequence[str], tasks: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]], pool: Executor | None
    ) -> list[Any]:
        """The same of many, each made by a function and its arguments; by other processes if there are any."""
        contents = [self._read(name) for name in names]
        missing = [k for k, content in enumerate(contents) if content is None]
        if pool is None:
            for k in missing:
                function, arguments = tasks[k]
                contents[k] = self._write(names[k], function(*arguments))
            return contents
        jobs = {pool.submit(tasks[k][0], *tasks[k][1]): k for k in missing}
        for job in as_completed(jobs):  # one that is finished is not lost while an earlier one is under way
            contents[jobs[job]] = self._write(names[jobs[job]], job.result())
        return contents

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
