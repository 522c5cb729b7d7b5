"""Section 5: the model."""

from typing import Any

from daedal.analysis import analyze, check_noise
from daedal.errors import DaedalError, counted
from daedal.estimation import Fit
from daedal.models import Model
from daedal.report.page import (
    Html,
    Section,
    embed,
    fold,
    join,
    list_items,
    list_remarks,
    make_table,
    section,
    tag,
    write_pre,
)
from daedal.symbolic import write_mathml

OPEN = 12  # equations that are shown at once


def write_model(model: Model, fit: Fit | None = None) -> Section:
    """Equations, parts, structure, disturbances and noise; of a linear model what it does to its inputs."""
    count = len(model.equations)
    rows = [[name, Html(write_mathml(equation))] for name, equation in model.equations.items()]
    table = make_table(["equation", "reads"], rows, texts=(0, 1), label="equations")
    lists = {
        "Unknowns": model.unknown_names,
        "Inputs": model.input_names,
        "Outputs": [f"{name} = {value}" for name, value in model.outputs.items()],
        "Held at the start": [f"{name} = {value}" for name, value in model.initial.items()],
        "Guessed at the start": [f"{name} = {value}" for name, value in model.guess.items()],
        "Measurement noise": [f"{_join(key)}: {value}" for key, value in model.measurement_noise.items()],
        "Disturbances": [f"{_join(key)}: {noise!r}" for key, noise in model.disturbances.items()],
        "Where data lack it": [f"{name} = {value}" for name, value in model.defaults.items()],
    }
    entries = [join([tag("dt", word), tag("dd", _cut(list(values)))]) for word, values in lists.items() if values]
    if model.disturbances:
        noise = _try(lambda: _capitalize(str(check_noise(model))))
    else:
        noise = "The model declares no disturbances: all that was not measured counts as measurement noise."
    return section(
        "model",
        "The model",
        tag("p", _try(lambda: _capitalize(str(analyze(model)).split("\n", 1)[0]) + ".")),
        fold(counted(count, "equation"), table, opened=count <= OPEN),
        tag("dl", *entries),
        tag("p", noise),
        *_write_pictures(model, fit),
        fold("Structure in words", write_pre(_try(lambda: str(analyze(model))))),
        fold("The model as text, which Model.from_text reads", write_pre(model.to_text())),
    )


def _write_pictures(model: Model, fit: Fit | None) -> list[Html]:
    """Folded, each where there is one; the others are named with the reason."""
    subject: Any = model if fit is None else fit
    wanted: list[tuple[str, Any, str]] = [
        ("Parts and connections", model, "diagram"),
        ("Structure: which equation holds which unknown", model, "structure"),
    ]
    if model.inputs:
        wanted += [("Frequency response", subject, "bode"), ("Step response", subject, "step")]
    wanted.append(("Poles and zeros", subject, "poles"))
    if model.disturbances:
        wanted.append(("Spectra of the disturbances", subject, "disturbances"))
    parts, reasons = [], []
    for word, one, name in wanted:
        try:
            parts.append(fold(word, embed(one, None, name)))
        except DaedalError as error:
            reasons.append(f"{word}: not drawn. {error.sentence}")
    return [*parts, list_remarks(reasons)]


def _join(key: Any) -> str:
    return key if isinstance(key, str) else " ".join(key)


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cut(entries: list[str], most: int = 12) -> Html:
    if len(entries) <= most:
        return list_items(entries) if len(entries) > 1 else tag("span", entries[0])
    return fold(f"{', '.join(entries[:3])} and {len(entries) - 3} more", list_items(entries))


def _try(make: Any) -> str:
    try:
        return make()
    except DaedalError as error:
        return str(error)
