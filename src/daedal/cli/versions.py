"""`daedal --version`: what a bug report needs, one line each."""

import platform
from pathlib import Path

from daedal.records import list_versions


def print_versions() -> None:
    """One line each, the processor last."""
    for name, number in list_versions().items():
        print(f"{name} {number}")
    print(f"CPU {find_processor()}, {platform.system()} {platform.release()}")


def find_processor() -> str:
    """Its name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"
