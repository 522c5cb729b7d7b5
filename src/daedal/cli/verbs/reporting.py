"""`daedal report`: pages of saved fits."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from daedal import report as reports
from daedal.cli import pages, results
from daedal.cli.running import TRUSTED
from daedal.cli.voice import Voice
from daedal.errors import ProjectError, ReportError
from daedal.estimation import Fit
from daedal.files import is_folder

if TYPE_CHECKING:
    from daedal.projects import Project


def report(files: Sequence[Path], out: Path | None, voice: Voice, *, show: bool) -> int:
    """One page: of one fit, or of several side by side."""
    fits = [results.load_fit(path) for path in files]
    project = _find_project(files[0], fits[0], voice)
    page = _choose_page(_name_page(files, project), out)
    results.make_folder(page.parent)
    if len(fits) == 1:
        evidence = pages.gather_evidence(fits[0], project, full=True)
        pages.write_page(evidence, page, project)
        voice.give(pages.list_numbers(fits[0], pages.list_reasons(evidence)))
    else:
        unseen = list(project.held_out) if project is not None else []
        reports.write_report(fits[0], page, validation=unseen or None, compare_with=fits[1:])
        voice.give({"Fits": [reports.record_fit(one) for one in fits]})
    voice.say(f"files: {page.name} in {page.parent}")
    if show:
        results.show_page(page)
    return TRUSTED


def _name_page(files: Sequence[Path], project: "Project | None") -> Path:
    """Beside the first result, where the fit wrote its own."""
    if len(files) > 1:
        return files[0].with_name("comparison.html")
    name = files[0].stem
    return files[0].with_name(f"{name}.html" if project is None else results.name_page(project, name))


def _choose_page(usual: Path, out: Path | None) -> Path:
    """The file that is asked for, or the usual name in the folder that is."""
    if out is None:
        return usual
    if out.suffix == ".html" and not is_folder(out):
        return out
    if out.suffix and not is_folder(out):
        raise ReportError(
            f"The page must be a .html file, got '{out}'.", "Write --out page.html, or the name of a folder."
        )
    return out / usual.name


def _find_project(path: Path, fit: Fit, voice: Voice) -> "Project | None":
    """What the fit was made from, as long as it is still there; the page can do without."""
    if fit.project is None:
        return None
    try:
        return results.restore_project(path, fit.project)
    except ProjectError as error:
        voice.doubt(f"{error.sentence} The page is made from the result alone, without unseen data.")
        return None
