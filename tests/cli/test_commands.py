"""The commands from a project to a page: what they print and write, and the exit codes that scripts act on."""

import json
import re
import subprocess
import sys
import webbrowser
from shutil import copytree

import numpy as np
import pytest

import daedal as dd
from daedal import estimation, report
from daedal.cli import NOT_TRUSTED, REFUSED, TRUSTED, main
from daedal.cli.verbs import studying
from daedal.data import reading
from daedal.errors import EstimationError
from daedal.progress import Progress
from daedal.report.sections import write_making
from rigs import PROJECT, TRUTH, list_files, write_rig, write_run

REPORT = {"Status", "Method", "Fit", "Parameters", "OptionsUsed", "RandState", "DataUsed", "Termination"}
FITS = {"FitPercent", "LossFcn", "MSE", "FPE", "AIC", "AICc", "nAIC", "BIC"}


def refuse_constant(name):
    raise AssertionError(f"{name} is no JSON")


def read_json(text: str) -> dict:
    return json.loads(text, parse_constant=refuse_constant)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A rig with its fit; tests that change files take a rig of their own."""
    folder = tmp_path_factory.mktemp("rig")
    path = write_rig(folder)
    assert main(["fit", str(path), "--quiet"]) == TRUSTED
    return folder


@pytest.fixture
def rig(tmp_path, monkeypatch):
    """A rig in the folder where commands run. Pages, which take longer than all the rest, are a word."""
    write_rig(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(report, "write_report", lambda _, path, **__: path.write_text("<html>"))
    monkeypatch.setattr(report, "write_evidence", lambda _, path, __: path.write_text("<html>"))
    return tmp_path


def test_check_says_in_five_sentences_what_will_be_done(rig, capsys):
    before = list_files(rig)
    assert main(["check", "rig.toml"]) == TRUSTED
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert [line[:2] for line in lines] == ["1.", "2.", "3.", "4.", "5."]
    assert "1 equation, index 0" in lines[0]
    assert "100 samples from 0 to 49.5" in lines[2]
    assert lines[2].count("run") == 2
    assert "'gain' and 'lag' are estimated from 100 samples by OutputError()" in lines[3]
    assert "rig.nc, rig.json and the page rig.html" in lines[4]
    assert told.err == ""
    assert list_files(rig) == before


def test_check_tells_what_speaks_against_the_data(rig, capsys):
    rows = [f"{t},1.0,{'NA' if t % 2 else t}" for t in range(100)]
    (rig / "run1.csv").write_text("\n".join(["t,u,y", *rows]))
    (rig / "run2.csv").write_text("\n".join(["t,u,y", *(f"{t},{t % 3},3.0" for t in range(9))]))
    assert main(["check", "rig.toml", "--json"]) == NOT_TRUSTED
    told = capsys.readouterr()
    doubts = read_json(told.out)["doubts"]
    for words in (
        "input 'heat' of 'run1' never changes",
        "50 % of the samples",
        "'temperature' of 'run2' never changes",
    ):
        assert any(words in doubt for doubt in doubts)
        assert words in told.err


def test_check_tells_where_held_values_begin(rig, capsys):
    """A record that is used from its middle on does not begin at rest."""
    (rig / "rig.toml").write_text(PROJECT.replace('"zoh"', '"zoh"\nbetween = [10.0, 40.0]', 1))
    assert main(["check", "rig.toml"]) == NOT_TRUSTED
    told = capsys.readouterr().err
    assert "'run1' is used from 10 on, and the model starts there with the values it holds in 'initial' ('x')" in told
    (rig / "rig.toml").write_text(PROJECT.replace('"zoh"', '"zoh"\nbetween = [0.0, 40.0]', 1))
    assert main(["check", "rig.toml"]) == TRUSTED


def test_check_refuses_what_a_fit_would_refuse(rig, capsys):
    (rig / "rig.toml").write_text(PROJECT.replace('"OutputError"', '"SimulationPEM"'))
    assert main(["check", "rig.toml"]) == REFUSED
    assert "declares no disturbances" in capsys.readouterr().err


def test_a_fit_is_a_result_numbers_and_a_page(fitted):
    assert list_files(fitted / "results") == {"rig.nc", "rig.json", "rig.html"}
    numbers = read_json((fitted / "results" / "rig.json").read_text())
    assert numbers.keys() >= REPORT
    assert numbers["Fit"].keys() >= FITS
    assert numbers["Trusted"] is True
    assert numbers["Reasons"] == []
    result = dd.load(fitted / "results" / "rig.nc")
    assert numbers["Parameters"]["ParVector"] == dict(result.params)
    for name, truth in TRUTH.items():
        assert abs(result[name].value - truth) < 4.0 * result[name].std_error
    assert "<html" in (fitted / "results" / "rig.html").read_text(encoding="utf-8")


def test_notes_are_said_once(rig, capsys, caplog):
    (rig / "rig.toml").write_text(PROJECT.replace('criterion = { kind = "OutputError" }', ""))
    main(["fit", "rig.toml"])
    assert capsys.readouterr().out.count("was chosen") == 1
    assert caplog.text == ""


def test_notes_of_a_fit_that_fails_are_said(rig, monkeypatch, caplog):
    def fail(*_):
        raise EstimationError("There is no estimate.", "Try again.")

    (rig / "rig.toml").write_text(PROJECT.replace('criterion = { kind = "OutputError" }', ""))
    monkeypatch.setattr("daedal.estimation.fitting.search", fail)
    assert main(["fit", "rig.toml"]) == REFUSED
    assert caplog.text.count("was chosen") == 1


def test_a_terminal_is_told_what_goes_on_after_the_fit(rig, monkeypatch):
    said = []
    monkeypatch.setattr(Progress, "stage", lambda _, word: said.append(word))
    assert main(["fit", str(rig / "rig.toml")]) == TRUSTED
    begun = [word for word in said if word != "lining up fit and data"]  # of each comparison on the way
    assert begun[-2:] == ["what is left, and data that were held out", "drawing"]


def test_the_page_is_shown_where_there_is_a_browser(fitted, monkeypatch, capsys):
    """`BROWSER` names a program, as `webbrowser` has it; it is called with the address of the page."""
    shown = []
    monkeypatch.setattr(webbrowser, "open", lambda address: not shown.append(address))
    command = ["report", str(fitted / "results" / "rig.nc"), "--open"]
    assert main(command) == TRUSTED
    assert shown == [(fitted / "results" / "rig.html").resolve().as_uri()]
    assert "no browser" not in capsys.readouterr().err
    monkeypatch.setattr(webbrowser, "open", lambda _: False)
    assert main(command) == TRUSTED
    assert "There is no browser to show" in capsys.readouterr().err


def test_the_project_is_in_the_result(fitted):
    record = dd.load(fitted / "results" / "rig.nc").project
    assert record is not None
    assert record.text == PROJECT
    assert record.file == "../rig.toml"
    assert set(record.digests) == {"oven.toml", "run1.csv", "run2.csv"}
    assert record.versions["daedal"] == dd.__version__


def test_a_saved_fit_keeps_its_project(fitted, tmp_path):
    result = dd.load(fitted / "results" / "rig.nc")
    result.save(tmp_path / "copy.nc")
    assert dd.load(tmp_path / "copy.nc").project == result.project


def test_numbers_are_on_standard_output_and_words_on_standard_error(rig, capsys):
    assert main(["fit", "rig.toml", "--json"]) == TRUSTED
    told = capsys.readouterr()
    assert read_json(told.out) == read_json((rig / "results" / "rig.json").read_text())
    assert "fit of 'oven' by OutputError(): 100 samples" in told.err
    assert "Trusted" in told.err


def test_quiet_says_nothing(rig, capsys):
    assert main(["fit", "rig.toml", "--quiet", "--out", "elsewhere"]) == TRUSTED
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "")
    assert list_files(rig / "elsewhere") == {"rig.nc", "rig.json", "rig.html"}


def test_values_and_names_of_the_command_line(rig, capsys):
    assert (
        main(["fit", "rig.toml", "--free", "lag", "--set", "gain=2.5", "--set", "lag=2", "--seed", "3", "-q"])
        == TRUSTED
    )
    result = dd.load(rig / "results" / "rig.nc")
    assert list(result) == ["lag"]
    assert result["lag"].start == 2.0
    assert result.model.parameters["gain"].value == 2.5
    assert result.seed == 3
    assert result.project is not None
    assert result.project.changes == {"free": ["lag"], "set": {"gain": 2.5, "lag": 2.0}}
    shown = str(write_making(result, ()).body)
    assert "# changed by --set gain=2.5 --set lag=2.0 --free lag\n\ntitle = &quot;Oven of rig 3&quot;" in shown
    assert re.search(r"# run1.csv: SHA-256 [0-9a-f]{64}", shown)
    assert main(["fit", "results/rig.nc"]) == TRUSTED
    assert "The same digits as in 'results/rig.nc'." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--set", "gian=1"], "--set: The model 'oven' has no parameter 'gian'.\nDid you mean 'gain'?"),
        (["--set", "gain"], "--set must be followed by NAME=VALUE, got 'gain'."),
        (["--set", "gain=many"], "--set must be followed by NAME=VALUE"),
        (["--set", "gain=1000"], "--set: The value 1000 of parameter 'gain' lies outside its bounds"),
        (["--free", "gian"], "--free: The model 'oven' has no parameter 'gian'."),
        (["--free", ","], "--free names nothing."),
        (["--seed", "-1"], "The command is not understood: invalid value for '--seed'"),
        (["--sett", "gain=1"], "unrecognized arguments: --sett gain=1.\nDid you mean '--set'?"),
    ],
)
def test_wrong_words_of_the_command_line(arguments, sentence, rig, capsys):
    before = list_files(rig)
    assert main(["fit", "rig.toml", *arguments]) == REFUSED
    assert sentence in capsys.readouterr().err
    assert list_files(rig) == before


def test_what_is_not_to_be_trusted_has_its_own_code(rig, capsys):
    (rig / "rig.toml").write_text(PROJECT.replace("upper = 50.0", "upper = 2.0"))
    assert main(["fit", "rig.toml"]) == NOT_TRUSTED
    told = capsys.readouterr().err
    assert "not to be trusted" in told
    assert "at a bound: lag." in told
    assert "residuals of temperature on unseen data" in told
    assert read_json((rig / "results" / "rig.json").read_text())["Trusted"] is False


def test_nothing_to_estimate(rig, capsys):
    (rig / "rig.toml").write_text(PROJECT.partition("[estimate.free]")[0])
    assert main(["fit", "rig.toml"]) == REFUSED
    assert "no parameter is free.\nName those to estimate" in capsys.readouterr().err
    assert main(["check", "rig.toml"]) == NOT_TRUSTED
    assert "[estimate.free] is empty" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_refused_before_the_work(rig, monkeypatch, capsys):
    (rig / "taken").write_text("")
    monkeypatch.setattr(estimation, "fit", lambda *_, **__: pytest.fail("the work was done"))
    assert main(["fit", "rig.toml", "--out", "taken"]) == REFUSED
    assert "cannot be put into 'taken'" in capsys.readouterr().err


def test_data_in_another_folder_are_found_again_from_anywhere(rig, monkeypatch, capsys):
    (rig / "data").mkdir()
    (rig / "project").mkdir()
    for name in ("run1.csv", "run2.csv"):
        (rig / name).rename(rig / "data" / name)
    (rig / "oven.toml").rename(rig / "project" / "oven.toml")
    (rig / "project" / "rig.toml").write_text(PROJECT.replace('file = "run', 'file = "../data/run'))
    assert main(["fit", "project/rig.toml", "-q"]) == TRUSTED
    assert set(dd.load(rig / "project" / "results" / "rig.nc").project.digests) == {
        "oven.toml",
        "../data/run1.csv",
        "../data/run2.csv",
    }
    monkeypatch.chdir(rig / "project" / "results")
    assert main(["validate", "rig.nc", "-q"]) == TRUSTED


def test_a_result_is_repeated_digit_by_digit(fitted, monkeypatch, capsys):
    monkeypatch.chdir(fitted)
    before = (fitted / "results" / "rig.nc").read_bytes()
    assert main(["fit", "results/rig.nc", "--json"]) == TRUSTED
    told = capsys.readouterr()
    assert "The same digits as in 'results/rig.nc'." in told.err
    assert read_json(told.out)["Parameters"] == read_json((fitted / "results" / "rig.json").read_text())["Parameters"]
    assert (fitted / "results" / "rig.nc").read_bytes() == before
    assert main(["fit", "results/rig.nc", "--free", "lag"]) == REFUSED


def test_a_repetition_uses_the_project_as_it_was(rig, capsys):
    assert main(["fit", "rig.toml", "-q"]) == TRUSTED
    (rig / "rig.toml").write_text("nothing of the kind")
    assert main(["fit", "results/rig.nc", "--out", "again"]) == TRUSTED
    one, other = (dd.load(rig / folder / "rig.nc") for folder in ("results", "again"))
    assert one.params == other.params
    np.testing.assert_array_equal(one.cov, other.cov)
    write_run(rig / "run1.csv", 5)
    capsys.readouterr()
    assert main(["fit", "results/rig.nc"]) == REFUSED
    assert "run1.csv' has changed since 'results/rig.nc' was made from it." in capsys.readouterr().err
    (rig / "run2.csv").unlink()
    write_run(rig / "run1.csv", 1)
    assert main(["validate", "results/rig.nc"]) == REFUSED
    assert "run2.csv', which 'results/rig.nc' was made from, is not there any more" in capsys.readouterr().err


def test_the_script_gives_the_same_estimates(fitted, tmp_path, capsys):
    assert main(["fit", str(fitted / "rig.toml"), "--script"]) == TRUSTED
    script = capsys.readouterr().out
    assert len(script.splitlines()) <= 12
    copytree(fitted, tmp_path / "copy")
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path / "copy", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert dd.load(fitted / "results" / "rig.nc").summary() in done.stdout


def test_the_script_of_what_read_csv_does_not_do(rig, capsys):
    text = PROJECT.replace('"zoh"', '"zoh"\nbetween = [2.0, 38.0]').replace("[model]", "[model]\nset = { gain = 2.0 }")
    (rig / "rig.toml").write_text(text.replace("like = 0", 'like = 0\nname = "2nd run"'))
    assert main(["fit", "rig.toml", "--script", "--free", "lag"]) == TRUSTED
    script = capsys.readouterr().out
    names: dict = {}
    exec(
        compile(
            script.replace("dd.write_report", "(lambda *a, **b: None)").replace("fit.save", "len"), "script", "exec"
        ),
        names,
    )
    assert main(["fit", "rig.toml", "--free", "lag", "-q"]) in (TRUSTED, NOT_TRUSTED)
    assert names["fit"].params == dd.load(rig / "results" / "rig.nc").params


def test_validate_adds_unseen_data(fitted, capsys):
    assert (
        main(["validate", str(fitted / "results" / "rig.nc"), "--json", "--out", str(fitted / "validated")]) == TRUSTED
    )
    told = capsys.readouterr()
    checked = read_json(told.out)["Validation"]
    assert checked["Relation"] == "held-out data"
    assert checked["FitPercent"]["temperature"] > 95.0
    low, high = checked["Profile"]["lag"]
    assert low < dd.load(fitted / "results" / "rig.nc")["lag"].value < high
    assert "residuals of 'oven'" in told.err
    assert list_files(fitted / "validated") == {"rig.json", "rig.html"}


def test_validate_without_unseen_data_says_so(rig, capsys):
    (rig / "rig.toml").write_text(PROJECT.replace('use = "validate"\n', "").replace('profile = ["lag"]', ""))
    assert main(["fit", "rig.toml", "-q"]) == TRUSTED
    assert main(["validate", "results/rig.nc"]) == TRUSTED
    assert "No data are held out" in capsys.readouterr().err


def test_unseen_data_that_the_model_does_not_explain(rig, capsys):
    heat, y = np.repeat([0.0, 1.0], 50), np.random.default_rng(3).standard_normal(100)
    (rig / "run2.csv").write_text("\n".join(["t,u,y", *(f"{k / 2},{heat[k]},{y[k]}" for k in range(100))]))
    assert main(["fit", "rig.toml", "-q"]) == NOT_TRUSTED
    assert "unseen data are simulated worse than by their mean" in capsys.readouterr().err
    assert main(["validate", "results/rig.nc"]) == NOT_TRUSTED
    assert "unseen data are simulated worse than by their mean" in capsys.readouterr().err


def test_pages_of_one_and_of_several(fitted, tmp_path, capsys):
    result = fitted / "results" / "rig.nc"
    dd.load(result).save(tmp_path / "other.nc")
    assert main(["report", str(result), "--out", str(tmp_path / "one.html")]) == TRUSTED
    assert main(["report", str(result), str(tmp_path / "other.nc"), "--out", str(tmp_path / "both.html")]) == TRUSTED
    assert "files: both.html" in capsys.readouterr().out
    assert "No unseen data were given" not in (tmp_path / "both.html").read_text(encoding="utf-8")
    assert main(["report", str(result), "--out", str(tmp_path / "pages")]) == TRUSTED
    assert list_files(tmp_path / "pages") == {"rig.html"}
    capsys.readouterr()
    both = [str(result), str(tmp_path / "other.nc")]
    assert main(["report", *both, "--out", str(tmp_path / "pages"), "--json"]) == TRUSTED
    numbers = read_json(capsys.readouterr().out)["Fits"]
    assert numbers[0]["Parameters"]["ParVector"] == numbers[1]["Parameters"]["ParVector"]
    assert list_files(tmp_path / "pages") == {"rig.html", "comparison.html"}
    assert main(["report", str(result), "--out", str(tmp_path / "page.pdf")]) == REFUSED
    assert "The page must be a .html file" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "other.nc")]) == TRUSTED  # its project is not there any more
    assert "The page is made from the result alone" in capsys.readouterr().err
    for wrong, words in {"rig.toml": "is a project, not a result", "rgi.nc": "There is no result"}.items():
        assert main(["report", str(fitted / wrong)]) == REFUSED
        assert words in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["report", "validate", "fit"])
def test_a_result_whose_name_no_file_can_have(verb, capsys):
    assert main([verb, f"{'a' * 300}.nc"]) == REFUSED
    assert "There is no result 'aaa" in capsys.readouterr().err


def test_a_fit_saved_by_python_has_no_project(fitted, tmp_path, capsys):
    from dataclasses import replace

    replace(dd.load(fitted / "results" / "rig.nc"), project=None).save(tmp_path / "plain.nc")
    assert main(["validate", str(tmp_path / "plain.nc")]) == REFUSED
    assert "without a project" in capsys.readouterr().err


def test_simulate_writes_what_the_model_says(rig, capsys):
    arguments = ["simulate", "rig.toml", "--set", "gain=2.5", "--set", "lag=4", "--json", "--realizations", "2"]
    (rig / "oven.toml").write_text(
        (rig / "oven.toml").read_text().replace("- x)/lag", "- x)/lag + push")
        + '[disturbances]\npush = { kind = "FilteredNoise", numerator = [0.01], denominator = [1.0, 1.0] }\n'
    )
    assert main(arguments) == TRUSTED
    told = capsys.readouterr()
    numbers = read_json(told.out)
    assert numbers["FitPercent"]["temperature"] > 95.0
    lines = (rig / "results" / "rig.simulation.csv").read_text().splitlines()
    spread = [float(line.split(",")[-1] or "nan") for line in lines[1:]]
    assert numbers["Realizations"]["temperature"]["Scatter"] == pytest.approx(np.sqrt(np.nanmean(np.square(spread))))
    assert "temperature over 2 random disturbances: scatter" in told.err
    assert lines[0].startswith("experiment,time,temperature measured,temperature simulated,temperature mean")
    assert len(lines) == 201
    assert "<html" in (rig / "results" / "rig.simulation.html").read_text(encoding="utf-8")


def test_order_of_the_data(rig, capsys):
    assert main(["order", "rig.toml", "--orders", "1-2", "--json"]) == TRUSTED
    numbers = read_json(capsys.readouterr().out)
    assert numbers["Outputs"]["temperature"]["Order"] == 1
    assert numbers == read_json((rig / "results" / "rig.order.json").read_text())
    assert (rig / "results" / "rig.order.html").exists()
    assert main(["order", "rig.toml", "--orders", "5-1"]) == REFUSED
    assert main(["order", "rig.toml", "--data", "run7"]) == REFUSED
    assert "Did you mean 'run" in capsys.readouterr().err


def test_a_study_goes_on_where_it_was(rig, capsys):
    assert main(["study", "rig.toml", "--runs", "3", "--json"]) == TRUSTED
    first = read_json(capsys.readouterr().out)["Estimates"]["lag"]
    assert (rig / "results" / "rig.bootstrap.html").exists()
    assert main(["study", "rig.toml", "--runs", "5", "--json"]) == TRUSTED
    told = capsys.readouterr()
    assert read_json(told.out)["Estimates"]["lag"][:3] == first
    assert "fit of 'oven'" not in told.err  # it was there
    assert main(["study", "rig.toml", "--runs", "3", "--seed", "1", "-q"]) == REFUSED
    assert "'seed' differs (seed: 0, now 1).\nWrite --fresh to start over" in capsys.readouterr().err
    assert main(["study", "rig.toml", "--runs", "3", "--seed", "1", "--fresh", "--json"]) == TRUSTED
    assert read_json(capsys.readouterr().out)["Estimates"]["lag"] != first


def test_a_study_of_a_changed_project_is_refused_before_it_is_fitted(rig, capsys, monkeypatch):
    assert main(["study", "rig.toml", "--runs", "2", "-q"]) == TRUSTED
    changes = [
        ("oven.toml", "temperature = 0.05", "temperature = 0.06", "'model' differs"),
        ("rig.toml", "gain = { start = 1.0, lower = 0.1", "gain = { start = 1.0, lower = 0.2", "'model' differs"),
        ("rig.toml", "gain = { start", "# gain = { start", "'model' and 'free parameters' differ"),
        ("rig.toml", '"OutputError"', '"Likelihood"', "'criterion' differs"),
        ("run1.csv", "\n0.5,", "\n0.51,", "'data' differs"),
    ]
    with monkeypatch.context() as patch:
        patch.setattr(studying, "estimate", lambda *_: pytest.fail("it was fitted"))
        for file, before, after, sentence in changes:
            text = (rig / file).read_text()
            (rig / file).write_text(text.replace(before, after, 1))
            assert main(["study", "rig.toml", "--runs", "2"]) == REFUSED
            told = capsys.readouterr().err
            assert f"which has 2 runs, is that of another study: {sentence}" in told
            assert told.endswith("Write --fresh to start over, or --out for another folder.\n")
            (rig / file).write_text(text)
    with (rig / "rig.toml").open("a") as project:
        project.write("# a word\n")
    assert main(["study", "rig.toml", "--runs", "3", "--json"]) == TRUSTED  # fitted again, and the same
    assert len(read_json(capsys.readouterr().out)["Estimates"]["lag"]) == 3


@pytest.mark.parametrize("kind", ["monte-carlo", "starts", "profile"])
def test_other_studies(kind, rig, capsys):
    assert main(["study", "rig.toml", "--kind", kind, "--runs", "3", "--json"]) in (TRUSTED, NOT_TRUSTED)
    assert read_json(capsys.readouterr().out)["Runs"] == 3


def test_studies_that_cannot_be(rig, capsys):
    assert main(["study", "rig.toml", "--kind", "bootstrab"]) == REFUSED
    assert "Did you mean 'bootstrap'?" in capsys.readouterr().err
    assert main(["study", "rig.toml", "--kind", "leave-out"]) == REFUSED
    assert "nothing can be left out of one experiment" in capsys.readouterr().err
    assert main(["study", "rig.toml", "--kind", "profile", "--parameter", "lga"]) == REFUSED
    assert "Did you mean 'lag'?" in capsys.readouterr().err


def test_the_version_is_what_a_bug_report_needs(capsys):
    assert main(["--version"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"daedal {dd.__version__}"
    assert [line.split()[0] for line in printed[1:5]] == ["Python", "casadi", "llvmlite", "numpy"]
    assert printed[-1].startswith("CPU ")


@pytest.mark.parametrize(
    "command", ["new", "check", "simulate", "fit", "validate", "report", "order", "study", "reproduce"]
)
def test_every_command_has_a_help_with_an_example(command, capsys):
    assert main([command, "--help"]) == 0
    printed = capsys.readouterr().out
    assert re.search(rf"^ +daedal {command} \S", printed, re.MULTILINE)
    assert main(["--help"]) == 0
    assert re.search(rf"^  {command} +[A-Z].*\.$", capsys.readouterr().out, re.MULTILINE)


def test_a_spreadsheet_with_decimal_commas_becomes_a_project(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [f"{k / 2};{float(k // 20 % 2)};{20 + k / 40:.3f}".replace(".", ",") for k in range(80)]
    (tmp_path / "run.csv").write_text("\n".join(["time [min]; heater [kW]; temperature [°C]", *rows]), encoding="utf-8")
    assert main(["new", "oven", "--data", "run.csv"]) == TRUSTED
    assert "inputs, which drive the system: 'heater [kW]'" in capsys.readouterr().out
    assert 'decimal = ","' in (tmp_path / "oven.toml").read_text(encoding="utf-8")
    project = dd.read_project("oven.toml")
    assert project.experiments[0].outputs["temperature"].values[1] == 20.025
    assert project.model.units == {"heater": "kW", "temperature": "°C", "time": "min"}


def test_what_drives_is_proposed_or_said(tmp_path, monkeypatch, capsys):
    """The weather drives a house, which its values do not tell."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{k},{3 * (k // 5 % 2)},{5 + k % 7},{20 + k % 3},{k % 4}" for k in range(30)]
    (tmp_path / "log.csv").write_text("\n".join(["t,heater [kW],T_outside [degC],T [degC],sun", *rows]))
    assert main(["new", "proposed", "--data", "log.csv"]) == TRUSTED
    assert "system: 'heater [kW]' and 'T_outside [degC]'; measured: 'T [degC]' and 'sun'" in capsys.readouterr().out
    assert main(["new", "said", "--data", "log.csv", "--inputs", "heater, T_outside,sun"]) == TRUSTED
    told = capsys.readouterr().out
    assert "Taken: 't' is the time; inputs" in told
    assert "If that is wrong" not in told
    project = dd.read_project("said.toml")
    assert project.model.input_names == ("heater", "T_outside", "sun")
    assert tuple(project.model.outputs) == ("T",)
    for given, sentence in {
        "heatr": "--inputs: there is no column 'heatr'.\nDid you mean",
        "heater,T_outside,T,sun": "--inputs names all columns, so that nothing was measured.",
    }.items():
        assert main(["new", "wrong", "--data", "log.csv", "--inputs", given]) == REFUSED
        assert sentence in capsys.readouterr().err
    assert not (tmp_path / "wrong.toml").exists()


