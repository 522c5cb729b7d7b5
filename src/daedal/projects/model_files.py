"""Models that projects name: Python, the text form, Modelica."""

import importlib.util
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

from daedal.errors import DaedalError, ModelError, nearest, quoted, with_article
from daedal.files import check_file
from daedal.models import Model
from daedal.projects.lines import list_lines
from daedal.projects.source import Table

LARGEST = 10_000_000  # bytes of a model's text
KEYS = ("file", "class", "python", "set")


def read_model(table: Table) -> tuple[Model, list[Path]]:
    """The model that `[model]` names, and the files that it was made of."""
    table.refuse_unknown(KEYS, "[model]")
    if ("file" in table) == ("python" in table):
        given = "both" if "file" in table else "neither"
        raise table.source.explain(
            table.address,
            f"[model] must have either file or python, but has {given}.",
            'Write file = "tank.toml", file = "tank.mo" or python = "tank.py:tank".',
        )
    key = "file" if "file" in table else "python"
    model, files = (_read_file if key == "file" else _read_python)(table)
    return _set_values(model, table), files


def _set_values(model: Model, table: Table) -> Model:
    values = table.take_table("set")
    for name in values.content:
        if name not in model.parameters:
            raise values.explain(
                name, f"the model '{model.name}' has no parameter '{name}'.", nearest(name, model.parameters)
            )
        value = values.take_number(name, "1.0")
        with values.source.at(values.find(name)):
            model = model.with_parameters({name: value})
    return model


def _read_file(table: Table) -> tuple[Model, list[Path]]:
    name = table.take_text("file")
    path = table.source.find_file(table.find("file"), name, "model")
    if path.suffix == ".mo":
        from daedal.modelica import read_modelica

        with table.source.at(table.find("class" if "class" in table else "file")):
            return read_modelica(path, table.take_text("class") or None), [path]
    if "class" in table:
        raise table.explain("class", f"a class is of Modelica, but the model is '{name}'.", "Leave class out.")
    if path.suffix == ".py":
        raise table.explain("file", f"'{name}' is Python.", f'Write python = "{name}:NAME" with the name of the model.')
    if path.suffix != ".toml":
        remedy = 'Give a .toml file in the form of Model.to_text(), a .mo file, or python = "file.py:name".'
        raise table.explain("file", f"'{name}' is no file of a model that can be read.", remedy)
    with table.source.at(table.find("file")):
        check_file(path, ModelError, f"the model '{name}'", LARGEST)
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ModelError(f"'{name}' is not UTF-8 text.", "Save it as UTF-8.") from None
        try:
            return Model.from_text(text), [path]
        except DaedalError as error:
            place = f"in '{name}'{_find_entry(text, error.sentence)}"
            raise ModelError(f"{place}: {error.sentence}", error.remedy) from None


def _find_entry(text: str, sentence: str) -> str:
    """The line of the equation, or of the entry, that a sentence about a model names."""
    try:
        lines = list_lines(text)
    except ValueError:  # no TOML, which tells its line itself
        return ""
    equation, entry = re.search(r"[Ee]quation '([^']+)'", sentence), re.search(r", at (\w+): ([^:]+):", sentence)
    address = ("equations", equation[1]) if equation else (entry[1], entry[2]) if entry else ()
    return f", line {lines[address]}" if address in lines else ""


def _read_python(table: Table) -> tuple[Model, list[Path]]:
    given = table.take_text("python")
    file, _, name = given.rpartition(":")
    if not file or not name.isidentifier() or Path(file).suffix != ".py":
        raise table.explain(
            "python", f"python must name a file and what is in it, got '{given}'.", 'Write python = "tank.py:tank".'
        )
    path = table.source.find_file(table.find("python"), file, "Python file")
    module, others = _execute(path, table)
    models = [key for key, one in vars(module).items() if isinstance(one, Model)]
    if not hasattr(module, name):
        advice = nearest(name, models, "Its models are") if models else "It has no model at all."
        raise table.explain("python", f"'{file}' has no '{name}'.", advice)
    model = getattr(module, name)
    if not isinstance(model, Model):
        kind = with_article(type(model).__name__)
        advice = f"Its models are {quoted(models)}." if models else "It has no Model at all."
        raise table.explain("python", f"'{name}' in '{file}' is {kind}, not a Model.", advice)
    return model, [path, *others]


def _execute(path: Path, table: Table) -> tuple[ModuleType, list[Path]]:
    """The module, and the files beside it that it imported."""
    spec = importlib.util.spec_from_file_location(f"{path.stem} of a project", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with _import_beside(path.parent.resolve()) as imported, redirect_stdout(sys.stderr):
        sys.modules[spec.name] = module  # as dataclasses in it look for it there
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:
            raise table.explain(
                "python",
                f"'{path.name}' raised {type(error).__name__}{_find_line(error, path)}: {error}.".replace("..", "."),
                f"Run 'python {path.name}' to see all of it, and mend that line.",
            ) from None
    return module, imported


@contextmanager
def _import_beside(folder: Path) -> Iterator[list[Path]]:
    """A module may import those beside it, which are forgotten again: another project may have others of that name."""
    imported: list[Path] = []
    known = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield imported
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - known:
            file = getattr(sys.modules[name], "__file__", None)
            if file and Path(file).resolve().parent == folder:
                imported.append(Path(file))
                del sys.modules[name]


def _find_line(error: BaseException, path: Path) -> str:
    """The last line of the file that was on the way to an error."""
    if isinstance(error, SyntaxError):
        return f" in line {error.lineno}"
    own: list[Any] = [
        frame.lineno for frame in extract_tb(error.__traceback__) if Path(frame.filename).resolve() == path.resolve()
    ]
    return f" in line {own[-1]}" if own else ""
