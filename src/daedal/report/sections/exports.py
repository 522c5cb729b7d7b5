"""Estimates as other programs read them: CSV, LaTeX, Python, Modelica."""

import csv
import io
import re
from math import isfinite
from typing import Any

from daedal.estimation import Fit
from daedal.report.page import Evidence
from daedal.tables import format_error, format_number


def write_csv(evidence: Evidence) -> str:
    """One row a parameter, all digits; what is not known is empty."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(
        ["name", "unit", "value", "std_error", "lower95", "upper95", "start", "lower", "upper", "scale", "verdict",
         "description"]
    )  # fmt: skip
    for one in evidence.fit.estimates.values():
        interval, _ = evidence.find_interval(one.name)
        numbers = [one.value, one.std_error, *interval, one.start, one.lower, one.upper]
        shown = [repr(float(x)) if isfinite(x) else "" for x in numbers]
        writer.writerow([one.name, one.unit, *shown, one.scale, one.verdict, one.description])
    return table.getvalue()


def write_latex(evidence: Evidence) -> str:
    """A table for booktabs and siunitx' users: plain numbers."""
    lines = [
        r"\begin{tabular}{llrrr}",
        r"\toprule",
        r"parameter & unit & value & std.\ error & 95\,\% interval \\",
        r"\midrule",
    ]
    for one in evidence.fit.estimates.values():
        interval, _ = evidence.find_interval(one.name)
        value = f"${format_number(one.value, one.std_error)}$"
        error = f"${format_error(one.std_error)}$" if isfinite(one.std_error) else "--"
        known = all(map(isfinite, interval))
        ends = " to ".join(f"${format_number(x, one.std_error)}$" for x in interval) if known else "--"
        lines.append(f"{_escape_latex(one.name)} & {_escape_latex(one.unit)} & {value} & {error} & {ends} \\\\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _escape_latex(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return re.sub(r"[\\~^&%$#_{}]", lambda match: special.get(match[0], f"\\{match[0]}"), text)


def write_python(fit: Fit) -> str:
    """Name → value, with all digits."""
    return "{\n" + "".join(f"    {name!r}: {one.value!r},\n" for name, one in fit.estimates.items()) + "}"


def write_modelica(fit: Fit) -> str:
    """A modifier: shaft.c and shaft.d become (shaft(c = …, d = …))."""
    tree: dict[str, Any] = {}
    for name, one in fit.estimates.items():
        *path, last = name.split(".") if re.fullmatch(r"[\w.]+", name) else [name]
        if any(".".join(path[: k + 1]) in fit.estimates for k in range(len(path))):
            path, last = [], name  # a and a.b: no component is a number too
        inside = tree
        for part in path:
            inside = inside.setdefault(part, {})
        inside[last] = one.value
    return _write_modifier(tree)


def _write_modifier(tree: dict[str, Any]) -> str:
    entries = [
        f"{_name_modelica(key)}{_write_modifier(value)}"
        if isinstance(value, dict)
        else f"{_name_modelica(key)} = {value!r}"
        for key, value in tree.items()
    ]
    return f"({', '.join(entries)})"


def _name_modelica(name: str) -> str:
    """Quoted where Modelica would not take it as it is."""
    if re.fullmatch(r"[A-Za-z_]\w*", name):
        return name
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
