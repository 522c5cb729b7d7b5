"""`daedal reproduce`: the experiments of published papers."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from daedal.errors import ReportError, check_whole_number, counted, nearest
from daedal.papers import PAPERS, Result, count_pieces, reproduce

MOST_WORKERS = 4096


def run_paper(paper: str, *, quick: bool, full: bool, workers: str | None, out: str | None) -> int:
    """Print its tables and write its files."""
    if quick and full:
        raise ReportError(
            "The command is not understood: argument --full: not allowed with argument --quick.", "Write one of them."
        )
    if paper not in PAPERS:
        raise ReportError(f"There is no paper '{paper}' to reproduce.", nearest(paper, PAPERS))
    folder = out or f"{paper}-paper"
    _tell(reproduce(paper, folder, full=full, workers=_read_workers(workers)), folder)
    return 0


def _read_workers(given: str | None) -> int | None:
    if given is None:
        return None
    sentence, remedy = "The number of workers must be a whole number from 1 on", "Write --workers 4."
    number = int(given) if given.isdecimal() else given
    return check_whole_number(number, ReportError, sentence, remedy, least=1, most=MOST_WORKERS)


def _tell(results: Iterator[Result], folder: str) -> None:
    """Print each result as it is finished; on Ctrl-C say what is kept, before it goes on."""
    kept: list[Path] = []
    try:
        for result in results:
            kept += result.files
            files = f"\n\nfiles: {_list_files(result.files)}" if result.files else ""
            print(f"{result.text}{files}\n", flush=True)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"Stopped. {_describe_kept(kept, count_pieces(folder))}") from None


def _describe_kept(kept: list[Path], pieces: int) -> str:
    if not kept and not pieces:
        return "Nothing was finished yet."
    listed = [f"Kept: {_list_files(kept)}."] if kept else []
    listed += [f"{counted(pieces, 'finished piece')} kept: the same command goes on from there."] if pieces else []
    return " ".join(listed)


def _list_files(files: Sequence[Path]) -> str:
    """The files under their common folder."""
    return f"{', '.join(path.name for path in files)} in {files[0].parent}"
