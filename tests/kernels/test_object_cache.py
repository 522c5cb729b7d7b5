"""Compiled objects on disk: hits, damage, folders that cannot be written, bounded size, other targets."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from pendulum_step import pendulum

from daedal.kernels import cache, compile_map, compiler, loops
from daedal.kernels.emitter import write_module
from daedal.kernels.math.functions import FUNCTIONS, define_function
from daedal.kernels.noise.normals import write_normals
from daedal.kernels.tape import read_tape
from daedal.kernels.target import Target, find_host

X = ca.SX.sym("x")
ARM = Target("aarch64-unknown-linux-gnu", "neoverse-n1", "+neon", 2, True)
PLAIN = Target("x86_64-unknown-linux-gnu", "x86-64", "", 2, False)
HASWELL = Target("x86_64-unknown-linux-gnu", "haswell", "", 4, True)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty cache, and nothing remembered in the process."""
    monkeypatch.setenv("DAEDAL_CACHE", str(tmp_path / "objects"))
    compiler.forget()
    yield tmp_path / "objects"
    compiler.forget()


@pytest.fixture
def builds(monkeypatch):
    """Counts the compilations."""
    made = []
    build = compiler.build
    monkeypatch.setattr(compiler, "build", lambda *a: made.append(1) or build(*a))
    return made


def evaluate():
    return compile_map(ca.Function("f", [X], [X * X + 1]))(np.array([[3.0]]))[0][0, 0]


def test_the_second_time_nothing_is_compiled(place, builds):
    assert evaluate() == 10
    assert len(list(place.glob("*.o"))) == 1
    compiler.forget()
    assert evaluate() == 10
    assert len(builds) == 1


@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_a_damaged_file_is_replaced(place, builds, damage):
    evaluate()
    file = next(place.glob("*.o"))
    whole = file.read_bytes()
    file.write_bytes(whole[:-100] + bytes(100) if damage is None else damage)
    compiler.forget()
    assert evaluate() == 10
    assert len(builds) == 2
    assert file.read_bytes() == whole


def test_another_object_under_this_key_is_noticed(place, builds):
    evaluate()
    file = next(place.glob("*.o"))
    whole = file.read_bytes()
    compile_map(ca.Function("f", [X], [X * X + 2]))
    (other,) = set(place.glob("*.o")) - {file}
    file.write_bytes(other.read_bytes())
    compiler.forget()
    assert evaluate() == 10
    assert len(builds) == 3
    assert file.read_bytes() == whole


def disown(path):
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    os.chown(path, os.geteuid() + 1, -1)


def replace_by_link(path):
    moved = path.parent.parent / "elsewhere"
    path.rename(moved)
    path.symlink_to(moved)


def replace_by_pipe(path):
    path.unlink()
    os.mkfifo(path)


@pytest.mark.skipif(os.name != "posix", reason="files have no owners")
@pytest.mark.parametrize(
    "change", [disown, lambda path: path.chmod(0o620), lambda path: path.chmod(0o602), replace_by_link, replace_by_pipe]
)
def test_a_file_that_others_could_have_written_is_replaced(place, builds, change):
    evaluate()
    file = next(place.glob("*.o"))
    change(file)
    compiler.forget()
    assert evaluate() == 10
    assert len(builds) == 2
    status = file.lstat()
    assert stat.S_ISREG(status.st_mode)
    assert (stat.S_IMODE(status.st_mode), status.st_uid) == (0o600, os.geteuid())


@pytest.mark.skipif(os.name != "posix", reason="files have no owners")
@pytest.mark.parametrize("mode", [0o755, 0o775, 0o777])
def test_the_folder_is_for_this_user_alone(place, builds, mode):
    evaluate()
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    place.chmod(mode)
    compiler.forget()
    assert evaluate() == 10
    assert len(builds) == 1
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


