"""What a project says is what `fit` is given, whatever the files are."""

import gzip
import sys
from pathlib import Path

import h5py
import numpy as np
import pandas
import pytest

import daedal as dd
from daedal.cli import REFUSED, TRUSTED, main
from daedal.projects.data_files import read_frame
from rigs import MODEL, PROJECT, TIMES, make_samples, write_rig, write_run


def test_a_project_binds_model_data_and_question(tmp_path):
    project = dd.read_project(write_rig(tmp_path))
    assert (project.title, project.author, project.name) == ("Oven of rig 3", "A. Heater", "rig")
    assert project.model == dd.Model.from_text(MODEL)
    (run,), (held,) = project.experiments, project.held_out
    heat, samples = make_samples(1)
    np.testing.assert_array_equal(run["temperature"], samples)
    np.testing.assert_array_equal(run["heat"], heat)
    assert run.inputs["heat"].intersample == held.inputs["heat"].intersample == "zoh"
    assert (run.name, held.name) == ("run1", "run2")
    assert project.criterion == dd.OutputError()
    assert project.free["gain"] == dd.Parameter(1.0, lower=0.1, upper=20.0, scale="log")
    assert project.free["lag"] == dd.Parameter(1.0, lower=0.1, upper=50.0, scale="log", unit="min")
    assert project.starts is None
    assert project.validate.profile == ("lag",)
    assert project.report.file == "rig.html"
    assert set(project.digests) == {"oven.toml", "run1.csv", "run2.csv"}


def read(tmp_path, *changes: tuple[str, str]) -> dd.Project:
    text = PROJECT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return dd.read_project(write_rig(tmp_path, text))


def test_everything_but_model_and_data_has_a_default(tmp_path):
    short = PROJECT.partition("[estimate]")[0].partition("[model]")[2]
    project = dd.read_project(write_rig(tmp_path, f"[model]{short}"))
    assert (project.title, project.free, project.criterion) == ("rig", {}, None)
    assert project.validate.horizon == project.validate.states == ()


def test_samples_that_are_missing_or_outside(tmp_path):
    write_rig(tmp_path)
    project = read(tmp_path, ('"zoh"', '"zoh"\nbetween = [2.0, 38.0]\nmissing = [-999.0, -998.0]'))
    whole = project.experiments[0]
    assert (whole.sample_times[0], whole.sample_times[-1], whole.t0) == (2.0, 38.0, 2.0)
    assert whole.inputs["heat"].end == TIMES[-1]  # what drives the system stays whole
    text = (tmp_path / "run1.csv").read_text().splitlines()
    for line, mark in ((11, "-999"), (12, "-998.0")):
        text[line] = ",".join([*text[line].split(",")[:2], mark])
    (tmp_path / "run1.csv").write_text("\n".join(text))
    values = dd.read_project(tmp_path / "rig.toml").experiments[0].outputs["temperature"]
    assert values.times[np.isnan(values.values)].tolist() == [5.0, 5.5]


def test_blocks_like_others(tmp_path):
    project = read(
        tmp_path,
        (
            'use = "validate"',
            'name = "b"\nbetween = [0, 10]\n[[data]]\nfile = "run1.csv"\nname = "c"\nlike = "b"\nstep = 1.0',
        ),
    )
    one, two, three = project.experiments
    assert (one.name, two.name, three.name) == ("run1", "b", "c")
    assert three.sample_times.tolist() == list(range(11))  # between of b, steps of its own
    assert two.sample_times[-1] == 10.0


def test_values_that_differ_from_the_model(tmp_path):
    project = read(tmp_path, ('"oven.toml"', '"oven.toml"\nset = { gain = 7 }'), ("gain = {", "# gain = {"))
    assert project.model.parameters["gain"].value == 7.0
    assert set(project.free) == {"lag"}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('"automatic"', None),
        ('"Likelihood"', dd.Likelihood()),
        (
            '{ kind = "Likelihood", method = "laplace", initial_std = { x = 0.1 } }',
            dd.Likelihood(method="laplace", initial_std={"x": 0.1}),
        ),
        (
            '{ kind = "SimulationPEM", realizations = 400, whiten = true }',
            dd.SimulationPEM(realizations=400, whiten=True),
        ),
    ],
)
def test_criteria(text, meant, tmp_path):
    assert read(tmp_path, ('{ kind = "OutputError" }', text)).criterion == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("{ latin_hypercube = 20 }", dd.LatinHypercube(20)),
        ("{ grid = { lag = 5 } }", dd.Grid({"lag": 5})),
        ("[{ lag = 1, gain = 2 }, { lag = 3, gain = 4 }]", ({"lag": 1.0, "gain": 2.0}, {"lag": 3.0, "gain": 4.0})),
    ],
)
def test_starts(text, meant, tmp_path):
    assert read(tmp_path, ("[estimate]", f"[estimate]\nstarts = {text}")).starts == meant


