"""Tests on files that are not in the repository: `make measured DATA=folder`, with further folders for further tests.

A file that is missing is a failure, not a test less: whoever runs these wants to know.
"""

from collections.abc import Callable
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--data", default="", help="the folder of the measured files")
    parser.addoption("--problems", default="", help="the folder of published problems; without it they are not run")
    parser.addoption("--contract", default="", help="the folder of the reference scripts; without it they are not run")


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("--data"):
        raise pytest.UsageError("The folder of the measured files is not given. Write make measured DATA=folder.")
    for name in ("data", "problems", "contract"):
        folder = config.getoption(f"--{name}")
        if folder and not Path(folder).is_dir():
            raise pytest.UsageError(f"{name.upper()}={folder} is not a folder. Check the path.")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Without their folder these are no tests at all, so that none is reported as skipped."""
    needs = {"test_contract_scripts.py": "--contract", "test_problems.py": "--problems"}
    option = needs.get(collection_path.name)
    return True if option and not config.getoption(option) else None


@pytest.fixture(scope="session")
def measured(request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """The path of a measured file by its name."""
    return lambda name: find_file(request.config.getoption("--data"), name)


@pytest.fixture(scope="session")
def problem(request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """The path of a published problem by its name."""
    return lambda name: find_file(request.config.getoption("--problems"), name)


@pytest.fixture(scope="session")
def contract(request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """The path of a reference script by its name."""
    return lambda name: find_file(request.config.getoption("--contract"), name)


def find_file(folder: str, name: str) -> Path:
    path = Path(folder).resolve() / name
    if not path.exists():
        pytest.fail(f"There is no '{name}' in '{folder}'. The examples name the source of each file.", pytrace=False)
    return path
