"""Report pages as a reader sees them."""

import itertools
import re

import pytest

import daedal as dd
import reported
from browser_checks import find_cut_text, find_overflow, list_figures, open_everything
from daedal.report.page import Html, Page, embed, section, write_page

MOST_FIGURES = 12  # at first sight
A4 = (718, 1016)  # pixels of the paper between the margins: 190 by 269 mm at 96 to the inch
NUMBERS = re.compile(r"\b(?:nan|inf|NaN|Infinity|undefined|np\.float64)\b")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def report(folder):
    """Of a fit by likelihood with everything that can be asked for."""
    return dd.write_report(
        reported.make_fit(),
        folder / "fit.html",
        validation=reported.make_data()[1],
        notes="Tank of the **test rig**.",
        profile=["k"],
        states=["x"],
        compare_with=[reported.make_simulating_fit()],
    )


@pytest.fixture(scope="module")
def wide(visit, report):
    """The page on a desk, unfolded; `first` is how many figures were there before that."""
    page = visit(report)
    page.first = sum(figure["seen"] for figure in list_figures(page))
    open_everything(page)
    return page


@pytest.fixture(scope="module")
def narrow(visit, report):
    """The page on a telephone, unfolded, in the dark."""
    page = visit(report, width=420, dark=True)
    open_everything(page)
    return page


def test_the_page_says_nothing_to_the_console_and_asks_nobody(wide, narrow, report):
    assert 3 <= wide.first <= MOST_FIGURES
    for page in (wide, narrow):
        assert page.said == []
        assert page.asked == [report.as_uri()]


def test_every_figure_has_title_axes_and_legend(wide):
    figures = list_figures(wide)
    assert len(figures) >= 10
    for figure in figures:
        assert figure["title"], figure
        assert figure["label"], figure
        assert figure["axes"], figure
        assert all(figure["axes"]), figure
        assert figure["legend"], figure
    drawn = " ".join(axis for figure in figures for axis in figure["axes"])
    for unit in ("time [s]", "[m]", "[m/s]", "[1/s2]"):
        assert unit in drawn


@pytest.mark.parametrize("name", ["wide", "narrow"])
def test_nothing_is_cut_or_hangs_over(request, name):
    page = request.getfixturevalue(name)
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    assert find_overflow(page) == []
    assert find_cut_text(page) == []


# One script draws all figures: of neighbours the first is looked into. What is left depends on the theme or the width.
FIRST_FIGURES = {"exclude": [["figure:not(:first-of-type) .plot"]]}
STYLE = {"runOnly": ["color-contrast", "link-in-text-block", "scrollable-region-focusable"]}


@pytest.mark.parametrize(("name", "options"), [("wide", {}), ("narrow", STYLE)], ids=["light", "dark"])
def test_accessible_in_the_light_and_in_the_dark(request, name, options):
    axe = pytest.importorskip("axe_core_python.sync_playwright").Axe()
    violations = axe.run(request.getfixturevalue(name), FIRST_FIGURES, options)["violations"]
    assert [(one["id"], [node["html"][:120] for node in one["nodes"]][:3]) for one in violations] == []


def test_no_number_is_written_as_computers_do(wide, report):
    spoken = "[...document.querySelectorAll('[aria-label]')].map(e => e.getAttribute('aria-label'))"
    for words in (wide.evaluate("document.body.innerText"), " ".join(wide.evaluate(spoken))):
        assert NUMBERS.findall(words) == []
    text = report.read_text(encoding="utf-8")
    record = text[text.index('<script type="application/json" id="daedal">') :].partition("</script>")[0]
    assert not re.search(r"[:,\[](?:NaN|-?Infinity)", record)


def test_diagrams_and_equations_can_be_read_on_a_telephone(visit, folder):
    """Letters of a diagram are not smaller than three quarters of their size, and what is wider scrolls."""
    page = visit(dd.write_report(reported.make_fit(), folder / "narrow.html"), width=420)
    open_everything(page)
    sizes = page.evaluate(
        """() => [...document.querySelectorAll('figure.diagram text')].map(t => t.getBoundingClientRect().height)"""
    )
    assert min(sizes) > 8
    assert page.evaluate("document.documentElement.scrollWidth") <= 420