def test_columns_of_words_are_left_out_of_a_new_project(tmp_path, monkeypatch, capsys):
    """As remarks of an operator: the other columns are still read, decimal commas and what was held included."""
    rows = [f"{k};{5 * (k // 4 % 2)},0;{20 + k % 3},5;{'ok' if k % 2 else ''}" for k in range(30)]
    (tmp_path / "log.csv").write_text("\n".join(["t [s];power [kW];T [degC];remark", *rows]))
    monkeypatch.chdir(tmp_path)
    assert main(["new", "room", "--data", "log.csv"]) == TRUSTED
    assert "Left out, as they hold no numbers: 'remark'." in capsys.readouterr().out
    (data,) = dd.read_project("room.toml").experiments
    assert tuple(data.inputs) == ("power",)
    assert tuple(data.outputs) == ("T",)
    assert data["T"][0] == 20.5


def test_a_new_project_reads_its_file_twice_at_most(tmp_path, monkeypatch, capsys):
    """With a decimal point and a comma, however many columns there are; one word in a column is to be repaired."""
    opened, read = [], reading._read
    monkeypatch.setattr(reading, "_read", lambda *given: opened.append(given) or read(*given))
    monkeypatch.chdir(tmp_path)
    labels = [f"y{k}" for k in range(20)]
    rows = [[f"{j}", *(f"{j * k % 7}.5" for k in range(20)), "1", ""] for j in range(30)]
    rows[-1][-2] = "broken"
    (tmp_path / "log.csv").write_text("\n".join(map(";".join, [["t", *labels, "remark", "empty"], *rows])))
    assert main(["new", "room", "--data", "log.csv"]) == TRUSTED
    assert "Left out, as they hold no numbers: 'empty'." in capsys.readouterr().out
    assert len(opened) == 2
    assert main(["check", "room.toml"]) == REFUSED
    assert "line 31, column 'remark', 'broken' is not a finite number.\nRepair that cell" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("above", "sentence"),
    [
        ("Logger 7\n\n", "does not name two columns.\nLine 3 seems to: delete what is above it."),
        ("sep=;\n", "does not name two columns.\nLine 2 seems to"),
        ("t u y\n", "does not name two columns.\nLine 2 seems to"),
        ("t;y;y\n0;1;2\n", "names 'y' more than once.\nGive each column its own name."),
        pytest.param(
            f"t;{'y' * 200_000}\n", "does not name two columns.\nLine 2 seems to", id="a field longer than csv takes"
        ),
    ],
)
def test_a_first_line_that_names_no_columns(above, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text(f"{above}t;u;y\n0;1;2\n1;1;3\n")
    assert main(["new", "room", "--data", "log.csv"]) == REFUSED
    assert f"The first line of 'log.csv' {sentence}" in capsys.readouterr().err
    assert list_files(tmp_path) == {"log.csv"}


def test_names_of_columns_in_other_alphabets(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text("Zeit [s];Stellgröße;Débit;温度\n0;1;2;3\n1;1;3;4\n2;1;4;4\n", encoding="utf-8")
    assert main(["new", "room", "--data", "log.csv"]) == TRUSTED
    assert "'Stellgröße'" in capsys.readouterr().out
    project = dd.read_project("room.toml")
    assert {*project.model.input_names, *project.model.outputs} == {"Stellgroesse", "Debit", "signal"}


@pytest.mark.parametrize("moment", ["daedal.cli.voice.Voice.say", "daedal.cli.pages.gather_evidence"])
def test_a_fit_that_is_finished_is_kept(moment, rig, capsys, monkeypatch):
    """Whenever Ctrl-C is pressed: while the table is printed, or while the page is drawn."""

    def press(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(moment, press)
    assert main(["fit", "rig.toml"]) == 130
    assert "The fit is kept in results/rig.nc; 'daedal report" in capsys.readouterr().err
    assert list_files(rig / "results") == {"rig.nc"}
    assert dd.load(rig / "results" / "rig.nc").status.ok


def test_an_interrupt_before_anything_was_done_is_told(rig, capsys, monkeypatch):
    def press(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("daedal.projects.reading.read_blocks", press)
    assert main(["fit", "rig.toml"]) == 130
    assert capsys.readouterr().err == "Stopped before anything was finished.\n"
    assert not (rig / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["fit"], "the following arguments are required: project.\nWrite daedal fit [OPTIONS] PROJECT"),
        (["-V"], "unrecognized arguments: -V."),
        (["version"], "There is no command 'version'.\nWrite daedal --version."),
        (["chek"], "There is no command 'chek'.\nDid you mean 'check'?"),
    ],
)
def test_what_is_no_command(arguments, told, capsys):
    assert main(arguments) == REFUSED
    assert told in capsys.readouterr().err
