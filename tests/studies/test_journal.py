"""The journal: whole or not at all, one writer, read by anyone; what goes wrong with a disk gets a sentence."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import daedal as dd
from daedal.studies import Row, count_runs, open_journal
from daedal.studies.journal import is_journal, is_written, read_journal
from own_kinds import Jitter
from sizes import choose
from studying import make_fit, make_model

IDENTITY = {"model": "m", "seed": "1"}
ROW = Row(0, "converged", "", (0.1, float("nan"), -0.0), {"left out": "Tag ä"}, 0.5, "here")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.study"


def test_numbers_come_back_with_all_their_bits(path):
    numbers = (0.1 + 0.2, 5e-324, float("inf"), float("nan"), -0.0, float(np.nextafter(1.0, 2.0)))
    journal = open_journal(path, IDENTITY, {"fit": b"\0\1"})
    journal.write([ROW._replace(number=3, numbers=numbers), Row(1, "failed", "A sentence.\nTwo lines.")])
    for contents in (journal.read(), read_journal(path)):  # while it is written to, too
        assert contents.numbers.tolist() == [1, 3]
        assert contents.values[1].tobytes() == np.array(numbers).tobytes()
        assert np.isnan(contents.values[0]).all()
        assert contents.words == [None, {"left out": "Tag ä"}]
        assert contents.messages == ["A sentence.\nTwo lines.", ""]
        assert contents.study["fit"] == b"\0\1"
    journal.close()
    assert [one.name for one in path.parent.iterdir()] == ["a.study"]


def test_there_is_one_writer(path):
    journal = open_journal(path, IDENTITY, {})
    with pytest.raises(dd.DaedalError, match="Another process is writing to the journal"):
        open_journal(path, IDENTITY, {})
    code = "import sys; from pathlib import Path; from daedal.studies import open_journal\n"
    code += f"open_journal(Path(sys.argv[1]), {IDENTITY!r}, {{}})"
    other = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert "Another process is writing to the journal" in other.stderr
    assert is_written(path)
    journal.write([ROW])
    journal.close()
    assert not is_written(path)
    again = open_journal(path, IDENTITY, {})
    assert again.find_finished() == {0}
    again.close()


def test_a_transaction_that_is_not_finished_was_never_there(path):
    code = f"""
import os, sys
from pathlib import Path
from daedal.studies import Row, open_journal
from daedal.studies.journal import INSERT, _pack
journal = open_journal(Path(sys.argv[1]), {IDENTITY!r}, {{}})
journal.write([Row(0, "converged", "", (1.0,))])
connection = journal._connection
connection.execute("PRAGMA cache_size = 1")  # so that it is written before it is complete
connection.execute("BEGIN IMMEDIATE")
connection.executemany(INSERT, [_pack(Row(n, "converged", "", (1.0,) * 100)) for n in range(1, 500)])
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert done.returncode == -9, done.stderr
    assert (path.parent / "a.study-journal").stat().st_size > 0
    assert read_journal(path).numbers.tolist() == [0]
    assert not is_written(path)  # a lock does not outlive its process
    journal = open_journal(path, IDENTITY, {})
    assert journal.find_finished() == {0}
    journal.close()


def test_another_study_is_refused_by_what_differs(path):
    journal = open_journal(path, IDENTITY, {})
    journal.write([ROW])
    journal.close()
    with pytest.raises(
        dd.DaedalError, match=r"which has 1 run, is that of another study: 'seed' differs \(seed: 1, now 2"
    ):
        open_journal(path, {"model": "m", "seed": "2"}, {})
    with pytest.raises(dd.DaedalError, match="'model' and 'seed' differ"):
        open_journal(path, {"model": "n", "seed": "2"}, {})
    assert read_journal(path).numbers.tolist() == [0]
    fresh = open_journal(path, {"model": "n", "seed": "2"}, {}, fresh=True)
    assert fresh.find_finished() == set()
    fresh.close()
    assert read_journal(path).study == {"model": "n", "seed": "2"}


def test_a_changed_model_or_data_are_named(path):
    fit = make_fit()
    dd.study(fit, Jitter(0.01), runs=2, journal=path, rng=1)
    stiff = make_model().with_measurement_noise({"y": 0.06})
    options = {"free": ["k", "a"], "criterion": dd.OutputError(), "solver": fit.solver, "rng": 1}
    other = dd.fit(stiff, list(fit.data), **options)
    with pytest.raises(dd.DaedalError, match=r"another study: 'model'"):
        dd.study(other, Jitter(0.01), runs=2, journal=path, rng=1)
    data = dd.Dataset(fit.data[0].times, outputs={"y": fit.data[0]["y"] + 1e-9})
    with pytest.raises(dd.DaedalError, match="another study: 'data'"):
        dd.study(dd.fit(make_model(), data, **options), Jitter(0.01), runs=2, journal=path, rng=1)
    changed = {**options, "criterion": dd.OutputError(transient=0.1)}
    with pytest.raises(dd.DaedalError, match="'criterion'"):
        dd.study(dd.fit(make_model(), list(fit.data), **changed), Jitter(0.01), runs=2, journal=path, rng=1)
    again = dd.fit(make_model(), list(fit.data), **options)  # the same fit once more
    assert dd.study(again, Jitter(0.01), runs=2, journal=path, rng=1).status.ok
    assert dd.study(other, Jitter(0.01), runs=2, journal=path, rng=1, fresh=True).status.ok


