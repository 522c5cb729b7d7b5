"""How much memory there is for this process, and the refusal of what cannot fit before work on it starts.

Four things may be the end: the memory of the machine that is not in use, the limits of the control groups that the
process is in (containers and batch systems set them; versions 1 and 2), and the limit of its address space. Each counts
less what is in use already. Where the system tells none of them, nothing is refused.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from daedal.errors import OutOfMemoryError

SHARE = 0.9  # of what is available
SMALL = 1 << 24  # bytes for which no one need be asked
ROOT = Path("/")
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def check_memory(needed: float, subject: str, remedy: str) -> None:
    """Refuse what needs more bytes than there are: `subject` ends up before "needs about 7.5 TiB of memory"."""
    if needed <= SMALL:
        return
    available = find_available()
    if available is not None and needed > SHARE * available:
        raise OutOfMemoryError(
            f"{subject} needs about {format_bytes(needed)} of memory, but only {format_bytes(available)} are left.",
            remedy,
        )


def format_bytes(count: float) -> str:
    """A number of bytes as people say it: 7.5 TiB."""
    power = 0
    while count >= 1000 and power < len(UNITS) - 1:
        count, power = count / 1024, power + 1
    return f"{count:.3g} {UNITS[power]}"


def find_available(root: Path = ROOT) -> float | None:
    """Bytes that this process may still take; None where the system does not tell."""
    known = [*_ask_machine(root), *_ask_groups(root), *_ask_address_space(root)]
    return max(min(known), 0.0) if known else None


def _ask_machine(root: Path) -> Iterator[float]:
    """What is free, or would be if files that are kept in memory were dropped, with the swap space."""
    lines = [line.split() for line in _read(root / "proc/meminfo").splitlines()]
    kilobytes = {words[0].rstrip(":"): float(words[1]) for words in lines if len(words) > 1}
    if "MemAvailable" in kilobytes:
        yield 1024.0 * (kilobytes["MemAvailable"] + kilobytes.get("SwapFree", 0.0))
        return
    with suppress(ImportError, ValueError, OSError):  # no such file, as on macOS
        from os import sysconf

        yield float(sysconf("SC_PHYS_PAGES") * sysconf("SC_PAGE_SIZE"))


def _ask_groups(root: Path) -> Iterator[float]:
    """What the control groups leave; each lies in another, whose limit holds as well."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, place = line.split(":", 2)
        if controllers == "":
            yield from _climb(root / "sys/fs/cgroup", place, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            yield from _climb(root / "sys/fs/cgroup/memory", place, *names)


def _climb(top: Path, place: str, limit: str, usage: str, cached: str) -> Iterator[float]:
    """From a group to the top; in a container only the top may be visible."""
    parts = PurePosixPath(place).parts[1:]
    for depth in range(len(parts), -1, -1):
        folder = top.joinpath(*parts[:depth])
        most = _read(folder / limit).strip()
        if most.isdigit():  # and not "max"
            used = _read(folder / usage).strip()
            yield float(most) - (float(used) if used.isdigit() else 0.0) + _read_cached(folder, cached)


def _read_cached(folder: Path, name: str) -> float:
    """Of what a group uses, files that are kept in memory only as long as there is room."""
    lines = (line.split() for line in _read(folder / "memory.stat").splitlines())
    return next((float(words[1]) for words in lines if words[0] == name), 0.0)


def _ask_address_space(root: Path) -> Iterator[float]:
    with suppress(ImportError, ValueError, OSError):
        from resource import RLIM_INFINITY, RLIMIT_AS, getpagesize, getrlimit

        limit, _ = getrlimit(RLIMIT_AS)
        if limit != RLIM_INFINITY:
            pages = _read(root / "proc/self/statm").split()
            yield float(limit) - (float(pages[0]) * getpagesize() if pages else 0.0)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
