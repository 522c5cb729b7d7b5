"""What the pages of all nouns end with."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from daedal.records import list_versions
from daedal.report.page import (
    Html,
    Rule,
    Section,
    Verdict,
    embed_json,
    join,
    list_glossary,
    list_rules,
    section,
    tag,
    write_minus,
)


def write_entries(entries: dict[str, Any]) -> list[Html]:
    """Words and what they are, of a list of definitions; None is left out."""
    return [join([tag("dt", key), tag("dd", value)]) for key, value in entries.items() if value is not None]


def write_foot(rules: Sequence[Rule], entries: dict[str, Any]) -> Section:
    """How it was made, rules and words."""
    versions = ", ".join(f"{key} {value}" for key, value in list_versions().items())
    shown = write_entries({**entries, "Versions that wrote this page": versions})
    return section("making", "How this was made", tag("dl", *shown), list_rules(rules), list_glossary())


def embed_record(verdict: Verdict, record: dict[str, Any]) -> Html:
    """All numbers of a page as JSON, with the verdict and versions."""
    told = {
        "word": verdict.word,
        "findings": [{"level": one.level, "sentence": one.sentence} for one in verdict.findings],
    }
    return embed_json({**record, "Verdict": told, "Versions": list_versions()}, id="daedal")


def write_number(number: float, digits: int = 5) -> str:
    """A number in a table; a dash where it is not known."""
    return "—" if np.isnan(number) else "∞" if np.isinf(number) else write_minus(f"{number:.{digits}g}")
