"""Each package imports only from those before it in this order."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "daedal"
ORDER = [
    "errors",
    "symbolic",
    "kernels",
    "linear",
    "data",
    "disturbances",
    "models",
    "library",
    "modelica",
    "analysis",
    "systems",
    "simulation",
    "filtering",
    "estimation",
    "validation",
    "order",
    "studies",
    "report",
    "papers",
    "cli",
    "__main__",
]
FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_packages(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute, so that this test can read them"
            modules = [node.module or ""]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            continue
        found |= {module.split(".")[1] for module in modules if module.startswith("daedal.")}
        assert "daedal" not in modules, "inside the package, import from the package that holds a thing"
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_in_one_direction(path):
    package = package_of(path)
    assert package in ORDER, f"{package} has no place in the order"
    for other in imported_packages(ast.parse(path.read_text(encoding="utf-8"))):
        assert ORDER.index(other) <= ORDER.index(package), f"{package} imports {other}"


def test_packages_are_one_level_deep():
    assert all(len(path.relative_to(SOURCE).parts) <= 2 for path in FILES)
