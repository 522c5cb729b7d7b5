"""`reproduce`: any of the papers by its name."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from daedal.papers.result_files import Result

PAPERS = ("descriptor", "order", "pendulum", "reactor")


def reproduce(paper: str, directory: str | Path, *, full: bool = False) -> Iterator[Result]:
    """Work through a paper, one of `PAPERS`; each result is yielded when its files are complete."""
    return import_module(f"daedal.papers.{paper}").reproduce(directory, full=full)
