"""The house: each package imports only from those before it, each room of a package only from those before it.

A package is entered through its `__init__`, whose stub lists what others may use; so is a sub-package.
"""

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "daedal"
ORDER = [
    "errors",
    "files",
    "limits",
    "memory",
    "jobs",
    "progress",
    "tables",
    "records",
    "priors",
    "symbolic",
    "kernels",
    "linear",
    "data",
    "disturbances",
    "models",
    "library",
    "modelica",
    "analysis",
    "lti",
    "systems",
    "experiments",
    "simulation",
    "filtering",
    "estimation",
    "validation",
    "order",
    "studies",
    "report",
    "projects",
    "papers",
    "cli",
    "__main__",
]
ROOMS = {  # of the packages with a second floor: sub-packages, and the modules beside them, from the bottom up
    "estimation": ["problem", "criteria", "likelihood", "search", ...],
    "filtering": ["large", ..., "nonlinear", "particles"],
    "kernels": ["emitter", "math", ..., "noise"],
    "papers": ["result_files", ...],
    "report": [..., "pictures", "plotting", "page", "sections", "nouns", "exploring"],
    "simulation": ["forcing", "request", "solver", "steps", "lanes", "ida", "delays", ...],
    "studies": ["kinds", ...],
    "systems": ["switching", ...],
}
LARGEST = 14  # modules in one folder
FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")
STUBS = sorted(SOURCE.rglob("__init__.pyi"))


def address(path: Path) -> tuple[str, ...]:
    """("simulation", "lanes", "march") for a module, without the last name for an `__init__`."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


@cache
def imported(path: Path) -> set[tuple[str, ...]]:
    """Addresses of everything of daedal that a module imports."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"imports are absolute, so that this test can read them: {path}"
            module = node.module or ""
            names = [f"{module}.{alias.name}" for alias in node.names]
            modules |= {name if is_module(name) else module for name in names}
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
    assert "daedal" not in modules, f"inside the package, import from the package that holds a thing: {path}"
    return {tuple(module.split(".")[1:]) for module in modules if module.startswith("daedal.")}


def is_module(name: str) -> bool:
    path = SOURCE.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def is_package(parts: tuple[str, ...]) -> bool:
    return (SOURCE.joinpath(*parts) / "__init__.py").exists()


def height(package: str, room: str) -> int:
    """The place of a room in its package; modules that are not named stand where the dots are."""
    rooms = ROOMS[package]
    return rooms.index(room) if room in rooms else rooms.index(...)


def goes_down(here: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether a module may import another, by the order of packages and rooms."""
    if other[0] == here[0] in ROOMS and len(here) > 1 and len(other) > 1:
        return height(here[0], other[1]) <= height(here[0], here[1])
    return ORDER.index(other[0]) <= ORDER.index(here[0])


def is_entered(here: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether a module reaches another through the packages that it is in."""
    common = sum(1 for a, b in zip(here, other, strict=False) if a == b)  # modules of one folder know each other
    inside = other[: common + 1]
    return other == inside or not is_package(inside) or here[0] in ("papers", "cli")


def list_imports() -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Every module with everything of daedal that it imports."""
    return [(address(path), other) for path in FILES for other in imported(path)]


def test_imports_go_in_one_direction():
    assert {address(path)[0] for path in FILES} <= set(ORDER), "a package has no place in the order"
    assert [(here, other) for here, other in list_imports() if not goes_down(here, other)] == []


def test_packages_are_entered_through_their_init():
    assert [(here, other) for here, other in list_imports() if not is_entered(here, other)] == []


def test_what_packages_offer_is_there():
    """A name that is also a module beside it would be one or the other, depending on what was loaded first."""
    for stub in STUBS:
        package = import_module(".".join(("daedal", *address(stub))))
        for name in package.__all__:
            assert not (stub.parent / f"{name}.py").exists(), (stub, name)
            assert not (stub.parent / name).exists(), (stub, name)
            assert getattr(package, name) is not None, (stub, name)


def test_there_are_two_floors():
    assert all(len(address(path)) <= 3 for path in FILES)


def test_no_folder_is_a_drawer():
    folders = [path for path in (SOURCE, *SOURCE.rglob("*")) if path.is_dir()]
    sizes = {folder.name: sum(path.name != "__init__.py" for path in folder.glob("*.py")) for folder in folders}
    assert not {name: size for name, size in sizes.items() if size > LARGEST}
