"""A first model for those who have none: each measured output follows the inputs with a lag, pushed by noise.

    T ẏ = offset + Σ gain u − y + T w,   memory ẇ = −w + white noise,   y measured with noise,

with starts from the data where there are any: a tenth of the record for T, the ratio of the spreads for a gain.
"""

import json
import keyword
import re
from collections.abc import Sequence
from unicodedata import combining, normalize

import numpy as np

from daedal.data import Dataset

SPELT = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ø": "oe", "æ": "ae"}
)
NOISE = 0.02  # of the spread of an output: a first guess of its measurement noise


def write_first_model(
    name: str, time: str, inputs: Sequence[str], outputs: Sequence[str], data: Dataset | None
) -> tuple[str, dict[str, str]]:
    """Its commented text, and column → name in the model; `time` is the column of the times."""
    names: dict[str, str] = {}
    for label in (*inputs, *outputs):
        names[label] = _make_name(label, set(names.values()))
    driving, measured = [names[label] for label in inputs], [names[label] for label in outputs]
    many = len(measured) > 1
    equations, parameters, disturbances, guesses, noises, units = [], [], [], [], [], []
    for label, signal in zip(outputs, measured, strict=True):
        end = f"_{signal}" if many else ""
        gains = [f"gain{end}_{one}" if len(driving) > 1 else f"gain{end}" for one in driving]
        drive = " + ".join([f"offset{end}", *(f"{gain}*{one}" for gain, one in zip(gains, driving, strict=True))])
        equations.append(f'{signal} = "der({signal}) == ({drive} - {signal})/lag{end} + push{end}"')
        starts = _find_starts(label, inputs, data)
        parameters += [f"lag{end} = {_write_positive(starts['lag'])}", f"offset{end} = {_write_any(starts['offset'])}"]
        parameters += [f"{gain} = {_write_any(value)}" for gain, value in zip(gains, starts["gains"], strict=True)]
        parameters.append(f"strength{end} = {_write_positive(starts['strength'])}   # of what pushes it unmeasured")
        parameters.append(f"noise{end} = {starts['noise']!r}   # standard deviation of a sample: look at the sensor")
        parameters.append(f"memory{end} = {_write_positive(starts['memory'])}   # how long a push lasts")
        numerator, denominator = f'["strength{end}*sqrt(2*memory{end})"]', f'["memory{end}", 1.0]'
        disturbances.append(
            f'push{end} = {{ kind = "FilteredNoise", numerator = {numerator}, denominator = {denominator} }}'
        )
        guesses.append(f"{signal} = {starts['first']!r}")
        noises.append(f'{signal} = "noise{end}"')
    for label, signal in {**names, time: "time"}.items():
        unit = data.units.get(signal if label == time else label, "") if data is not None else ""
        unit = unit or _find_unit(label)
        units += [f"{signal} = {json.dumps(unit, ensure_ascii=False)}"] if unit else []
    lines = [
        "# A first model: each output follows the inputs with a lag. Put the physics you know in its place.",
        "# Equations are written as in Python, with der(x) for the derivative of x with respect to time.",
        f"name = {json.dumps(name, ensure_ascii=False)}",
        f"unknowns = {json.dumps(measured)}         # what the equations determine, one equation each",
        f"inputs = {json.dumps(driving)}           # what is recorded and drives it",
        "",
        "[equations]",
        *equations,
        "",
        "[outputs]                       # what is measured",
        *(f'{signal} = "{signal}"' for signal in measured),
        "",
        "[parameters]                    # values, or where a fit starts",
        *parameters,
        "",
        "[disturbances]                  # what pushes the system and is not recorded",
        *disturbances,
        "",
        "[measurement_noise]             # standard deviation of a sample",
        *noises,
        "",
        "[guess]                         # where it starts, as far as data do not tell; [initial] would hold it there",
        *guesses,
        *(["", "[units]", *units] if units else []),
    ]
    return "\n".join(lines) + "\n", names


def _write_positive(value: float) -> str:
    return f'{{ value = {value!r}, lower = {value / 1e3:.3g}, upper = {value * 1e3:.3g}, scale = "log" }}'


def _write_any(value: float) -> str:
    """Of either sign."""
    reach = 1e3 * max(abs(value), 1.0)
    return f"{{ value = {value!r}, lower = {-reach:.3g}, upper = {reach:.3g} }}"


def _make_name(label: str, taken: set[str]) -> str:
    """A name that can stand in an equation, and is not taken."""
    bare = normalize("NFKD", re.sub(r"\s*[\[(].*", "", label).translate(str.maketrans(SPELT)))
    bare = "".join(letter for letter in bare if not combining(letter))
    name = re.sub(r"\W", "_", bare, flags=re.ASCII).strip("_") or "signal"
    reserved = ("der", "time", "delay", "hold", "where", "lag", "offset", "gain", "noise", "push", "strength", "memory")
    name = f"{name}_" if keyword.iskeyword(name) or name in reserved else name
    name = f"s_{name}" if name[0].isdigit() else name
    number, chosen = 2, name
    while chosen in taken:
        chosen, number = f"{name}_{number}", number + 1
    return chosen


def _find_unit(label: str) -> str:
    match = re.search(r"[\[(]([^\])]*)[\])]\s*$", label)
    return match[1].strip() if match else ""


def _find_starts(label: str, inputs: Sequence[str], data: Dataset | None) -> dict:
    if data is None:
        alone = {"lag": 1.0, "offset": 0.0, "noise": 0.1, "strength": 0.1, "memory": 0.1, "first": 0.0}
        return {**alone, "gains": [1.0] * len(inputs)}
    samples = data.outputs[label]
    known = samples.values[np.isfinite(samples.values)]
    length, spread, mean = float(np.ptp(samples.times)) or 1.0, float(np.std(known)) or 1.0, float(np.mean(known))
    lag = _round(length / 10.0)
    gains = []
    for one in inputs:
        driven = data.outputs[one].values
        deviation = float(np.nanstd(driven))
        gains.append(_round(spread / deviation / len(inputs)) if deviation > 0.0 else 1.0)
    offset = mean - sum(
        gain * float(np.nanmean(data.outputs[one].values)) for gain, one in zip(gains, inputs, strict=True)
    )
    memory = _round(2.0 * length / max(samples.times.size - 1, 1))
    return {
        "lag": lag,
        "offset": _round(offset),
        "gains": gains,
        "noise": _round(NOISE * spread),
        "strength": _round(spread / lag),
        "memory": memory,
        "first": _round(float(known[0])),
    }


def _round(value: float) -> float:
    """Three digits: nobody knows more."""
    return float(f"{value:.3g}")
