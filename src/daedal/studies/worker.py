"""A process that makes runs: a charter comes in by its standard input, then numbers; rows go out, one line each.

Ctrl-C is not for it. When whoever started it is gone, its input ends, and so does it, whatever it is doing.
"""

import json
import os
import queue
import signal
import sys
import threading
from typing import IO

NAMES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")  # set to one before numpy is loaded


def main() -> None:
    """Serve until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what others print is no answer
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin, lines), daemon=True).start()
    _serve(lines, answers)


def _listen(stream: IO[str], lines: "queue.SimpleQueue[str]") -> None:
    for line in stream:
        lines.put(line)
    os._exit(0)


def _serve(lines: "queue.SimpleQueue[str]", answers: IO[str]) -> None:
    import warnings

    from daedal.errors import DaedalError
    from daedal.jobs import limit_threads
    from daedal.studies.charter import prepare, read_charter, write_row

    limit_threads(1)
    warnings.simplefilter("ignore")
    try:
        make = prepare(read_charter(lines.get()))
    except DaedalError as refused:
        _tell(answers, json.dumps({"sentence": refused.sentence, "remedy": refused.remedy}))
        return
    _tell(answers, json.dumps({"ready": os.getpid()}))
    while True:
        _tell(answers, write_row(make(int(lines.get()))))


def _tell(answers: IO[str], line: str) -> None:
    answers.write(line + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
