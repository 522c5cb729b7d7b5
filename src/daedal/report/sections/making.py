"""Section 9: how all of it was made, and how to make it again."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from daedal.errors import DaedalError
from daedal.estimation import Fit, Making, ProjectRecord, describe, describe_for_reading, pack_fit
from daedal.records import list_versions
from daedal.report.page import (
    Html,
    Rule,
    Section,
    digest_data,
    fold,
    join,
    list_glossary,
    list_remarks,
    list_rules,
    section,
    tag,
    write_pre,
)

LARGEST = 850_000  # bytes of a page beside its scripts, so that it stays below 2.5 MB with them
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


def write_making(fit: Fit, rules: Sequence[Rule], extra: Sequence[Any] = (), written: int = 0) -> Section:
    """Criterion, options, ends of the search, versions, script, rules, glossary."""
    name = type(fit.criterion).__name__
    words, formula, reference = METHODS.get(name, ("A criterion of the user's own.", "", ""))
    made = fit.making or fit.project
    versions = None if made is None else made.versions
    entries = {
        "Criterion": describe_for_reading(fit.criterion),
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
        **_describe_making(fit.making),
        "Project": None if fit.project is None else f"{fit.project.title}, {fit.project.file}".strip(", "),
        "Versions of the fit": None if versions is None else _write_versions(versions),
        "Versions that wrote this page": _write_versions(list_versions()),
    }
    shown = [join([tag("dt", key), tag("dd", value)]) for key, value in entries.items() if value]
    return section(
        "making",
        "How this was made",
        tag("dl", *shown),
        list_remarks(fit.notes),
        *extra,
        _write_download(fit, written),
        fold("The script to repeat it", write_pre(write_script(fit))),
        *_show_project(fit.project),
        list_rules(rules),
        list_glossary(),
    )


def _describe_making(making: Making | None) -> dict[str, str | None]:
    """When, for how long, in which steps; files from before that was kept do not tell."""
    if making is None:
        return {}
    error = making.step_error
    exact = f"shorter ones change {error:.1g} of the largest values, where they were chosen" if error else None
    return {
        "Steps": making.steps or None,
        "Error of the steps": exact,
        "Made": f"{making.date[:16].replace('T', ' ')} UTC",
        "Processor time": f"{making.seconds:.2g} s" if making.seconds < 10.0 else f"{making.seconds:.0f} s",
    }


def _show_project(project: ProjectRecord | None) -> list[Html]:
    """The file that asked for it, as it was, what the command line changed, and digests of the files that it names."""
    if project is None:
        return []
    changes = [f"--set {name}={value!r}" for name, value in project.changes.get("set", {}).items()]
    changes += [f"--free {','.join(project.changes['free'])}"] if "free" in project.changes else []
    told = [f"# changed by {' '.join(changes)}", ""] if changes else []
    files = [f"# {name}: SHA-256 {digest}" for name, digest in project.digests.items()]
    return [fold("The project file", write_pre("\n".join([*told, project.text.rstrip(), "", *files])))]


def _write_versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{key} {value}" for key, value in versions.items())


def _write_download(fit: Fit, written: int) -> Html:
    """The fit with its data as a file inside the page, of which so much is written, where it stays small."""
    try:
        content = pack_fit(fit)
    except DaedalError as error:
        return tag("p", f"The fit is not in this page as a file. {error}", class_="soft")
    if written + len(content) * 4 // 3 > LARGEST:
        said = f"The fit with its data is no part of this page: as a file it has {len(content) / 1e6:.2g} MB."
        return tag("p", said, " ", tag("code", "fit.save('fit.nc')"), " writes it.", class_="soft")
    address = f"data:application/x-netcdf;base64,{b64encode(content).decode()}"
    link = tag("a", "fit.nc", href=address, download="fit.nc")
    size = f" ({len(content) / 1e3:.0f} kB)"
    return tag("p", "The fit with its data as a file: ", link, size, ", which ", tag("code", "dd.load"), " reads.")


def write_script(fit: Fit) -> str:
    """What makes the same fit from the same data."""
    free = {item.parameter: item for item in fit.coordinates.items if item.experiment is None}
    local = {item.parameter: item for item in fit.coordinates.items if item.experiment is not None}
    fixed = fit.coordinates.list_fixed()
    lines = ["import daedal as dd", "", f"model = dd.Model.from_text({_quote(fit.model.to_text())})"]
    lines += ['data = dd.load("fit.nc").data  # the file of this page, or your own:']
    lines += [f"# {one.name!r}: {one.sample_times.size} sample times, SHA-256 {digest_data(one)}" for one in fit.data]
    lines += ["fit = dd.fit(", "    model,", "    data,"]
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


def _quote(text: str) -> str:
    """A text over several lines as Python reads it."""
    return repr(text) if '"""' in text or "\\" in text or text.endswith('"') else f'"""{text}"""'


def _write_parameter(fit: Fit, name: str, item: Any) -> str:
    parameter = fit.model.parameters[name]
    return (
        repr(type(parameter)(item.start, **parameter.details()))
        .replace("Parameter(", "dd.Parameter(", 1)
        .replace("=inf", "=float('inf')")
        .replace("prior=", "prior=dd.")
    )
