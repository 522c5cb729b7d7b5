"""What to do about a data file that cannot be read as it was asked for."""

import json
import re
from collections.abc import Iterable, Sequence

from daedal.errors import nearest

MARKS = (";", "\t", "|", ",")  # what may stand between columns
BEGINNINGS = {  # of files that are no text, or another one
    b"PK": "it is a spreadsheet, or packed",
    b"\xd0\xcf": "it is a spreadsheet",
    b"\xff\xfe": "it is UTF-16 text",
    b"\xfe\xff": "it is UTF-16 text",
}
UTF_8 = "Save it as UTF-8 text ('CSV UTF-8' in a spreadsheet), plain or gzip."
DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")
DATE, CLOCK = re.compile(r"\d[-/.]\d+[-/.]\d"), re.compile(r"\d:\d")
NO_UNIT = re.compile(
    r"[-+]?inf(inity)?|#?n/?a|null|none|nil|err(or)?|bad|fail(ed)?|over(flow)?|#.*|[-.*?]*", re.IGNORECASE
)
SWITCHED = ("true", "false", "on", "off", "yes", "no")


def explain_bytes(begin: bytes) -> str:
    """Why the bytes of a file are no text that can be read."""
    told = next((words for sign, words in BEGINNINGS.items() if begin.startswith(sign)), "")
    return f"{told}, not UTF-8 text" if told else "it is not UTF-8 text"


def find_column_advice(label: str, header: Sequence[str], following: Iterable[Sequence[str]]) -> str:
    """What to do where a header line lacks a column; `following` are the next rows."""
    for mark in MARKS:
        if len(header) == 1 and label in _split(header[0], mark):
            return f"Columns are separated by another character: write delimiter = {json.dumps(mark)}."
    for number, row in enumerate(following, start=2):
        if any(label in _split(cell, mark) for cell in row for mark in MARKS):
            return f"Row {number} names it: the first line must, so delete what is above."
    remedy = nearest(label, header)
    return remedy + " If another character separates the columns, name it with delimiter=." * (len(header) == 1)


def _split(text: str, mark: str) -> list[str]:
    return [part.strip().strip('"') for part in text.split(mark)]


def find_cell_advice(text: str, label: str, complete: str | None, decimal: str, *, alone: bool) -> str:
    """What to do about a cell that is no number; `alone` in the first row, above others that are."""
    bare = text.strip()
    if alone and not any(map(str.isdigit, bare)) and not NO_UNIT.fullmatch(bare):
        unit = f"'{label} [{bare.strip('[]() ')}]'"
        return f"If this line holds units, write them in the header line, as in {unit}, and delete it."
    if decimal == "." and DECIMAL_COMMA.fullmatch(bare):
        return "If the file has decimal commas, say so with decimal = ','."
    if decimal == "," and "." in bare:
        return "With decimal=',' no number has a point: remove those between thousands."
    if DATE.search(bare):
        return (
            "Timestamps are read in the form 2024-03-31T01:30:00+01:00: give the cells that format, or convert them by "
            "pandas.to_datetime(...)."
        )
    if CLOCK.search(bare):
        return "Write numbers, such as seconds since the start, or timestamps with a date, 2024-03-31T01:30:00."
    if bare.lower() in SWITCHED:
        return "Write 1 and 0."
    return "Repair that cell." if complete else "Repair that cell, or empty it."
