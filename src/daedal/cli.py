"""The command `daedal`."""

import argparse
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from daedal.errors import DaedalError, ReportError, check_whole_number, counted, nearest, quoted
from daedal.papers import PAPERS, Result, count_pieces, reproduce

COMMANDS = ("reproduce",)
MOST_WORKERS = 4096
INTERRUPTED, TERMINATED = 130, 143  # what shells expect of a program that was stopped by Ctrl-C, by SIGTERM


class _Parser(argparse.ArgumentParser):
    """Answers a mistake with a sentence and a remedy, as everything else does."""

    def error(self, message: str) -> NoReturn:
        usage = " ".join(self.format_usage().split()[1:])
        raise ReportError(f"The command is not understood: {message}.", f"Write {usage}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `daedal` with the given arguments, or those of the command line; 0 when all went well.

    Examples
    --------
    >>> main(["reproduce", "pendulum", "--full", "--out", "results"])  # doctest: +SKIP
    0
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    with _treat_termination_as_interrupt() as terminated:
        try:
            return _run(given)
        except DaedalError as refused:
            print(f"{refused.sentence}\n{refused.remedy}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            return TERMINATED if terminated else INTERRUPTED


@contextmanager
def _treat_termination_as_interrupt() -> Iterator[list[int]]:
    """SIGTERM does what Ctrl-C does, and is listed; threads other than the main one have no signals."""
    received: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        received.append(number)
        pressed = signal.getsignal(signal.SIGINT)
        if callable(pressed):  # a verb that is under way notes it, should the exception get lost
            pressed(signal.SIGINT, frame)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield received
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(given: list[str]) -> int:
    parser = _make_parser()
    if not given:
        parser.print_help()
        return 0
    if not given[0].startswith("-") and given[0] not in COMMANDS:
        raise ReportError(f"There is no command '{given[0]}'.", nearest(given[0], COMMANDS))
    asked = parser.parse_args(given)
    if asked.paper not in PAPERS:
        raise ReportError(f"There is no paper '{asked.paper}' to reproduce.", nearest(asked.paper, PAPERS))
    folder = asked.out or f"{asked.paper}-paper"
    _tell(reproduce(asked.paper, folder, full=asked.full, workers=_read_workers(asked.workers)), folder)
    return 0


def _read_workers(given: str | None) -> int | None:
    if given is None:
        return None
    sentence, remedy = "The number of workers must be a whole number from 1 on", "Write --workers 4."
    number = int(given) if given.isdecimal() else given
    return check_whole_number(number, ReportError, sentence, remedy, least=1, most=MOST_WORKERS)


def _make_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="daedal", description="Physical models from data, with disturbances nobody measured.")
    commands = parser.add_subparsers(title="commands", metavar="reproduce", required=True)
    command = commands.add_parser(
        "reproduce",
        help="run the experiment of a published paper",
        description="Run the experiment of a published paper; prints its tables and writes CSV files and figures.",
    )
    command.add_argument("paper", help=f"which one: {quoted(PAPERS)}")
    size = command.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="small sizes, a minute or two (default)")
    size.add_argument("--full", action="store_true", help="the sizes of the paper, some minutes")
    command.add_argument("--workers", metavar="N", help="processes that share the work")
    command.add_argument("--out", metavar="DIR", help="folder for the files (default: PAPER-paper)")
    return parser


def _tell(results: Iterator[Result], folder: str) -> None:
    """Print each result as it is finished; on Ctrl-C say what is kept, before it goes on."""
    kept: list[Path] = []
    try:
        for result in results:
            kept += result.files
            files = f"\n\nfiles: {_list_files(result.files)}" if result.files else ""
            print(f"{result.text}{files}\n", flush=True)
    except KeyboardInterrupt:
        print(f"Stopped. {_describe_kept(kept, count_pieces(folder))}", file=sys.stderr)
        raise


def _describe_kept(kept: list[Path], pieces: int) -> str:
    if not kept and not pieces:
        return "Nothing was finished yet."
    listed = [f"Kept: {_list_files(kept)}."] if kept else []
    listed += [f"{counted(pieces, 'finished piece')} kept: the same command goes on from there."] if pieces else []
    return " ".join(listed)


def _list_files(files: Sequence[Path]) -> str:
    """The files under their common folder."""
    return f"{', '.join(path.name for path in files)} in {files[0].parent}"


if __name__ == "__main__":
    sys.exit(main())
