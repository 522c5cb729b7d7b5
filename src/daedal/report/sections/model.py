"""Section 5: the model: equations, structure, disturbances, responses."""

import re
from dataclasses import fields, is_dataclass
from typing import Any

from daedal.analysis import analyze, check_noise
from daedal.disturbances import Noise
from daedal.errors import DaedalError, counted
from daedal.models import Model
from daedal.report.page import (
    Evidence,
    Html,
    Section,
    embed,
    embed_picture,
    fold,
    join,
    list_items,
    list_remarks,
    make_table,
    section,
    tag,
    write_pre,
    write_sentence,
)
from daedal.report.pictures import SHARE, Subject, draw_bode, draw_poles, draw_step, make_subject
from daedal.symbolic import Equation, write_mathml

OPEN = 12  # equations that are shown at once
SHORT = 70  # letters of a list that stands in one line


def write_model(model: Model, evidence: Evidence | None = None) -> Section:
    """Equations, parts, structure, disturbances and noise; of a linear model what it does to its inputs."""
    count = len(model.equations)
    rows = [[name, _typeset(equation)] for name, equation in model.equations.items()]
    table = make_table(["equation", "reads"], rows, texts=(0, 1), label="equations")
    lists = {
        "Unknowns": model.unknown_names,
        "Inputs": model.input_names,
        "Outputs": [f"{name} = {value}" for name, value in model.outputs.items()],
        "Held at the start": [f"{name} = {value}" for name, value in model.initial.items()],
        "Guessed at the start": [f"{name} = {value}" for name, value in model.guess.items()],
        "Measurement noise": [f"{_join(key)}: {value}" for key, value in model.measurement_noise.items()],
        "Disturbances": [f"{_join(key)}: {_describe_noise(noise)}" for key, noise in model.disturbances.items()],
        "Where data lack it": [f"{name} = {value}" for name, value in model.defaults.items()],
    }
    entries = [join([tag("dt", word), tag("dd", _cut(list(values)))]) for word, values in lists.items() if values]
    if model.disturbances:
        noise = _try(lambda: write_sentence(str(check_noise(model))))
    else:
        noise = "The model declares no disturbances: all that was not measured counts as measurement noise."
    return section(
        "model",
        "The model",
        tag("p", _try(lambda: write_sentence(str(analyze(model)).split("\n", 1)[0]))),
        fold(counted(count, "equation"), table, opened=count <= OPEN),
        tag("dl", *entries),
        tag("p", noise),
        *_write_pictures(model),
        *_write_responses(model, evidence),
        fold("Structure in words", write_pre(_try(lambda: str(analyze(model))))),
        fold("The model as text, which Model.from_text reads", write_pre(model.to_text())),
    )


def _typeset(equation: Equation) -> Html:
    """As MathML; brackets around what is not tall do not grow, or they would with every nesting."""
    text = write_mathml(equation)
    if "<mfrac>" not in text:
        text = re.sub(r"<mo>([()])</mo>", r'<mo stretchy="false">\1</mo>', text)
    return Html(text)


def _write_pictures(model: Model) -> list[Html]:
    """Folded, each where there is one; the others are named with the reason."""
    wanted = [("Parts and connections", "diagram"), ("Structure: which equation holds which unknown", "structure")]
    parts, reasons = [], []
    for word, name in wanted:
        try:
            parts.append(fold(word, embed(model, None, name)))
        except DaedalError as error:
            reasons.append(f"{word}: not drawn. {error.sentence}")
    return [*parts, list_remarks(reasons)]


def _write_responses(model: Model, evidence: Evidence | None) -> list[Html]:
    """What the model, linear or linearised, does to its inputs, and what disturbs it."""
    subject, reason = (evidence.subject, evidence.missing.get("linear", "")) if evidence else (None, "")
    if evidence is None:
        try:
            subject = make_subject(model)
        except DaedalError as error:
            reason = error.sentence
    parts: list[Html] = []
    reasons = [f"Frequency response, step response, poles and zeros: not drawn. {reason}"] if reason else []
    if subject is not None:
        parts.append(_describe_excitation(subject))
        wanted = [("Poles and zeros", draw_poles, False)]
        if model.inputs:
            wanted = [("Frequency response", draw_bode, True), ("Step response", draw_step, False), *wanted]
        for word, draw, opened in wanted:
            try:
                parts.append(fold(word, embed_picture(draw(subject, None)), opened=opened))
            except DaedalError as error:
                reasons.append(f"{word}: not drawn. {error.sentence}")
    if model.disturbances:
        noisy: Any = model if evidence is None else evidence.fit
        try:
            parts.append(fold("Spectra of the disturbances", embed(noisy, None, "disturbances")))
        except DaedalError as error:
            reasons.append(f"Spectra of the disturbances: not drawn. {error.sentence}")
    return [*parts, list_remarks(reasons)]


def _describe_excitation(subject: Subject) -> Html:
    """Up to which frequency the data can tell anything."""
    if subject.excited is None:
        return Html("")
    source, _, high = subject.excited
    unit = f"rad/{subject.units['time']}" if "time" in subject.units else "rad per unit of time"
    return tag(
        "p",
        f"Excited up to {high:.3g} {unit}: {50 * (1 + SHARE):g} % of the variance of {source} lie below; what the "
        "responses say above rests on the equations, not on the data.",
    )


def _join(key: Any) -> str:
    return key if isinstance(key, str) else " ".join(key)


def _describe_noise(noise: Noise) -> str:
    """What kind it is, and what was declared of it: filtered noise, numerator 0.3, denominator 1, 2."""
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(noise).__name__).lower()
    declared = [(one, getattr(noise, one.name)) for one in fields(noise)] if is_dataclass(noise) else []
    shown = [f"{one.name} {_list_values(value)}" for one, value in declared if repr(value) != repr(one.default)]
    return ", ".join([kind, *shown])


def _list_values(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_list_values, value))}]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _cut(entries: list[str], most: int = 12) -> Html:
    if sum(map(len, entries)) <= SHORT:
        return tag("span", ", ".join(entries))
    if len(entries) <= most:
        return list_items(entries)
    return fold(f"{', '.join(entries[:3])} and {len(entries) - 3} more", tag("p", ", ".join(entries)))


def _try(make: Any) -> str:
    try:
        return make()
    except DaedalError as error:
        return str(error)
