"""Units in the header line of a file: "speed [m/s]" is the column 'speed' in m/s.

A remark in brackets is a unit only if that can be told: it is made of known symbols, and so are all others in the same
kind of brackets. "x[0]", "T (out)", or the phases "(A)", "(B)" and "(C)" are names.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

PREFIX = "(?:da|[YZEPTGMkhdcmµμunpfa])?"
PREFIXED = "m|g|s|A|K|mol|cd|Hz|N|Pa|J|W|C|V|F|S|Ω|Ohm|ohm|H|T|Wb|lm|lx|rad|l|L|bar|eV|Wh|Ah|VA|var|Nm|cal"
PLAIN = "°C|°F|°|degC|degF|deg|%|‰|ppm|ppb|min|h|d|rpm|dB|in|ft|mph|psi|kn|atm|mmHg|rev|pH|pu"
SYMBOL = f"(?:{PREFIX}(?:{PREFIXED})|{PLAIN})"
FACTOR = rf"{SYMBOL}(?:\^?[-+]?\d|[⁻⁺]?[¹²³⁴])?"
UNIT = re.compile(rf"(?:1\s*/\s*)?{FACTOR}(?:\s*[/*·. ]\s*{FACTOR})*")
REMARKED = re.compile(r"(?P<name>.*\S)\s*(?:\[(?P<square>[^\[\]]*)\]|\((?P<round>.*)\))")
KINDS = ("square", "round")


class Label(NamedTuple):
    """A column's label, the name without its unit, and the unit; the label itself and none where there is none."""

    label: str
    name: str
    unit: str


def read_labels(header: Sequence[str]) -> list[Label]:
    """The labels of a header line, taken apart where they hold units."""
    remarks = [REMARKED.fullmatch(label) for label in header]
    told = [kind for kind in KINDS if _are_units([one[kind] for one in remarks if one and one[kind] is not None])]
    return [_take_apart(label, remark, told) for label, remark in zip(header, remarks, strict=True)]


def _take_apart(label: str, remark: re.Match[str] | None, told: Sequence[str]) -> Label:
    unit = next((remark[kind].strip() for kind in told if remark[kind] is not None), "") if remark else ""
    return Label(label, remark["name"] if remark and unit else label, unit)


def _are_units(remarks: Sequence[str]) -> bool:
    """Whether all are units, brackets within them left out: J/(kg K)."""
    return bool(remarks) and all(UNIT.fullmatch(re.sub(r"[()]", "", one).strip()) for one in remarks)
