"""`--set` and `--free`: a project with what the command line changes."""

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from daedal.errors import DaedalError, ProjectError

if TYPE_CHECKING:
    from daedal.projects import Project


def prepare_project(path: Path, changed: list[str], free: str | None) -> "Project":
    """The project that a file says, changed."""
    from daedal.projects import read_project

    if path.suffix == ".nc":
        raise ProjectError(f"'{path}' is a result, not a project.", "Give the .toml file it was made from.")
    if path.suffix not in ("", ".toml"):
        remedy = f"'daedal new {path.stem}' writes one; --data names a file of columns there, --from a model."
        raise ProjectError(f"'{path}' is not a project, which is a .toml file.", remedy)
    project = read_project(path)
    if free is not None:
        names = [name.strip() for name in free.split(",") if name.strip()]
        if not names:
            raise ProjectError("--free names nothing.", "Write --free a,b.")
        with _Named("--free"):
            project = project.with_free(names)
    if changed:
        values = dict(map(_read_value, changed))
        with _Named("--set"):
            project = project.with_values(values)
    return project


class _Named:
    """A failure begins with the option that it is about."""

    def __init__(self, option: str) -> None:
        self.option = option

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, DaedalError):
            raise ProjectError(f"{self.option}: {error.sentence}", error.remedy) from None


def _read_value(given: str) -> tuple[str, float]:
    name, _, text = given.partition("=")
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not name.strip() or not isfinite(number):
        raise ProjectError(f"--set must be followed by NAME=VALUE, got '{given}'.", "Write --set shaft.c=2.5.")
    return name.strip(), number
