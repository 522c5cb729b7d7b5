"""`read_project`: from a file to a `Project`. Reading executes nothing but the Python model that the file names."""

import os
from hashlib import sha256
from os import PathLike
from pathlib import Path

from daedal.data import FrozenMapping
from daedal.errors import ProjectError, nearest, show
from daedal.files import check_file
from daedal.projects.data_blocks import read_blocks
from daedal.projects.model_files import read_model
from daedal.projects.project import Project
from daedal.projects.question import read_criterion, read_free, read_reporting, read_starts, read_validating
from daedal.projects.source import list_beside, read_source

LARGEST = 1_000_000  # bytes
KEYS = ("title", "author", "model", "data", "estimate", "validate", "report")
ESTIMATE = ("criterion", "free", "local", "starts")


def read_project(path: str | Path, *, text: str | None = None) -> Project:
    """Read a project file: model, data and question in one TOML text.

    Every key that is not known is refused with the nearest one, every mistake with its line. Paths are relative to the
    file. Nothing is executed but the Python model that the file names; nothing is written.

    Parameters
    ----------
    path
        The file.
    text
        What the file said when a result was made, in place of what it says now.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> model = '''
    ... name = "decay"
    ... unknowns = ["x"]
    ... [equations]
    ... rate = "der(x) == -k*x"
    ... [outputs]
    ... x = "x"
    ... [parameters]
    ... k = 2.0
    ... [initial]
    ... x = 1.0
    ... '''
    >>> project = '''
    ... [model]
    ... file = "decay.toml"
    ... [[data]]
    ... file = "run.csv"
    ... time = "t"
    ... outputs = { x = "x" }
    ... [estimate.free]
    ... k = { start = 1.0, lower = 0.1, upper = 10, scale = "log" }
    ... '''
    >>> with TemporaryDirectory() as folder:
    ...     texts = {"decay.toml": model, "run.csv": "t,x\\n0,1.0\\n1,0.36\\n2,0.14\\n", "rig.toml": project}
    ...     _ = [Path(folder, name).write_text(text) for name, text in texts.items()]
    ...     read = read_project(Path(folder, "rig.toml"))
    >>> read.free["k"]
    Parameter(1.0, lower=0.1, upper=10.0, scale='log')
    >>> print(read.experiments[0])
    data 'run': output x; no inputs
    3 samples from 0 to 2, step 1, t0 = 0
    """
    if not isinstance(path, (str, PathLike)):
        raise ProjectError(f"A project is read from a file, got {show(path)}.", "Write read_project('tank.toml').")
    if text is not None and not isinstance(text, str):
        raise ProjectError(f"The text of a project must be a text, got {show(text)}.", "Leave it out to read the file.")
    path = Path(path)
    source, root = read_source(path, _read_text(path) if text is None else text)
    root.refuse_unknown(KEYS, "a project")
    if "model" not in root:
        raise ProjectError(f"{path}: there is no [model].", 'Write [model] with file = "tank.toml" below it.')
    model, model_files = read_model(root.take_table("model"))
    blocks, data, data_files = read_blocks(root, model)
    estimate = root.take_table("estimate")
    estimate.refuse_unknown(ESTIMATE, "[estimate]")
    free, local = read_free(estimate, model)
    names = {**free, **local}
    report, notes = read_reporting(root)
    held_out = [block.held_out for block in blocks]
    return Project(
        path=path,
        text=source.text,
        title=root.take_text("title") or path.stem,
        author=root.take_text("author"),
        model=model,
        experiments=tuple(one for one, held in zip(data, held_out, strict=True) if not held),
        held_out=tuple(one for one, held in zip(data, held_out, strict=True) if held),
        free=free,
        local=local,
        criterion=read_criterion(estimate),
        starts=read_starts(estimate, names),
        validate=read_validating(root, model, names),
        report=report,
        blocks=blocks,
        model_source=FrozenMapping(root.get("model")),
        digests=FrozenMapping(_compute_digests(path, [*model_files, *data_files, *notes])),
    )


def _read_text(path: Path) -> str:
    try:
        check_file(path, ProjectError, f"The project '{path}'", LARGEST)
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        meant = path if path.suffix or not path.name else path.with_name(f"{path.name}.toml")
        others = list_beside(meant)
        advice = nearest(meant.name, others, "There are") if others else "'daedal new NAME --data run.csv' writes one."
        advice = f"Did you mean '{meant.name}'?" if meant.name in others else advice
        raise ProjectError(f"There is no project '{path}'.", advice) from None
    except UnicodeDecodeError:
        raise ProjectError(f"The project '{path}' is not UTF-8 text.", "Save it as UTF-8.") from None
    except OSError as error:
        raise ProjectError(
            f"The project '{path}' cannot be read: {error.strerror}.", "Look at its permissions."
        ) from None


def _compute_digests(project: Path, files: list[Path]) -> dict[str, str]:
    """Name relative to the project → SHA-256."""
    folder = project.parent.resolve()
    return {_name(path, folder): sha256(path.read_bytes()).hexdigest() for path in dict.fromkeys(files)}


def _name(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder)).as_posix()
