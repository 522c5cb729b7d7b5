"""Tables: every printed result lines up its columns the same way, and `to_pandas` makes frames alike."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import floor, isfinite, isinf, isnan, log10
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

DIGITS = 10  # of a number, at most
NOTHING = 1e-9  # of its error: a number as small is zero but for round-off


class Row(str):
    """A line of a table that still knows its cells; the first of a table has the heads."""

    cells: tuple[str, ...]
    head: bool

    def __new__(cls, line: str, cells: Sequence[str], *, head: bool = False) -> "Row":
        """The line as it is printed."""
        made = super().__new__(cls, line)
        made.cells, made.head = tuple(cells), head
        return made


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table, indented: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join([f"  {row[0]:<{widths[0]}}", *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
    return [Row(line, row, head=k == 0) for k, (line, row) in enumerate(zip(lines, rows, strict=True))]


def write_html(lines: Iterable[str]) -> str:
    """What a notebook shows of a result that prints as these lines: a title, tables, and what is said about them.

    Examples
    --------
    >>> print(write_html(["a < b", *align_columns([["", "value"], ["k", "2"]]), "  a note"]))
    <div><p><b>a &lt; b</b></p>
    <table><tr><th></th><th style="text-align:right">value</th></tr>
    <tr><th style="text-align:left">k</th><td style="text-align:right">2</td></tr></table>
    <p>a note</p></div>
    """
    parts: list[str] = []
    inside = False
    for number, line in enumerate(lines):
        if isinstance(line, Row):
            parts.append(
                ("</table>\n" if inside and line.head else "") + ("<table>" if line.head else "") + _write_row(line)
            )
            inside = True
            continue
        shown = escape(line.strip(), quote=False)
        parts.append(
            ("</table>\n" if inside else "") + (f"<p><b>{shown}</b></p>" if number == 0 else f"<p>{shown}</p>")
        )
        inside = False
    text = "\n".join(parts) + ("</table>" if inside else "")
    return f"<div>{text.replace(chr(10) + '</table>', '</table>')}</div>"


def _write_row(row: Row) -> str:
    """Its cells; the first names it."""
    right = ' style="text-align:right"'
    first, *others = (escape(cell.strip(), quote=False) for cell in row.cells)
    if row.head:
        return f"<tr><th>{first}</th>{''.join(f'<th{right}>{cell}</th>' for cell in others)}</tr>"
    named = f'<th style="text-align:left">{first}</th>'
    return f"<tr>{named}{''.join(f'<td{right}>{cell}</td>' for cell in others)}</tr>"


def add_unit(name: str, units: Mapping[str, str]) -> str:
    """A name with its unit, where it has one: speed [m/s]."""
    return f"{name} [{units[name]}]" if name in units else name


def make_frame(
    index: str, places: Any, columns: Mapping[str, Any], units: Mapping[str, str] | None = None
) -> "pandas.DataFrame":
    """A pandas frame with a named index; units, where there are any, are `frame.attrs["units"]`."""
    import pandas

    frame = pandas.DataFrame(dict(columns), index=pandas.Index(places, name=index))
    frame.attrs |= {"units": dict(units)} if units else {}
    return frame


def stack_frames(
    names: Sequence[str], frames: Mapping[Any, "pandas.DataFrame"], units: Mapping[str, str] | None = None
) -> "pandas.DataFrame":
    """Frames below each other, their keys as further levels of the index, named and first."""
    import pandas

    frame = pandas.concat(dict(frames), names=[*names, *next(iter(frames.values())).index.names])
    frame.attrs = {"units": dict(units)} if units else {}
    return frame


def format_number(value: float, error: float) -> str:
    """As many digits as the error leaves, two of them uncertain; three of what is not zero at least, ten at most."""
    if not (isfinite(error) and error > 0.0):
        return f"{value:.6g}"
    decimals = 1 - floor(log10(error))
    if abs(value) < 0.5 * 10.0**-decimals:
        return "0" if abs(value) < NOTHING * error else f"{value:.3g}"
    digits = floor(log10(abs(value))) + 1 + decimals
    if 1e-4 <= abs(value) < 1e6 and decimals >= 0 and digits <= DIGITS:
        return f"{value:.{decimals}f}"
    return f"{value:.{min(max(digits, 3), DIGITS)}g}"


def format_error(error: float) -> str:
    """Two digits; — where it is not known, ∞ where nothing is."""
    return "—" if isnan(error) else "∞" if isinf(error) else f"{error:.2g}"


def format_relative(error: float, value: float) -> str:
    """Per cent of the value."""
    if not isfinite(error) or value == 0.0 or error > 10.0 * abs(value):
        return "—"
    return f"{100.0 * error / abs(value):.2g}"
