"""Mistakes in projects: one sentence with file, line and remedy, exit code 1, and nothing written."""

import pytest

import daedal as dd
from daedal.cli import REFUSED, main
from rigs import MODEL, PROJECT, list_files, write_rig, write_run

RUN = 'file = "run1.csv"'
EDITS = {  # what is replaced in the project, by what, the line to look at, words of the sentence and of the remedy
    "unknown key": ("author", "auther", 2, "no 'auther' in a project", "'author'"),
    "unknown key of data": ('time = "t"', 'tiem = "t"', 9, "no 'tiem' in [[data]]", "'time'"),
    "unknown key of estimate": ("criterion =", "criteria =", 20, "no 'criteria' in [estimate]", "'criterion'"),
    "unknown key of a free parameter": (
        "start = 1.0, lower = 0.1, upper = 50.0",
        "strat = 1.0",
        23,
        "'strat'",
        "'start'",
    ),
    "unknown key of model": ('file = "oven.toml"', 'fiel = "oven.toml"', 5, "no 'fiel' in [model]", "'file'"),
    "unknown key of report": ('file = "rig.html"', 'page = "rig.html"', 29, "no 'page' in [report]", "'file'"),
    "unknown key of validate": ("profile =", "profiles =", 26, "no 'profiles' in [validate]", "'profile'"),
    "missing data file": (RUN, 'file = "run3.csv"', 8, "no data file 'run3.csv'", "'run2.csv'"),
    "missing model": ("oven.toml", "owen.toml", 5, "no model 'owen.toml'", "'oven.toml'"),
    "wrong column": ('"y" }', '"yy" }', 11, "no column 'yy'", "'y'"),
    "wrong column of time": ('time = "t"', 'time = "clock"', 9, "no column 'clock'", "'t'"),
    "wrong column of an input": ('"u" }', '"v" }', 10, "no column 'v'", "'u'"),
    "misspelt parameter": ("gain = {", "gian = {", 22, "no parameter 'gian'", "'gain'"),
    "misspelt output": ("temperature = ", "temprature = ", 11, "no output 'temprature'", "'temperature'"),
    "misspelt input": ("heat = ", "haet = ", 10, "no input 'haet'", "'heat'"),
    "misspelt profile": ('["lag"]', '["lga"]', 26, "'lga' is not free", "'lag'"),
    "misspelt state": ('profile = ["lag"]', 'states = ["z"]', 26, "no state 'z'", "'x'"),
    "unit of the project": ('"zoh"', '"zoh"\nunits = { temperature = "degC" }', 13, "in 'degC'", "convert the column"),
    "unit of time": ('"zoh"', '"zoh"\nunits = { time = "s" }', 13, "'time' is in 's'", "convert the column"),
    "unit of nothing": ('"zoh"', '"zoh"\nunits = { temprature = "K" }', 13, "no signal", "'temperature'"),
    "the same name": (
        "like = 0",
        'like = 0\nname = "run1"',
        17,
        "two [[data]] are called 'run1', the other in line 8",
        "name =",
    ),
    "the same file": ('"run2.csv"', '"run1.csv"', 15, "two [[data]] are called 'run1'", 'name = "run1-2"'),
    "like itself": ("like = 0", "like = 1", 16, "like must be the number or the name", "is 0"),
    "like nothing": ("like = 0", 'like = "run7"', 16, "got 'run7'", "is 0"),
    "no output": ('outputs = { temperature = "y" }', "", 7, "'run1' have no outputs", "temperature"),
    "no input": ('inputs = { heat = "u" }', "", 7, "do not have the input 'heat'", "heat = "),
    "neither time nor step": ('time = "t"', "", 7, "either time or step, but have neither", "step = 0.5"),
    "time and step": ('time = "t"', 'time = "t"\nstep = 0.5', 9, "either time or step, but have both", "step = 0.5"),
    "step zero": ('time = "t"', "step = 0", 9, "positive", "step = 0.5"),
    "intersample": ('"zoh"', '"zho"', 12, "intersample must be one of", "'zoh'"),
    "intersample of nothing": ('"zoh"', '{ hat = "zoh" }', 12, "'hat' is no input", "'heat'"),
    "use": ('"validate"', '"validation"', 17, "use must be one of", "'validate'"),
    "all held out": ('"zoh"', '"zoh"\nuse = "validate"', 13, "all data are held out", "validate"),
    "between": ('"zoh"', '"zoh"\nbetween = [5, 2]', 13, "the earlier first", "[2.0, 38.0]"),
    "between nothing": ('"zoh"', '"zoh"\nbetween = [500, 600]', 13, "no sample of 'temperature'", "from 0 to 49.5"),
    "missing input": ('"zoh"', '"zoh"\nmissing = [3.0]', 13, "input 'heat' of 'run1' is missing", "Fill"),
    "missing text": ('"zoh"', '"zoh"\nmissing = ["NA"]', 13, "a list of numbers", "[-999.0]"),
    "delimiter": ('"zoh"', '"zoh"\ndelimiter = ";;"', 13, "one character", '";"'),
    "another delimiter": ('"zoh"', '"zoh"\ndelimiter = ";"', 9, "no column", "delimiter"),
    "kind of data": (RUN, 'file = "oven.toml"', 8, "no file of data", ".csv"),
    "no file": (RUN, "", 7, "must have a file", "run.csv"),
    "inputs as a text": ('{ heat = "u" }', '"u"', 10, "inputs must be a table", "heat ="),
    "text for a number": (
        "start = 1.0, lower = 0.1, upper = 20",
        'start = "1", lower = 0.1, upper = 20',
        22,
        "a number",
        "start",
    ),
    "start outside": (
        "start = 1.0, lower = 0.1, upper = 20",
        "start = 30, lower = 0.1, upper = 20",
        22,
        "outside",
        "Move",
    ),
    "bounds": ("lower = 0.1, upper = 20.0", "lower = 20, upper = 0.1", 22, "'gain'", "Exchange"),
    "scale": ('20.0, scale = "log"', '20.0, scale = "lg"', 22, "scale must be one of", "'log'"),
    "prior": ('20.0, scale = "log"', '20.0, prior = { kind = "Norml" }', 22, "prior", "'Normal'"),
    "numbers of a prior": (
        '20.0, scale = "log"',
        '20.0, prior = { kind = "Normal", mean = 1.0 }',
        22,
        "prior",
        "'std'",
    ),
    "criterion": ('"OutputError"', '"OutputEror"', 20, "no criterion 'OutputEror'", "'OutputError'"),
    "criterion that needs Python": ('"OutputError"', '"MeanVariance"', 20, "'MeanVariance'", "Python"),
    "option of a criterion": ('"OutputError"', '"OutputError", whitn = true', 20, "no option 'whitn'", "'whiten'"),
    "value of an option": ('"OutputError"', '"OutputError", transient = -1', 20, "transient", ""),
    "starts": ("[estimate]", "[estimate]\nstarts = 20", 20, "starts must be one way", "latin_hypercube"),
    "kind of starts": ("[estimate]", "[estimate]\nstarts = { latin = 20 }", 20, "no 'latin'", "'latin_hypercube'"),
    "number of starts": ("[estimate]", "[estimate]\nstarts = { latin_hypercube = 0 }", 20, "whole number", "10"),
    "starts between no bounds": (
        '[estimate]\ncriterion = { kind = "OutputError" }\n[estimate.free]\ngain = { start = 1.0, lower = 0.1',
        "[estimate]\nstarts = { latin_hypercube = 3 }\n[estimate.free]\ngain = { start = 1.0, lower = 0.0",
        20,
        "starts are spread between bounds, but 'gain' has no lower one",
        '"gain" = { lower = 1.0',
    ),
    "grid between no bounds": (
        '[estimate]\ncriterion = { kind = "OutputError" }\n[estimate.free]\ngain = { start = 1.0, lower = 0.1, upper',
        "[estimate]\nstarts = { grid = { gain = 3 } }\n[estimate.free]\ngain = { start = 1.0, upper",
        20,
        "starts are spread between bounds, but 'gain' has no lower one",
        "below [estimate.free]",
    ),
    "grid": ("[estimate]", "[estimate]\nstarts = { grid = { gan = 3 } }", 20, "'gan'", "'gain'"),
    "list of starts": ("[estimate]", "[estimate]\nstarts = [{ gan = 3 }]", 20, "'gan'", "'gain'"),
    "local": ("[estimate]", '[estimate]\nlocal = ["lga"]', 20, "no parameter 'lga'", "'lag'"),
    "set": ('"oven.toml"', '"oven.toml"\n[model.set]\nlga = 3.0', 7, "no parameter 'lga'", "'lag'"),
    "set to a text": ('"oven.toml"', '"oven.toml"\n[model.set]\nlag = "3"', 7, "a number", "1.0"),
    "class of a text": ('"oven.toml"', '"oven.toml"\nclass = "Oven"', 6, "class is of Modelica", "Leave"),
    "python as a file": ('"oven.toml"', '"oven.py"', 5, "no model 'oven.py'", ""),
    "horizon": ("[validate]", "[validate]\nhorizon = [1.5]", 26, "counts samples ahead", "[1, 10]"),
    "page": ('"rig.html"', '"rig.pdf"', 29, "must be a .html file", "tank.html"),
    "page elsewhere": ('"rig.html"', '"../rig.html"', 29, "in the folder of results", "tank.html"),
    "notes": ('"rig.html"', '"rig.html"\nnotes = "notes.md"', 30, "no file of notes 'notes.md'", ""),
    "not TOML": ("[estimate]", "[estimate", 19, "not TOML", "quotes"),
    "title": ('"Oven of rig 3"', "3", 1, "title must be a text", "title"),
    "a name that is too long": (RUN, f'file = "{"a" * 300}.csv"', 8, "File name too long", "path"),
    "a name that no file has": (RUN, 'file = "a\\u0000.csv"', 8, "that no file can have", "path"),
    "a pipe for data": (RUN, 'file = "/dev/zero"', 8, "a device or a pipe", "Copy"),
    "a list of criteria": ('"OutputError"', '["OutputError"]', 20, "no criterion ['OutputError']", "'OutputError'"),
    "a number without end": ("upper = 20.0", "upper = inf", 22, "upper must be a number between", "upper = 1.0"),
    "a page that no file can be": ('"rig.html"', '"a\\u0000.html"', 29, "must be a .html file", "tank.html"),
    "a long page": ('"rig.html"', f'"{"a" * 300}.html"', 29, "must be a .html file", "tank.html"),
    "single brackets": ("[[data]]", "[data]", 14, "not TOML", "[[data]] in double brackets"),
    "backslashes": (RUN, "file = 'data\\run1.csv'", 8, "no data file 'data\\run1.csv'", "with / between folders"),
    "dates of a part": ('"zoh"', '"zoh"\nbetween = [2024-03-01, 2024-03-02]', 13, "a list of numbers", "seconds since"),
    "twice": ('author = "A. Heater"', 'title = "x"', 2, "not TOML", ""),
}


