"""Sections 5, 6 and 9: the model, the data, and how all of it was made."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from daedal.analysis import analyze, check_noise
from daedal.data import Dataset, find_uniform_step
from daedal.errors import DaedalError, counted
from daedal.estimation import Fit, describe
from daedal.models import Model
from daedal.records import list_versions
from daedal.report.page.figures import embed
from daedal.report.page.html import Html, fold, join, list_items, make_table, tag
from daedal.report.page.parts import Section, list_glossary, list_remarks, list_rules, section, write_pre
from daedal.report.page.record import digest_data
from daedal.report.page.rules import Rule
from daedal.symbolic import write_mathml

OPEN = 12  # equations that are shown at once
SIGNALS = 40  # rows of the data table before the others are folded
METHODS = {  # name of a criterion → words, formula, reference
    "OutputError": (
        "Least squares between the samples and one simulation in which every disturbance is zero.",
        "½ Σ (y(tₖ) − ŷ(tₖ; θ))² / σ²",
        "L. Ljung, System Identification: Theory for the User, 2nd ed., Prentice Hall (1999), section 7.3.",
    ),
    "SimulationPEM": (
        "Least squares between the samples and the mean of many simulations with random disturbances.",
        "½ Σ (y(tₖ) − ȳ(tₖ; θ))² / σ²,  ȳ the mean over M realizations",
        "M. R.-H. Abdalmoaty, O. Eriksson, R. Bereza, D. Broman, H. Hjalmarsson, Identification of Non-Linear "
        "Differential-Algebraic Equation Models with Process Disturbances (2021).",
    ),
    "Likelihood": (
        "Maximum likelihood: how probable all samples are, each predicted from those before it; exact for linear "
        "models.",
        "−log p(y₁, …, y_N; θ) = ½ Σ (log |2π Sₖ| + eₖᵀ Sₖ⁻¹ eₖ),  eₖ the innovations, Sₖ their covariances",
        "M. Gerdin, T. B. Schön, T. Glad, F. Gustafsson, L. Ljung, On parameter and state estimation for linear "
        "differential-algebraic equations (2006).",
    ),
    "MeanVariance": (
        "Mean and variance of the squared error of samples that are random with known moments.",
        "γ E J + (1 − γ) Var J,  J = Σ (y − ŷ)²",
        "Q. Lin, R. Loxton, C. Xu, K. L. Teo, Parameter estimation for nonlinear time-delay systems with noisy output "
        "measurements, Automatica 60 (2015) 48–56.",
    ),
}


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


def write_data(fit_data: Sequence[Dataset], validation: Sequence[Dataset], notes: Sequence[str] = ()) -> Section:
    """A row for each signal, digests, pictures."""
    sets = [(one, "estimation") for one in fit_data] + [(one, "validation") for one in validation]
    rows = [row for data, role in sets for row in _list_signals(data, role)]
    heads = [
        "signal",
        "data",
        "role",
        "samples",
        "missing",
        "step",
        "from",
        "to",
        "lowest",
        "highest",
        "unit",
        "between samples",
    ]
    texts = (0, 1, 2, 10, 11)
    children: list[Any] = [make_table(heads, rows[:SIGNALS], texts=texts, label="signals")]
    if len(rows) > SIGNALS:
        children.append(
            fold(
                f"{len(rows) - SIGNALS} more signals",
                make_table(heads, rows[SIGNALS:], texts=texts, label="more signals"),
            )
        )
    digests = [[data.name, role, str(data.sample_times.size), tag("code", digest_data(data))] for data, role in sets]
    children.append(
        fold(
            "SHA-256 digests",
            make_table(["data", "role", "samples", "SHA-256"], digests, texts=(0, 1, 3), label="digests of the data"),
            tag(
                "p",
                "Of all times and values as little-endian doubles, each signal after its kind, name and count: "
                "the same for the same numbers, whatever file they came from.",
                class_="soft",
            ),
        )
    )
    drawn = sets[:4]
    children += [fold(f"Samples of '{data.name}' ({role})", embed(data)) for data, role in drawn]
    if len(sets) > len(drawn):
        children.append(tag("p", f"{len(sets) - len(drawn)} more experiments not drawn.", class_="soft"))
    return section("data", "The data", *children, list_remarks(notes))


def _list_signals(data: Dataset, role: str) -> list[list[str]]:
    rows = []
    for name, signal in (*data.outputs.items(), *data.inputs.items()):
        known = signal.values[np.isfinite(signal.values)]
        step = find_uniform_step(signal.times) if signal.times.size > 1 else None
        between = data.inputs[name].intersample if name in data.inputs else "sampled"
        numbers = [f"{x:.6g}".replace("-", "−") for x in (signal.times[0], signal.times[-1])]
        ends = [f"{x:.4g}".replace("-", "−") for x in (known.min(), known.max())] if known.size else ["—", "—"]
        rows.append(
            [
                name,
                data.name,
                f"{role} {'input' if name in data.inputs else 'output'}",
                str(signal.times.size),
                str(signal.times.size - known.size),
                f"{step:.5g}" if step else "irregular",
                *numbers,
                *ends,
                data.units.get(name, "—"),
                between,
            ]
        )
    return rows


def write_making(fit: Fit, rules: Sequence[Rule], extra: Sequence[Any] = ()) -> Section:
    """Criterion, options, ends of the search, versions, script, rules, glossary."""
    name = type(fit.criterion).__name__
    words, formula, reference = METHODS.get(name, ("A criterion of the user's own.", "", ""))
    entries = {
        "Criterion": describe(fit.criterion),
        "In words": words,
        "Minimised": formula,
        "Reference": reference,
        "Search": str(fit.status),
        "Evaluations": str(fit.evaluations),
        "Starts": str(len(fit.attempts) or 1),
        "Value of the criterion": f"{fit.value:.8g}".replace("-", "−"),
        "Samples that count": str(fit.samples),
        "Log likelihood": None if fit.loglik is None else f"{fit.loglik:.8g}".replace("-", "−"),
        "AIC, BIC": None if fit.aic is None or fit.bic is None else f"{fit.aic:.8g}, {fit.bic:.8g}".replace("-", "−"),
        "Seed": str(fit.seed),
        "Solver": "chosen by daedal" if fit.solver is None else describe(fit.solver),
        "Versions that wrote this page": ", ".join(f"{key} {value}" for key, value in list_versions().items()),
    }
    shown = [join([tag("dt", key), tag("dd", value)]) for key, value in entries.items() if value]
    return section(
        "making",
        "How this was made",
        tag("dl", *shown),
        list_remarks(fit.notes),
        *extra,
        fold("The script to repeat it", write_pre(write_script(fit))),
        list_rules(rules),
        list_glossary(),
    )


def write_script(fit: Fit) -> str:
    """What makes the same fit from the same data."""
    free = {item.parameter: item for item in fit.coordinates.items if item.experiment is None}
    local = {item.parameter: item for item in fit.coordinates.items if item.experiment is not None}
    fixed = fit.coordinates.list_fixed()
    lines = ["import daedal as dd", "", f"model = dd.Model.from_text({fit.model.to_text()!r})", "data = ["]
    lines += [
        f"    ...,  # {one.name!r}: {one.sample_times.size} sample times, SHA-256 {digest_data(one)}"
        for one in fit.data
    ]
    lines += ["]", "fit = dd.fit(", "    model,", "    data,"]
    for word, items in (("free", free), ("local", local)):
        if items:
            lines.append(f"    {word}={{")
            lines += [f"        {name!r}: {_write_parameter(fit, name, item)}," for name, item in items.items()]
            lines.append("    },")
    if any(fixed):
        lines.append(f"    fixed={fixed if len(fixed) > 1 else fixed[0]!r},")
    lines.append(f"    criterion=dd.{describe(fit.criterion)},")
    if len(fit.attempts) > 1:
        lines.append(f"    starts={[dict(one.start) for one in fit.attempts]!r},")
    lines += [
        f"    rng={fit.seed},",
        *([f"    solver=dd.{describe(fit.solver)},"] if fit.solver is not None else []),
        ")",
        "print(fit)",
    ]
    return "\n".join(lines)


def _write_parameter(fit: Fit, name: str, item: Any) -> str:
    parameter = fit.model.parameters[name]
    return (
        repr(type(parameter)(item.start, **parameter.details()))
        .replace("Parameter(", "dd.Parameter(", 1)
        .replace("=inf", "=float('inf')")
        .replace("prior=", "prior=dd.")
    )
