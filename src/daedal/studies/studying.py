"""`study`, `merge` and `load`: from a fit to many, from journals to what they say."""

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from daedal.disturbances import make_seed
from daedal.errors import (
    StudyError,
    check_whole_number,
    counted,
    interruptible,
    list_entries,
    quoted,
    show,
)
from daedal.estimation import Fit, identify_fit, pack_fit, unpack_fit
from daedal.estimation import load as load_fit
from daedal.simulation import Status
from daedal.studies.charter import CONVERGED, STOPPED, Row
from daedal.studies.driving import choose_crew, make_missing
from daedal.studies.fit_runs import ALONE, charter_fits
from daedal.studies.journal import (
    Contents,
    Journal,
    check_path,
    describe_difference,
    find_differences,
    is_journal,
    is_written,
    open_journal,
    read_journal,
    read_study,
)
from daedal.studies.kinds import Outline, StudyKind, check_kind, describe_kind, spell_kind
from daedal.studies.result import Study

MOST_RUNS = 10_000_000
INTERRUPTED = Status(False, "Interrupted", "Make the same call to go on.", interrupted=True)
UNFINISHED = Status(False, "Not finished", "Make the same call to go on.", interrupted=True)
BEING_MADE = Status(False, "Being made by another process", "Load it again later.")
PARTS_MISSING = Status(False, "Not complete", "Finish the shards and merge them again.")
IDENTITY = ("model", "data", "criterion", "free parameters", "solver", "estimates", "kind", "seed", "version")


@interruptible
def study(
    fit: Fit,
    kind: StudyKind,
    *,
    runs: int | None = None,
    journal: str | Path | None = None,
    workers: Any = None,
    rng: int | np.random.Generator | None = None,
    fresh: bool = False,
    shard: tuple[int, int] | None = None,
) -> Study:
    """Fit many times: bootstrap, Monte Carlo, experiments left out, many starts, scans.

    Every finished run is in the journal before the next counts. The same call goes on where it was interrupted or
    killed, and a call with more runs adds the rest; `load(journal)` reads what is there at any time. Run k is the same
    number whatever the workers, the order and the interruptions. A run that fails is a row with a sentence. Ctrl-C
    returns what is there.

    Parameters
    ----------
    fit
        The fit that the study is about: its model, data, free parameters and criterion are those of the runs.
    kind
        `ParametricBootstrap()`, `BlockBootstrap(length)`, `MonteCarlo(truth=model)`, `LeaveOut(count)`,
        `Starts(count)`, `Scan({parameter: values})`, or one of your own (`daedal.studies.StudyKind`).
    runs
        How many, from 2 on; may be left out where the kind knows it.
    journal
        Path of a file that keeps the runs, "rig.study"; without it nothing is kept.
    workers
        How many processes make runs, or a `dask.distributed.Client`; without it, this process does.
    rng
        Seed or Generator; the seed used is in the result.
    fresh
        Start over where the journal has runs already, of this study or of another.
    shard
        (k, n), with k from 1 to n: only every n-th run, in a journal of its own, "rig.3of20.study"; `merge` joins them.

    Examples
    --------
    >>> from daedal import Dataset, Model, ParametricBootstrap, der, symbols
    >>> from daedal import fit as estimate
    >>> x, k = symbols("x k")
    >>> decay = Model(
    ...     name="decay", equations={"rate": der(x) == -k * x}, unknowns=[x], outputs={"x": x}, parameters={k: 2.0},
    ...     initial={x: 1.0}, measurement_noise={"x": 0.01},
    ... )
    >>> fitted = estimate(decay, Dataset([0.0, 0.5, 1.0, 1.5], outputs={"x": [1.0, 0.61, 0.36, 0.23]}), free=["k"])
    >>> found = study(fitted, ParametricBootstrap(), runs=10, rng=1)
    >>> len(found.estimates["k"])
    10
    """
    if not isinstance(fit, Fit):
        raise StudyError(f"study takes a Fit first, got {type(fit).__name__}.", "Give what fit(...) returned.")
    if fit.status.interrupted:
        raise StudyError("The fit was interrupted, so nothing is known of its errors.", "Finish it first.")
    chosen = check_kind(kind)
    if not isinstance(fresh, (bool, np.bool_)):
        raise StudyError(f"fresh must be True or False, got {show(fresh)}.", "Write fresh=True to start over.")
    outline = chosen.outline(fit)
    total = _check_runs(runs, outline, chosen)
    crew = choose_crew(workers)
    path, numbers = _choose_part(journal, total, shard)
    seed = _choose_seed(rng, path, fresh)
    packed = pack_fit(fit)
    charter = charter_fits(fit, packed, chosen, outline, seed)
    rest = _describe(packed, outline, total, shard)
    opened = open_journal(path, _identify(fit, chosen, seed), rest, fresh=bool(fresh))
    try:
        opened.set("runs", str(max(total, int(opened.read_entry("runs")))))
        work = f"study of '{fit.model.name}':"
        interrupted = make_missing(charter, numbers, opened, crew, work, _Estimate(fit))
        result = _make_study(_keep(opened.read(), total), fit, total, len(numbers), INTERRUPTED)
    finally:
        opened.close()
    if interrupted and not result.numbers.size:
        raise KeyboardInterrupt
    return result