@pytest.mark.parametrize("name", EDITS)
def test_a_mistake_is_a_sentence_with_its_line(name, tmp_path, monkeypatch, capsys):
    old, new, line, words, remedy = EDITS[name]
    assert old in PROJECT
    write_rig(tmp_path, PROJECT.replace(old, new, 1))
    monkeypatch.chdir(tmp_path)
    before = list_files(tmp_path)
    assert main(["fit", "rig.toml"]) == REFUSED
    told = capsys.readouterr()
    sentence, advice = told.err.strip().splitlines()
    assert sentence.startswith(f"rig.toml, line {line}: ")
    assert words in sentence
    assert remedy in advice
    assert told.out == ""
    assert list_files(tmp_path) == before


PYTHON = {
    "raises": ("import math\nx = 1 / 0\n", "raised ZeroDivisionError in line 2: division by zero"),
    "does not parse": ("x = (\n", "raised SyntaxError in line 1"),
    "ends": ("raise SystemExit(3)\n", "raised SystemExit in line 1"),
    "lacks the name": ("import daedal as dd\n", "'oven.py' has no 'oven'"),
    "is something else": ("oven = 3\n", "is an int, not a Model"),
    "refuses": (
        "import daedal as dd\noven = dd.Model(name='o', equations={}, unknowns=[])\n",
        "raised ModelError in line 2",
    ),
}


