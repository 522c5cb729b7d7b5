"""What a model fails of, told with the line of the project that names it."""

from collections.abc import Iterator
from contextlib import contextmanager

from daedal.errors import StructureError
from daedal.projects.lines import list_lines
from daedal.projects.project import Project
from daedal.projects.source import Source


@contextmanager
def blame_model(project: Project) -> Iterator[None]:
    """Equations that do not determine their unknowns show only when something is done with them."""
    try:
        yield
    except StructureError as error:
        key = "file" if "file" in project.model_source else "python"
        source = Source(project.path, project.text, list_lines(project.text))
        raise source.explain(("model", key), error.sentence, error.remedy) from None
