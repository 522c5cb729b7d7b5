"""What may be read as a file: an ordinary one, and not more of it than a limit."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from daedal.errors import DaedalError

CHECK = "Check the path."


def check_file(path: Any, error: type[DaedalError], opening: str, largest: int) -> Path:
    """The path of a file that can be read to its end, which a device or a pipe need not have.

    The sentence of a failure begins with `opening`, which stands for the file; that there is none is a
    FileNotFoundError.
    """
    try:
        path = Path(path)
        status = path.stat()
    except FileNotFoundError:
        raise  # the caller knows what else may have been meant
    except OSError as reason:
        raise error(f"{opening} cannot be read: {reason.strerror}.", CHECK) from None
    except ValueError:  # a NUL, or what no name of a file can be written with
        raise error(f"{opening} has a character in its name that no file can have: {path!r}.", CHECK) from None
    if stat.S_ISDIR(status.st_mode):
        raise error(f"{opening} is a folder.", "Name a file in it.")
    if not stat.S_ISREG(status.st_mode):
        raise error(f"{opening} is a device or a pipe.", "Copy what it gives into a file, and read that.")
    if status.st_size > largest:
        raise error(f"{opening} has {_count(status.st_size)}, more than {_count(largest)}.", "Divide it.")
    return path


def resolve(path: str | Path) -> Path:
    """Where a path leads, whatever the working folder will be; as it is where that folder is gone."""
    try:
        return Path(os.path.realpath(path))
    except FileNotFoundError:
        return Path(path)


def is_file(path: Path) -> bool:
    """Whether there is an ordinary file; of a name that no file can have there is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """The same of folders."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def limit_lines(file: TextIO, error: type[DaedalError], opening: str, *, longest: int, largest: int) -> Iterator[str]:
    """The lines of an opened text, which may be compressed: as long as they are not too long and not too many."""
    total, number = 0, 0
    while line := file.readline(longest + 1):
        total, number = total + len(line), number + 1
        if len(line) > longest:
            raise error(f"{opening} has a line {number} of more than {longest} characters.", "Divide it into lines.")
        if total > largest:
            raise error(f"{opening} has more than {_count(largest)}.", "Divide it.")
        yield line


def _count(size: int) -> str:
    return f"{size / 1e6:.0f} MB"
