"""`main`: from the words of a command line to an exit code. Every failure is a sentence and a remedy."""

import logging
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, cast

from daedal import progress

TRUSTED, REFUSED, NOT_TRUSTED = 0, 1, 2
NOTHING_KEPT = "Stopped before anything was finished."  # where a verb does not say what is kept
INTERRUPTED, TERMINATED = 130, 143  # what shells expect of a program that was stopped by Ctrl-C, by SIGTERM


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `daedal` with the given arguments, or those of the command line, and return its exit code.

    0: done, and to be trusted; 1: refused, with a sentence; 2: finished, but not to be trusted, with the reasons; 130
    or 143: stopped by Ctrl-C or SIGTERM, with what is kept.

    Examples
    --------
    >>> main(["reproduce", "pendulum", "--full", "--out", "results"])  # doctest: +SKIP
    0
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    with _keep_settings(), _treat_termination_as_interrupt() as terminated:
        try:
            return _run(given)
        except KeyboardInterrupt as interrupt:
            print(interrupt.args[0] if interrupt.args else NOTHING_KEPT, file=sys.stderr)
            return TERMINATED if terminated else INTERRUPTED
        except BrokenPipeError:  # nobody reads any more, as with head
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return REFUSED
        except Exception as error:
            from daedal.errors import DaedalError  # not before: it loads numpy

            if not isinstance(error, DaedalError):
                raise
            print(f"{error.sentence}\n{error.remedy}", file=sys.stderr)
            return REFUSED


@contextmanager
def _keep_settings() -> Iterator[None]:
    """What --quiet silences speaks again afterwards, in a program that calls `main`."""
    logger, patience = logging.getLogger("daedal"), progress.PATIENCE
    level = logger.level
    with warnings.catch_warnings():
        try:
            yield
        finally:
            logger.setLevel(level)
            progress.PATIENCE = patience


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
    import typer

    from daedal.cli.application import application

    misused = cast(type[Exception], typer.BadParameter.__bases__[0])  # UsageError, wherever typer has it from
    command = typer.main.get_command(application)
    if "_DAEDAL_COMPLETE" in os.environ:  # a shell asks what may follow
        command.main(given, prog_name="daedal")
    try:
        _check_command(given, list(getattr(command, "commands", {})))
        with command.make_context("daedal", list(given)) as context:  # which takes words out of the list
            return command.invoke(context) or 0
    except typer.Exit as end:
        return end.exit_code
    except misused as error:
        raise _explain_usage(error, given) from None


def _check_command(given: list[str], commands: list[str]) -> None:
    if given and not given[0].startswith("-") and given[0] not in commands:
        from daedal.errors import ReportError, nearest

        asked = f"--{given[0]}"
        advice = f"Write daedal {asked}." if asked in ("--help", "--version") else nearest(given[0], commands)
        raise ReportError(f"There is no command '{given[0]}'.", advice)


def _explain_usage(error: Any, given: list[str]) -> Exception:
    """A sentence and a remedy, as everything else has."""
    from daedal.errors import ReportError, nearest

    context = error.ctx
    help_text = f"Write {context.command_path if context else 'daedal'} --help to see what there is."
    option = str(getattr(error, "option_name", ""))
    if type(error).__name__ == "NoSuchOption":
        begin = next((k for k, word in enumerate(given) if word.partition("=")[0] == option), 0)
        known = [name for parameter in context.command.params for name in parameter.opts if name.startswith("--")]
        advice = nearest(option, known) if context else help_text
        return ReportError(f"The command is not understood: unrecognized arguments: {' '.join(given[begin:])}.", advice)
    if type(error).__name__ == "MissingParameter" and error.param is not None:
        usage = re.sub(r"[{}]", "", " ".join(context.command.get_usage(context).split()[1:]))
        return ReportError(
            f"The command is not understood: the following arguments are required: {error.param.name}.",
            f"Write {usage}",
        )
    message = error.format_message().rstrip(".")
    return ReportError(f"The command is not understood: {message[:1].lower()}{message[1:]}.", help_text)
