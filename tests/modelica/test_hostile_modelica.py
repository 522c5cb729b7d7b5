"""No Modelica text or file ends, holds up or fills the process that reads it."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import daedal as dd
from daedal.modelica import translation
from daedal.modelica.source import LARGEST

DECAY = "model D\n  Real x(start = 1, fixed = true);\nequation\n  der(x) = {};\nend D;\n"


def refusal(given, model=None) -> str:
    with pytest.raises(dd.DaedalError) as refused:
        dd.read_modelica(given, model)
    return str(refused.value)


def test_a_sum_of_thousands_of_terms_is_read():
    model = dd.read_modelica(DECAY.format(" + ".join(f"{k}*x" for k in range(1, 2001))))
    assert pytest.approx(2_001_000) == dd.descriptor(model.with_outputs({"x": dd.symbol("x")})).F  # 1 + 2 + ... + 2000


def test_ten_thousand_brackets_are_read():
    assert dd.read_modelica(DECAY.format("(" * 10_000 + "-x" + ")" * 10_000)).name == "D"


def test_what_would_overflow_any_stack_is_refused():
    assert "cannot be translated: it " in refusal(DECAY.format("(" * 2_000_000 + "x" + ")" * 2_000_000))


def test_a_formula_deeper_than_python_recurses_is_refused():
    assert "nested too deeply" in refusal(DECAY.format("sin(" * 600 + "x" + ")" * 600))


HUGE = {
    "an array": "model M Real x[1000000000]; equation x = ones(1000000000); end M;",
    "a sum": "model M Real x; equation x = sum(fill(1, 1000000000)); end M;",
    "a range": "model M Real x; equation x = sum(1:1000000000); end M;",
    "a loop": "model M Real x[3]; equation for i in 1:1000000000 loop x[i] = i; end for; end M;",
}


@pytest.mark.parametrize("case", HUGE)
def test_what_fits_into_no_memory_is_refused(case):
    assert "needs more than 4 GB of memory. Use smaller arrays" in refusal(HUGE[case])


def test_arrays_that_rumoca_does_not_write_out_are_limited_too():
    matrix = "model M\nparameter Real p[100000,100000] = identity(100000); Real x; equation x = p[1,1]; end M;"
    assert "line 2: 'p' has 10000000000 elements, more than 1000000" in refusal(matrix)
    vector = "model M parameter Integer n = 1000000000; parameter Real p[n]; Real x; equation x = p[1]; end M;"
    assert "'p' has 1000000000 elements" in refusal(vector)


def test_a_text_that_takes_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(translation, "SECONDS", 1e-3)
    assert "takes longer than" in refusal(DECAY.format("-x"))


def test_only_ordinary_files_are_read(tmp_path):
    assert "is a device or a pipe. Copy what it gives into a file" in refusal("/dev/zero")
    os.mkfifo(tmp_path / "pipe.mo")
    assert "is a device or a pipe" in refusal(tmp_path / "pipe.mo")
    assert "has a character in its name that no file can have" in refusal("a\0b.mo")
    assert "has a character in its name that no file can have" in refusal("a\ud800.mo")
    with (tmp_path / "large.mo").open("wb") as file:
        file.truncate(LARGEST + 1)  # takes no room
    assert "has 10 MB, more than 10 MB" in refusal(tmp_path / "large.mo")
    (tmp_path / "binary.mo").write_bytes(bytes(range(256)))
    assert "is not UTF-8 text" in refusal(tmp_path / "binary.mo")
    (tmp_path / "zeros.mo").write_bytes(b"model A\n\0\nend A;")
    assert "zeros.mo, line 2: '\\x00' is no character of a text" in refusal(tmp_path / "zeros.mo")
    assert "'\\ud800' is no character" in refusal(DECAY.format("\ud800"))
    assert "The name of a model must be a text" in refusal(DECAY.format("x"), "\ud800")


def test_a_text_has_a_largest_size():
    assert "has more than 10000000 characters" in refusal("\n" * (LARGEST + 1))


def run(code: str, folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    return done.stdout


def test_a_script_without_a_guard_reads_and_nothing_of_its_folder_is_executed(tmp_path):
    for name in ("json", "threading", "resource", "rumoca"):
        (tmp_path / f"{name}.py").write_text("print('executed')")
    code = (
        f"import sys; sys.path.pop(0)\nimport daedal\nprint('once', daedal.read_modelica({DECAY.format('-x')!r}).name)"
    )
    (tmp_path / "script.py").write_text(code)
    assert run(code, tmp_path) == "once D\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_stops_the_child_as_well(monkeypatch, tmp_path):
    # A child that would run for ever, and tells its number once it has been asked: its parent waits for it then.
    child = tmp_path / "child.py"
    child.write_text(
        "import os, sys, time\nsys.stdin.read()\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\nwhile True:\n  time.sleep(600)"
    )
    monkeypatch.setattr(translation.rumoca_child, "__file__", str(child))

    def interrupt():
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            pass
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it for background jobs
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            dd.read_modelica(DECAY.format("-x"))
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
