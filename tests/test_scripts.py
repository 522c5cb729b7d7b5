"""The examples and the README's script run as they are."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"
DATA = SHARED / "data"


def run(arguments: list[str], folder: Path) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_tested_here():
    tested = {"pendulum.py", "wind.py", "circuit.py", "heating_from_csv.py", "semibatch.py", "cascaded_tanks.py"}
    tested |= {"from_modelica.py", "drive.py", "thermal_network.py", "building.py"}
    tested |= {"hair_dryer.py", "robot_arm.py", "exchanger.py", "hair_dryer_delay.py"}
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


def test_the_drive_in_modelica_reaches_the_balance_of_torques(tmp_path):
    printed = run([str(ROOT / "examples" / "from_modelica.py")], tmp_path)
    turning, balance = re.search(r"rotor turns with (\S+) rad/s, the balance of torques says (\S+)", printed).groups()
    assert abs(float(turning) - float(balance)) < 1e-5
    twist, stiffer = re.search(r"at most (\S+) rad, ten times as stiff (\S+) rad", printed).groups()
    assert 5 * float(stiffer) < float(twist)


def test_heating_runs_on_the_measured_data(tmp_path):
    file = DATA / "daisy_heating_system.csv"
    if not file.exists():
        pytest.skip(f"the measured data are not here ({file.name})")
    printed = run([str(ROOT / "examples" / "heating_from_csv.py"), str(file)], tmp_path)
    assert float(re.search(r"hand-picked values: (\S+)", printed)[1]) < 12.0


def test_drive_finds_the_shaft_and_keeps_the_power(tmp_path):
    printed = run([str(ROOT / "examples" / "drive.py")], tmp_path)
    assert "59 equations, index 2, 4 degrees of freedom" in printed
    assert abs(float(re.search(r"shaft\.c \[N\.m/rad\] +(\S+)", printed)[1]) - 2.0) < 0.02
    assert abs(float(re.search(r"disc\.J \[kg\.m2\] +(\S+)", printed)[1]) - 0.05) < 0.001
    assert float(re.search(r"balance of power: (\S+) W", printed)[1]) < 1e-9


def test_thermal_network_keeps_the_heat(tmp_path):
    printed = run([str(ROOT / "examples" / "thermal_network.py")], tmp_path)
    assert "index 1, 12 degrees of freedom" in printed
    assert float(re.search(r"balance of heat: (\S+)", printed)[1]) < 1e-9


def test_semibatch_reaches_the_stated_objective_from_every_start(tmp_path):
    file = SHARED / "problems" / "semibatch.json"
    if not file.exists():
        pytest.skip(f"the measured data are not here ({file.name})")
    printed = run([str(ROOT / "examples" / "semibatch.py"), str(file)], tmp_path)
    assert "1176 samples in 14 experiments" in printed
    assert float(re.search(r"sum of squares: (\S+)", printed)[1]) <= 28.10
    assert re.search(r"minima that the 5 starts ended in: 5 at 28\.0995\n", printed)
    assert float(re.search(r"correlation of k1 and E1: (\S+)\)", printed)[1]) > 0.999


def test_cascaded_tanks_predict_the_record_they_have_not_seen(tmp_path):
    file = DATA / "cascaded_tanks.csv"
    if not file.exists():
        pytest.skip(f"the measured data are not here ({file.name})")
    printed = run([str(ROOT / "examples" / "cascaded_tanks.py"), str(file)], tmp_path)
    assert float(re.search(r"ignores the disturbances: (\S+) V", printed)[1]) < 0.38
    assert float(re.search(r"mean over disturbances: (\S+) V", printed)[1]) < 0.39
    assert float(re.search(r"two fits: (\S+) standard errors", printed)[1]) < 1.0


@pytest.mark.slow
def test_the_building_wants_all_three_temperatures_and_leaves_its_heater_open(tmp_path):
    file = DATA / "building_heat_blg1.csv"
    if not file.exists():
        pytest.skip(f"the measured data are not here ({file.name})")
    printed = run([str(ROOT / "examples" / "building.py"), str(file), "page.html"], tmp_path)
    table = re.findall(r"^(Ti\w*) +(-\S+) +(\S+) +(\S+) +(\S+) +\S+$", printed, re.MULTILINE)
    assert [row[0] for row in table] == ["Ti", "TiTe", "TiTeTh"]
    logarithms, aic, bic, deviations = ([float(row[k]) for row in table] for k in range(1, 5))
    assert logarithms == sorted(logarithms)
    assert all(numbers == sorted(numbers, reverse=True) for numbers in (aic, bic, deviations))
    assert abs(deviations[-1] - 0.337) < 0.002
    assert "not determined by these data: Ch, Rih, noise_h" in printed
    assert "depends on 'Thm', so the model misses part of what that does" in printed
    assert float(re.search(r"one step ahead +(\S+) %", printed)[1]) > 85.0
    assert "<html>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_hair_dryer_finds_order_and_delay(tmp_path):
    file = DATA / "daisy_hairdryer.csv"
    if not file.exists():
        pytest.skip(f"the measured data are not here ({file.name})")
    printed = run([str(ROOT / "examples" / "hair_dryer.py"), str(file)], tmp_path)
    assert float(re.search(r"fit of the second half: (\S+) %", printed)[1]) >= 85.0
    low, high = map(float, re.search(r"95 % interval (\S+) … (\S+) s", printed).groups())
    assert 0.1 < low < high < 0.3


def test_the_delay_of_the_hair_dryer_has_an_interval(tmp_path):
    file = DATA / "daisy_hairdryer.csv"
    if not file.exists():
        pytest.skip(f"the measured data are not here ({file.name})")
    printed = run([str(ROOT / "examples" / "hair_dryer_delay.py"), str(file)], tmp_path)
    assert float(re.search(r"fit of the whole record: (\S+) %", printed)[1]) >= 88.0
    low, high = map(float, re.search(r"95 % interval (\S+) … (\S+) s", printed).groups())
    assert 0.14 < low < high < 0.18


@pytest.mark.slow
def test_robot_arm_is_not_worse_than_discrete_time(tmp_path):
    file = DATA / "daisy_robot_arm.csv"
    if not file.exists():
        pytest.skip(f"the measured data are not here ({file.name})")
    printed = run([str(ROOT / "examples" / "robot_arm.py"), str(file)], tmp_path)
    own, arx = re.search(r"6 poles: (\S+) %; the best of all ARX models with 6 poles: (\S+) %", printed).groups()
    assert float(own) >= float(arx) > 90.0


@pytest.mark.slow
def test_exchanger_is_not_worse_than_discrete_time(tmp_path):
    file = DATA / "daisy_exchanger.csv"
    if not file.exists():
        pytest.skip(f"the measured data are not here ({file.name})")
    printed = run([str(ROOT / "examples" / "exchanger.py"), str(file)], tmp_path)
    own = float(re.search(r"by maximum likelihood, 3 poles: (\S+) %", printed)[1])
    assert own >= float(re.search(r"the best of all ARX models with 3 poles: (\S+) %", printed)[1]) > 55.0
    assert "NOT DETERMINED" not in printed


@pytest.mark.parametrize(
    "script",
    [
        "heating_from_csv.py",
        "semibatch.py",
        "cascaded_tanks.py",
        "hair_dryer.py",
        "hair_dryer_delay.py",
        "robot_arm.py",
        "exchanger.py",
        "building.py",
    ],
)
def test_without_a_file_a_script_says_how_it_is_run(script, tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / script)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"Give the data file: python examples/{script} path/to")


def test_the_script_of_the_readme_prints_what_it_says(tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    script = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    expected = re.search(r"```\n(structure of .*?)\n```", text, re.DOTALL)[1]
    (tmp_path / "readme.py").write_text(script, encoding="utf-8")
    printed = run(["readme.py"], tmp_path)
    for block in expected.split("  ...\n"):
        structure, *table = block.split("fit of")
        assert structure.strip() in printed
        assert all(each.splitlines()[0] in printed for each in table)  # digits may differ from machine to machine
    ends = [tuple(map(float, found)) for found in re.findall(r"(\S+) … (\S+) +8 ", printed)]
    (blind_low, _), (low, high) = ends
    assert low < 6.25 < high
    assert blind_low > 6.25


def test_the_mistake_of_the_readme_gets_that_sentence():
    import daedal as dd

    x, y, L, l = dd.symbols("x y L l")  # noqa: E741
    with pytest.raises(dd.DaedalError) as refused:
        dd.Model(name="m", equations={"rod": x**2 + y**2 == l**2}, unknowns=[x, y], parameters={L: 1.0})
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert str(refused.value) in " ".join(text.split())
