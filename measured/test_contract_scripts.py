"""The reference scripts of the public API run unchanged; they check by themselves what they find."""

from shutil import copy

from running import attempt, held, run


def test_the_script_of_the_pendulum_runs_unchanged(contract, tmp_path):
    printed = run(contract("pendulum.py"), folder=tmp_path)
    assert "index 3, 2 degrees of freedom" in printed
    assert "fit of 'pendulum' by SimulationPEM(realizations=400, transient=50.0)" in printed


def test_the_script_of_the_motor_runs_unchanged(contract, tmp_path):
    printed = run(contract("motor.py"), folder=tmp_path)
    assert "index 2" in printed
    assert "fit of 'drive' by Likelihood(): 1602 samples" in printed


def test_the_script_of_the_house_runs_unchanged(contract, measured, tmp_path):
    printed = run(contract("building.py"), measured("building_heat_blg1.csv"), folder=tmp_path)
    assert "fit of 'house' by Likelihood(): 2927 samples" in printed
    assert "not determined by these data" in printed
    assert "one step ahead" in printed
    assert "p independent of Thm" in printed


def test_the_script_of_the_order_runs_unchanged(contract, tmp_path):
    printed = run(contract("order.py"), folder=tmp_path)
    assert "order search by RefinedIV()" in printed
    assert "order search by SparseSplines()" in printed


def test_the_script_of_the_reactor_runs_unchanged(contract, tmp_path):
    printed = run(contract("reactor.py"), folder=tmp_path)
    assert printed.count("fit of 'reactor' by MeanVariance(gamma=0.9") == 2


def test_the_script_of_the_slider_runs_unchanged(contract, tmp_path):
    printed = run(contract("slider.py"), folder=tmp_path)
    assert "fit of 'axis' by OutputError(): 2402 samples" in printed
    assert "M [kg]" in printed
    assert "log posterior" in printed
    assert "IDA" not in printed
    assert (tmp_path / "axis.html").stat().st_size > 10_000


def test_the_script_of_the_oscillator_runs_unchanged(contract, tmp_path):
    printed = run(contract("oscillator.py"), folder=tmp_path)
    assert "Likelihood was chosen: the model is not linear, declares disturbances" in printed
    assert "judged at the estimate: particles would move" in printed
    assert "NOT DETERMINED" not in printed
    assert "study of 'oscillator' by ParametricBootstrap(): 20 runs" in printed
    assert "All 20 runs are there" in printed
    assert (tmp_path / "oscillator.study").exists()


def test_the_project_of_the_tank_works_unchanged(contract, tmp_path):
    """Its data are made by the script beside it; then check, fit, validate and report from the shell."""
    for name in ("tank.py", "tank.toml"):
        copy(contract(f"project/{name}"), tmp_path)
    run(tmp_path / "tank.py", folder=tmp_path)
    commands = (
        ["check", "tank.toml"],
        ["fit", "tank.toml"],
        ["validate", "results/tank.nc"],
        ["report", "results/tank.nc"],
    )
    printed = "\n".join(run("-m", "daedal", *command, folder=tmp_path) for command in commands)
    assert "'a' and 'b' are estimated from 301 samples by Likelihood(method='laplace')" in printed
    assert "fit of 'tank' by Likelihood(method='laplace'): 301 samples" in printed
    assert held({"a": 0.8, "b": 0.6}, printed)
    assert "crosses the kink" not in printed
    assert "10 steps ahead" in printed
    assert {path.name for path in (tmp_path / "results").iterdir()} == {"tank.nc", "tank.json", "tank.html"}


def test_the_data_of_the_tank_lead_to_a_page_without_python(contract, tmp_path):
    for name in ("tank.py", "tank.toml"):
        copy(contract(f"project/{name}"), tmp_path)
    run(tmp_path / "tank.py", folder=tmp_path)
    (tmp_path / "tank.toml").unlink()
    run("-m", "daedal", "new", "tank", "--data", "run1.csv", "--data", "run2.csv", folder=tmp_path)
    run("-m", "daedal", "check", "tank.toml", folder=tmp_path)
    assert attempt("-m", "daedal", "fit", "tank.toml", folder=tmp_path).returncode == 2  # a first model is too simple
    run("-m", "daedal", "report", "results/tank.nc", folder=tmp_path)
    assert (tmp_path / "results" / "tank.html").stat().st_size > 10_000
