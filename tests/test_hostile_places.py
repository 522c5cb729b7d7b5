"""Places that are gone, and several who write to one: a sentence, or a whole file."""

import os
import threading

import numpy as np
import pytest

import daedal as dd
from daedal.report.saving import write_whole

x, k = dd.symbols("x k")
TIMES = np.arange(5.0)


def make_model():
    equations = {"rate": dd.der(x) == -k * x}
    return dd.Model(
        name="m", equations=equations, unknowns=[x], outputs={"x": x}, parameters={k: 0.9}, initial={x: 1.0}
    )


@pytest.fixture(scope="module")
def fitted():
    return dd.fit(make_model(), dd.Dataset(TIMES, outputs={"x": np.exp(-TIMES)}), free=["k"])


@pytest.fixture
def _nowhere(tmp_path, monkeypatch):
    """The working folder is removed."""
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    yield
    os.chdir(tmp_path)


WORK = {
    "save": (lambda fit: fit.save("fit.nc"), "could not be written to 'fit.nc'"),
    "load": (lambda _: dd.load("fit.nc"), "There is no file 'fit.nc' to load"),
    "report": (lambda fit: dd.write_report(fit, "fit.html"), "cannot be written to 'fit.html'"),
    "figure": (lambda fit: dd.plot(fit).save("fit.svg"), "cannot be written to 'fit.svg'"),
    "csv": (lambda _: dd.read_csv("a.csv", time="t", outputs=["y"]), "there is no such file"),
    "project": (lambda _: dd.read_project("a.toml"), "There is no project 'a.toml'"),
}


@pytest.mark.skipif(os.name == "nt", reason="folders in use cannot be removed")
@pytest.mark.usefixtures("_nowhere")
@pytest.mark.parametrize("work", WORK)
def test_a_working_folder_that_is_gone(fitted, work):
    call, sentence = WORK[work]
    with pytest.raises(dd.DaedalError, match=sentence):
        call(fitted)


def test_two_who_write_one_figure_leave_a_whole_one(tmp_path):
    """Each of its writers has a file of its own until it is complete."""
    path, contents = tmp_path / f"{'a' * 246}.svg", [bytes([number]) * 200_000 for number in (1, 2, 3)]

    def write(content):
        for _ in range(30):
            write_whole(path, content)

    writers = [threading.Thread(target=write, args=(content,)) for content in contents]
    for writer in writers:
        writer.start()
    seen = {path.read_bytes() for _ in range(200) if path.exists()}
    for writer in writers:
        writer.join()
    assert seen | {path.read_bytes()} <= set(contents)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("solver", [None, dd.IDA(), dd.Lanes()])
def test_a_time_of_which_there_are_no_parts(solver):
    with pytest.raises(dd.DaedalError, match=r"would last 4\.9e-324, for parts of which there are no numbers"):
        dd.simulate(make_model(), [0.0, 5e-324], solver=solver)


@pytest.mark.parametrize("model", ["plain", "switched"])
def test_a_time_of_whose_parts_there_are_no_squares(model):
    """IDA says so before it starts, and compiled steps do it where they can."""
    x, k = dd.symbols("x k")
    rate = {"plain": -k * x, "switched": -k * np.sign(x + 1.0)}[model]
    names = {"unknowns": [x], "parameters": {k: 1e200}, "initial": {x: 1.0}, "outputs": {"x": x}}
    short = dd.Model(name="short", equations={"rate": dd.der(x) == rate}, **names)
    with pytest.raises(dd.DaedalError, match=r"would last 1e-200, of whose parts IDA takes squares"):
        dd.simulate(short, [0.0, 1e-200], solver=dd.IDA())
    if model == "plain":
        assert dd.simulate(short, [0.0, 1e-200])["x"][-1] == pytest.approx(np.exp(-1.0), rel=1e-6)