@pytest.mark.skipif(os.name != "posix", reason="files have no owners")
def test_a_folder_of_other_things_is_neither_closed_nor_used(place, builds):
    """`$DAEDAL_CACHE` may name a home, or, of root, what all share."""
    place.mkdir(mode=0o755)
    (place / "letter.txt").write_text("not ours")
    assert evaluate() == 10
    assert len(builds) == 1
    assert stat.S_IMODE(place.stat().st_mode) == 0o755
    assert [path.name for path in place.iterdir()] == ["letter.txt"]


@pytest.mark.skipif(os.name != "posix", reason="files have no owners")
@pytest.mark.parametrize("change", [disown, replace_by_link])
def test_a_folder_that_is_not_this_users_is_not_used(place, builds, change):
    evaluate()
    file = next(place.glob("*.o"))
    change(place)
    before = file.stat()
    for count in (2, 3):
        compiler.forget()
        assert evaluate() == 10
        assert len(builds) == count
    after = file.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert len(list(place.iterdir())) == 1


def test_a_folder_that_cannot_be_written_is_ignored(place, builds):
    place.write_text("a file where the folder should be")
    assert evaluate() == 10
    assert len(builds) == 1


def test_the_oldest_files_are_removed(place, monkeypatch):
    monkeypatch.setattr(cache, "LARGEST_TOTAL", 1000)
    for name in "abcd":
        cache.write(name, bytes(400))
    assert cache.read("a") is None
    assert cache.read("d") == bytes(400)
    assert not list(place.glob("*.part"))


def test_where_objects_are_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("DAEDAL_CACHE", str(tmp_path))
    assert cache.find_folder() == tmp_path
    monkeypatch.delenv("DAEDAL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache.find_folder() == Path("/somewhere/daedal")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/people/a")
    assert cache.find_folder() == Path("/people/a/.cache/daedal")


def test_the_key_knows_text_processor_and_features():
    keys = {compiler.make_key(text, target) for text in ("a", "b") for target in (ARM, PLAIN, HASWELL, find_host())}
    assert len(keys) == 8


@pytest.mark.parametrize("target", [ARM, PLAIN, HASWELL], ids=["arm64", "sse2", "haswell"])
def test_other_processors_compile_too(target):
    text = loops.write_scan(*(read_tape(f) for f in pendulum()), target.register, target.fused)
    assert b"daedal_scan" in compiler.build(text, target)
    assert b"daedal_normals" in compiler.build(write_normals(target.register, target.fused), target)


@pytest.mark.parametrize("target", [ARM, PLAIN, HASWELL], ids=["arm64", "sse2", "haswell"])
def test_no_vector_function_calls_a_scalar_library(target):
    width, fused = target.register, target.fused
    texts = [define_function(name, width, fused, "").replace("define internal", "define") for name in FUNCTIONS]
    data = compiler.build(write_module(width, *texts), target)
    import llvmlite.binding as llvm

    names = symbols(data)
    assert "daedal.sincos" in names
    assert not names & {
        "fma",
        "sin",
        "exp",
        "log",
        "floor",
        "trunc",
        "fmod",
        "sqrt",
        "fmin",
        "fmax",
        "rint",
        "nearbyint",
    }
    assert llvm.ObjectFileRef.from_data(data) is not None


def symbols(data):
    """The strings of an object's symbol table."""
    return {name.decode() for name in data.split(b"\0") if name.isascii()}


def test_importing_kernels_does_not_load_the_compiler():
    code = "import daedal.kernels, sys; print([m for m in sys.modules if m.startswith('llvmlite')])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_the_key_knows_how_a_text_is_optimised(monkeypatch):
    before = compiler.make_key("text", PLAIN)
    monkeypatch.setitem(compiler.TUNING, "loop_unrolling", True)
    unrolled = compiler.make_key("text", PLAIN)
    monkeypatch.setattr(compiler, "LARGE_TEXT", 3)
    assert len({before, unrolled, compiler.make_key("text", PLAIN)}) == 3
