r"""`save` and `load`: a fit on disk, never half of one, never another one.

A file is netCDF, and behind it one line with the SHA-256 of all bytes before, which HDF5 does not look at:

    daedal fit: sha256 <64 digits> of <20 digits> bytes

`load` compares it before HDF5 sees anything. A file without that line (of version 0.1.0, written again by another tool,
cut off) is read in a process of its own. Then the digests of the variables are compared. They tell damage, not malice.

The format has a number. This version writes 2, which has digests, and reads 1, that of daedal 0.1.0, too; whatever a
released version wrote will be read by all later ones.
"""

import os
import re
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

from daedal.errors import EstimationError, RefusalError, refuse_shortage, show, tell_reason, warn_user
from daedal.estimation.result import Fit
from daedal.estimation.storage.consistency import find_contradictions
from daedal.estimation.storage.content import list_variables, make_fit
from daedal.estimation.storage.netcdf import (
    Contents,
    UnreadableError,
    combine_digests,
    compute_digests,
    read_apart,
    read_netcdf,
    write_netcdf,
)
from daedal.files import resolve

FORMAT = "daedal fit"
VERSION = 2
FIRST_WITH_DIGESTS = 2
SIGNATURE = b"\x89HDF\r\n\x1a\n"  # what every such file begins with
LAST_LINE = re.compile(rb"\ndaedal fit: sha256 ([0-9a-f]{64}) of ([0-9]{20}) bytes\n")
LAST_LENGTH = 115
WRITTEN = "Give a file that fit.save(path) or study(journal=path) wrote."
LARGEST = 2**32  # bytes: what is larger would not fit into the memory of many computers


def save(fit: Fit, path: str | Path) -> None:
    """Write everything in a fit to a file, and try to read it; only then it replaces an existing one."""
    goal = _check_goal(path)
    content = _write_content(fit)
    part = goal.with_name(f".daedal-{uuid4().hex}")  # not longer than names may be
    try:
        _write_bytes(part, content)
        _check_same(fit, part)
        if goal.exists():
            part.chmod(stat.S_IMODE(goal.stat().st_mode))
        part.replace(goal)
        _write_down_names(goal.parent)
    except OSError as error:
        refuse_shortage(error, "Saving the fit")
        raise EstimationError(
            f"The fit could not be written to '{path}': {error.strerror or error}.",
            "Save it where files can be written and there is room.",
        ) from None
    except Exception as error:
        refuse_shortage(error, "Saving the fit")
        raise
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def load(path: str | Path) -> Fit:
    """The fit that `fit.save(path)` wrote, complete: model, data, estimates, seed and all.

    `daedal.load`, which users call, says the rest.
    """
    file = _check_path(path)
    mode = _find_mode(file)
    if mode is None:
        raise EstimationError(f"There is no file '{file}' to load.", WRITTEN)
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a device or a pipe"
        raise EstimationError(f"'{file}' is {kind}, not a file.", WRITTEN)
    try:
        return _read_fit(file)
    except Exception as error:
        refuse_shortage(error, f"Reading '{file}'")
        raise


def pack_fit(fit: Fit) -> bytes:
    """The bytes of a file with this fit, for another file or another process."""
    return _write_content(fit)


def unpack_fit(content: bytes, owner: Path) -> Fit:
    """The fit that `pack_fit` made these bytes of; a sentence about damage names the owner."""
    try:
        return _make_fit(owner, _open_contents(owner, content))
    except UnreadableError as error:
        raise _explain_damage(owner, str(error)) from None


def _read_fit(file: Path) -> Fit:
    return _make_fit(file, _read_contents(file))


def _make_fit(file: Path, contents: Contents) -> Fit:
    _check_labels(file, contents.labels)
    has_digests = contents.labels["version"] >= FIRST_WITH_DIGESTS or bool(contents.digests)
    if has_digests:
        _check_digests(file, contents)
    try:
        fit = make_fit(contents.variables)
        wrong = [] if has_digests else list(find_contradictions(fit))
    except EstimationError:
        raise  # a criterion that is not there
    except RefusalError as error:
        raise _explain_damage(file, error.sentence.rstrip(".")) from None
    except Exception as error:  # what a damaged text may say is not foreseen
        refuse_shortage(error, f"Reading '{file}'")
        raise _explain_damage(file, f"{type(error).__name__}: {error}") from None
    if wrong:
        raise _explain_damage(file, f"{' and '.join(wrong)} contradict the rest of it")
    if not has_digests:
        warn_user(
            f"'{file}' was saved by daedal 0.1.0, without digests: if it was damaged since, that may not show. "
            "Save the fit again to have them."
        )
    return fit


def _read_contents(file: Path) -> Contents:
    try:
        return _open_contents(file, _read_bytes(file))
    except UnreadableError as error:
        raise _explain_damage(file, str(error)) from None
    except OSError as error:
        raise EstimationError(
            f"'{file}' could not be read: {error.strerror or error}.", "Look at its permissions and its disk."
        ) from None


def _open_contents(file: Path, content: bytes) -> Contents:
    last = LAST_LINE.fullmatch(content[-LAST_LENGTH:])
    if not last:
        return read_apart(content)
    body = content[:-LAST_LENGTH]
    if len(body) != int(last[2]) or sha256(body).hexdigest().encode() != last[1]:
        raise _explain_damage(file, "its bytes are not those that were saved")
    return read_netcdf(body)


