"""Tests on files that are not in the repository: `make measured DATA=folder`, CONTRACT=folder for reference scripts.

A file that is missing is a failure, not a test less: whoever runs these wants to know.
"""

from collections.abc import Callable
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--data", default="", help="the folder of the measured files; they may lie in folders of it")
    parser.addoption("--contract", default="", help="the folder of the reference scripts; without it they are not run")


def pytest_configure(config: pytest.Config) -> None:
    for option, name in (("--data", "DATA"), ("--contract", "CONTRACT")):
        given = config.getoption(option)
        if not given and name == "DATA":
            raise pytest.UsageError("The folder of the measured files is not given. Write make measured DATA=folder.")
        if given and not Path(given).is_dir():
            raise pytest.UsageError(f"{name}={given} is not a folder. Check the path.")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Without their folder the reference scripts are no tests at all, so that none is reported as skipped."""
    return True if collection_path.name == "test_contract_scripts.py" and not config.getoption("--contract") else None


@pytest.fixture(scope="session")
def measured(request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """The path of a measured file by its name."""
    return lambda name: found(Path(request.config.getoption("--data")), name)


@pytest.fixture(scope="session")
def contract(request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """The path of a reference script by its name."""
    return lambda name: found(Path(request.config.getoption("--contract")), name)


def found(folder: Path, name: str) -> Path:
    paths = sorted(folder.resolve().rglob(name))
    if not paths:
        pytest.fail(f"There is no '{name}' in '{folder}'. The examples name the source of each file.", pytrace=False)
    return paths[0]
