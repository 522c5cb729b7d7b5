"""What holds for every picture of every noun: title, units, legend, a sentence, both ways of drawing, files."""

import inspect
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import daedal as dd
from daedal.errors import ReportError
from daedal.report import Picture, draw, interactive, static
from daedal.report.drawings import Drawing, Formulas
from daedal.report.picture import Band
from daedal.report.pictures import NOT_DRAWN, PICTURES, find_pictures

NAMES = [
    "Trajectory", "realizations", "Ensemble", "StateEstimate", "Dataset", "Signal", "Samples", "list", "Fit", "Cost",
    "Comparison", "Residuals", "Profile", "Identifiability", "OrderSearch", "Candidate", "Study", "Model", "circuit",
    "Structure", "WellPosedness", "Descriptor", "TransferFunction", "WhiteNoise", "FilteredNoise", "StateSpaceNoise",
    "Normal", "LogNormal", "Uniform", "Equation", "Expression",
]  # fmt: skip
IMPOSSIBLE = {
    ("circuit", "disturbances"): "has no disturbances",
    ("Fit", "minima"): "has no other minimum",
    ("Fit", "realizations"): "has no error of averaging",
}
STRANGE = re.compile(r"\b(nan|NaN|inf|Infinity|None|np\.float64)\b")


def list_kinds(results, name):
    return [kind for kind in find_pictures(results[name]) if (name, kind) not in IMPOSSIBLE]


@pytest.fixture(scope="module")
def pictures(results):
    """All pictures of all results, described and not drawn."""
    return {name: {kind: draw(results[name], kind) for kind in list_kinds(results, name)} for name in results}


def list_texts(picture):
    axes = [axis for panel in picture.panels for axis in (panel.x, panel.y)]
    labels = [label for axis in axes for label in axis.labels or ()]
    names = [trace.name for panel in picture.panels for trace in panel.traces]
    return [picture.title, picture.subtitle, picture.alt, *labels, *names, *(axis.title for axis in axes)]


def test_every_noun_is_drawn_or_a_sentence_says_why_not(results):
    """Classes among the public names, except failures and what is drawn in other tests."""
    nouns = [name for name in dd.__all__ if inspect.isclass(getattr(dd, name)) and not name.startswith("Daedal")]
    drawn = {kind.__name__ for kind in PICTURES}
    for noun in nouns:
        assert (noun in drawn) != (noun in NOT_DRAWN), noun
    assert set(NAMES) == set(results)
    assert drawn - {"OrderSearches"} <= {type(one).__name__ for one in results.values()}
    for thing in (dd.Likelihood(), dd.Lanes(), results["Fit"]["k"], dd.Starts(3), dd.RefinedIV()):
        with pytest.raises(ReportError, match=r"There is no picture of \w+: it .* Draw "):
            dd.plot(thing)


@pytest.mark.parametrize("name", NAMES)
def test_pictures_say_what_they_show(pictures, name):
    for kind, picture in pictures[name].items():
        assert picture.title
        assert len(picture.alt) > 20, kind
        if not isinstance(picture, Picture):
            continue
        for text in list_texts(picture):
            assert not STRANGE.search(text), (kind, text)
        for panel in picture.panels:
            assert panel.x.title, kind
            assert panel.y.title, kind
            assert all(trace.name for trace in panel.traces)
            told_apart = {describe_style(trace) for trace in panel.traces}
            assert len(told_apart) == len({trace.name for trace in panel.traces}), kind


def describe_style(trace):
    """What tells a trace from others, without its colour; of a band, the line beside it."""
    own = [getattr(trace, field, "") for field in ("dash", "marker", "hatched", "opacity", "vertical", "width")]
    return type(trace), *own, trace.color if isinstance(trace, Band) else ""


@pytest.mark.parametrize("name", NAMES)
def test_both_ways_of_drawing_have_title_axes_and_legend(pictures, name):
    for kind, picture in pictures[name].items():
        if not isinstance(picture, Picture):
            assert picture.to_matplotlib().alt == picture.alt
            continue
        drawn, figure = static.render(picture), interactive.render(picture)
        assert drawn.alt == figure.alt == picture.alt
        assert picture.title[:20] in drawn.get_suptitle()
        assert figure.layout.title.text == picture.title
        legend = {trace.name for trace in figure.data if trace.showlegend}
        assert legend or any(trace.type == "heatmap" for trace in figure.data)
        assert figure.layout.showlegend
        axes = [one for one in drawn.axes if one.get_label() != "<colorbar>"]
        assert len(axes) == len(picture.panels), kind
        assert {one.get_ylabel().replace("\n", " ") for one in axes} == {panel.y.title for panel in picture.panels}
        assert bool(drawn.legends) == bool(legend)


