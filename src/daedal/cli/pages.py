"""Pages and numbers of results: what `daedal.report` makes of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daedal import report
from daedal.estimation import Fit

if TYPE_CHECKING:
    from daedal.projects import Project


def list_numbers(fit: Fit, reasons: Sequence[str]) -> Mapping[str, Any]:
    """One field for each of MATLAB's Report, whether it is to be trusted, and the project it was made from."""
    record = fit.project
    made = None if record is None else {"file": record.file, "title": record.title, "digests": dict(record.digests)}
    return {**report.record_fit(fit), "Trusted": not reasons, "Reasons": list(reasons), "Project": made}


def gather_evidence(fit: Fit, project: "Project | None" = None, *, full: bool = False) -> report.Evidence:
    """What is known about a fit; with `full` what `[validate]` asks for too."""
    if project is None:
        return report.gather_evidence(fit, None, (), (), ())
    asked = project.validate
    profiled, states = (asked.profile, asked.states) if full else ((), ())
    return report.gather_evidence(fit, list(project.held_out) or None, profiled, states, ())


def list_reasons(evidence: report.Evidence) -> list[str]:
    """What the rules of its page hold against a fit; none means that it is to be trusted."""
    return [f"{sentence}." for sentence in report.judge_fit(evidence).doubts]


def write_page(evidence: report.Evidence, path: Path, project: "Project | None" = None) -> Path:
    """The page of a fit."""
    return report.write_evidence(evidence, path, "" if project is None else project.report.notes)