class _Estimate:
    """The first estimate so far, for the line that shows how far a study is: its mean and spread (Welford 1962)."""

    def __init__(self, fit: Fit) -> None:
        self._name, self._place = next(iter(fit.estimates)), ALONE
        self._count, self._mean, self._squares = 0, 0.0, 0.0

    def __call__(self, row: Row) -> str:
        value = row.numbers[self._place] if row.status == CONVERGED else np.nan
        if np.isfinite(value):
            self._count += 1
            before = value - self._mean
            self._mean += before / self._count
            self._squares += before * (value - self._mean)
        if self._count < 2:
            return ""
        return f"{self._name} {self._mean:.5g} ± {np.sqrt(self._squares / (self._count - 1)):.2g}"


def _check_runs(runs: Any, outline: Outline, kind: StudyKind) -> int:
    name = type(kind).__name__
    if runs is None and outline.runs is None:
        raise StudyError(f"A study of {name} may have any number of runs.", "Write runs=200.")
    sentence = "A study must have a whole number of runs from 2 on"
    most = MOST_RUNS if outline.runs is None else outline.runs
    if outline.runs is not None:
        sentence = f"A study of {name} must here have a whole number of runs from 2 to {outline.runs}"
    given = outline.runs if runs is None else runs
    return check_whole_number(
        given, StudyError, sentence, "Write runs=200." if most > 200 else f"Write runs={most}.", least=2, most=most
    )


def _choose_part(journal: Any, total: int, shard: Any) -> tuple[Path | None, list[int]]:
    """The journal, and the numbers of the runs to make."""
    path = None if journal is None else check_path(journal)
    if shard is None:
        return path, list(range(total))
    entries = list_entries(shard) or []
    whole = len(entries) == 2 and all(
        isinstance(one, (int, np.integer)) and not isinstance(one, bool) for one in entries
    )
    if not whole or not 1 <= entries[0] <= entries[1]:
        raise StudyError(
            f"A shard must be (k, n) with k from 1 to n, got {show(shard)}.", "Write shard=(3, 20) for the third of 20."
        )
    if path is None:
        raise StudyError("A shard without a journal is lost.", "Write journal='rig.study'.")
    part, parts = map(int, entries)
    width = len(str(parts))
    return path.with_name(f"{path.stem}.{part:0{width}d}of{parts}{path.suffix}"), list(range(part - 1, total, parts))


def _choose_seed(rng: Any, path: Path | None, fresh: bool) -> int:
    """The one given, that of a journal that is gone on with, or a fresh one."""
    if rng is None and path is not None and not fresh and is_journal(path):
        return int(read_study(path).get("seed", 0))  # without one it is no study of fits, and will be refused
    return make_seed(np.random.default_rng() if rng is None else rng)


def _identify(fit: Fit, kind: StudyKind, seed: int) -> dict[str, str]:
    told = {**identify_fit(fit), "kind": json.dumps(spell_kind(kind)), "seed": str(seed), "version": version("daedal")}
    return {name: told[name] for name in IDENTITY}


def _describe(packed: bytes, outline: Outline, total: int, shard: Any) -> dict[str, Any]:
    said = {"runs": outline.runs, "reading": outline.reading, "truth": dict(outline.truth), "factor": outline.factor}
    return {
        "fit": packed,
        "outline": json.dumps(said),
        "runs": str(total),
        "shard": "" if shard is None else f"{shard[0]} of {shard[1]}",
    }


def _keep(contents: Contents, total: int) -> Contents:
    """The runs below this number: a journal may have more."""
    kept = np.flatnonzero(contents.numbers < total)
    if kept.size == contents.numbers.size:
        return contents
    lists = {name: [getattr(contents, name)[k] for k in kept] for name in ("status", "messages", "words", "hosts")}
    return contents._replace(
        numbers=contents.numbers[kept], values=contents.values[kept], seconds=contents.seconds[kept], **lists
    )


def _make_study(contents: Contents, fit: Fit, total: int, wanted: int, unfinished: Status) -> Study:
    """`unfinished` is how a study ended that lacks runs, which its sentence then counts."""
    told = contents.study
    return Study(
        fit=fit,
        kind=describe_kind(json.loads(told["kind"])),
        outline=Outline(**json.loads(told["outline"])),
        runs=total,
        seed=int(told["seed"]),
        status=_describe_end(contents, total, wanted, unfinished),
        contents=contents,
    )


def _describe_end(contents: Contents, total: int, wanted: int, unfinished: Status) -> Status:
    there = contents.numbers.size
    converged = sum(one == CONVERGED for one in contents.status)
    if there < wanted:
        return replace(unfinished, sentence=f"{unfinished.sentence}: {there} of {counted(wanted, 'run')} are there.")
    part = f" of the {total}" if wanted < total else ""
    every = f"All {there} runs{part} are there"
    if not converged:
        return Status(False, f"{every}, but none of them converged.", "Look at their sentences.")
    said = f"{every}." if converged == there else f"{every}; {converged} converged."
    return Status(True, said)