def test_names_beside_a_structure_do_not_meet_the_legend(visit, folder):
    """Of forty equations with long names: names, title and legend stand below each other at both widths."""
    x = dd.symbols(" ".join(f"a_long_name_of_state_{k}" for k in range(40)))
    equations = {f"equation of state number {k}": dd.der(one) == x[k - 1] - one for k, one in enumerate(x)}
    model = dd.Model(name="chain", equations=equations, unknowns=x, outputs={"y": x[0]})
    body = [section("model", "The model", embed(model, None, "structure"))]
    path = folder / "structure.html"
    path.write_text(write_page(Page("", "chain", None, [], Html(""), "", body, Html(""))), encoding="utf-8")
    for width in (1100, 420):
        page = visit(path, width=width)
        assert find_cut_text(page) == []
        boxes = page.evaluate(
            """() => ['.xaxislayer-above', '.g-xtitle', '.legend'].map(
                name => document.querySelector(`figure.drawn ${name}`).getBoundingClientRect()).map(
                b => [b.top, b.bottom])"""
        )
        for (_, above), (below, _) in itertools.pairwise(boxes):
            assert above <= below + 1


def test_every_sentence_of_the_verdict_leads_to_what_it_rests_on(wide):
    assert wide.evaluate("document.querySelectorAll('#verdict a').length") >= 3
    targets = wide.evaluate(
        "[...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.getAttribute('href').slice(1))"
    )
    assert wide.evaluate("names => names.every(name => document.getElementById(name))", targets)


def test_buttons_copy(wide):
    wide.get_by_role("button", name="Modelica").click()
    wide.wait_for_function("() => document.querySelector('[data-copy=copy-modelica]').textContent === 'copied'")
    assert wide.evaluate("document.getElementById('copy-modelica').textContent").startswith("(k = ")


def test_figures_fit_on_paper(visit, report):
    page = visit(report)
    assert page.pdf(format="A4", prefer_css_page_size=True).startswith(b"%PDF")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": A4[0], "height": A4[1]})
    boxes = page.evaluate(
        """() => [...document.querySelectorAll('figure')].filter(f => !f.closest('details:not([open])')).flatMap(
            f => [f, ...f.querySelectorAll('svg.main-svg')]).map(e => e.getBoundingClientRect()).map(
            b => [b.left, b.right, b.height])"""
    )
    assert len(boxes) > 10
    for left, right, height in boxes:
        assert left >= -1
        assert right <= A4[0] + 1
        assert height <= A4[1]
    wide = "() => [...document.querySelectorAll('.table')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
    assert page.evaluate(wide) == 0  # columns would be cut
    assert find_cut_text(page) == []
    hidden = "[...document.querySelectorAll('.buttons, .modebar')].filter(e => e.offsetParent).length"
    assert page.evaluate(hidden) == 0


def test_nothing_in_names_or_notes_runs(visit, folder):
    name, (_, test) = reported.HOSTILE, reported.make_data(reported.HOSTILE)
    notes = f"{name}\n\n[click](javascript:window.hit=3) ![x](https://example.org/x.png) <b onclick=x>bold</b>"
    path = dd.write_report(reported.make_hostile_fit(), folder / "hostile.html", validation=test, notes=notes)
    page = visit(path)
    open_everything(page)
    assert page.evaluate("window.hit") is None
    assert page.said == []
    assert page.asked == [path.as_uri()]
    assert page.evaluate("document.querySelectorAll('main img, main b[onclick], a[href^=javascript]').length") == 0
    assert name in page.evaluate("document.querySelector('.notes').innerText")
    assert name in page.evaluate("document.querySelector('h1').innerText")


@pytest.mark.parametrize("kind", sorted(reported.ODD))
def test_odd_names_neither_speak_nor_leave_their_figures(visit, folder, kind):
    """Dollars would be formulas, marks of direction turn all words behind them, long names find no room."""
    name = reported.ODD[kind]
    path = dd.write_report(reported.make_hostile_fit(name), folder / f"{kind}.html", notes=f"# {name}\n\n`{name}`")
    for width in (1100, 420):
        page = visit(path, width=width)
        open_everything(page)
        assert page.said == []
        assert find_overflow(page) == []
        assert find_cut_text(page) == []
        words = page.evaluate(
            "document.body.innerText + [...document.querySelectorAll('svg text')].map(t => t.textContent)"
        )
        assert not set("\u202e\u2066\u2069\u202c") & set(words)
        assert kind == "turning" or name in words


@pytest.mark.parametrize("kind", ["comparison", "states", "order", "study"])
def test_other_results_have_pages_too(visit, folder, kind):
    page = visit(dd.write_report(reported.make_result(kind), folder / f"{kind}.html", notes="*short*"), width=420)
    open_everything(page)
    assert page.said == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    assert not NUMBERS.findall(page.evaluate("document.body.innerText"))
    assert find_cut_text(page) == []
    for figure in list_figures(page):
        assert figure["title"]
        assert all(figure["axes"])
        assert figure["legend"]


def test_no_button_sends_the_figure_away(wide):
    titles = wide.evaluate("[...document.querySelectorAll('.modebar-btn')].map(e => e.dataset.title)")
    assert "Zoom" in titles
    assert not [title for title in titles if "hare" in title or "loud" in title]
