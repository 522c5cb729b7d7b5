"""Sliders in a notebook: a kernel moves one, and the picture changes as the simulation does."""

import copy
import pickle
import re
import sys

import pytest

import daedal as dd
import reported
from daedal.errors import ReportError

CELLS = [
    "import reported, daedal as dd\nexplorer = dd.explore(reported.make_model(), reported.make_data()[0], ['k', 'd'])",
    "before = explorer.picture.value\nexplorer.sliders['k'].value = 2.0\nprint(before != explorer.picture.value)",
    "print(explorer.values['k'], explorer.starts)",
    "explorer",
]


def test_a_kernel_draws_anew_when_a_slider_moves(monkeypatch):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    monkeypatch.setenv("PYTHONPATH", ":".join(path for path in sys.path if path))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    texts = ["".join(out.get("text", "") for out in cell.outputs) for cell in notebook.cells]
    assert texts[1].strip() == "True"
    assert texts[2].startswith("2.0")
    shown = notebook.cells[3].outputs[0]["data"]
    assert "application/vnd.jupyter.widget-view+json" in shown


def find_fit(explorer) -> float:
    return float(re.search(r"level (−?[\d.]+) %", explorer.picture.value)[1].replace("−", "-"))


def test_the_picture_is_that_of_the_values():
    pytest.importorskip("ipywidgets")
    model, (train, _) = reported.make_model(), reported.make_data()
    explorer = dd.explore(model, train, free=["k", "d"])
    assert dict(explorer.values) == {"k": 1.5, "d": 0.8}
    for k in (2.0, 8.0):
        explorer.sliders["k"].value = k
        wanted = dd.compare(model.with_parameters({"k": k, "d": 0.8}), train).fit_percent["level"]
        assert find_fit(explorer) == pytest.approx(wanted, abs=0.06)
    assert explorer.sliders["k"].base == 10.0, "its scale is logarithmic"
    begun = dd.fit(model, train, free=["k", "d"], criterion=dd.OutputError(), starts=explorer.starts, rng=1)
    assert begun["k"].start == pytest.approx(8.0)


def test_what_cannot_be_explored_is_told(monkeypatch):
    model, (train, _) = reported.make_model(), reported.make_data()
    bare = dd.Dataset([0.0, 1.0], outputs={"other": [1.0, 2.0]}, name="bare")
    for arguments, word in (
        ((train, train, ["k"]), "takes a Model first"),
        ((model, 3, ["k"]), "takes a Dataset second"),
        ((model, train, []), "free must be a list"),
        ((model, train, "k"), "free must be a list"),
        ((model, train, ["q"]), "no parameter 'q'"),
        ((model, bare, ["k"]), "none of the outputs"),
    ):
        with pytest.raises(ReportError, match=word):
            dd.explore(*arguments)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ReportError, match="ipywidgets, which is not installed"):
        dd.explore(model, train, ["k"])


def test_a_copy_has_sliders_of_its_own():
    pytest.importorskip("ipywidgets")
    explorer = dd.explore(reported.make_model(), reported.make_data()[0], free=["k", "d"])
    explorer.sliders["k"].value = 2.0
    for other in (copy.deepcopy(explorer), pickle.loads(pickle.dumps(explorer))):
        assert dict(other.values) == {"k": 2.0, "d": 0.8}
        assert (other.sliders["k"].min, other.sliders["k"].max) == (
            explorer.sliders["k"].min,
            explorer.sliders["k"].max,
        )
        other.sliders["k"].value = 8.0
    assert explorer.values["k"] == 2.0
