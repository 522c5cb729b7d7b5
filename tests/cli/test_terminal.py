"""The command in a shell: in a terminal it shows its progress, in pipes it does not, and Ctrl-C keeps what it says."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys

import pytest

import daedal as dd
from daedal.cli import INTERRUPTED, REFUSED, TERMINATED, TRUSTED
from rigs import PROJECT, list_files, write_rig

COMMAND = [sys.executable, "-m", "daedal"]
PATIENCE = 120.0  # seconds, on a machine that others use


def run(folder, *arguments, **environment):
    given = {**os.environ, **environment}
    return subprocess.run([*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, env=given)


class Terminal:
    """A process with a terminal of its own, as somebody at a keyboard has it."""

    def __init__(self, folder, *arguments):
        self.master, slave = pty.openpty()

        def take_terminal():
            os.setsid()
            import fcntl
            import termios

            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGINT, signal.default_int_handler)

        given = {**os.environ, "COLUMNS": "200", "TERM": "xterm"}
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=folder,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=given,
            preexec_fn=take_terminal,
        )
        os.close(slave)
        self.shown = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE)
        os.close(self.master)

    def wait_for(self, pattern: str) -> None:
        silent = 0
        while not re.search(pattern, self.shown):
            before = len(self.shown)
            assert self._read(), f"ended before {pattern!r}:\n{self.shown[-1000:]}"
            silent = silent + 1 if len(self.shown) == before else 0
            assert silent < PATIENCE, self.shown[-1000:]

    def press_interrupt(self) -> None:
        os.write(self.master, b"\x03")

    def finish(self) -> int:
        while self._read():
            pass
        return self.process.wait(PATIENCE)

    def _read(self) -> bool:
        ready, _, _ = select.select([self.master], [], [], 1.0)
        if not ready:
            return True
        try:
            piece = os.read(self.master, 65536)
        except OSError:  # what Linux answers when the other side is closed
            return False
        self.shown += piece.decode(errors="replace")
        return bool(piece)


def test_from_a_csv_file_to_a_page_in_three_commands(tmp_path):
    """As somebody does who has a file and no Python."""
    write_rig(tmp_path)
    for name in ("rig.toml", "oven.toml", "run2.csv"):
        (tmp_path / name).unlink()
    begun = run(tmp_path, "new", "oven", "--data", "run1.csv")
    assert begun.returncode == TRUSTED, begun.stderr
    assert begun.stdout.splitlines()[-1] == "Next: daedal check oven.toml"
    checked = run(tmp_path, "check", "oven.toml")
    assert checked.returncode == TRUSTED, checked.stderr
    fitted = run(tmp_path, "fit", "oven.toml", "--json")
    assert fitted.returncode in (0, 2), fitted.stderr
    numbers = json.loads(fitted.stdout)
    assert abs(numbers["Parameters"]["ParVector"]["gain"] - 2.5) < 0.1  # the first model is of the right kind
    assert "\r" not in fitted.stderr
    assert list_files(tmp_path / "results") == {"oven.nc", "oven.json", "oven.html"}


def test_help_loads_nothing_heavy():
    look = "import sys; from daedal.cli import main; main(['--help']); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout
    assert not {"numpy", "casadi", "rich.console", "scipy", "pandas"}.intersection(loaded.split())


def test_a_shell_completes_commands_and_files(tmp_path):
    write_rig(tmp_path)
    words = {"COMP_WORDS": "daedal ch", "COMP_CWORD": "1", "_DAEDAL_COMPLETE": "complete_bash"}
    assert run(tmp_path, **words).stdout.split() == ["check"]
    words |= {"COMP_WORDS": "daedal check r", "COMP_CWORD": "2"}
    assert run(tmp_path, **words).stdout.split() == ["rig.toml"]


def test_a_reader_that_goes_away_is_no_failure_of_ours(tmp_path):
    piped = subprocess.run(f"{sys.executable} -m daedal --help | head -1", shell=True, capture_output=True, text=True)
    assert piped.stdout.startswith("Usage: daedal")
    assert "Traceback" not in piped.stderr


LONG = PROJECT.replace("[estimate]", "[estimate]\nstarts = { latin_hypercube = 150 }")


@pytest.mark.slow
def test_ctrl_c_in_a_terminal_keeps_the_best_values(tmp_path):
    write_rig(tmp_path, LONG)
    with Terminal(tmp_path, "fit", "rig.toml") as terminal:
        terminal.wait_for(r"fitting 'oven': .*\d")  # how far it is
        terminal.press_interrupt()
        assert terminal.finish() == INTERRUPTED
    assert "The best values so far are kept in results/rig.interrupted.nc" in terminal.shown
    assert "Traceback" not in terminal.shown
    assert list_files(tmp_path / "results") == {"rig.interrupted.nc"}
    assert dd.load(tmp_path / "results" / "rig.interrupted.nc").status.interrupted


@pytest.mark.slow
def test_a_study_that_is_stopped_goes_on(tmp_path):
    write_rig(tmp_path)
    with Terminal(tmp_path, "study", "rig.toml", "--runs", "10000") as terminal:
        terminal.wait_for(r"\d+/10000")
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.finish() == TERMINATED
    kept = re.search(r"(\d+) of 10000 runs are kept in results/rig.bootstrap.study; the same", terminal.shown)
    assert kept
    assert len(dd.load(tmp_path / "results" / "rig.bootstrap.study").numbers) == int(kept[1]) > 0


def test_mistakes_in_a_shell(tmp_path):
    done = run(tmp_path, "fit", "rig.toml")
    assert (done.returncode, done.stdout) == (REFUSED, "")
    assert done.stderr.splitlines()[0] == "There is no project 'rig.toml'."
