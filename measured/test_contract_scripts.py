"""The reference scripts of the public API run unchanged; they check by themselves what they find."""

from running import run


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


def test_the_script_of_the_slider_runs_but_for_its_page_its_units_and_its_prior(contract, tmp_path):
    text = contract("slider.py").read_text(encoding="utf-8")
    for unknown in ("    units={", "page = ", "print(page)", "print(fit.to_pandas())"):
        (line,) = [line for line in text.splitlines() if line.startswith(unknown)]
        text = text.replace(f"{line}\n", "")
    prior = ", prior=dd.Normal(90.0, 20.0)"
    assert text.count(prior) == 1
    script = tmp_path / "slider.py"
    script.write_text(text.replace(prior, ""), encoding="utf-8")
    printed = run(script, folder=tmp_path)
    assert "fit of 'axis' by OutputError(): 2402 samples" in printed
    assert "IDA" not in printed


def test_the_last_lines_of_the_script_of_the_oscillator_run_unchanged(contract, tmp_path):
    """A study of its fit; here by Laplace's likelihood, as the choice that the script leaves open takes minutes."""
    lines = contract("oscillator.py").read_text(encoding="utf-8").splitlines()
    begin, end = (next(k for k, line in enumerate(lines) if line.startswith(word)) for word in ("fit = ", "study = "))
    assert ", rng=1)" in lines[begin]
    fit = lines[begin].replace(", rng=1)", ', criterion=dd.Likelihood(method="laplace"), rng=1)')
    script = tmp_path / "oscillator.py"
    script.write_text("\n".join([*lines[:begin], fit, *lines[end:]]), encoding="utf-8")
    printed = run(script, folder=tmp_path)
    assert "study of 'oscillator' by ParametricBootstrap(): 20 runs" in printed
    assert "All 20 runs are there" in printed
    assert (tmp_path / "oscillator.study").exists()
