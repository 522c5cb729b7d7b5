from .blame import blame_model
from .project import DataBlock, Project, Reporting, Validating
from .reading import read_project
from .script import write_script
from .template import write_template

__all__ = [
    "DataBlock", "Project", "Reporting", "Validating", "blame_model", "read_project", "write_script", "write_template",
]
