"""The part of Sphinx that is ours: blocks of code are followed by what they print, names of the library are links."""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

import blocks
import daedal
import gallery
import reference
import runs

DOCS = Path(__file__).parents[1]
NAME = re.compile(r"(dd\.)?([A-Za-z_]+)(\(.*\))?", re.DOTALL)
WIDEST = 110  # characters of a line of a table; longer ones are sentences, which may go on in the next line
WORDS = {"time", "where", "delay", "hold", "load", "symbol", "symbols", "merge"}  # mean other things without "dd."


def find_pages() -> list[Path]:
    """Pages with blocks to run."""
    pages = (path for path in sorted(DOCS.rglob("*.md")) if path.parent != gallery.FOLDER)
    return [path for path in pages if blocks.BLOCK.search(path.read_text(encoding="utf-8"))]


def run_everything(_app: Sphinx) -> None:
    runs.run_all(find_pages(), [entry.script for entry in gallery.ENTRIES])
    gallery.write_gallery()


def insert_outputs(_app: Sphinx, name: str, source: list[str]) -> None:
    """Put what a block printed and drew below it, and at the end of the page which version it was run with."""
    path = DOCS / f"{name}.md"
    if not path.exists() or path.parent == gallery.FOLDER or not blocks.BLOCK.search(source[0]):
        return
    outputs = iter(enumerate(runs.load_outputs(path)))
    up = "../" * name.count("/")

    def show(match: re.Match[str]) -> str:
        number, output = next(outputs)
        shown = match[0]
        if text := output["text"].rstrip():
            words = " words" if max(map(len, text.splitlines())) > WIDEST else ""
            shown += f"\n\n```{{code-block}} text\n:class: output{words}\n\n{text}\n```"
        if output["picture"]:
            picture = gallery.save_picture(f"{name.replace('/', '-')}-{number}", output["picture"])
            shown += (
                f'\n\n```{{raw}} html\n<figure><img alt="what the code above draws" src="{up}{picture}"></figure>\n```'
            )
        return shown

    foot = f"\n\n*The code of this page was run with daedal {daedal.__version__} when the page was built.*\n"
    source[0] = blocks.BLOCK.sub(show, source[0]) + foot


def escape_bars(_app: Sphinx, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """|x| in a docstring is an absolute value, not a substitution of reStructuredText."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[number] = line.replace("|", "\\|")


class LinkNames(SphinxTransform):
    """`fit` in a text leads to the reference of `daedal.fit`."""

    default_priority = 400

    def apply(self, **_options: Any) -> None:
        for literal in list(self.document.findall(nodes.literal)):
            match = NAME.fullmatch(literal.astext())
            if (
                match is None
                or match[2] not in daedal.__all__
                or isinstance(literal.parent, nodes.reference | nodes.title)
            ):
                continue
            if match[1] is None and match[2] in WORDS:
                continue
            link = addnodes.pending_xref(
                "", refdomain="py", reftype="obj", reftarget=f"daedal.{match[2]}", refwarn=False
            )
            link["refdoc"] = self.env.docname
            literal.replace_self(link)
            link += literal


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", run_everything)
    app.connect("source-read", insert_outputs)
    app.connect("autodoc-process-docstring", escape_bars)
    app.add_transform(LinkNames)
    app.add_directive("library", reference.Library)
    app.add_directive("errors", reference.Errors)
    app.add_directive("sentences", reference.Sentences)
    app.add_directive("commands", reference.Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
