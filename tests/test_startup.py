"""Importing daedal is quick, and loads what is heavy only when it is used."""

import subprocess
import sys


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_import_costs_little_processor_time():
    code = "import time; start = time.process_time(); import daedal; print(time.process_time() - start)"
    python(code)  # writes the bytecode
    assert min(float(python(code)) for _ in range(3)) < 0.6


def test_declaring_a_model_costs_little_too():
    code = (
        "import time; start = time.process_time(); import daedal as dd; x = dd.symbol('x');"
        "dd.Model(name='m', equations={'e': dd.der(x) == -x}, unknowns=[x]); print(time.process_time() - start)"
    )
    python(code)
    assert min(float(python(code)) for _ in range(3)) < 0.6


def test_plotting_and_tables_are_loaded_on_first_use():
    code = (
        "import sys, daedal; daedal.Model, daedal.simulate;"
        "print([m for m in ('plotly', 'pandas', 'xarray', 'scipy.optimize') if m in sys.modules])"
    )
    assert python(code).strip() == "[]"


def test_public_names_are_all_there():
    import daedal

    assert sorted(daedal.__all__) == sorted(set(daedal.__all__))
    for name in daedal.__all__:
        assert getattr(daedal, name) is not None
