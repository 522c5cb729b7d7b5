"""Text tables: every printed result lines up its columns the same way."""

from collections.abc import Mapping, Sequence


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table, indented: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([f"  {row[0]:<{widths[0]}}", *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]


def add_unit(name: str, units: Mapping[str, str]) -> str:
    """A name with its unit, where it has one: speed [m/s]."""
    return f"{name} [{units[name]}]" if name in units else name
