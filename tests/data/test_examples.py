"""The examples in the docstrings run, and importing the package is light."""

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

from daedal.data import dataset, reading, samples, signal


@pytest.mark.parametrize("module", [dataset, reading, samples, signal], ids=lambda module: module.__name__)
def test_examples(module):
    results = doctest.testmod(module)
    assert results.attempted > 0
    assert results.failed == 0


def test_import_loads_neither_scipy_nor_pandas_nor_xarray():
    script = f"""
import sys, types
package = sys.modules["daedal"] = types.ModuleType("daedal")  # without what other packages import
package.__path__ = [{str(Path(dataset.__file__).parents[1])!r}]
import daedal.data
print({{"scipy", "pandas", "xarray"}} & set(sys.modules))
"""
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "set()"