class Reader(HTMLParser):
    """What a page asks for from elsewhere, and how many scripts it has."""

    def __init__(self):
        super().__init__()
        self.asked, self.scripts, self.labels = [], 0, []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.asked += [given[key] for key in ("src", "href") if key in given]
        self.scripts += tag == "script"
        self.labels += [given["aria-label"]] if "aria-label" in given else []


@pytest.mark.parametrize("name", ["Fit", "Model"])
def test_files_are_whole_small_and_the_same_again(results, name, tmp_path):
    for kind in list_kinds(results, name)[:2]:
        for ending in ("html", "svg", "png", "pdf"):
            first = dd.plot(results[name], kind).save(tmp_path / f"first.{ending}")
            second = dd.plot(results[name], kind).save(str(tmp_path / f"second.{ending}"))
            assert first.read_bytes() == second.read_bytes(), (kind, ending)
        page = (tmp_path / "first.html").read_text(encoding="utf-8")
        reader = Reader()
        reader.feed(page)
        assert reader.asked == []
        assert reader.labels == [draw(results[name], kind).alt]
        assert len(page) < 2_500_000
        assert page.count("plotly.js (cartesian - minified)") <= 1
        assert (tmp_path / "first.svg").read_text(encoding="utf-8").lstrip().startswith(("<?xml", "<svg"))
        assert (tmp_path / "first.png").read_bytes()[:4] == b"\x89PNG"
        assert (tmp_path / "first.pdf").read_bytes()[:4] == b"%PDF"
    assert not list(tmp_path.glob(".*"))