@pytest.mark.parametrize("name", PYTHON)
def test_a_python_model_that_cannot_be_had(name, tmp_path, monkeypatch, capsys):
    text, words = PYTHON[name]
    write_rig(tmp_path, PROJECT.replace('file = "oven.toml"', 'python = "oven.py:oven"'))
    (tmp_path / "oven.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert main(["check", "rig.toml"]) == REFUSED
    sentence, advice = capsys.readouterr().err.strip().splitlines()
    assert sentence.startswith("rig.toml, line 5: ")
    assert words in sentence
    assert advice


def test_a_mistake_in_the_text_of_a_model_has_its_line_there_too(tmp_path):
    path = write_rig(tmp_path)
    for old, new, words in (
        ("gain*heat", "gian*heat", r"line 5: in 'oven.toml', line 6: Equation 'balance' contains 'gian'"),
        ("der(x) ==", "der(x) =", r"line 5: in 'oven.toml', line 6: .*cannot be read"),
        ("value = 3.0", "vlaue = 3.0", r"line 5: in 'oven.toml', line 13: .*'vlaue'"),
        ("gain = 2.0", "gain = ", r"line 5: in 'oven.toml': .* not TOML: .*line 12"),
    ):
        (tmp_path / "oven.toml").write_text(MODEL.replace(old, new))
        with pytest.raises(dd.DaedalError, match=words):
            dd.read_project(path)


@pytest.mark.parametrize("verb", ["check", "simulate", "fit", "study"])
def test_equations_that_do_not_determine_have_the_line_of_the_model(verb, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_rig(tmp_path)
    (tmp_path / "oven.toml").write_text(MODEL.replace('unknowns = ["x"]', 'unknowns = ["x", "z"]'))
    assert main([verb, "rig.toml"]) == REFUSED
    told = capsys.readouterr().err
    assert told.startswith(
        "rig.toml, line 5: Model 'oven' cannot be solved, 1 equation for 2 unknowns: the unknown 'z'"
    )


def test_a_python_model_is_named_by_file_and_name(tmp_path):
    for given in ("oven.py", "oven:oven", ":oven", "oven.py:3"):
        path = write_rig(tmp_path, PROJECT.replace('file = "oven.toml"', f'python = "{given}"'))
        with pytest.raises(dd.DaedalError, match="python must name a file and what is in it"):
            dd.read_project(path)


def test_a_unit_in_the_header_line(tmp_path):
    path = write_rig(tmp_path)
    write_run(tmp_path / "run1.csv", 1, header="t [min],u,y [degC]")
    with pytest.raises(dd.DaedalError, match=r"line 11: 'temperature' is in 'degC' in 'run1.csv' but in 'K'") as caught:
        dd.read_project(path)
    assert 'units = { temperature = "K" }' in caught.value.remedy
    write_run(tmp_path / "run1.csv", 1, header="t [s],u,y [K]")
    with pytest.raises(dd.DaedalError, match=r"line 9: 'time' is in 's' in 'run1.csv' but in 'min'"):
        dd.read_project(path)


def test_units_that_differ_from_file_to_file(tmp_path):
    path = write_rig(tmp_path)
    (tmp_path / "oven.toml").write_text(MODEL.split("[units]")[0])
    write_run(tmp_path / "run1.csv", 1, header="t [min],u,y")
    write_run(tmp_path / "run2.csv", 2, header="t [s],u,y")
    with pytest.raises(dd.DaedalError, match=r"'time' is in 's' in 'run2.csv' but in 'min' in 'run1.csv'"):
        dd.read_project(path)
    write_run(tmp_path / "run2.csv", 2, header="t [min],u,y")
    assert len(dd.read_project(path).held_out) == 1


def test_a_text_where_a_number_belongs_is_told_with_its_line_in_the_data(tmp_path):
    path = write_rig(tmp_path)
    text = (tmp_path / "run1.csv").read_text().splitlines()
    text[3] = "1.0,0.0,n/a"
    (tmp_path / "run1.csv").write_text("\n".join(text))
    with pytest.raises(dd.DaedalError, match=r"line 11: file 'run1.csv': line 4, column 'y', 'n/a' is not"):
        dd.read_project(path)


def test_timestamps_count_in_seconds(tmp_path):
    path = write_rig(tmp_path)
    rows = [f"2024-03-01T00:{k:02d}:00,{k % 2},{k}" for k in range(30)]
    (tmp_path / "run1.csv").write_text("\n".join(["t,u,y", *rows]))
    with pytest.raises(
        dd.DaedalError, match="line 9: timestamps become seconds, but the time of the model 'oven' is in 'min'"
    ):
        dd.read_project(path)
    (tmp_path / "oven.toml").write_text(MODEL.replace('time = "min"', 'time = "s"'))
    write_run(tmp_path / "run2.csv", 2)
    assert dd.read_project(path).experiments[0].sample_times[1] == 60.0


def test_mistakes_before_there_is_a_project(tmp_path, monkeypatch, capsys):
    write_rig(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'title = "\xff"')
    (tmp_path / "deep.toml").write_text("a = " + "[" * 5000 + "]" * 5000)
    (tmp_path / "long.toml").write_text(".".join(["a"] * 100_000) + " = 1")  # once all memory
    (tmp_path / "quoted.toml").write_text("[" + " . ".join(['"a"'] * 100_000) + "]")
    for given, words in {
        "rigg.toml": "There is no project 'rigg.toml'.\nDid you mean 'rig.toml'?",
        "rig": "There is no project 'rig'.\nDid you mean 'rig.toml'?",
        "run1.csv": "'run1.csv' is not a project, which is a .toml file.\n'daedal new run1' writes one",
        ".": "is a folder",
        "latin.toml": "is not UTF-8 text",
        "deep.toml": "brackets within each other",
        "long.toml": "or parts of one key",
        "quoted.toml": "or parts of one key",
        "oven.toml": "oven.toml, line 1: there is no 'name' in a project",
    }.items():
        assert main(["check", given]) == REFUSED
        assert words in capsys.readouterr().err


def test_a_project_without_a_model_or_data(tmp_path):
    path = tmp_path / "rig.toml"
    path.write_text("title = 'x'\n")
    with pytest.raises(dd.DaedalError, match=r"there is no \[model\]"):
        dd.read_project(path)
    write_rig(tmp_path, PROJECT.partition("[[data]]")[0])
    with pytest.raises(dd.DaedalError, match=r"there is no \[\[data\]\]"):
        dd.read_project(path)
    write_rig(tmp_path, PROJECT.replace("[[data]]", "[data]", 1).replace("[[data]]", "[more]"))
    with pytest.raises(dd.DaedalError, match="no 'more' in a project"):
        dd.read_project(path)
    with pytest.raises(dd.DaedalError, match="A project is read from a file"):
        dd.read_project(3)  # type: ignore[arg-type]


def test_what_windows_begins_a_text_with(tmp_path):
    path = write_rig(tmp_path)
    for one in (path, tmp_path / "oven.toml", tmp_path / "run1.csv"):
        one.write_bytes(b"\xef\xbb\xbf" + one.read_bytes())
    assert dd.read_project(path).title == "Oven of rig 3"


def test_a_new_project_of_files_with_other_columns(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_rig(tmp_path)
    write_run(tmp_path / "run2.csv", 2, header="clock,heat,temperature")
    assert main(["new", "new", "--from", "oven.toml", "--data", "run1.csv", "--data", "run2.csv"]) == 0
    assert "'run2.csv' has other columns than 'run1.csv': look at its [[data]] in new.toml." in capsys.readouterr().out
    project = dd.read_project("new.toml")
    assert project.blocks[1].options["outputs"] == {"temperature": "temperature"}
    assert project.held_out[0].sample_times[1] == 0.5


def test_lines_of_long_lists_are_counted_at_once(tmp_path):
    """A hundred thousand entries took minutes."""
    path = write_rig(tmp_path, PROJECT.replace('["lag"]', "[" + '"lag",' * 100_000 + "]"))
    with pytest.raises(dd.DaedalError, match="line 26: 'lag' is named twice"):
        dd.read_project(path)


@pytest.mark.parametrize("name", ["", " ", ".", "..", "a\nb", "a\0b"])
def test_names_that_a_new_project_cannot_have(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "--", name]) == REFUSED
    assert "A project is called by a name" in capsys.readouterr().err
    assert not list_files(tmp_path)


def test_control_characters_in_a_header(tmp_path, monkeypatch, capsys):
    """What is written can be read."""
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "run.csv", 1, header="t,u\x01,y")
    assert main(["new", "rig", "--data", "run.csv"]) == 0
    capsys.readouterr()
    assert len(dd.read_project(tmp_path / "rig.toml").experiments) == 1


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("t,u,y\0", "has a null character"),
        ("t,\0,y", "has a null character"),
        ('t,u,"y', "has a quote that does not hold a cell"),
        ('t,"u,y', "has a quote that does not hold a cell"),
        ('t,u,"y"z', "has a quote that does not hold a cell"),
    ],
)
def test_headers_that_a_new_project_cannot_have(header, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "run.csv", 1, header=header)
    assert main(["new", "rig", "--data", "run.csv"]) == REFUSED
    assert f"The first line of 'run.csv' {message}" in capsys.readouterr().err
    assert list_files(tmp_path) == {"run.csv"}


def test_quotes_that_hold_a_cell(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "run.csv", 1, header='t,"u, in","y ""1"""')
    assert main(["new", "rig", "--data", "run.csv"]) == 0
    capsys.readouterr()
    assert len(dd.read_project(tmp_path / "rig.toml").experiments) == 1