def test_free_parameters_in_short(tmp_path):
    rows = PROJECT[PROJECT.index("[estimate.free]") : PROJECT.index("[validate]")]
    assert dict(read(tmp_path, (rows, 'free = ["gain", "lag"]\n')).free) == {
        "gain": dd.Parameter(2.0),
        "lag": dd.Parameter(3.0, unit="min"),
    }
    given = '[estimate.free]\nlag = 7\ngain = { prior = { kind = "LogNormal", median = 2.0, factor = 1.5 } }\n'
    project = read(tmp_path, (rows, given))
    assert project.free["lag"] == dd.Parameter(7.0, unit="min")
    assert project.free["gain"].prior == dd.LogNormal(2.0, 1.5)


def test_local_parameters_keep_what_is_said_of_them(tmp_path):
    project = read(tmp_path, ("[estimate]", '[estimate]\nlocal = ["gain"]'))
    assert set(project.free) == {"lag"}
    assert project.local["gain"].upper == 20.0


def write_table(path: Path, seed: int) -> None:
    heat, samples = make_samples(seed)
    columns = {"t": TIMES, "u": heat, "y": samples}
    if path.suffix == ".gz":
        write_run(path.with_suffix(""), seed)
        path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))
    elif path.suffix == ".mat":
        from scipy.io import savemat

        savemat(path, {**columns, "comment": "hello", "matrix": np.eye(3)})
    elif path.suffix == ".h5mat":
        import h5py

        with h5py.File(path.with_suffix(".mat"), "w", userblock_size=512) as file:  # as version 7.3 writes them
            for name, values in columns.items():
                file[name] = values[None, :]
    else:
        frame = pandas.DataFrame(columns).set_index("t")
        if path.suffix == ".parquet":
            pytest.importorskip("pyarrow")
            frame.reset_index().to_parquet(path)
            return
        frame.to_xarray().to_netcdf(path, engine="h5netcdf")


@pytest.mark.parametrize("ending", [".csv.gz", ".mat", ".h5mat", ".nc", ".parquet"])
def test_other_files_hold_the_same_data(ending, tmp_path):
    write_table(tmp_path / f"table{ending}", 1)
    project = read(tmp_path, ('"run1.csv"', f'"table{ending.replace(".h5mat", ".mat")}"'))
    plain = read(tmp_path, ('file = "run1.csv"', 'file = "run1.csv"\nname = "table"'))
    assert project.experiments[0] == plain.experiments[0]


@pytest.mark.parametrize("ending", [".mat", ".nc", ".parquet"])
def test_a_new_project_knows_the_columns_of_other_files(ending, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / f"table{ending}", 1)
    assert main(["new", "oven", "--data", f"table{ending}"]) == TRUSTED
    project = dd.read_project("oven.toml")
    assert tuple(project.experiments[0].inputs) == ("u",)
    assert tuple(project.experiments[0].outputs) == ("y",)


@pytest.mark.parametrize("ending", [".mat", ".nc", ".parquet"])
def test_compressed_files_that_are_no_text_are_refused(ending, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"table{ending}.gz").write_bytes(gzip.compress(b"anything"))
    assert main(["new", "oven", "--data", f"table{ending}.gz"]) == REFUSED
    assert f"file 'table{ending}.gz' is compressed, which only text may be" in capsys.readouterr().err
    with pytest.raises(dd.DaedalError, match=r"line 8: .*is compressed, which only text may be") as caught:
        read(tmp_path, ('"run1.csv"', f'"table{ending}.gz"'))
    assert f"ends in {ending}," in caught.value.remedy


def test_compressed_tables_with_tabs_have_tabs_between_their_columns(tmp_path):
    write_rig(tmp_path)
    text = (tmp_path / "run1.csv").read_text().replace(",", "\t")
    (tmp_path / "table.tsv.gz").write_bytes(gzip.compress(text.encode()))
    project = read(tmp_path, ('"run1.csv"', '"table.tsv.gz"'))
    plain = read(tmp_path, ('file = "run1.csv"', 'file = "run1.csv"\nname = "table"'))
    assert project.experiments[0] == plain.experiments[0]


def test_a_file_that_needs_another_package_says_which(tmp_path, monkeypatch):
    for name in ("pyarrow", "fastparquet"):
        (tmp_path / f"{name}.py").write_text(f"raise ImportError({name!r})")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "run1.parquet").write_bytes(b"PAR1")
    with pytest.raises(dd.DaedalError, match=r"line 8: file 'run1.parquet' needs a package") as caught:
        read(tmp_path, ('"run1.csv"', '"run1.parquet"'))
    assert "pip install pyarrow" in caught.value.remedy


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("ending", [".mat", ".nc", ".parquet"])
def test_damaged_files_are_told_by_name(ending, frozen, tmp_path, monkeypatch):
    """By a process of their own, and by this one in a program that has no Python beside it."""
    monkeypatch.setattr(sys, "frozen", frozen, raising=False)
    (tmp_path / f"run1{ending}").write_bytes(b"\x00\x01 nothing of the kind" * 100)
    with pytest.raises(dd.DaedalError, match=rf"line 8: file 'run1{ending}'"):
        read(tmp_path, ('"run1.csv"', f'"run1{ending}"'))


