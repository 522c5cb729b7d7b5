from .evidence import Evidence, gather_evidence
from .figures import embed, embed_picture
from .html import Html, embed_json, fold, join, list_items, make_table, tag, write_minus
from .parts import (
    Page, Section, Tile, list_glossary, list_remarks, list_rules, section, write_notes, write_page, write_pre,
    write_sentence,
)
from .record import digest_data, record_fit
from .rules import (
    FIT_RULES, HELD, POOR, SCARCE, WELL, Finding, Rule, Verdict, expects_white, judge, judge_comparison,
    judge_fit, list_tests, name_some, write_percent,
)
from .svg import PANEL, WIDE, draw_legend, draw_panel, draw_range

__all__ = [
    "Evidence", "FIT_RULES", "Finding", "HELD", "Html", "PANEL", "POOR", "Page", "Rule", "SCARCE", "Section", "Tile",
    "Verdict", "WELL", "WIDE", "digest_data", "draw_legend", "draw_panel", "draw_range", "embed", "embed_json",
    "embed_picture", "expects_white", "fold", "gather_evidence", "join", "judge", "judge_comparison",
    "judge_fit", "list_glossary", "list_items", "list_remarks", "list_rules", "list_tests", "make_table",
    "name_some", "record_fit", "section", "tag", "write_minus", "write_notes", "write_page",
    "write_percent", "write_pre", "write_sentence",
]
