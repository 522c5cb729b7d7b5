"""A project as a few lines of Python: the way from the command line to the library."""

import keyword
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from daedal.estimation import describe
from daedal.models import Parameter
from daedal.projects.project import DataBlock, Project

READABLE = (".csv", ".gz", ".txt")


def write_script(project: Project, seed: int = 0, out: Path | None = None) -> str:
    """What `daedal fit` does with a project, in Python; run it in the folder of the project.

    Examples
    --------
    >>> write_script(project)  # doctest: +SKIP
    """
    model = _write_model(project)
    blocks = [(_name_data(number, block), block) for number, block in enumerate(project.blocks)]
    fitted = [name for name, block in blocks if not block.held_out]
    unseen = [name for name, block in blocks if block.held_out]
    options = [f"free={_write_parameters(project.free)}"] if project.free else []
    options += [f"local={_write_parameters(project.local)}"] if project.local else []
    options += [f"criterion=dd.{describe(project.criterion)}"] if project.criterion is not None else []
    options += [f"starts={_write_starts(project.starts)}"] if project.starts is not None else []
    validation = f", validation=[{', '.join(unseen)}]" if unseen else ""
    folder = Path("results") if out is None else out
    page, result = ((folder / f"{project.name}.script.{ending}").as_posix() for ending in ("html", "nc"))
    lines = [
        "import daedal as dd",
        "from pathlib import Path",
        *model,
        *_write_data(project, blocks),
        f"fit = dd.fit(model, [{', '.join(fitted)}], {', '.join(options)}, rng={seed})",
        "print(fit)",
        f"Path({folder.as_posix()!r}).mkdir(parents=True, exist_ok=True)",
        f"fit.save({result!r})",
        f"dd.write_report(fit, {page!r}{validation})",
    ]
    return "\n".join(lines)


def _write_model(project: Project) -> list[str]:
    source = project.model_source
    if "python" in source:
        file, _, name = source["python"].rpartition(":")
        module = Path(file).stem
        importable = Path(file).parent == Path() and module.isidentifier() and not keyword.iskeyword(module)
        lines = (
            [f"from {module} import {name} as model"]
            if importable
            else [f"model = __import__('runpy').run_path({file!r})[{name!r}]"]
        )
    elif Path(source["file"]).suffix == ".mo":
        chosen = f", {source['class']!r}" if "class" in source else ""
        lines = [f"model = dd.read_modelica({source['file']!r}{chosen})"]
    else:
        lines = [f"model = dd.Model.from_text(Path({source['file']!r}).read_text(encoding='utf-8'))"]
    held = {**source.get("set", {}), **project.changes.get("set", {})}
    values = {name: float(one) for name, one in held.items() if name not in project.free and name not in project.local}
    return [*lines, *([f"model = model.with_parameters({values!r})"] if values else [])]


def _name_data(number: int, block: DataBlock) -> str:
    name = block.name
    taken = ("dd", "model", "fit", "project", "Path")
    plain = name.isidentifier() and name.isascii() and not keyword.iskeyword(name) and name not in taken
    return name if plain and not name.startswith("data_") else f"data_{number}"


def _write_data(project: Project, blocks: list[tuple[str, DataBlock]]) -> list[str]:
    """By `read_csv` where that says all; otherwise as the project reads them."""
    if all(_is_plain(block) for _, block in blocks):
        return [f"{name} = dd.read_csv({_write_arguments(block)})" for name, block in blocks]
    fitted = [name for name, block in blocks if not block.held_out]
    unseen = [name for name, block in blocks if block.held_out]
    lines = [f"project = dd.read_project({project.path.name!r})", f"[{', '.join(fitted)}] = project.experiments"]
    return [*lines, *([f"[{', '.join(unseen)}] = project.held_out"] if unseen else [])]


def _is_plain(block: DataBlock) -> bool:
    return Path(block.file).suffix in READABLE and not block.missing and block.between is None


def _write_arguments(block: DataBlock) -> str:
    stem = Path(Path(block.file).name.removesuffix(".gz")).stem
    named = {**block.options, **({"name": block.name} if block.name != stem else {})}
    return ", ".join([repr(block.file), *(f"{key}={_write(value)}" for key, value in named.items())])


def _write(value: Any) -> str:
    return repr(dict(value)) if isinstance(value, Mapping) else repr(value)


def _write_parameters(parameters: Mapping[str, Parameter]) -> str:
    rows = [f"{name!r}: {_write_parameter(one)}" for name, one in parameters.items()]
    return f"{{{', '.join(rows)}}}"


def _write_parameter(one: Parameter) -> str:
    details = {key: value for key, value in one.details().items() if key != "prior"}
    parts = [repr(one.value), *(f"{key}={value!r}" for key, value in details.items())]
    parts += [f"prior=dd.{one.prior!r}"] if one.prior is not None else []
    return f"dd.Parameter({', '.join(parts)})"


def _write_starts(starts: Any) -> str:
    return repr([dict(one) for one in starts]) if isinstance(starts, tuple) else f"dd.{starts!r}"
