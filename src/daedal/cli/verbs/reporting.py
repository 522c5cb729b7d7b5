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

if TYPE_CHECKING:
    from daedal.projects import Project


def report(files: Sequence[Path], out: Path | None, voice: Voice, *, show: bool) -> int:
    """One page: of one fit, or of several side by side."""
    fits = [results.load_fit(path) for path in files]
    project = _find_project(files[0], fits[0], voice)
    page = _choose_page(files, project) if out is None else out
    if page.suffix != ".html":
        raise ReportError(f"The page must be a .html file, got '{page}'.", "Write --out page.html.")
    results.make_folder(page.parent)
    if len(fits) == 1:
        pages.write_page(pages.gather_evidence(fits[0], project, full=True), page, project)
    else:
        unseen = list(project.held_out) if project is not None else []
        reports.write_report(fits[0], page, validation=unseen or None, compare_with=fits[1:])
    voice.say(f"files: {page.name} in {page.parent}")
    if show:
        results.show_page(page)
    return TRUSTED


def _choose_page(files: Sequence[Path], project: "Project | None") -> Path:
    """Beside the first result, where the fit wrote its own."""
    if len(files) > 1:
        return files[0].with_name("comparison.html")
    name = files[0].stem
    return files[0].with_name(f"{name}.html" if project is None else results.name_page(project, name))


def _find_project(path: Path, fit: Fit, voice: Voice) -> "Project | None":
    """What the fit was made from, as long as it is still there; the page can do without."""
    if fit.project is None:
        return None
    try:
        return results.restore_project(path, fit.project)
    except ProjectError as error:
        voice.doubt(f"{error.sentence} The page is made from the result alone, without unseen data.")
        return None
