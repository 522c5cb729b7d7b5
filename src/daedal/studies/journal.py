"""The journal of a study: one SQLite file, one writer; a run is in it whole or not at all.

Two tables. `study` has what the study is: texts that identify it (model, data, criterion, kind, seed, version), and
the fit it is about, in the form in which fits are saved, and a digest of all these. `runs` has one row for each
finished run, with a digest of its own, so that damage shows; damage of what holds the rows is for SQLite's own check.
A transaction is on the disk before the next begins; rollback journals rather than a write-ahead log,
which needs memory that the machines of a cluster do not share. Whoever reads meanwhile sees the runs up to some moment.

The writer holds a lock on a file beside the journal, by SQLite again: it ends with the process, however that ends.

The format has a number, the user_version of the file; what one released version wrote, all later ones read. Format 1
has no digest of `study`; who goes on with such a journal adds it.
"""

import hashlib
import json
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from daedal.errors import StudyError, counted, quoted, show, tell_reason
from daedal.studies.charter import DIED, Row

APPLICATION = 0x64616564  # "daed"
VERSION = 2
DIGESTED = 2  # the format from which on `study` has a digest
DIGEST = "digest"  # its name there
SIGNATURE = b"SQLite format 3\0"
PATIENCE = 60.0  # seconds that a writer waits for readers
MOMENT = 0.3  # seconds that one waits for the lock, which those who ask whether it is taken hold for less
SHORT = 16  # bytes of a digest
TABLES = """
CREATE TABLE study (name TEXT PRIMARY KEY, content NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (
    number INTEGER PRIMARY KEY, status TEXT NOT NULL, message TEXT NOT NULL, numbers BLOB NOT NULL,
    words TEXT NOT NULL, seconds REAL NOT NULL, host TEXT NOT NULL, digest BLOB NOT NULL
);
"""
INSERT = "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
COLUMNS = "number, status, message, numbers, words, seconds, host, digest"


class Contents(NamedTuple):
    """What is in a journal: identity and the rest of its study, and its runs in order, numbers as (run, number)."""

    study: dict[str, Any]
    numbers: np.ndarray
    status: list[str]
    messages: list[str]
    values: np.ndarray
    words: list[Any]
    seconds: np.ndarray
    hosts: list[str]


@final
class Journal:
    """An open journal; without a path it is in memory, and gone when it is closed."""

    def __init__(self, path: Path | None, connection: sqlite3.Connection, lock: sqlite3.Connection | None) -> None:
        self._path, self._connection, self._lock = path, connection, lock
        self._inode = None if path is None else path.stat().st_ino

    def find_finished(self) -> set[int]:
        """Numbers of the runs that need not be made again; those whose process died are tried once more."""
        with _explain(self._path):
            found = self._connection.execute("SELECT number FROM runs WHERE status != ?", (DIED,))
            return {number for (number,) in found}

    def write(self, rows: Sequence[Row]) -> None:
        """Keep these runs; when this returns, they are on the disk."""
        if not rows:
            return
        with _explain(self._path, self._count):
            self._check_there()
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                self._connection.executemany(INSERT, [_pack(row) for row in rows])

    def read_entry(self, name: str) -> str:
        """What was noted."""
        with _explain(self._path):
            return self._connection.execute("SELECT content FROM study WHERE name = ?", (name,)).fetchone()[0]

    def set(self, name: str, content: str) -> None:
        """Note something beside the identity of the study."""
        with _explain(self._path, self._count), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("INSERT OR REPLACE INTO study VALUES (?, ?)", (name, content))
            _seal(self._connection)

    def read(self) -> Contents:
        """All that is in it."""
        with _explain(self._path, self._count):
            return _read(self._connection, self._path or Path("the journal"))

    def close(self) -> None:
        """Let others write."""
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.close()
        if self._lock is not None and self._path is not None:
            _release_lock(self._path, self._lock)

    def _count(self) -> int:
        try:
            return self._connection.execute("SELECT COUNT(*) FROM runs").fetchone()[0]
        except sqlite3.Error:
            return 0

    def _check_there(self) -> None:
        """A file that was deleted is still written to by whoever has it open: put it back, or beside."""
        if self._path is None or _find_inode(self._path) == self._inode:
            return
        goal = self._path
        if _find_inode(goal) is not None or not goal.parent.is_dir():
            goal = Path(tempfile.mkdtemp(prefix="daedal-")) / goal.name
        with closing(sqlite3.connect(goal)) as copy:
            self._connection.backup(copy)
        count = self._count()
        raise StudyError(
            f"The journal '{self._path}' was taken away while the study was running; the {counted(count, 'run')} in "
            f"it {'is' if count == 1 else 'are'} kept in '{goal}'.",
            "Look what removed it, and make the same call to go on"
            + (f" after putting '{goal}' in its place." if goal != self._path else "."),
        )


