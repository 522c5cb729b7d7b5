"""The pages of the site: their code runs from top to bottom, every public name has its entry, nothing is left out."""

import re
from pathlib import Path

import pytest

import blocks
import daedal
import gallery
import runs
from running import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if path.parent != gallery.FOLDER)
RUN = [path for path in PAGES if blocks.BLOCK.search(path.read_text(encoding="utf-8"))]


def name_page(path: Path) -> str:
    return path.relative_to(DOCS).as_posix()


@pytest.mark.parametrize("page", RUN, ids=name_page)
def test_the_code_of_a_page_runs(page, optimised_code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outputs = blocks.run_page(page.read_text(encoding="utf-8"), name_page(page))
    runs.keep_page(page, outputs)  # for the site
    assert any(output.text or output.picture for output in outputs)
    assert all(output.picture == "" or output.picture.startswith("<?xml") for output in outputs)


def test_every_public_name_has_one_entry_in_the_reference():
    text = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "api").glob("*.md"))
    entries = re.findall(r"^\.\. auto(?:class|function|data):: daedal\.(\w+)$", text, re.MULTILINE)
    assert sorted(entries) == sorted(daedal.__all__)


@pytest.mark.parametrize("name", daedal.__all__)
def test_every_public_name_has_an_example(name):
    assert ">>>" in getattr(daedal, name).__doc__


def test_code_that_is_not_run_is_where_it_cannot_be():
    text = {name_page(path): path.read_text(encoding="utf-8") for path in PAGES}
    assert {name for name in text if "```{code-block} python" in text[name]} == {"clusters.md", "compare.md"}


def test_how_tos_are_short():
    for path in (DOCS / "howto").glob("*.md"):
        prose = blocks.BLOCK.sub("", path.read_text(encoding="utf-8"))
        assert len([line for line in prose.splitlines() if line.strip()]) <= 60, path.name


def test_every_example_is_in_the_gallery():
    assert {entry.script.name for entry in gallery.ENTRIES} == {path.name for path in (ROOT / "examples").glob("*.py")}
    assert {tag for entry in gallery.ENTRIES for tag in entry.tags} == set(gallery.TAGS)


def test_a_block_that_fails_names_its_page_and_line():
    with pytest.raises(ZeroDivisionError) as raised:
        blocks.run_page("# A page\n\n```python\nx = 0\n1 / x\n```\n", "page.md")
    last = raised.traceback[-1]
    assert (str(last.path), last.lineno + 1) == ("page.md", 5)
