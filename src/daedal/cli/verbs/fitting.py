"""`daedal fit`: estimates, their files, and whether they are to be trusted."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daedal import estimation
from daedal.cli import pages, results
from daedal.cli.running import NOT_TRUSTED, TRUSTED
from daedal.cli.voice import Voice, leave_notes_to_the_table
from daedal.errors import ProjectError, quoted
from daedal.estimation import Fit
from daedal.records import list_versions

if TYPE_CHECKING:
    from daedal.projects import Project


def fit(project: "Project", seed: int, out: Path | None, voice: Voice, *, show: bool) -> int:
    """Estimate, print, write."""
    files = results.choose_files(project, out)
    results.make_folder(files.folder)
    with leave_notes_to_the_table():
        found = estimate(project, seed)
    found = results.record_project(found, project, files.folder)
    if found.status.interrupted:
        voice.say(found.summary())
        _keep_interrupted(found, files)
    with keep_finished(found, files):
        voice.say(found.summary())
        reasons, numbers = write_files(found, files, project, voice)
    voice.give(numbers)
    if show:
        results.show_page(files.page)
    return conclude(reasons, voice)


def estimate(project: "Project", seed: int) -> Fit:
    """The fit that a project asks for."""
    if not project.free and not project.local:
        raise ProjectError(
            f"{project.path}: no parameter is free.",
            f"Name those to estimate below [estimate.free], or with --free: {quoted(project.model.parameters)}.",
        )
    return estimation.fit(
        project.model,
        list(project.experiments),
        free=project.free,
        local=project.local,
        criterion=project.criterion,
        starts=project.starts,
        rng=seed,
    )


def write_files(
    found: Fit, files: results.Files, project: "Project", voice: Voice
) -> tuple[list[str], Mapping[str, Any]]:
    """The result, its numbers, its page; returned are the reasons not to trust it, and the numbers."""
    found.save(files.fit)
    evidence = pages.gather_evidence(found, project)
    reasons = pages.list_reasons(evidence)
    numbers = pages.list_numbers(found, reasons)
    results.write_numbers(files.numbers, numbers)
    pages.write_page(evidence, files.page, project)
    voice.say(f"files: {files.fit.name}, {files.numbers.name}, {files.page.name} in {files.folder}")
    return reasons, numbers


@contextmanager
def keep_finished(found: Fit, files: results.Files) -> Iterator[None]:
    """A fit that is finished is kept, whenever it is stopped after that."""
    try:
        yield
    except KeyboardInterrupt:
        found.save(files.fit)
        kept = f"Stopped. The fit is kept in {files.fit}; 'daedal report {files.fit}' writes its page."
        raise KeyboardInterrupt(kept) from None


def _keep_interrupted(found: Fit, files: results.Files) -> None:
    """Under another name, so that an earlier result is not lost; then on as Ctrl-C goes."""
    kept = files.name_further("interrupted.nc")
    found.save(kept)
    raise KeyboardInterrupt(f"Stopped. The best values so far are kept in {kept}; the same command begins anew.")


def conclude(reasons: Sequence[str], voice: Voice) -> int:
    """The last words, and the exit code."""
    if not reasons:
        voice.say("Trusted: converged, determined, and what is left is noise.", style="green")
        return TRUSTED
    voice.doubt("Finished, but not to be trusted:")
    for reason in reasons:
        voice.doubt(f"  {reason}")
    return NOT_TRUSTED


def repeat(path: Path, out: Path | None, voice: Voice, *, show: bool) -> int:
    """Make the fit of a result file again; nothing is written unless a folder is given."""
    before, record = results.load_result(path)
    project = results.restore_project(path, record)
    with leave_notes_to_the_table():
        found = estimate(project, before.seed)
    voice.say(found.summary())
    if found.status.interrupted:
        raise KeyboardInterrupt("The repetition was stopped; nothing is kept.")
    others = [name for name, one in found.estimates.items() if one.value != before[name].value]
    if others:
        pairs = [(found[name].value, before[name].value) for name in others]
        apart = max(abs(now - then) / max(abs(now), abs(then)) for now, then in pairs)
        voice.doubt(f"{quoted(others)} differ from '{path}', by up to {apart:.1g} of their values.")
        changed = [
            f"{name} {number} then, {now} now"
            for name, number in record.versions.items()
            if (now := list_versions().get(name)) != number
        ]
        voice.doubt(f"Versions: {'; '.join(changed) or 'the same, so that the machine may be another'}.")
    else:
        voice.say(f"The same digits as in '{path}'.")
    if out is None:
        reasons = pages.list_reasons(pages.gather_evidence(found, project))
        voice.give(pages.list_numbers(found, reasons))
        return conclude(reasons, voice)
    files = results.choose_files(project, out)
    results.make_folder(files.folder)
    found = results.record_project(found, project, files.folder)
    with keep_finished(found, files):
        reasons, numbers = write_files(found, files, project, voice)
    voice.give(numbers)
    if show:
        results.show_page(files.page)
    return conclude(reasons, voice)