def open_journal(
    path: Path | None, identity: Mapping[str, str], rest: Mapping[str, Any], *, fresh: bool = False
) -> Journal:
    """The journal of this study, made if it is not there; refused if it is that of another, or someone writes to it."""
    if path is None:
        connection = sqlite3.connect(":memory:", isolation_level=None)
        _begin(connection, {**identity, **rest})
        return Journal(None, connection, None)
    if path.exists():
        _check_signature(path)
    if not os.access(path.parent, os.W_OK):
        raise StudyError(
            f"The journal '{path}' cannot be used: its folder cannot be written to.",
            "Give a path where files can be written; load(...) reads what is there.",
        )
    with _explain(path):
        lock = _take_lock(path)
        try:
            return Journal(path, _open_or_begin(path, identity, rest, fresh), lock)
        except BaseException:
            _release_lock(path, lock)
            raise


def _open_or_begin(path: Path, identity: Mapping[str, str], rest: Mapping[str, Any], fresh: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = TRUNCATE")
        connection.execute("PRAGMA synchronous = FULL")
        if not connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
            _begin(connection, {**identity, **rest})
        else:
            _check_format(connection, path)
            if not fresh:
                _check_whole(connection, path)
            else:
                with connection:
                    connection.execute("BEGIN IMMEDIATE")
                    connection.execute("DROP TABLE runs")
                    connection.execute("DROP TABLE study")
                    _fill(connection, {**identity, **rest})
            _check_identity(connection, path, identity)
    except BaseException:
        connection.close()
        raise
    return connection


def _begin(connection: sqlite3.Connection, study: Mapping[str, Any]) -> None:
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        _fill(connection, study)


def _fill(connection: sqlite3.Connection, study: Mapping[str, Any]) -> None:
    for statement in TABLES.split(";")[:-1]:
        connection.execute(statement)
    connection.executemany("INSERT INTO study VALUES (?, ?)", list(study.items()))
    _seal(connection)


def _seal(connection: sqlite3.Connection) -> None:
    """Note the digest of what the study is."""
    connection.execute("INSERT OR REPLACE INTO study VALUES (?, ?)", (DIGEST, _digest_study(_read_entries(connection))))
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _read_entries(connection: sqlite3.Connection) -> dict[str, Any]:
    """What the study is; its digest apart."""
    return dict(connection.execute("SELECT name, content FROM study WHERE name != ?", (DIGEST,)))


def _digest_study(entries: Mapping[str, Any]) -> bytes:
    digest = hashlib.blake2b(digest_size=SHORT)
    for name, content in sorted(entries.items()):
        data = content if isinstance(content, bytes) else str(content).encode(errors="surrogatepass")
        digest.update(f"{name}\n{len(data)}\n".encode(errors="surrogatepass") + data)
    return digest.digest()


def read_study(path: Path) -> dict[str, Any]:
    """What the study of a journal is, without its runs."""
    with _open_to_read(path) as connection:
        return _read_entries(connection)


def read_journal(path: Path) -> Contents:
    """All that is in a journal, which may be written to meanwhile."""
    with _open_to_read(path) as connection:
        return _read(connection, path)


def count_runs(path: Path) -> int:
    """How many runs a journal has; none in an empty file, which was begun and nothing more."""
    if path.exists() and not path.stat().st_size:
        return 0
    with _open_to_read(path) as connection:
        return connection.execute("SELECT COUNT(*) FROM runs").fetchone()[0]


def is_written(path: Path) -> bool:
    """Whether a process of this machine has the journal open to write; a lock that a killed one left does not count."""
    beside = _name_lock(path)
    if not beside.exists():
        return False
    try:
        uri = f"{beside.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=0.0, isolation_level=None)) as lock:
            lock.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        return "locked" in str(error)
    return False


def is_journal(path: Path) -> bool:
    """Whether a file is one of SQLite's; who opens a pipe may wait for ever."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as stream:
            return stream.read(len(SIGNATURE)) == SIGNATURE
    except (OSError, ValueError):  # the latter of a name that no file can have
        return False


@contextmanager
def _open_to_read(path: Path) -> Iterator[sqlite3.Connection]:
    """To write, where that is allowed: what a killed writer left half-done must be taken back first."""
    _check_signature(path)
    with _explain(path):
        mode = "rw" if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK) else "ro"
        uri = f"{path.resolve().as_uri()}?mode={mode}"
        with closing(sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)) as connection:
            _check_format(connection, path)
            connection.execute("BEGIN")
            _check_whole(connection, path)
            yield connection


def _read(connection: sqlite3.Connection, path: Path) -> Contents:
    study = _read_entries(connection)
    rows = connection.execute(f"SELECT {COLUMNS} FROM runs ORDER BY number").fetchall()
    for row in rows:
        if not _is_whole(row):
            raise _tell_damage(path, f"run {row[0]} is not what was written")
    numbers, status, messages, packed, words, seconds, hosts, _ = zip(*rows, strict=True) if rows else [()] * 8
    width = max(map(len, packed), default=0)
    nothing = np.full(width // 8, np.nan).tobytes()
    values = np.frombuffer(b"".join(one or nothing for one in packed), dtype="<f8").reshape(len(rows), width // 8)
    known = {text: json.loads(text) for text in set(words)}
    return Contents(
        study,
        np.array(numbers, dtype=int),
        list(status),
        list(messages),
        values,
        [known[text] for text in words],
        np.array(seconds, dtype=float),
        list(hosts),
    )


def _is_whole(row: Sequence[Any]) -> bool:
    try:
        return _digest(row[:-1]) == row[-1]
    except TypeError:  # of what is not even of its kind
        return False


def _tell_damage(path: Path, what: str) -> StudyError:
    return StudyError(f"The journal '{path}' is damaged: {what}.", "Take a copy of the file, or start over.")


def _pack(row: Row) -> tuple[Any, ...]:
    numbers = np.array(row.numbers, dtype="<f8").tobytes()
    packed = (row.number, row.status, row.message, numbers, json.dumps(row.words), float(row.seconds), row.host)
    return (*packed, _digest(packed))


def _digest(packed: Sequence[Any]) -> bytes:
    number, status, message, numbers, words, seconds, host = packed
    text = f"{number}\n{status}\n{message}\n{words}\n{seconds!r}\n{host}\n"
    return hashlib.blake2b(text.encode(errors="surrogatepass") + numbers, digest_size=SHORT).digest()


def _name_lock(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def _take_lock(path: Path) -> sqlite3.Connection:
    lock = sqlite3.connect(_name_lock(path), timeout=MOMENT, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if "locked" not in str(error):
            raise
        raise StudyError(
            f"Another process is writing to the journal '{path}'.",
            "Wait until it ends, read it meanwhile with load(...), or give this study a journal of its own.",
        ) from None
    return lock


def _release_lock(path: Path, lock: sqlite3.Connection) -> None:
    with suppress(OSError):  # before it is let go: whoever waits for it finds no file, and makes one
        _name_lock(path).unlink(missing_ok=True)
    lock.close()


def _check_signature(path: Path) -> None:
    if not path.exists():
        raise StudyError(f"There is no journal '{path}'.", "Give the path that study(journal=...) wrote to.")
    if path.is_dir():
        raise StudyError(f"The journal '{path}' is a folder.", f"Name a file in it: '{path / 'fits.study'}'.")
    if not path.is_file():
        raise StudyError(f"The journal '{path}' is a device or a pipe, not a file.", "Give another path.")
    if path.stat().st_size and not is_journal(path):
        raise StudyError(f"'{path}' is not the journal of a study.", "Give another path; nothing was changed.")


def _check_format(connection: sqlite3.Connection, path: Path) -> None:
    (owner,), (version,) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
    )
    if owner != APPLICATION:
        raise StudyError(f"'{path}' is not the journal of a study.", "Give another path; nothing was changed.")
    if version > VERSION:
        raise StudyError(
            f"'{path}' was written by a newer daedal: its format is {version}, this one reads up to {VERSION}.",
            "Update daedal.",
        )


def _check_whole(connection: sqlite3.Connection, path: Path) -> None:
    """That SQLite finds all rows where they belong, and that the study is what was written."""
    told = "\n".join(str(one) for (one,) in connection.execute("PRAGMA quick_check(1)"))
    if told != "ok":
        raise _tell_damage(path, told.splitlines()[-1])
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version < DIGESTED:
        return
    found = connection.execute("SELECT content FROM study WHERE name = ?", (DIGEST,)).fetchone()
    if found is None or found[0] != _digest_study(_read_entries(connection)):
        raise _tell_damage(path, "the study in it is not what was written")


def _check_identity(connection: sqlite3.Connection, path: Path, identity: Mapping[str, str]) -> None:
    there = _read_entries(connection)
    if differing := find_differences(there, identity):
        count = connection.execute("SELECT COUNT(*) FROM runs").fetchone()[0]
        raise StudyError(
            f"The journal '{path}', which has {counted(count, 'run')}, is that of another study: {quoted(differing)} "
            f"{'differs' if len(differing) == 1 else 'differ'}{describe_difference(there, identity, differing)}.",
            "Give another journal, or fresh=True to start over."
            + (" A fit with the same rng, or a saved one, has the same estimates." * (differing == ["estimates"])),
        )


def find_differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """What identifies a study and is not the same."""
    return [name for name, content in other.items() if one.get(name) != content]


def describe_difference(one: Mapping[str, Any], other: Mapping[str, Any], names: Sequence[str]) -> str:
    """Short ones in full: seed, version, kind."""
    shown = [name for name in names if len(str(one.get(name))) + len(str(other[name])) < 200]
    return "".join(f" ({name}: {one.get(name)}, now {other[name]})" for name in shown)


@contextmanager
def _explain(path: Path | None, count: Any = lambda: None) -> Iterator[None]:
    """SQLite's errors in words; what was written before stays."""
    try:
        yield
    except sqlite3.Error as error:
        written = count()
        kept = f" {counted(written, 'run')} in it {'is' if written == 1 else 'are'} safe." if written else ""
        remedy = "Make room or mend that, and make the same call: it goes on."
        if "not a database" in str(error) or "malformed" in str(error):
            kept, remedy = "", "Take a copy of the file, or give another path."
        raise StudyError(f"The journal '{path}' cannot be used: {tell_reason(error)}.{kept}", remedy) from None
    except UnicodeDecodeError:  # of a text that was damaged, and of what SQLite says of it
        raise _tell_damage(path or Path("the journal"), "a text in it is none") from None
    except OSError as error:
        raise StudyError(
            f"The journal '{path}' cannot be used: {error.strerror or error}.",
            "Give a path where files can be written.",
        ) from None


def _find_inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None


def check_path(given: Any) -> Path:
    """A path that a journal can have."""
    if not isinstance(given, (str, Path)) or "\0" in str(given):
        raise StudyError(f"The journal must be a path, got {show(given)}.", "Write journal='fits.study'.")
    try:
        os.fsencode(given)
    except UnicodeEncodeError:
        raise StudyError(f"The path {str(given)!r} has a character that no path can have.", "Leave it out.") from None
    path = Path(given)
    with _explain(path):
        path.exists()  # whether it can be asked for at all
        if not path.parent.is_dir():
            raise StudyError(f"There is no folder '{path.parent}' for the journal.", "Make the folder first.")
    return path
