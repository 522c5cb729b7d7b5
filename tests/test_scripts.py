"""The examples and the README's script run as they are."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"


def run(arguments: list[str], folder: Path) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_tested_here():
    tested = {"pendulum.py", "wind.py", "circuit.py", "heating_from_csv.py"}
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == tested


def test_pendulum_prints_its_structure_and_draws_a_page(tmp_path):
    printed = run([str(ROOT / "examples" / "pendulum.py"), "page.html"], tmp_path)
    assert "index 3, 2 degrees of freedom" in printed
    assert "<html>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    energy = float(re.search(r"energy is kept to (\S+)", printed)[1])
    assert energy < 1e-5


def test_wind_does_not_average_out(tmp_path):
    printed = run([str(ROOT / "examples" / "wind.py"), "page.html"], tmp_path)
    assert "500 realizations" in printed
    assert float(re.search(r"rad, (\S+) standard errors", printed)[1]) > 10
    assert "<html>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_circuit_refuses_the_held_input_and_solves_the_smooth_one(tmp_path):
    printed = run([str(ROOT / "examples" / "circuit.py")], tmp_path)
    assert "refused: The first derivative of input 'source' is needed" in printed
    assert float(re.search(r"largest error of the current: (\S+)", printed)[1]) < 1e-7


def test_heating_runs_on_the_measured_data(tmp_path):
    file = DATA / "daisy_heating_system.csv"
    if not file.exists():
        pytest.skip(f"the measured data are not here ({file.name})")
    printed = run([str(ROOT / "examples" / "heating_from_csv.py"), str(file)], tmp_path)
    assert float(re.search(r"hand-picked values: (\S+)", printed)[1]) < 12.0


def test_heating_without_a_file_says_how_it_is_run(tmp_path):
    script = str(ROOT / "examples" / "heating_from_csv.py")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("Give the data file: python examples/heating_from_csv.py path/to")


def test_the_script_of_the_readme_prints_what_it_says(tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    script = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    expected = re.search(r"```\n(structure of .*?)\n  \.\.\.\n```", text, re.DOTALL)[1]
    (tmp_path / "readme.py").write_text(script, encoding="utf-8")
    printed = run(["readme.py"], tmp_path)
    assert expected in printed
    assert "ensemble of 'windy pendulum': 1000 realizations" in printed


def test_the_mistake_of_the_readme_gets_that_sentence():
    import daedal as dd

    x, y, L, l = dd.symbols("x y L l")  # noqa: E741
    with pytest.raises(dd.DaedalError) as refused:
        dd.Model(name="m", equations={"rod": x**2 + y**2 == l**2}, unknowns=[x, y], parameters={L: 1.0})
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert str(refused.value) in " ".join(text.split())
