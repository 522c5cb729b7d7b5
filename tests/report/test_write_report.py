"""The file that write_report makes: what is in it, that it is the same each time, what is refused."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import daedal as dd
import reported
from daedal.errors import ReportError
from daedal.report import record_fit
from daedal.report.page.evidence import gather_evidence
from daedal.report.page.record import digest_data
from daedal.report.page.rules import FIT_RULES, judge
from daedal.report.sections.exports import write_csv, write_latex, write_modelica, write_python

LARGEST = 2.5e6  # bytes


class Reader(HTMLParser):
    """Ids and text of a page; every element that opens must close."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.ids, self.texts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.ids += [value for key, value in attrs if key == "id"]
        if tag not in ("meta", "br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.texts.append(data)


def read(path: Path) -> tuple[str, dict, Reader]:
    text = path.read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    record = re.search(r'<script type="application/json" id="daedal">(.*?)</script>', text, re.DOTALL)
    return text, json.loads(record[1]), reader


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "fit.html"
    return dd.write_report(reported.make_fit(), path, validation=reported.make_data()[1], notes="A **note** <i>x</i>.")


def test_the_file_is_whole_small_and_has_all_sections(page):
    text, _, reader = read(page)
    assert page.stat().st_size < LARGEST
    for anchor in ("verdict", "parameters", "data-fit", "residuals", "certainty", "model", "data", "making", "daedal"):
        assert reader.ids.count(anchor) == 1
    assert len(reader.ids) == len(set(reader.ids))
    assert "<strong>note</strong> &lt;i&gt;x&lt;/i&gt;" in text
    said = re.sub(r"<script>.*?</script>| xmlns=\"[^\"]*\"", "", text, flags=re.DOTALL)
    assert "http:" not in said
    assert "https:" not in said


WRITE = """
import sys, daedal as dd
fit = dd.load(sys.argv[1])
dd.write_report(fit, sys.argv[2], validation=fit.data, states=["x", "v"], compare_with=[fit], notes="Twice.")
dd.plot(fit.model).save(sys.argv[2] + ".svg")
"""


def test_every_process_writes_the_same_bytes(tmp_path):
    """Whatever order its sets and hashes have."""
    reported.make_fit().save(tmp_path / "fit.nc")
    for seed in ("1", "2"):
        command = [sys.executable, "-c", WRITE, str(tmp_path / "fit.nc"), str(tmp_path / f"{seed}.html")]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
    assert (tmp_path / "1.html").read_bytes() == (tmp_path / "2.html").read_bytes()
    assert (tmp_path / "1.html.svg").read_bytes() == (tmp_path / "2.html.svg").read_bytes()


def test_a_page_of_five_thousand_samples_of_four_outputs_stays_small(tmp_path):
    x, u, k = dd.symbols("x u k")
    model = dd.Model(
        name="four", equations={"lag": dd.der(x) == k * (u - x)}, unknowns=[x], inputs=[u], parameters={k: 1.0},
        outputs={f"y{n}": n * x for n in range(1, 5)}, measurement_noise={f"y{n}": 0.1 for n in range(1, 5)},
        initial={x: 0.0},
    )  # fmt: skip
    times = np.arange(5000) * 0.02
    drive = dd.Signal(times, np.sign(np.sin(0.7 * times)), intersample="zoh")
    data = dd.simulate(model, times, inputs={"u": drive}, measurement_noise=True, rng=1).to_dataset()
    train, test = data.split(fraction=0.6)
    fit = dd.fit(model, train, free=["k"], criterion=dd.OutputError(), rng=1)
    assert dd.write_report(fit, tmp_path / "page.html", validation=test).stat().st_size < LARGEST


def test_the_same_fit_has_the_same_bytes(page, tmp_path):
    again = dd.write_report(
        reported.make_fit(), tmp_path / "b.html", validation=reported.make_data()[1], notes="A **note** <i>x</i>."
    )
    assert again.read_bytes() == page.read_bytes()


def test_the_page_tells_when_the_fit_was_made_and_at_what_cost(page, tmp_path):
    text, record, _ = read(page)
    made = reported.make_fit().making
    assert made is not None
    assert f"fitted {made.date[:10]}" in text
    assert "<dt>Processor time</dt>" in text
    assert "<dd>none: linear equations are exact from sample to sample</dd>" in text
    assert record["Making"]["seconds"] == made.seconds > 0.0
    stepping = reported.make_simulating_fit().making
    assert stepping is not None
    assert "steps of" in stepping.steps
    assert stepping.step_error is not None
    assert 0.0 < stepping.step_error < 1e-8  # its tolerance is 1e-9, and steps may serve that are a little off
    plain = dd.write_report(replace(reported.make_fit(), making=None), tmp_path / "old.html")
    assert "Processor time" not in plain.read_text(encoding="utf-8")


def test_parameters_are_described_where_the_model_does(page):
    text, record, _ = read(page)
    assert text.count("stiffness by mass") >= 3  # in the table, as CSV and in the text of the model
    told = {one["name"]: one["description"] for one in record["Parameters"]["Estimates"]}
    assert told == {"k": "stiffness by mass", "d": ""}


def test_the_record_has_the_numbers_of_the_fit(page):
    _, record, _ = read(page)
    fit = reported.make_fit()
    assert record["Parameters"]["ParVector"] == dict(fit.params)
    np.testing.assert_allclose(record["Parameters"]["FreeParCovariance"]["data"], fit.cov)
    assert record["Fit"]["AIC"] == fit.aic
    assert record["Termination"]["FcnCount"] == fit.evaluations
    assert record["RandState"] == str(fit.seed)
    unseen = dd.compare(fit, reported.make_data()[1])
    assert {one["output"]: one["fit_percent_simulated"] for one in record["Validation"]} == dict(unseen.fit_percent)
    ahead = {one["output"]: one["fit_percent_one_step"] for one in record["Validation"]}
    assert ahead == {one.output: one.ahead.fit_percent for one in unseen.series}
    wanted = {"Status", "Method", "Fit", "Parameters", "OptionsUsed", "RandState", "DataUsed", "Termination"}
    assert wanted <= set(record)
    assert {"FitPercent", "LossFcn", "MSE", "FPE", "AIC", "AICc", "nAIC", "BIC"} <= set(record["Fit"])


def test_losses_are_those_of_the_definitions():
    """From errors computed here, one step ahead, by the formulas of Ljung's book."""
    fit = reported.make_fit()
    told = record_fit(fit)["Fit"]
    errors = np.array([one.measured - one.ahead.predicted for one in dd.compare(fit, fit.data).series])
    N, count = errors.shape[1], len(fit.estimates)
    loss = np.linalg.det(sum(np.outer(e, e) for e in errors.T) / N)
    assert told["LossFcn"] == pytest.approx(loss)
    assert told["FPE"] == pytest.approx(loss * (N + count) / (N - count))
    assert told["nAIC"] == pytest.approx(np.log(loss) + 2 * count / N)
    assert list(told["MSE"].values()) == pytest.approx(list(np.mean(errors**2, axis=1)))
    assert told["AICc"] == pytest.approx(fit.aic + 2 * count * (count + 1) / (fit.samples - count - 1))


def test_the_digest_is_that_of_the_numbers():
    train, test = reported.make_data()
    same = dd.Dataset(train.times, train.inputs, train.outputs, t0=train.t0, name="another name")
    assert digest_data(same) == digest_data(train) != digest_data(test)
    assert re.fullmatch("[0-9a-f]{64}", digest_data(train))


def test_values_for_other_programs_are_read_back():
    fit = reported.make_fit()
    evidence = gather_evidence(fit, None, [], [], [])
    assert eval(write_python(fit)) == dict(fit.params)
    rows = [line.split(",") for line in write_csv(evidence).splitlines()]
    assert {row[0]: float(row[2]) for row in rows[1:]} == dict(fit.params)
    assert write_modelica(fit) == f"(k = {fit.params['k']!r}, d = {fit.params['d']!r})"
    assert write_latex(evidence).count("\\\\") == 3
    named = {n: replace(one, name=n) for n, one in zip(("shaft.c", "shaft.d"), fit.estimates.values(), strict=True)}
    values = [one.value for one in fit.estimates.values()]
    assert write_modelica(replace(fit, estimates=named)) == f"(shaft(c = {values[0]!r}, d = {values[1]!r}))"


def find_levels(fit, validation=None) -> tuple[str, str]:
    verdict = judge(FIT_RULES, gather_evidence(fit, validation, [], [], []))
    return verdict.level, " ".join(one.sentence for one in verdict.findings)


def test_a_right_model_on_unseen_data_is_usable():
    level, said = find_levels(reported.make_fit(), reported.make_data()[1])
    assert level == "good", said
    assert "all 2 parameters are determined" in said
    assert "unseen data are simulated to" in said


def test_without_unseen_data_it_is_never_more_than_with_care():
    assert find_levels(reported.make_fit())[0] == "care"
    level, said = find_levels(reported.make_fit(), reported.make_data()[0])
    assert level == "care"
    assert "those of the fit" in said


def test_what_a_fit_lacks_makes_it_unusable():
    fit, unseen = reported.make_fit(), reported.make_data()[1]
    k, d = fit.estimates.values()
    lost = {"k": replace(k, verdict="not determined"), "d": replace(d, verdict="at its bound", at_bound=True)}
    level, said = find_levels(replace(fit, estimates=lost), unseen)
    assert level == "bad"
    assert "not determined: k" in said
    assert "at a bound: d" in said
    stopped = replace(fit.status, ok=False, sentence="It stopped.")
    assert find_levels(replace(fit, status=stopped), unseen)[0] == "bad"
    loose = {"k": replace(k, verdict="loosely determined"), "d": d}
    assert find_levels(replace(fit, estimates=loose), unseen)[0] == "care"


def test_a_wrong_model_is_told():
    """Output error of a model whose input has the wrong sign on the validation data: worse than the mean."""
    _, test = reported.make_data()
    turned = {name: dd.Signal(one.times, -one.values, one.intersample) for name, one in test.inputs.items()}
    fit = reported.make_simulating_fit()
    wrong = dd.Dataset(test.times, turned, test.outputs, name="turned", units=test.units)
    level, said = find_levels(fit, wrong)
    assert level == "bad"
    assert "worse than by their mean" in said


@pytest.mark.parametrize(
    "criterion",
    [dd.OutputError(whiten=True), dd.SimulationPEM(realizations=20), dd.OutputError(loss="huber")],
    ids=["whitened", "simulated", "robust"],
)
def test_every_criterion_has_its_page(criterion, tmp_path):
    fit = dd.fit(reported.make_model(), reported.make_data()[0], free=["k"], criterion=criterion, rng=1)
    path = dd.write_report(fit, tmp_path / "page.html", validation=reported.make_data()[1])
    _, record, reader = read(path)
    assert record["Method"].startswith(type(criterion).__name__)
    said = " ".join(reader.texts)
    assert not re.search(r"\b(nan|inf)\b|np\.float64", said)


def make_large(parameters: int, outputs: int, experiments: int) -> tuple[dd.Fit, dd.Dataset]:
    """Gains of one input into many outputs."""
    u, *gains = dd.symbols(" ".join(["u", *(f"g{k}" for k in range(parameters))]))
    x = dd.symbol("x")
    shares = [sum(gains[k::outputs][1:], gains[k]) for k in range(outputs)]
    model = dd.Model(
        name="wide",
        equations={"lag": dd.der(x) == u - x},
        unknowns=[x],
        inputs=[u],
        outputs={f"y{k}": share * x for k, share in enumerate(shares)},
        parameters={gain: dd.Parameter(1.0, lower=-10.0, upper=10.0) for gain in gains},
        measurement_noise={f"y{k}": 0.1 for k in range(outputs)},
        initial={x: 0.0},
    )
    times = np.arange(60) * 0.2
    data = [
        dd.simulate(
            model, times, inputs={"u": dd.Signal(times, np.sin(times * (k + 1)))}, measurement_noise=True, rng=k
        ).to_dataset()
        for k in range(experiments + 1)
    ]
    named = [dd.Dataset(d.times, d.inputs, d.outputs, name=f"run {k}") for k, d in enumerate(data)]
    return dd.fit(model, named[:-1], free=gains, criterion=dd.OutputError(), rng=1), named[-1]


def test_many_parameters_outputs_and_experiments_are_folded_not_left_out(tmp_path):
    fit, validation = make_large(60, 20, 3)
    path = dd.write_report(fit, tmp_path / "large.html", validation=validation)
    text, record, reader = read(path)
    assert path.stat().st_size < LARGEST
    said = " ".join(reader.texts)
    assert "40 more parameters" in said
    assert "14 more signals not drawn here; they are in section 2" in said
    for name in (*fit.estimates, *fit.model.outputs):
        assert re.search(rf"\b{name}\b", said), name
    assert len(record["Parameters"]["Estimates"]) == 60
    assert len(record["Estimation"]) == 60  # outputs of experiments
    assert text.count('<figure class="drawn"') < 60


def test_paths_that_cannot_be_written_are_refused_before_the_work(tmp_path):
    fit = reported.make_fit()
    (tmp_path / "file").write_text("")
    for path, word in (
        (tmp_path, "is a folder"),
        (tmp_path / "missing" / "a.html", "There is no folder"),
        (tmp_path / f"{'a' * 300}.html", "File name too long"),
        (tmp_path / ("a" * 300) / "a.html", "There is no folder"),
        (tmp_path / "file" / "a.html", "There is no folder"),
        ("", "must be the name of a file"),
        (3, "must be the name of a file"),
        ("a\0b", "must be the name of a file"),
    ):
        with pytest.raises(ReportError, match=word):
            dd.write_report(fit, path)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file"]


def test_wrong_arguments_are_told_in_a_sentence(tmp_path):
    fit, path = reported.make_fit(), tmp_path / "a.html"
    bare = dd.Dataset([0.0, 1.0, 2.0], outputs={"other": [1.0, 2.0, 3.0]}, name="bare")
    for options, word in (
        ({"validation": bare}, "'bare' have none of the outputs of 'tank'"),
        ({"validation": 3}, "validation must be a Dataset"),
        ({"validation": []}, "validation must be a Dataset"),
        ({"notes": 3}, "notes must be a text"),
        ({"profile": "k"}, "profile must be a list of names"),
        ({"profile": ["q"]}, "no estimate 'q'"),
        ({"states": ["q"]}, "'q'"),
        ({"compare_with": [3]}, "compare_with must be a list of fits"),
    ):
        with pytest.raises(dd.DaedalError, match=word):
            dd.write_report(fit, path, **options)
    with pytest.raises(ReportError, match=r"write_report takes a Fit.*got Dataset"):
        dd.write_report(bare, path)
    with pytest.raises(ReportError, match="'validation' belongs to the report of a Fit"):
        dd.write_report(dd.compare(fit, fit.data), path, validation=bare)
    assert not path.exists()


def test_a_path_that_no_file_can_have_is_refused():
    with pytest.raises(dd.DaedalError, match="characters that no file name has"):
        dd.write_report(reported.make_fit(), "\ud800")


def test_devices_and_pipes_stay_and_links_lead_on(tmp_path):
    pipe, link = tmp_path / "pipe", tmp_path / "link.html"
    os.mkfifo(pipe)
    with pytest.raises(ReportError, match=r"The report cannot be written to .*: it is not a file"):
        dd.write_report(reported.make_result("comparison"), pipe)
    assert pipe.is_fifo()
    (tmp_path / "there").mkdir()
    link.symlink_to(tmp_path / "there" / "page.html")
    dd.write_report(reported.make_result("comparison"), link)
    assert link.is_symlink()
    assert (tmp_path / "there" / "page.html").stat().st_size > 1000
    assert not list(tmp_path.glob("**/.*"))


@pytest.mark.parametrize(
    ("failure", "raised", "sentence"),
    [
        (KeyboardInterrupt(), KeyboardInterrupt, "write_report was interrupted before anything was finished"),
        (MemoryError("no room"), dd.DaedalError, "write_report ran out of memory: no room"),
    ],
)
def test_a_page_that_is_not_finished_is_not_there(failure, raised, sentence, lag_fit, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise failure

    monkeypatch.setattr("daedal.report.nouns.writing.make_fit_page", fail)
    with pytest.raises(raised, match=sentence):
        dd.write_report(lag_fit, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []
