"""Runs that cost nothing and need little, for what is about processes alone; some of them misbehave."""

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from daedal.studies import CONVERGED, Charter, Make, Row, write_charter


def charter_runs(folder: Path, trouble: Mapping[int, str]) -> Charter:
    """Run number → what it does to the process that makes it or to its parent: die, die once, interrupt parent."""
    return write_charter("light_runs:prepare_runs", {"folder": str(folder), "trouble": list(trouble.items())})


def prepare_runs(content: Mapping[str, Any]) -> Make:
    trouble, folder = dict(content["trouble"]), Path(content["folder"])

    def make(number: int) -> Row:
        what, mark = trouble.get(number, ""), folder / f"mark {number}"
        before = mark.exists()
        mark.touch()
        if what == "die" or (what == "die once" and not before):
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "interrupt parent" and not before:
            os.kill(os.getppid(), signal.SIGINT)
            time.sleep(600.0)  # it is given up
        return Row(number, CONVERGED, numbers=(number**0.5,))

    return make
