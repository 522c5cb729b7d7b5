"""Compiled objects kept on disk between processes.

One file per object, named by its key, with a digest in front, so that a damaged file is noticed and replaced. Files
appear whole (written beside and renamed) and the least recently used are removed beyond a total size. Where nothing can
be written, nothing is kept, and nobody is told: the cache is only ever a matter of speed.
"""

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

LARGEST_TOTAL = 256 * 2**20  # bytes
_DIGEST = 32


def find_folder() -> Path:
    """`$DAEDAL_CACHE`, else `$XDG_CACHE_HOME/daedal`, else `~/.cache/daedal`."""
    chosen = os.environ.get("DAEDAL_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "daedal"


def read(key: str) -> bytes | None:
    """The object kept under a key, if it is there and undamaged."""
    try:
        path = find_folder() / f"{key}.o"
        content = path.read_bytes()
    except (OSError, RuntimeError):
        return None
    digest, data = content[:_DIGEST], content[_DIGEST:]
    if hashlib.sha256(data).digest() != digest:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return data


def write(key: str, data: bytes) -> None:
    """Keeps an object under a key, if the folder can be written."""
    with contextlib.suppress(OSError, RuntimeError):
        place = find_folder()
        place.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=place, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(data).digest() + data)
            Path(name).replace(place / f"{key}.o")
        except BaseException:  # an interrupt too leaves no file
            Path(name).unlink(missing_ok=True)
            raise
        _remove_oldest(place)


def _remove_oldest(place: Path) -> None:
    """Removes the files used longest ago until the total is within bounds."""
    files = []
    for path in [*place.glob("*.o"), *place.glob("*.part")]:
        with contextlib.suppress(OSError):
            status = path.stat()
            files.append((status.st_mtime_ns, status.st_size, path))
    excess = sum(size for _, size, _ in files) - LARGEST_TOTAL
    for _, size, path in sorted(files):
        if excess <= 0:
            return
        with contextlib.suppress(OSError):
            path.unlink()
            excess -= size
