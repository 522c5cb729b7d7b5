"""Files of figures: which endings there are, and a file that is there whole or not at all."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from daedal.errors import ReportError, nearest, show

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


def write_whole(path: Path, content: bytes, what: str = "The figure") -> Path:
    """Write a file, which is renamed into place when it is complete."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(path)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "no file can have that name"
        raise ReportError(f"{what} cannot be written to {show(str(path))}: {reason}.", "Choose another path.") from None
    finally:
        with suppress(OSError, ValueError):
            unfinished.unlink(missing_ok=True)
    return path
