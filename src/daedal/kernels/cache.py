"""Compiled objects kept on disk between processes.

One file per object, named by its key, with a digest of key and content in front, so that a damaged file, or one that
belongs under another name, is noticed and replaced. Files appear whole (written beside and renamed) and the least
recently used are removed beyond a total size.

What is read is executed, so it must be this user's own work: the folder is made for this user alone (0700), and one of
this user's that is open to others is closed to them if it holds nothing else, and is not used otherwise. Nor is a
folder of somebody else or behind a link; a file of somebody else, one that others may write, and a link are not read.
Where files have no owners (Windows), the folder is trusted as it is. Where nothing can be kept, nobody is told: the
cache is only ever a matter of speed.
"""

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

LARGEST_TOTAL = 256 * 2**20  # bytes
_DIGEST = 32
_OWNED = hasattr(os, "geteuid")
_ALONE, _OTHERS, _OTHERS_WRITE = 0o700, 0o077, 0o022


def find_folder() -> Path:
    """`$DAEDAL_CACHE`, else `$XDG_CACHE_HOME/daedal`, else `~/.cache/daedal`."""
    chosen = os.environ.get("DAEDAL_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "daedal"


def read(key: str) -> bytes | None:
    """The object kept under a key, if it is there, undamaged and this user's own."""
    try:
        path = find_folder() / f"{key}.o"
        with _open_folder(path.parent) as folder:
            content = path.read_bytes() if folder is None else _read_own_file(path.name, folder)
    except (OSError, RuntimeError):
        return None
    digest, data = content[:_DIGEST], content[_DIGEST:]
    if _compute_digest(key, data) != digest:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return data


def write(key: str, data: bytes) -> None:
    """Keeps an object under a key, if there is a folder for this user alone."""
    with contextlib.suppress(OSError, RuntimeError):
        place = find_folder()
        place.mkdir(_ALONE, parents=True, exist_ok=True)
        with _open_folder(place):
            handle, name = tempfile.mkstemp(dir=place, suffix=".part")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_compute_digest(key, data) + data)
                Path(name).replace(place / f"{key}.o")
            except BaseException:  # an interrupt too leaves no file
                Path(name).unlink(missing_ok=True)
                raise
            _remove_oldest(place)


def _compute_digest(key: str, data: bytes) -> bytes:
    return hashlib.sha256(f"{key}\0".encode() + data).digest()


@contextlib.contextmanager
def _open_folder(place: Path) -> Iterator[int | None]:
    """A descriptor of the folder, which nobody else may use, or an OSError; None where files have no owners."""
    if not _OWNED:
        yield None
        return
    folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        status = os.fstat(folder)
        _refuse_foreign(status)
        if status.st_mode & _OTHERS:
            _refuse_shared(folder)
            os.fchmod(folder, _ALONE)
        yield folder
    finally:
        os.close(folder)


def _refuse_shared(folder: int) -> None:
    """What holds more than compiled objects, somebody's home say, is not ours to close."""
    if not all(name.endswith((".o", ".part")) for name in os.listdir(folder)):
        raise PermissionError


def _read_own_file(name: str, folder: int) -> bytes:
    """What the file of that name holds; its descriptor is looked at, so that what is read is what was checked."""
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)  # a pipe would wait for ever
    try:
        status = os.fstat(file)
        _refuse_foreign(status)
        if not stat.S_ISREG(status.st_mode) or status.st_mode & _OTHERS_WRITE:
            raise PermissionError
        with os.fdopen(file, "rb", closefd=False) as content:
            return content.read()
    finally:
        os.close(file)


def _refuse_foreign(status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise PermissionError


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