def _read_bytes(file: Path) -> bytes:
    """All of a file that begins or ends as a fit does."""
    with file.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > LARGEST:
            raise EstimationError(
                f"'{file}' has {size} bytes, more than a saved fit may have ({LARGEST}).",
                WRITTEN,
            )
        first = stream.read(len(SIGNATURE))
        stream.seek(max(size - LAST_LENGTH, 0))
        if first != SIGNATURE and not LAST_LINE.fullmatch(stream.read()):
            raise _explain_foreign(file)
        stream.seek(0)
        return stream.read(size)  # room is made for as many as are asked for


def _check_labels(file: Path, labels: dict[str, Any]) -> None:
    version = labels.get("version")
    if labels.get("format") != FORMAT:
        raise _explain_foreign(file)
    if not isinstance(version, int) or version < 1:
        raise _explain_damage(file, f"its format has the number {version!r}")
    if version > VERSION:
        raise EstimationError(
            f"'{file}' was written by a newer daedal: its format is {version}, this one reads up to {VERSION}.",
            "Update daedal.",
        )


def _check_digests(file: Path, contents: Contents) -> None:
    digests = compute_digests(contents.variables)
    for name, digest in digests.items():
        if contents.digests.get(name) != digest:
            raise _explain_damage(file, f"'{name}' is not what was saved")
    if contents.labels.get("sha256") != combine_digests(contents.labels, digests):
        raise _explain_damage(file, "its variables are not those that were saved")


def _explain_foreign(file: Path) -> EstimationError:
    return EstimationError(f"'{file}' is not a file that daedal saved, neither a fit nor a journal.", WRITTEN)


def _explain_damage(file: Path, reason: str) -> EstimationError:
    return EstimationError(f"'{file}' is damaged: {reason}.", "Save the fit again, or take a copy of the file.")


def _check_path(path: Any) -> Path:
    if not isinstance(path, (str, Path)):
        raise EstimationError(f"The path must be text or a Path, got {show(path)}.", "Write 'house.nc'.")
    try:
        writable = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        writable = False
    if not writable:
        raise EstimationError(f"The path {str(path)!r} contains a character that no path can have.", "Leave it out.")
    return Path(path)


def _find_mode(file: Path) -> int | None:
    """What kind of file there is, None without one."""
    try:
        return file.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise EstimationError(
            f"'{file}' cannot be looked at: {error.strerror or error}.", "Give another path."
        ) from None


def _check_goal(path: Any) -> Path:
    """The file to replace; where the path is a link, the one that it leads to."""
    goal = resolve(_check_path(path))
    mode, folder = _find_mode(goal), _find_mode(goal.parent)
    if folder is None or not stat.S_ISDIR(folder):
        raise EstimationError(f"There is no folder '{goal.parent}' to save the fit in.", "Make the folder first.")
    if mode is None:
        return goal
    if stat.S_ISDIR(mode):
        raise EstimationError(f"'{path}' is a folder.", f"Name a file in it: '{Path(path) / 'fit.nc'}'.")
    if not stat.S_ISREG(mode):
        raise EstimationError(f"'{path}' is a device or a pipe, not a file.", "Name a file.")
    if not mode & 0o222:
        raise EstimationError(f"'{path}' is protected from being written.", "Choose another name, or allow it.")
    return goal


def _write_content(fit: Fit) -> bytes:
    try:
        body = write_netcdf({"format": FORMAT, "version": VERSION}, list_variables(fit))
    except UnicodeEncodeError as error:
        raise EstimationError(
            f"The fit cannot be saved: the text of its model contains {error.object[error.start]!r}, which no file can "
            "hold.",
            "Rename what has it in its name.",
        ) from None
    except (AttributeError, TypeError, ValueError) as error:  # fields that are neither numbers nor texts
        raise EstimationError(
            f"The fit cannot be saved: {tell_reason(error)}.", "Save it as fit(...) returned it."
        ) from None
    if len(body) > LARGEST - LAST_LENGTH:
        raise EstimationError(
            f"The fit would have {len(body)} bytes, more than a file of it may have ({LARGEST}).", "Fit fewer samples."
        )
    return body + f"\ndaedal fit: sha256 {sha256(body).hexdigest()} of {len(body):020d} bytes\n".encode()


def _write_bytes(part: Path, content: bytes) -> None:
    """And wait until they are on the disk: power may fail after the name is changed."""
    with part.open("xb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _write_down_names(folder: Path) -> None:
    """Where that can be done: on Windows folders cannot be opened, and some that can be written cannot be read."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _check_same(fit: Fit, part: Path) -> None:
    """Whether what was written reads back as the same fit."""
    try:
        again = list_variables(_read_fit(part))
    except EstimationError as error:
        sentence = error.sentence.replace(f"'{part}' is damaged: ", "")
        raise EstimationError(
            f"The fit cannot be saved, because it could not be read back: {sentence}",
            "Use what daedal itself offers in its place, or keep the fit in memory.",
        ) from None
    digests, others = compute_digests(list_variables(fit)), compute_digests(again)
    for name, digest in digests.items():
        if others.get(name) != digest:
            raise EstimationError(
                f"The fit cannot be saved, because its {name} would not read back as it is.",
                "Use what daedal itself offers in its place, or keep the fit in memory.",
            )
