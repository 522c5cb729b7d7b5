"""Importing daedal loads little, and what is heavy only when it is used."""

import subprocess
import sys


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def find_loaded(code: str) -> tuple[set[str], list[str]]:
    """Packages from outside the standard library that this code loads, and the files of daedal."""
    look = "import sys; before = set(sys.modules)"
    tell = "print(*(n for n in set(sys.modules) - before if getattr(sys.modules[n], '__file__', None)))"
    names = python(f"{look}\n{code}\n{tell}").split()
    own = [name for name in names if name.startswith("daedal")]
    packages = {name.partition(".")[0] for name in names if name not in own and not name.startswith("_")}
    return packages - sys.stdlib_module_names, own


def test_importing_loads_no_other_package():
    others, own = find_loaded("import daedal")
    assert others <= {"lazy_loader"}
    assert len(own) < 5


def test_declaring_a_model_loads_numbers_and_symbols_alone():
    code = "import daedal as dd; x = dd.symbol('x'); dd.Model(name='m', equations={'e': dd.der(x) == -x}, unknowns=[x])"
    others, own = find_loaded(code)
    assert others <= {"lazy_loader", "numpy", "casadi"}
    assert len(own) < 30


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
    assert len(loaded) <= 55, loaded
    unused = tuple(f"daedal.{name}" for name in ("simulation.delays.", "simulation.lanes.", "kernels", "estimation"))
    assert not [name for name in loaded if name.startswith(unused)]


def test_public_names_are_all_there():
    import daedal

    assert sorted(daedal.__all__) == sorted(set(daedal.__all__))
    for name in daedal.__all__:
        assert getattr(daedal, name) is not None