def test_true_and_false_of_a_mat_file_are_a_column(tmp_path):
    with h5py.File(tmp_path / "run.mat", "w", userblock_size=512) as file:
        file["y"], file["valve"] = np.arange(3.0)[None], np.array([[True, False, True]])
    assert read_frame(tmp_path / "run.mat")["valve"].tolist() == [True, False, True]


DAMAGES = {
    "crash": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n",
    "end": "while True:\n    pass\n",
    "memory": "numbers = bytearray(1 << 40)\n",
    "midst": "import os\nos._exit(3)\n",
}


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("crash", "cannot be read: what reads it crashes"),
        ("end", "cannot be read: what reads it does not come to an end"),
        ("memory", "ran out of memory"),
        ("midst", "cannot be read: what reads it ends in the midst of it"),
    ],
)
def test_a_file_that_takes_its_reader_with_it(damage, told, tmp_path, monkeypatch):
    """As damaged ones did in 2 of 400 cases: a reader that does the same stands in for scipy's."""
    folder = tmp_path / "scipy"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "io.py").write_text(DAMAGES[damage])
    write_table(tmp_path / "run1.mat", 1)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("daedal.projects.frames.SECONDS", 2)
    with pytest.raises(dd.DaedalError, match=rf"ile 'run1.mat' {told}"):
        read_frame(tmp_path / "run1.mat")


def test_columns_of_other_files_are_told_with_the_line(tmp_path):
    write_table(tmp_path / "run1.mat", 1)
    with pytest.raises(dd.DaedalError, match=r"line 11: .* no column 'z'"):
        read(tmp_path, ('"run1.csv"', '"run1.mat"'), ('"y" }', '"z" }'))


def test_a_python_model_may_import_what_is_beside_it(tmp_path, capsys):
    other = tmp_path / "other"
    other.mkdir()
    for folder, gain in ((tmp_path, 2.0), (other, 9.0)):
        (folder / "constants.py").write_text(f"GAIN = {gain}\n")
        (folder / "oven.py").write_text(
            "from pathlib import Path\nimport constants\nimport daedal as dd\nprint('made')\n"
            "text = Path(__file__).with_name('oven.toml').read_text()\n"
            "oven = dd.Model.from_text(text).with_parameters({'gain': constants.GAIN})\n"
        )
        path = write_rig(folder, PROJECT.replace('file = "oven.toml"', 'python = "oven.py:oven"'))
        project = dd.read_project(path)
        assert project.model.parameters["gain"].value == gain
        assert {"oven.py", "constants.py"} <= set(project.digests)
    assert capsys.readouterr().out == ""  # numbers alone are on standard output


def test_a_modelica_model(tmp_path):
    pytest.importorskip("rumoca")
    (tmp_path / "oven.mo").write_text(
        "package Ovens model Oven input Real heat; output Real temperature; parameter Real gain = 2; "
        "parameter Real lag = 3; Real x(start = 0, fixed = true); "
        "equation lag*der(x) = gain*heat - x; temperature = x; end Oven; end Ovens;"
    )
    project = read(tmp_path, ('file = "oven.toml"', 'file = "oven.mo"\nclass = "Ovens.Oven"'))
    assert project.model.parameters["lag"].value == 3.0
    with pytest.raises(dd.DaedalError, match=r"rig.toml, line 6: .*Owen"):
        read(tmp_path, ('file = "oven.toml"', 'file = "oven.mo"\nclass = "Ovens.Owen"'))


def test_changes_of_the_command_line(tmp_path):
    project = dd.read_project(write_rig(tmp_path))
    changed = project.with_free(["lag"]).with_values({"gain": 2.5, "lag": 2.0})
    assert changed.model.parameters["gain"].value == 2.5
    assert changed.free == {"lag": dd.Parameter(2.0, lower=0.1, upper=50.0, scale="log", unit="min")}
    assert changed.changes == {"free": ["lag"], "set": {"gain": 2.5, "lag": 2.0}}
    assert project.changes == {}
    with pytest.raises(dd.DaedalError, match="no parameter 'gian'"):
        project.with_values({"gian": 1.0})
    with pytest.raises(dd.DaedalError, match="outside its bounds"):
        project.with_values({"gain": 100.0})
    with pytest.raises(dd.DaedalError, match="no parameter 'gian'"):
        project.with_free(["gian"])
