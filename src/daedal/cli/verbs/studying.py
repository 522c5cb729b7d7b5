"""`daedal study`: a fit made many times, on a journal."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from daedal import report, studies
from daedal.cli import results
from daedal.cli.running import NOT_TRUSTED, TRUSTED
from daedal.cli.verbs.fitting import estimate, keep_finished, write_files
from daedal.cli.voice import Voice, leave_notes_to_the_table
from daedal.errors import ProjectError, ReportError, StudyError, counted, nearest, quoted
from daedal.estimation import Fit, identify_fit
from daedal.studies import LeaveOut, MonteCarlo, ParametricBootstrap, Scan, Starts, Study, StudyKind

if TYPE_CHECKING:
    from daedal.projects import Project

KINDS = ("bootstrap", "monte-carlo", "leave-out", "starts", "profile")
WIDE = 0.999  # probability of the interval that a profile goes through
WORDS = {  # of Python → of the command line
    "Give another journal, or fresh=True": "Write --fresh",
    "Make the same call": "Give the same command",
    "make the same call": "give the same command",
    "The same call": "The same command",
    "without workers": "without --workers",
}


@final
@dataclass(frozen=True)
class Asked:
    """What the command line asks for."""

    kind: str
    runs: int
    fresh: bool
    workers: int | None
    seed: int
    parameter: str = ""


def study(project: "Project", asked: Asked, out: Path | None, voice: Voice, *, show: bool) -> int:
    """Go on with the journal, print, write."""
    if asked.kind not in KINDS:
        raise ReportError(f"There is no kind of study '{asked.kind}'.", nearest(asked.kind, KINDS))
    files = results.choose_files(project, out)
    label = f"profile-{_choose_parameter(project, asked)}" if asked.kind == "profile" else asked.kind
    journal = files.name_further(f"{label}.study")
    fit = _find_fit(project, files, None if asked.fresh else journal, asked.seed, voice)
    kind, runs = _choose_kind(project, fit, asked)
    options = {"runs": runs, "journal": journal, "workers": asked.workers, "rng": asked.seed, "fresh": asked.fresh}
    try:
        found = studies.study(fit, kind, **options)
    except StudyError as refused:
        raise StudyError(_translate(refused.sentence), _translate(refused.remedy)) from None
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"Stopped before the first run was finished; the fit is kept in {files.fit}.") from None
    voice.say(_translate(found.summary()))
    if found.status.interrupted:
        raise KeyboardInterrupt(
            f"Stopped. {found.numbers.size} of {found.runs} runs are kept in {journal}; the same command goes on."
        )
    path, page = files.name_further(f"{label}.json"), files.name_further(f"{label}.html")
    numbers = _list_numbers(found)
    results.write_numbers(path, numbers)
    report.write_report(found, page, notes=project.report.notes)
    voice.give(numbers)
    voice.say(f"files: {journal.name}, {path.name}, {page.name} in {files.folder}")
    if show:
        results.show_page(page)
    if found.failures:
        voice.doubt(f"{len(found.failures)} of {found.numbers.size} runs did not converge.")
    return NOT_TRUSTED if found.failures else TRUSTED


def _translate(text: str) -> str:
    """What a study says, to those who typed a command."""
    for python, command in WORDS.items():
        text = text.replace(python, command)
    return text


def _find_fit(project: "Project", files: results.Files, journal: Path | None, seed: int, voice: Voice) -> Fit:
    """That of the project as it is now, made before; or made here, unless the journal would refuse it then."""
    if files.fit.exists():
        fit = results.load_fit(files.fit)
        record = fit.project
        if record is not None and fit.seed == seed and results.is_same(record, project):
            return fit
    if journal is not None and studies.is_journal(journal):
        _check_journal(project, journal, seed)
    results.make_folder(files.folder)
    with leave_notes_to_the_table():
        fit = estimate(project, seed)
    if fit.status.interrupted:
        raise KeyboardInterrupt("The fit before the study was stopped; nothing is kept.")
    fit = results.record_project(fit, project, files.folder)
    with keep_finished(fit, files):
        voice.say(fit.summary())
        write_files(fit, files, project, voice)
    return fit


def _check_journal(project: "Project", journal: Path, seed: int) -> None:
    """Refuse one of another project before the work of a fit; what only the fit shows is left to the study."""
    try:
        there = studies.load(journal)
    except StudyError as refused:
        raise StudyError(_translate(refused.sentence), _translate(refused.remedy)) from None
    assert isinstance(there, Study)
    changed = _list_changes(there.fit, project)
    changed += ["seed"] * (there.seed != seed)
    if changed:
        seeds = f" (seed: {there.seed}, now {seed})" if there.seed != seed else ""
        raise StudyError(
            f"The journal '{journal}', which has {counted(there.numbers.size, 'run')}, is that of another study: "
            f"{quoted(changed)} {'differs' if len(changed) == 1 else 'differ'}{seeds}.",
            "Write --fresh to start over, or --out for another folder.",
        )


def _list_changes(fit: Fit, project: "Project") -> list[str]:
    """What a project asks otherwise than it did when a fit was made of it."""
    free = {**project.free, **project.local}
    begins = project.starts[0] if isinstance(project.starts, tuple) else {}
    asked = {name: one.with_value(begins.get(name, one.value)) for name, one in free.items()}
    now = replace(fit, model=project.model.with_parameters(asked), data=project.experiments, estimates={})
    then, same = identify_fit(fit), identify_fit(replace(now, criterion=project.criterion or fit.criterion))
    changed = [name for name in ("model", "data", "criterion") if then[name] != same[name]]
    return changed + ["free parameters"] * (set(free) != {item.parameter for item in fit.coordinates.items})


def _choose_parameter(project: "Project", asked: Asked) -> str:
    """The one that a profile holds."""
    return asked.parameter or next(iter({**project.free, **project.local}), "")


def _choose_kind(project: "Project", fit: Fit, asked: Asked) -> tuple[StudyKind, int | None]:
    """What is done, and how often."""
    if asked.kind == "bootstrap":
        return ParametricBootstrap(), asked.runs
    if asked.kind == "monte-carlo":
        return MonteCarlo(truth=project.model_at_starts), asked.runs
    if asked.kind == "starts":
        return Starts(asked.runs), None
    if asked.kind == "leave-out":
        if len(project.experiments) < 2:
            raise ProjectError(
                f"{project.path}: nothing can be left out of one experiment.", "Give a second [[data]] to fit."
            )
        return LeaveOut(), None
    name = _choose_parameter(project, asked)
    if name not in fit.estimates:
        raise ReportError(f"'{name}' is not free, so that it has no profile.", nearest(name, fit.estimates))
    if len(fit.estimates) < 2:
        raise ReportError(
            f"{quoted(fit.estimates)} alone is free, so that nothing is fitted while it is held.",
            "The profile of one parameter is that of the criterion: [validate] profile draws it.",
        )
    low, high = fit.conf_int(WIDE)[name]
    if not np.isfinite([low, high]).all():
        raise ReportError(f"'{name}' has no interval to go through.", "Look at the fit first.")
    space = np.geomspace if fit[name].scale == "log" else np.linspace
    return Scan({name: space(low, high, asked.runs).tolist()}), None


def _list_numbers(found: Study) -> dict[str, Any]:
    frame = found.to_pandas()
    return {
        "Kind": found.kind,
        "Runs": found.runs,
        "Seed": str(found.seed),
        "Status": str(found.status),
        "Estimates": dict(found.estimates),
        "StdErrors": dict(found.std_errors),
        "Criterion": found.values,
        "Columns": [str(one) for one in frame.columns],
        "Failures": {str(number): message for number, message in found.failures.items()},
    }
