"""Saved figures as a reader sees them: drawn, silent, alone, and with all their words inside."""

import numpy as np
import pytest

import daedal as dd

HOSTILE = '<img src=x onerror="alert(1)">&<b>%{meta.alt}</script>'
CUT = """() => { const frame = document.getElementById('figure').getBoundingClientRect();
  return [...document.querySelectorAll('#figure svg text')].filter(text => { const box = text.getBoundingClientRect();
    return box.width > 0 && (box.left < frame.left - 2 || box.right > frame.right + 2 || box.top < frame.top - 2
      || box.bottom > frame.bottom + 2); }).map(text => text.textContent); }"""
WORDS = "() => [...document.querySelectorAll('#figure svg text')].map(text => text.textContent)"


def make_data():
    times = np.arange(200) * 0.1
    outputs = {HOSTILE: np.sin(times), "speed": np.cos(times)}
    return dd.Dataset(times, inputs={"u": times}, outputs=outputs, name=HOSTILE, units={"speed": "m/s", "time": "s"})


def make_dated():
    dates = np.datetime64("2024-03-01T00:00") + np.arange(50) * np.timedelta64(6, "h")
    return dd.Dataset(dates, outputs={"temperature": np.sin(np.arange(50.0))}, units={"temperature": "°C"})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plots")
    function = dd.TransferFunction([1.0], [1.0, 0.4, 4.0], delay=0.1)
    return {
        "data": dd.plot(make_data()).save(folder / "data.html"),
        "bode": dd.plot(function, "bode").save(folder / "bode.html"),
        "dated": dd.plot(make_dated()).save(folder / "dated.html"),
        "poles": dd.plot(function, "poles").save(folder / "poles.html"),
        "diagram": dd.plot(function.to_model()).save(folder / "diagram.html"),
        "equations": dd.plot(function.to_model(), "equations").save(folder / "equations.html"),
    }


@pytest.mark.parametrize("name", ["data", "bode", "dated", "poles", "diagram", "equations"])
@pytest.mark.parametrize("width", [1100, 420])
def test_a_saved_figure_is_silent_and_whole(visit, files, name, width):
    page = visit(files[name], width=width)
    assert page.said == []
    assert page.asked == [files[name].as_uri()]
    assert page.inner_text("h1")
    if page.query_selector("#figure"):
        assert page.evaluate(CUT) == []
        assert page.query_selector("#figure .legend")
        assert page.get_attribute("#figure", "aria-label")


def test_names_are_read_as_they_were_written(visit, files):
    page = visit(files["data"])
    words = [word.replace("\u200b", "") for word in page.evaluate(WORDS)]
    assert any(word.startswith("<img src=x") for word in words)  # broken into lines, as it is long
    assert {"speed [m/s]", "time [s]", "measured", "input"} <= set(words)
    assert page.inner_text("h1") == f"data {HOSTILE}"
    assert page.query_selector("img") is None


def test_dates_are_those_of_the_data(visit, files):
    page = visit(files["dated"])
    shown = page.evaluate("document.getElementById('figure')._fullLayout.xaxis.range")
    assert shown[0] < "2024-03-01" < "2024-03-13 06" < shown[1]
    assert any("Mar" in word for word in page.evaluate(WORDS))


def test_panels_zoom_together(visit, files):
    page = visit(files["data"])
    page.evaluate("Plotly.relayout('figure', {'xaxis.range': [2, 3]})")
    ranges = "['xaxis', 'xaxis2', 'xaxis3'].map(k => document.getElementById('figure')._fullLayout[k].range)"
    assert page.evaluate(ranges) == [[2, 3]] * 3
