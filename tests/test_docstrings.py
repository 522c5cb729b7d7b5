"""The examples in docstrings run as they are printed."""

import doctest
import importlib
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
FILES = [path for path in sorted(SOURCE.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]
MODULES = [".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__") for path in FILES]


def test_there_are_examples():
    assert len(MODULES) > 50


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    failures, _ = doctest.testmod(importlib.import_module(name))
    assert failures == 0
