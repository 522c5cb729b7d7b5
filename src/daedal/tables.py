"""Tables: every printed result lines up its columns the same way, and `to_pandas` makes frames alike."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table, indented: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([f"  {row[0]:<{widths[0]}}", *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]


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