def test_static_figures_save_pages_too(results, tmp_path):
    page = dd.plot(results["Dataset"], backend="matplotlib").save(tmp_path / "static.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "<script" not in page


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("x.jpg", r"saved as .html, .svg, .png or .pdf, got '.jpg'"),
        ("x", "got no ending"),
        ("x.svgg", "Did you mean '.svg'"),
        ("no/such/folder/x.svg", "cannot be written"),
        ("a\0b.html", "cannot be written"),
        (3, "must be a text, got 3"),
    ],
)
def test_paths_that_cannot_be(results, path, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for figure in (dd.plot(results["Dataset"]), dd.plot(results["Model"]), dd.plot(results["Model"], "equations")):
        with pytest.raises(ReportError, match=message):
            figure.save(path)


def test_a_figure_that_was_changed_is_not_saved_without_its_changes(results, tmp_path):
    figure = dd.plot(results["Dataset"])
    figure.update_layout(title="mine")
    with pytest.raises(ReportError, match="changed after it was drawn"):
        figure.save(tmp_path / "x.svg")
    assert "mine" in figure.save(tmp_path / "x.html").read_text(encoding="utf-8")


def test_an_unknown_backend(results):
    with pytest.raises(ReportError, match="backend must be 'plotly' or 'matplotlib', got 'bokeh'"):
        dd.plot(results["Dataset"], backend="bokeh")


HOSTILE = '<img src=x onerror="alert(1)">&<b>$x_1$</script>'


def test_names_with_markup_in_them_are_read_not_obeyed(tmp_path):
    data = dd.Dataset([0.0, 1.0, 2.0], outputs={HOSTILE: [0.0, 1.0, 2.0]}, name=HOSTILE, units={HOSTILE: "<i>m</i>"})
    figure = dd.plot(data)
    page = figure.save(tmp_path / "x.html").read_text(encoding="utf-8")
    assert "<img" not in page
    assert page.count("</script>") == 2  # those of the page itself
    assert "\\u003cimg" not in page  # what plotly would take for a tag
    assert "<h1>data &lt;img src=x" in page
    assert "\\u0026lt;img src=x" in page
    assert figure.layout.yaxis.title.text.startswith("&lt;img src=x onerror=")
    static = dd.plot(data, backend="matplotlib")
    static.save(tmp_path / "x.png")  # dollars would be a formula that cannot be read
    assert "<img" not in (static.save(tmp_path / "y.svg").read_text(encoding="utf-8"))
    x, y = dd.symbols("x y")
    model = dd.Model(
        name=HOSTILE, equations={HOSTILE: dd.der(x) == y - x}, unknowns=[x], inputs=[y], outputs={HOSTILE: x}
    )
    for kind in ("diagram", "equations"):
        text = dd.plot(model, kind).save(tmp_path / "z.html").read_text(encoding="utf-8")
        assert "<img" not in text
        assert "<script" not in text
        dd.plot(model, kind).save(tmp_path / "z.png")


def test_names_that_begin_with_an_underscore_have_their_place_in_the_legend():
    run = dd.Dataset([0.0, 1.0], inputs={"_u": [0.0, 1.0]})
    assert dd.plot(run, backend="matplotlib").axes[0].get_ylabel() == "_u"
    (key,) = dd.plot(dd.TransferFunction([1.0], [1.0, 1.0], input="_u"), backend="matplotlib").legends
    assert [text.get_text().strip("\u200b") for text in key.get_texts()] == ["_u → y"]


def test_a_diagram_has_parts_connections_and_what_drives(results):
    drawing = draw(results["circuit"])
    assert isinstance(drawing, Drawing)
    assert {box.lines[0] for box in drawing.boxes} == {"source", "R", "C", "ground", "source.v", "voltage"}
    assert len(drawing.dots) == 1  # three ports meet in one place
    ends = sorted(tuple(filter(None, (wire.first, wire.last))) for wire in drawing.wires)
    assert ends == sorted([("p", "p"), ("n", "p"), ("n",), ("n",), ("p",), (), ()])
    for box in drawing.boxes:
        others = [other for other in drawing.boxes if other is not box]
        assert all(
            abs(box.x - one.x) >= (box.width + one.width) / 2 or abs(box.y - one.y) >= (box.height + one.height) / 2
            for one in others
        )
        assert box.x - box.width / 2 > 0
        assert box.x + box.width / 2 < drawing.width
    whole = draw(results["Model"])
    assert [box.kind for box in whole.boxes] == ["input", "disturbance", "equations", "output"]


def test_equations_keep_their_names(results):
    formulas = draw(results["Model"], "equations")
    assert isinstance(formulas, Formulas)
    assert formulas.names == ("lag",)
    assert "<mover" in formulas.mathml[0]
    many = draw(results["circuit"], ["R.law"], "equations")
    assert many.names == ("R.law",)
    with pytest.raises(ReportError, match=r"no equation 'R.low' to draw. Did you mean 'R.law'"):
        dd.plot(results["circuit"], ["R.low"], picture="equations")


def test_a_structure_is_block_triangular():
    """Of a pendulum as a DAE: nothing that is solved for stands above the blocks on the diagonal."""
    x, y, v, w, f = dd.symbols("x y v w f")
    equations = {
        "speed x": dd.der(x) == v, "speed y": dd.der(y) == w, "force x": dd.der(v) == -f * x,
        "force y": dd.der(w) == -f * y - 9.81, "rod": x**2 + y**2 == 1,
    }  # fmt: skip
    structure = dd.analyze(dd.Model(name="pendulum", equations=equations, unknowns=[x, y, v, w, f]))
    assert structure.occurrences["force x"] == {"x": 0, "v": 1, "f": 0}
    from daedal.report.pictures.structures import order_blocks

    blocks = order_blocks(structure)
    place = {name: number for number, block in enumerate(blocks) for name in (one for one, _ in block)}
    column = {unknown: number for number, block in enumerate(blocks) for _, unknown in block}
    for equation, unknowns in structure.occurrences.items():
        for unknown, order in unknowns.items():
            if order == structure.orders[unknown] - structure.differentiated.get(equation, 0):
                assert column[unknown] <= place[equation]
    assert sum(map(len, blocks)) == 5
    figure = dd.plot(structure)
    assert "rod (twice differentiated)" in figure.layout.yaxis.ticktext
    assert any(trace.name == "solved for, equation differentiated" for trace in figure.data)


def test_infinite_variances_are_named(results):
    (cells,) = dd.plot(results["WellPosedness"]).data
    assert cells.text[0][0] == "finite"
    assert cells.text[1][0].startswith("infinite, reached directly")
    np.testing.assert_array_equal(cells.z, [[0.0], [1.0]])
