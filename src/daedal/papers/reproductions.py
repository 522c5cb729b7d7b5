"""`reproduce`: any of the papers by its name."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from daedal.papers.result_files import Result

PAPERS = ("descriptor", "order", "pendulum", "reactor")


def reproduce(paper: str, directory: str | Path, *, full: bool = False, workers: int | None = None) -> Iterator[Result]:
    """Work through a paper, one of `PAPERS`; each result is yielded when its files are complete.

    `workers` processes share the work where there are many data sets.
    """
    return import_module(f"daedal.papers.{paper}").reproduce(directory, full=full, workers=workers)