def load(path: str | Path) -> Fit | Study:
    """What `fit.save(path)` or `study(journal=path)` wrote.

    A fit comes back complete: model, data, estimates, seed and all. A study may still be running: it is read as it is
    at the moment. What was damaged is refused; files of every released version are read, fits of 0.1.0 with a warning,
    as they have no digests. The module of a criterion of your own must be imported before.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from daedal import Dataset, Model, der, fit, symbols
    >>> x, k = symbols("x k")
    >>> decay = Model(
    ...     name="decay", equations={"rate": der(x) == -k * x}, unknowns=[x], outputs={"x": x}, parameters={k: 2.0},
    ...     initial={x: 1.0},
    ... )
    >>> found = fit(decay, Dataset([0.0, 0.5, 1.0, 1.5], outputs={"x": [1.0, 0.61, 0.36, 0.23]}), free=["k"])
    >>> with TemporaryDirectory() as folder:
    ...     found.save(Path(folder) / "decay.nc")
    ...     load(Path(folder) / "decay.nc").params == found.params
    True
    """
    if isinstance(path, (str, Path)) and "\0" not in str(path) and is_journal(Path(path)):
        return _load_study(Path(path))
    return load_fit(path)


def _read_contents(path: Path) -> Contents:
    """All that is in a journal, which must be of fits."""
    contents = read_journal(path)
    if missing := {"fit", "kind", "outline", "seed", "shard"} - set(contents.study):
        raise StudyError(
            f"'{path}' is not the journal of a study of fits: it has no {min(missing)}.",
            "Give the path that study(journal=...) wrote to.",
        )
    return contents


def _load_study(path: Path) -> Study:
    contents = _read_contents(path)
    total = _read_runs(path, contents)
    part, _, parts = contents.study["shard"].partition(" of ")
    wanted = len(range(int(part) - 1, total, int(parts))) if part else total
    unfinished = BEING_MADE if is_written(path) else UNFINISHED
    subject = unpack_fit(contents.study["fit"], path)
    try:
        return _make_study(contents, subject, total, wanted, unfinished)
    except (ValueError, LookupError, TypeError):  # of the first format, which has no digest of these texts
        raise StudyError(f"'{path}' is damaged: what the study is.", "Take a copy of the file.") from None


def _read_runs(path: Path, contents: Contents) -> int:
    try:
        return int(contents.study["runs"])
    except (KeyError, ValueError):
        raise StudyError(f"'{path}' is damaged: it does not say how many runs.", "Take a copy of the file.") from None


def merge(journals: Sequence[str | Path], *, journal: str | Path | None = None) -> Study:
    """Join the shards of a study, which may lack some runs.

    Parameters
    ----------
    journals
        Paths of journals of the same study, made with `shard=(k, n)` or without.
    journal
        Where to write all runs, so that the study can go on or be loaded there.

    Examples
    --------
    >>> merge(["rig.1of2.study", "rig.2of2.study"], journal="rig.study")  # doctest: +SKIP
    """
    entries = list_entries(journals)
    if not entries:
        raise StudyError(
            f"merge takes a list of journals, got {show(journals)}.", "Write merge(['a.study', 'b.study'])."
        )
    paths = [check_path(one) for one in entries]
    every = [_read_contents(path) for path in paths]
    first = every[0].study
    identity = {name: first[name] for name in IDENTITY if name in first}
    for path, contents in zip(paths[1:], every[1:], strict=True):
        if differing := find_differences(contents.study, identity):
            said = describe_difference(contents.study, identity, differing)
            raise StudyError(
                f"'{path}' and '{paths[0]}' are of different studies: {quoted(differing)} "
                f"{'differs' if len(differing) == 1 else 'differ'}{said}.",
                "Merge the shards of one study.",
            )
    total = max(_read_runs(path, contents) for path, contents in zip(paths, every, strict=True))
    rest = {**{name: first[name] for name in ("fit", "outline")}, "runs": str(total), "shard": ""}
    opened = open_journal(None if journal is None else check_path(journal), identity, rest)
    try:
        for contents in every:
            _copy_missing(contents, opened)
        return _make_study(opened.read(), unpack_fit(first["fit"], paths[0]), total, total, PARTS_MISSING)
    finally:
        opened.close()


def _copy_missing(contents: Contents, journal: Journal) -> None:
    finished = journal.find_finished()
    columns = (
        contents.status,
        contents.messages,
        contents.values.tolist(),
        contents.words,
        contents.seconds,
        contents.hosts,
    )
    rows = [
        Row(
            int(number),
            status,
            message,
            tuple(values) if status in (CONVERGED, STOPPED) else (),
            words,
            float(seconds),
            host,
        )
        for number, status, message, values, words, seconds, host in zip(contents.numbers, *columns, strict=True)
    ]
    journal.write([row for row in rows if row.number not in finished])
