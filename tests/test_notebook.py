"""What notebooks show of a result: HTML with the words that are printed, and names to complete."""

import inspect
from html.parser import HTMLParser

import numpy as np
import pytest

import daedal as dd
import reported
from daedal.report.pictures import NOT_DRAWN


class Text(HTMLParser):
    """The text of HTML whose elements all close, cell by cell."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.texts = [], []

    def handle_starttag(self, tag, attrs):  # noqa: ARG002
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def read(result) -> str:
    reader = Text()
    reader.feed(result._repr_html_())
    assert reader.open == []
    return " ".join(reader.texts)


def list_results() -> dict:
    fit, (train, test) = reported.make_fit(), reported.make_data()
    model = reported.make_model()
    return {
        "fit": fit,
        "comparison": dd.compare(fit, test),
        "residuals": dd.resid(fit),
        "identifiability": dd.identifiability(fit),
        "states": reported.make_result("states"),
        "order": reported.make_result("order"),
        "study": reported.make_result("study"),
        "model": model,
        "data": train,
        "structure": dd.analyze(model),
        "noise": dd.check_noise(model),
        "descriptor": dd.descriptor(model),
        "transfer function": dd.TransferFunction({"u": [1.0]}, [1.0, 2.0]),
        "trajectory": dd.simulate(model, [0.0, 0.1], inputs={"u": dd.Signal([0.0, 1.0], [1.0, 1.0])}),
        "parameter": model.parameters["k"],
        "signal": train.inputs["u"],
        "samples": train.outputs["level"],
        "system": dd.build(model),
        "estimate": fit["k"],
        "cost": dd.evaluate(model, train, free=["k"], criterion=dd.OutputError()),
        "candidate": reported.make_result("order").chosen,
        "profile": dd.profile(fit, ["k"], points=2),
    }


@pytest.fixture(scope="module")
def results():
    return list_results()


def test_the_words_that_are_printed_are_shown(results):
    for name, result in results.items():
        shown = " ".join(read(result).split())
        words = [word for word in str(result).split() if name != "model" or "*" not in word]
        if name == "model":
            words = [word for word in words if word.isalpha() and word not in ("der",)]
        missing = [word for word in words if word not in shown]
        assert not missing, (name, missing)


def test_tables_are_tables(results):
    for name in (
        "fit",
        "comparison",
        "residuals",
        "identifiability",
        "states",
        "order",
        "study",
        "trajectory",
        "model",
    ):
        assert results[name]._repr_html_().count("<table>") == 1, name
    assert results["fit"]._repr_html_().count("<tr>") == 1 + len(results["fit"].estimates)
    assert "<math" in results["model"]._repr_html_()


def test_a_result_is_written_in_a_few_lines(results):
    """What a console shows of anything: no arrays of all samples, no fields of a class."""
    for name, result in results.items():
        written = repr(result)
        assert len(written.splitlines()) <= 25, name
        assert "array(" not in written, name
        assert max(map(len, written.splitlines())) <= 200 or name == "estimate", name
    assert repr(results["cost"]).startswith("criterion ")
    assert str(results["estimate"]).startswith("k = 1.869 ± 0.086 1/s2 (stiffness by mass): determined")


def test_every_noun_is_shown():
    """Whatever a verb returns, a project and what models are made of; choices and failures are read as they are."""
    choices = ("Starts", "Scan", "LeaveOut", "Grid", "LatinHypercube", "Port", "IDA", "Lanes", "MeasurementMoments")
    for name in dd.__all__:
        noun = getattr(dd, name)
        if not inspect.isclass(noun) or issubclass(noun, Exception) or name in choices:
            continue
        if name in NOT_DRAWN and name not in ("Estimate", "Project", "Parameter", "Candidate", "System"):
            continue
        if name in ("WhiteNoise", "FilteredNoise", "StateSpaceNoise", "Normal", "LogNormal", "Uniform"):
            continue
        assert hasattr(noun, "_repr_html_"), name


def test_names_are_escaped():
    shown = reported.make_hostile_fit()._repr_html_()
    assert "<script" not in shown
    assert "<img" not in shown


def test_keys_are_completed(results):
    for name, keys in {
        "fit": ["k", "d"],
        "comparison": ["level", "speed"],
        "residuals": ["level", "speed"],
        "identifiability": ["k", "d"],
        "states": ["x", "v"],
        "study": ["k", "d"],
        "data": ["level", "speed", "u"],
        "trajectory": ["x", "level"],
        "model": ["level", "x", "k"],
    }.items():
        offered = results[name]._ipython_key_completions_()
        assert set(keys) <= set(offered), name
        for key in offered:
            results[name][key]


def test_expressions_are_typeset():
    x, k = dd.symbols("x k")
    assert (k * x)._repr_html_().startswith("<math")
    assert (dd.der(x) == -k * np.sin(x))._repr_html_().startswith("<math")