def test_damage_is_noticed(path):
    journal = open_journal(path, IDENTITY, {})
    journal.write([ROW, ROW._replace(number=1)])
    journal.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE runs SET numbers = zeroblob(24) WHERE number = 1")
    with pytest.raises(dd.DaedalError, match="is damaged: run 1 is not what was written"):
        read_journal(path)
    content = bytearray(path.read_bytes())
    content[100:400] = bytes(300)
    path.write_bytes(content)
    with pytest.raises(dd.DaedalError, match=r"cannot be used|is damaged"):
        read_journal(path)


def harm(content, rng):
    """One flipped bit, or cut off, or a block of zeros."""
    place, kind = rng.integers(len(content)), rng.integers(4)
    if kind == 0:
        return content[:place]
    if kind == 1:
        size = int(2 ** rng.uniform(0, np.log2(len(content))))
        return (content[:place] + bytes(size) + content[place + size :])[: len(content)]
    return content[:place] + bytes([content[place] ^ (1 << rng.integers(8))]) + content[place + 1 :]


def list_contents(contents):
    """To compare; numbers by their bits."""
    arrays = (contents.numbers, contents.values, contents.seconds)
    texts = (contents.study, contents.status, contents.messages, contents.words, contents.hosts)
    return [one.tobytes() for one in arrays], texts


def test_any_damage_is_told_or_does_not_matter(path):
    """Texts of the study, the tree that holds rows, rows, what nobody reads: no other numbers, nothing raw."""
    words = {"left out": "Tag ä"}
    journal = open_journal(path, {**IDENTITY, "kind": '{"name": "Jitter"}'}, {"runs": "61", "fit": bytes(2000)})
    journal.write([ROW._replace(number=n, numbers=(0.1 * n,) * 22, words=words) for n in range(61)])
    journal.close()
    whole, right = path.read_bytes(), list_contents(read_journal(path))
    rng, told = np.random.default_rng(0), 0
    for _ in range(choose(300, 5000)):
        path.with_name("a.study-journal").unlink(missing_ok=True)
        path.write_bytes(harm(whole, rng))
        try:
            assert list_contents(read_journal(path)) == right
        except dd.DaedalError:
            told += 1
    assert told > 100


def test_a_study_that_was_damaged_is_not_gone_on_with(path):
    dd.study(make_fit(), Jitter(0.01), runs=2, journal=path, rng=1)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"Jitter", b"Jittes"))
    for attempt in (lambda: dd.load(path), lambda: dd.study(make_fit(), Jitter(0.01), runs=2, journal=path, rng=1)):
        with pytest.raises(dd.DaedalError, match="is damaged: the study in it is not what was written"):
            attempt()


def test_a_lock_that_is_no_lock(path):
    open_journal(path, IDENTITY, {}).close()
    path.with_name("a.study.lock").write_text("of another program")
    assert not is_written(path)
    with pytest.raises(dd.DaedalError, match="file is not a database"):
        open_journal(path, IDENTITY, {})


def test_files_of_others_are_left_alone(path):
    path.write_text("t,y\n0,1\n")
    with pytest.raises(dd.DaedalError, match="is not the journal of a study"):
        dd.study(make_fit(), Jitter(0.01), runs=2, journal=path, fresh=True)
    assert path.read_text() == "t,y\n0,1\n"
    path.unlink()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE photos (name TEXT)")
    assert is_journal(path)
    for attempt in (
        lambda: dd.load(path),
        lambda: dd.study(make_fit(), Jitter(0.01), runs=2, journal=path, rng=1, fresh=True),
    ):
        with pytest.raises(dd.DaedalError, match="is not the journal of a study"):
            attempt()
    path.unlink()
    open_journal(path, IDENTITY, {}).close()  # of something else than fits
    with pytest.raises(dd.DaedalError, match="is not the journal of a study of fits"):
        dd.load(path)
    with pytest.raises(dd.DaedalError, match="is that of another study"):
        dd.study(make_fit(), Jitter(0.01), runs=2, journal=path)
    with pytest.raises(dd.DaedalError, match="is a folder"):
        dd.study(make_fit(), Jitter(0.01), runs=2, journal=path.parent)
    with pytest.raises(dd.DaedalError, match="There is no folder"):
        dd.study(make_fit(), Jitter(0.01), runs=2, journal=path.parent / "not" / "here.study")


