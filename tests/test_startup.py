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


PLAIN = """
import sys
import daedal as dd
x, k = dd.symbols("x k")
model = dd.Model(
    name="decay", equations={"rate": dd.der(x) == -k * x}, unknowns=[x], parameters={k: 2.0}, initial={x: 1.0}
)
dd.simulate(model, [0.0, 1.0])
print(*sorted(name for name in sys.modules if name.split(".")[0] == "daedal"))
"""


def test_a_plain_simulation_loads_what_it_needs():
    loaded = python(PLAIN).split()
    assert len(loaded) <= 70, loaded
    assert not [name for name in loaded if name.startswith("daedal.simulation.delays.")]
    assert not [name for name in loaded if name.startswith(("daedal.simulation.ida", "daedal.estimation"))]


def test_public_names_are_all_there():
    import daedal

    assert sorted(daedal.__all__) == sorted(set(daedal.__all__))
    for name in daedal.__all__:
        assert getattr(daedal, name) is not None
