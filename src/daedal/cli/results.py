"""Where results are: their files, and the project that they were made from."""

import os
import sys
import webbrowser
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from daedal.cli.voice import write_json
from daedal.errors import ProjectError, ReportError, nearest
from daedal.estimation import Fit, ProjectRecord, load
from daedal.files import is_file, is_folder
from daedal.records import list_versions
from daedal.report import write_whole

if TYPE_CHECKING:
    from daedal.projects import Project

FOLDER = "results"


@final
@dataclass(frozen=True)
class Files:
    """The files of one result."""

    folder: Path
    name: str
    page_name: str

    @property
    def fit(self) -> Path:
        return self.folder / f"{self.name}.nc"

    @property
    def numbers(self) -> Path:
        return self.folder / f"{self.name}.json"

    @property
    def page(self) -> Path:
        return self.folder / self.page_name

    def name_further(self, ending: str) -> Path:
        """Another file of the same result: tank.order.json."""
        return self.folder / f"{self.name}.{ending}"


def choose_files(project: "Project", out: Path | None) -> Files:
    """In the folder that is asked for, or beside the project."""
    folder = project.path.parent / FOLDER if out is None else out
    return Files(folder, project.name, name_page(project, project.name))


def name_page(project: "Project", name: str) -> str:
    """What the page of a result is called: the name that the project gives is that of its own fit alone."""
    return project.report.file if project.report.file and name == project.name else f"{name}.html"


def make_folder(folder: Path) -> None:
    """Where files will be; refused before the work, not after it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportError(
            f"The results cannot be put into '{folder}': {error.strerror}.", "Give another folder with --out."
        ) from None
    if not os.access(folder, os.W_OK):
        raise ReportError(f"The folder '{folder}' cannot be written to.", "Give another folder with --out.")


def write_text(path: Path, text: str) -> None:
    """A whole file or none."""
    write_whole(path, text.encode("utf-8"), "The result")


def write_numbers(path: Path, numbers: Mapping[str, Any]) -> None:
    """As JSON."""
    write_text(path, f"{write_json(numbers)}\n")


def record_project(fit: Fit, project: "Project", folder: Path) -> Fit:
    """The fit with the project it was made from."""
    file = Path(os.path.relpath(project.path.resolve(), folder.resolve())).as_posix()
    record = ProjectRecord(
        file=file,
        title=project.title,
        author=project.author,
        text=project.text,
        digests=dict(project.digests),
        changes=dict(project.changes),
        versions=list_versions(),
    )
    return replace(fit, project=record)


def load_fit(path: Path) -> Fit:
    """A saved fit; a project in its place is told apart."""
    if path.suffix == ".toml":
        raise ReportError(f"'{path}' is a project, not a result.", f"Write daedal fit {path} first.")
    if not os.path.lexists(path):
        others = sorted(one.name for one in path.parent.glob("*.nc")) if is_folder(path.parent) else []
        advice = nearest(path.name, others, "There are") if others else "'daedal fit tank.toml' writes one."
        raise ReportError(f"There is no result '{path}'.", advice)
    return load(path)


def load_result(path: Path) -> tuple[Fit, ProjectRecord]:
    """A fit that was made from a project."""
    fit = load_fit(path)
    if fit.project is None:
        raise ReportError(
            f"'{path}' was saved by Python, without a project.", "Use a result that 'daedal fit project.toml' wrote."
        )
    return fit, fit.project


def restore_project(path: Path, record: ProjectRecord) -> "Project":
    """The project as it was when the result was made; files that have changed since are refused by name."""
    from daedal.projects import read_project

    file = path.parent / record.file
    for name, digest in record.digests.items():
        one = file.parent / name
        if not is_file(one):
            raise ProjectError(
                f"'{one}', which '{path}' was made from, is not there any more.", "Bring it back, or fit anew."
            )
        if sha256(one.read_bytes()).hexdigest() != digest:
            raise ProjectError(
                f"'{one}' has changed since '{path}' was made from it.",
                f"Bring the old one back, or write daedal fit {file} for a fit of what it is now.",
            )
    project = read_project(file, text=record.text)
    if "free" in record.changes:
        project = project.with_free(record.changes["free"])
    return project.with_values(record.changes["set"]) if "set" in record.changes else project


def show_page(page: Path) -> None:
    """In the browser; where there is none, as on a server, the file is named."""
    if not webbrowser.open(page.resolve().as_uri()):
        print(f"There is no browser to show {page}: name one in BROWSER, or open the file.", file=sys.stderr)


def is_same(record: ProjectRecord, project: "Project") -> bool:
    """Whether a result was made from this project, with these files and these changes."""
    return (record.text, dict(record.digests), dict(record.changes)) == (
        project.text,
        dict(project.digests),
        dict(project.changes),
    )