def test_the_first_format_is_read_for_ever():
    """`study(make_fit(), ParametricBootstrap(), runs=3, rng=7)` as version 0.1.0 wrote it."""
    study = dd.load(Path(__file__).parent / "format_1.study")
    assert study.status.ok
    assert study.kind == "ParametricBootstrap()"
    np.testing.assert_allclose(study.estimates["k"], [1.30688464, 1.26732195, 1.3371121], atol=1e-7)
    assert dict(study.fit.params) == pytest.approx(dict(make_fit().params), rel=1e-6)
    assert study.contents.study["seed"] == "7"


def test_a_newer_format_is_refused(path):
    open_journal(path, IDENTITY, {}).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(dd.DaedalError, match="written by a newer daedal: its format is 99"):
        read_journal(path)


def test_a_full_disk_keeps_what_is_there(path):
    journal = open_journal(path, IDENTITY, {})
    journal.write([ROW])
    pages = journal._connection.execute("PRAGMA page_count").fetchone()[0]
    journal._connection.execute(f"PRAGMA max_page_count = {pages}")  # SQLite then says what it says of a full disk
    with pytest.raises(dd.DaedalError, match=r"database or disk is full. 1 run in it is safe. Make room"):
        journal.write([Row(n, "converged", "", (1.0,) * 1000) for n in range(1, 50)])
    journal.close()
    assert read_journal(path).numbers.tolist() == [0]


def test_a_limit_of_the_system_on_files_keeps_what_is_there(path):
    pytest.importorskip("resource")
    code = f"""
import resource, signal, sys
from pathlib import Path
from daedal.studies import Row, open_journal
journal = open_journal(Path(sys.argv[1]), {IDENTITY!r}, {{}})
journal.write([Row(0, "converged", "", (1.0,))])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
journal.write([Row(n, "converged", "", (1.0,) * 1000) for n in range(1, 50)])
"""
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert "StudyError: The journal" in done.stderr
    assert "1 run in it is safe" in done.stderr
    assert read_journal(path).numbers.tolist() == [0]


def test_a_folder_that_cannot_be_written_gets_a_sentence():
    with pytest.raises(dd.DaedalError, match=r"The journal '/proc/a.study' cannot be used"):
        dd.study(make_fit(), Jitter(0.01), runs=2, journal="/proc/a.study")


@pytest.mark.parametrize("how", ["deleted", "replaced", "folder too"])
def test_a_journal_that_vanishes_loses_nothing(path, how, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(path.parent))
    folder = path.parent / "sub"
    folder.mkdir()
    path = folder / "a.study"
    journal = open_journal(path, IDENTITY, {})
    journal.write([ROW])
    path.unlink()
    if how == "replaced":
        path.write_text("something else")
    if how == "folder too":
        for one in folder.iterdir():
            one.unlink()
        folder.rmdir()
    with pytest.raises(
        dd.DaedalError, match="was taken away while the study was running; the 1 run in it is kept"
    ) as told:
        journal.write([ROW._replace(number=1)])
    journal.close()
    kept = str(told.value).split("kept in '")[1].split("'")[0]
    assert (kept == str(path)) == (how == "deleted")
    assert read_journal(Path(kept)).numbers.tolist() == [0]
    if how == "replaced":
        assert path.read_text() == "something else"


def test_a_journal_that_is_not_of_fits_is_not_merged(path):
    open_journal(path, {"paper": "p"}, {}).close()
    for read in (dd.load, lambda one: dd.merge([one])):
        with pytest.raises(dd.DaedalError, match="is not the journal of a study of fits: it has no fit"):
            read(path)


@pytest.mark.parametrize("refused", [False, True])
def test_a_lock_is_removed_before_it_is_let_go(path, refused, monkeypatch):
    """Otherwise another process could take it in between, and its file would be gone for a third one."""
    held = []
    unlink = Path.unlink

    def watch(one: Path, missing_ok: bool = False) -> None:
        if one.name == "a.study.lock":
            with closing(sqlite3.connect(one, timeout=0.0, isolation_level=None)) as other:
                try:
                    other.execute("BEGIN EXCLUSIVE")
                except sqlite3.OperationalError:
                    held.append(one)
        unlink(one, missing_ok)

    open_journal(path, IDENTITY, {}).close()
    monkeypatch.setattr(Path, "unlink", watch)
    if refused:
        with pytest.raises(dd.DaedalError, match="another study"):
            open_journal(path, {"model": "n"}, {})
    else:
        open_journal(path, IDENTITY, {}).close()
    assert [one.name for one in held] == ["a.study.lock"]
    assert [one.name for one in path.parent.iterdir()] == ["a.study"]


def test_runs_are_counted(path):
    journal = open_journal(path, IDENTITY, {})
    journal.write([ROW, ROW._replace(number=3)])
    assert count_runs(path) == 2  # while it is written to
    journal.close()
    assert count_runs(path) == 2
    path.write_text("something else")
    with pytest.raises(dd.DaedalError, match="is not the journal of a study"):
        count_runs(path)
