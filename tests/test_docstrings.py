"""The examples in docstrings run as they are printed."""

import doctest
import importlib
import pkgutil

import pytest

import daedal

MODULES = [m.name for m in pkgutil.walk_packages(daedal.__path__, "daedal.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    failures, _ = doctest.testmod(importlib.import_module(name))
    assert failures == 0
