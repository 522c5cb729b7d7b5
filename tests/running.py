"""Scripts run as a user runs them, in a folder of their own, and what they print is read."""

import re
import subprocess
import sys
from pathlib import Path

import runs

ROOT = Path(__file__).parents[1]


def run(script: str | Path, *arguments: str | Path, folder: Path) -> str:
    """What it prints; it must end well."""
    done = attempt(script, *arguments, folder=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_example(name: str, folder: Path) -> str:
    """What an example prints without a file; it leaves one picture, which the site shows."""
    printed = run(example(name), folder=folder)
    runs.keep_example(example(name), printed, folder)
    return printed


def attempt(script: str | Path, *arguments: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """However it ends."""
    command = [sys.executable, str(script), *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def example(name: str) -> Path:
    return ROOT / "examples" / name


def number(pattern: str, printed: str) -> float:
    """The first number that the pattern finds."""
    found = re.search(pattern, printed)
    assert found, f"nothing printed is like {pattern!r}:\n{printed}"
    return float(found[1])


def interval(name: str, printed: str) -> tuple[float, float]:
    """The 95 % interval of a parameter in the last table of a fit that was printed."""
    rows = re.findall(rf"^  {re.escape(name)} .*?(\S+) … (\S+)", printed, re.MULTILINE)
    assert rows, f"no interval of {name!r} was printed:\n{printed}"
    low, high = rows[-1]
    return float(low), float(high)


def held(truth: dict[str, float], printed: str) -> bool:
    """Whether every one of these intervals holds the truth."""
    return all(low <= truth[name] <= high for name in truth for low, high in [interval(name, printed)])
