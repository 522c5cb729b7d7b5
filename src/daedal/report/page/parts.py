"""What all pages have in common: head with verdict and tiles, numbered sections, notes, the foot, one file."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from daedal.errors import ReportError, show
from daedal.report.bundle import read_script
from daedal.report.layout import steady
from daedal.report.page.html import Html, digest_script, escape, fold, join, link, list_items, tag
from daedal.report.page.rules import SIGNS, Rule, Verdict

FOOT = "Written by daedal. The file needs no network; its numbers are in the JSON element “daedal”."
GLOSSARY = {
    "95 % interval": "A range that holds the true value in 95 of 100 such experiments, if the model is right.",
    "95 % band": "A range around a prediction that holds 95 of 100 samples, if the model is right.",
    "AIC, BIC": "Scores for comparing models of the same data: lower is better; more parameters cost something.",
    "at its bound": "The search wanted to leave the range that was allowed for this parameter.",
    "autocorrelated": "A residual that can partly be foretold from its own past: something was left unexplained.",
    "criterion": "The number that was made as small as possible.",
    "determined": "The data tell the parameter: its standard error is below half its value.",
    "disturbance": "What drives the system and was not measured.",
    "fit in per cent": "100 % is perfect, 0 % is what the mean of the samples would reach, below is worse than that.",
    "held-out, unseen data": "Data that the estimate has not used.",
    "index": "How often equations must be differentiated to obtain an ordinary differential equation, at most.",
    "innovation": "What a sample adds to all that was known before it.",
    "measurement noise": "What a sensor adds to the quantity it measures.",
    "minimum": "A point where the criterion is lower than all around it; there may be several.",
    "Monte-Carlo error": "What a finite number of random simulations adds to the uncertainty.",
    "one step ahead": "Predicted from all samples before; simulated: from the inputs alone.",
    "profile": "How the criterion grows when one parameter is moved and all others follow.",
    "p-value": "How often a right model would look at least this bad by chance.",
    "residual": "Measured minus predicted.",
    "RMSE": "Root mean square of the residual, in the unit of the output.",
    "standard error": "The standard deviation of an estimate over such experiments.",
    "white": "Without memory: no sample tells anything about the next.",
}


@dataclass(frozen=True)
class Tile:
    """One number to see first, and what it is."""

    number: Any
    words: str


@dataclass(frozen=True)
class Section:
    """A numbered part of a page; the anchor is what links go to."""

    anchor: str
    title: str
    body: Html


@dataclass(frozen=True)
class Page:
    """Everything that stands on a page, from the top down."""

    kicker: str
    title: str
    verdict: Verdict | None
    tiles: Sequence[Tile]
    summary: Html
    notes: str
    sections: Sequence[Section]
    record: Html


def section(anchor: str, title: str, *children: Any) -> Section:
    """A part of a page."""
    return Section(anchor, title, join(children))


def write_page(page: Page) -> str:
    """The text of the file: it asks no network for anything, and no script runs but the two at its end."""
    scripts = (read_script(), _read("page.js"))
    policy = (
        f"default-src 'none'; script-src {' '.join(map(digest_script, scripts))}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="generator", content="daedal"),
        tag("title", page.title),
        tag("style", Html(_read("page.css"))),
    )
    numbered = [
        tag("section", tag("h2", f"{number} {one.title}"), one.body, id=one.anchor)
        for number, one in enumerate(page.sections, start=1)
    ]
    contents = tag(
        "nav",
        *(link(one.anchor, f"{number} {one.title}") for number, one in enumerate(page.sections, start=1)),
        class_="contents",
        aria_label="sections",
    )
    body = tag(
        "body",
        tag(
            "main",
            tag("p", page.kicker, class_="kicker"),
            tag("h1", page.title),
            _write_verdict(page.verdict),
            tag(
                "div",
                *(
                    tag("div", tag("b", one.number), tag("span", keep_signs(one.words)), class_="tile")
                    for one in page.tiles
                ),
                class_="tiles",
            )
            if page.tiles
            else "",
            page.summary,
            write_notes(page.notes),
            contents,
            *numbered,
        ),
        tag("footer", FOOT, tag("span", " What is folded is not printed: open it before.", class_="on-paper")),
        page.record,
        *(tag("script", Html(text)) for text in scripts),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _write_verdict(verdict: Verdict | None) -> Html:
    """The word, then every sentence as a link to what it rests on."""
    if verdict is None:
        return Html("")
    sentences = [
        link(one.anchor, keep_signs(f"{one.sentence[:1].upper()}{one.sentence[1:]}.")) for one in verdict.findings
    ]
    word = tag("strong", verdict.word, data_sign=SIGNS[verdict.level])
    return tag("div", tag("p", word, " ", join(sentences, " ")), class_=f"verdict {verdict.level}", id="verdict")


def write_notes(notes: str) -> Html:
    """Markdown of the user as HTML; HTML inside it stays text, and pictures are not fetched."""
    if not isinstance(notes, str):
        raise ReportError(f"notes must be a text, got {show(notes)}.", 'Write notes="Axis of the **test rig**."')
    if not notes.strip():
        return Html("")
    from markdown_it import MarkdownIt

    writer = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    cleaned = steady(notes.encode(errors="replace").decode())
    return tag("div", Html(writer.render(cleaned)), class_="notes")


def keep_signs(text: str) -> str:
    """No line begins with a sign of per cent."""
    return text.replace(" %", "\u00a0%")


def list_rules(rules: Iterable[Rule]) -> Html:
    """What verdicts follow from."""
    return fold(
        "Rules behind the verdict",
        list_items(rule.text for rule in rules),
        tag("p", "The word is that of the worst sentence: “Usable.” if all is good, “With care.”, or “Not usable.”"),
    )


def list_glossary() -> Html:
    """The words used."""
    entries = [
        join([tag("dt", word), tag("dd", meaning)])
        for word, meaning in sorted(GLOSSARY.items(), key=lambda e: e[0].casefold())
    ]
    return fold("Glossary", tag("dl", *entries))


def write_pre(text: Any, **attributes: Any) -> Html:
    """Text as it is."""
    return tag("pre", tag("code", escape(text)), tabindex="0", **attributes)


def list_remarks(notes: Iterable[str]) -> Html:
    """What is to be known about a result."""
    return list_items(map(write_sentence, notes), class_="soft")


def write_sentence(note: str) -> str:
    """A note with a capital at its start, where that is no name with a colon, and a full stop at its end."""
    begun = note if note.partition(" ")[0].endswith(":") else note[:1].upper() + note[1:]
    return begun if begun.endswith((".", "!", "?", ":")) else f"{begun}."


@cache
def _read(name: str) -> str:
    return files("daedal.report.page").joinpath(name).read_text(encoding="utf-8")
