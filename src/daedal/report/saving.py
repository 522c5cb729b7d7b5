"""Files of figures: which endings there are, and a file that is there whole or not at all."""

from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from daedal.errors import ReportError, nearest, show
from daedal.files import resolve

ENDINGS = (".html", ".svg", ".png", ".pdf")


def check_path(path: Any, endings: tuple[str, ...] = ENDINGS) -> Path:
    """The path of a figure, whose ending says what it is written as."""
    try:
        target = Path(path)
    except TypeError:
        raise ReportError(
            f"The path of a figure must be a text, got {show(path)}.", "Write figure.save('figure.svg')."
        ) from None
    ending = target.suffix.lower()
    if ending not in endings:
        listed = f"{', '.join(endings[:-1])} or {endings[-1]}"
        given = f"'{ending}'" if ending else "no ending"
        raise ReportError(
            f"A figure is saved as {listed}, got {given} in {show(str(path))}.",
            nearest(ending, endings, "Endings are"),
        )
    return target


def refuse_special(path: Path, what: str) -> None:
    """Devices and pipes: a file that is renamed into their place would remove them."""
    try:
        special = path.exists() and not path.is_file()
    except (OSError, ValueError):  # what no file can be called is said where it is written
        special = False
    if special:
        raise ReportError(f"{what} cannot be written to {show(str(path))}: it is not a file.", "Name a file.")


def write_whole(path: Path, content: bytes, what: str = "The figure") -> Path:
    """Write a file, which is renamed into place when it is complete; where the path is a link, the one it leads to.

    Until then it has a name of its own: others may be writing to the same place.
    """
    refuse_special(path, what)
    try:
        goal = resolve(path)
    except (OSError, ValueError):
        goal = path
    unfinished = goal.with_name(f".daedal-{uuid4().hex}")  # not longer than names may be
    try:
        unfinished.write_bytes(content)
        unfinished.replace(goal)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "no file can have that name"
        raise ReportError(f"{what} cannot be written to {show(str(path))}: {reason}.", "Choose another path.") from None
    finally:
        with suppress(OSError, ValueError):
            unfinished.unlink(missing_ok=True)
    return path
