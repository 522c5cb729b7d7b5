"""Section 3: what is left, tested in sentences, numbers and pictures."""

from typing import Any

import numpy as np

from daedal.errors import ReportError, counted
from daedal.report.layout import write_p
from daedal.report.page import (
    Evidence,
    Html,
    Section,
    embed,
    embed_picture,
    expects_white,
    fold,
    join,
    list_items,
    list_remarks,
    list_tests,
    make_table,
    section,
    tag,
)
from daedal.report.pictures import draw_against
from daedal.validation import Residuals

FAR = 4.0  # standard deviations from zero that make a sample worth a word
BRIEF = 6  # outputs with pictures on the data of the fit, where those of unseen data stand above
MOST_FAR = 10


def write_residuals(evidence: Evidence) -> Section:
    """Tests as sentences, then pictures."""
    if evidence.residuals is None:
        return section(
            "residuals", "What is left?", tag("p", evidence.missing.get("residuals", "The residuals could not be had."))
        )
    children: list[Any] = []
    if evidence.unseen_residuals is not None:
        children += _write_tests(evidence.unseen_residuals, "unseen data", evidence)
        if evidence.own_residuals is not None:
            children.append(fold("On the data of the fit", *_write_tests(evidence.own_residuals, "data of the fit")))
    else:
        children += _write_tests(evidence.residuals, "data of the fit", evidence)
    if not expects_white(evidence.fit):
        children.insert(
            0,
            tag(
                "p",
                "What disturbances do beyond their mean stays in the residual of this criterion, so it need not be "
                "white; the standard errors respect that.",
                class_="soft",
            ),
        )
    return section("residuals", "What is left?", *children)


def _write_tests(residuals: Residuals, where: str, evidence: Evidence | None = None) -> list[Any]:
    """Sentences, numbers and pictures; with evidence, of all outputs, and also what the residuals may depend on."""
    sentences = [join([tag("b", name), f": {one.sentence}."]) for name, one in residuals.outputs.items()]
    rows = [
        [
            name,
            f"on {key}" if key else "on its own past",
            str(test.lags.size),
            write_p(test.p_value).removeprefix("p = ").removeprefix("p "),
            "passed" if test.passed else "failed",
        ]
        for name, key, test in list_tests(residuals)
    ]
    table = make_table(
        ["output", "depends", "lags", "p-value", "test at 5 %"],
        rows,
        texts=(0, 1, 4),
        label=f"tests of the residuals on {where}",
    )
    names = list(residuals.outputs)
    figures: list[Any] = [embed(residuals, names[:3])]
    shown = names if evidence is not None else names[:BRIEF]
    for first in range(3, len(shown), 3):
        group = shown[first : first + 3]
        figures.append(fold(f"Correlations of {', '.join(group)}", embed(residuals, group)))
    if len(names) > len(shown):
        said = f"Correlations of {counted(len(names) - len(shown), 'more output')} not drawn here: "
        figures.append(tag("p", said, "dd.plot(dd.resid(fit)) draws all.", class_="soft"))
    figures.append(fold("Residuals over time", embed(residuals, None, "innovations")))
    figures.append(fold("Distribution of the residuals", embed(residuals, None, "distribution")))
    figures.append(_draw_spectrum(residuals))
    if evidence is not None:
        against = draw_against(residuals, evidence.beside, None)
        if against is not None:
            figures.append(fold("Residuals against inputs, outputs and states", embed_picture(against)))
    return [
        list_items(sentences),
        _write_outliers(residuals),
        fold("Tests in numbers", table),
        *figures,
        list_remarks(residuals.notes),
    ]


def _draw_spectrum(residuals: Residuals) -> Html:
    """Folded, or why there is none."""
    try:
        return fold("Spectrum of the residuals against the declared noise", embed(residuals, None, "spectrum"))
    except ReportError as error:
        return tag("p", f"Spectrum of the residuals: not drawn. {error.sentence}", class_="soft")


def _write_outliers(residuals: Residuals) -> Html:
    """Samples that a normal distribution does not have."""
    outliers = []
    for name, one in residuals.outputs.items():
        for label, tested in one.tested.items():
            known = tested[np.isfinite(tested)]
            spread = 1.4826 * float(np.median(np.abs(known - np.median(known)))) if known.size else 0.0
            far = np.flatnonzero(np.nan_to_num(np.abs(tested)) > FAR * spread) if spread > 0.0 else []
            outliers += [(abs(tested[k]) / spread, name, label, one.times[label][k], one.values[label][k]) for k in far]
    if not outliers:
        return tag("p", f"No sample is farther off than {FAR:g} robust standard deviations of the residual.")
    outliers.sort(key=lambda entry: -entry[0])
    shown = [_describe_outlier(residuals, *entry) for entry in outliers[:MOST_FAR]]
    more = f", of which the first {MOST_FAR}" if len(outliers) > MOST_FAR else ""
    summary = f"{counted(len(outliers), 'sample')} farther off than {FAR:g} robust standard deviations{more}"
    return fold(summary, list_items(shown))


def _describe_outlier(residuals: Residuals, size: float, name: str, label: str, time: float, value: float) -> str:
    when = f"{name} at {time:.6g} {residuals.units.get('time', '')}".rstrip()
    much = f"residual {value:.3g} {residuals.units.get(name, '')}".rstrip()
    return f"{when} ({label}): {size:.1f} standard deviations off, {much}".replace("-", "−")
