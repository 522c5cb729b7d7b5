"""Pages and numbers of results: what `daedal.report` makes of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daedal import report
from daedal.estimation import Fit
from daedal.progress import Progress

if TYPE_CHECKING:
    from daedal.projects import Project


def list_numbers(fit: Fit, reasons: Sequence[str]) -> Mapping[str, Any]:
    """One field for each of MATLAB's Report, whether it is to be trusted, and the project it was made from."""
    record = fit.project
    made = None if record is None else {"file": record.file, "title": record.title, "digests": dict(record.digests)}
    return {**report.record_fit(fit), "Trusted": not reasons, "Reasons": list(reasons), "Project": made}


def gather_evidence(fit: Fit, project: "Project | None" = None, *, full: bool = False) -> report.Evidence:
    """What is known about a fit; with `full` what `[validate]` asks for too."""
    asked = project.validate if project is not None and full else None
    profiled, states = (asked.profile, asked.states) if asked is not None else ((), ())
    unseen = list(project.held_out) if project is not None else []
    with Progress(f"judging '{fit.model.name}':") as progress:
        progress.stage("what is left, and data that were held out" if unseen else "what is left")
        return report.gather_evidence(fit, unseen or None, profiled, states, ())


def list_reasons(evidence: report.Evidence) -> list[str]:
    """What the rules of its page hold against a fit; none means that it is to be trusted."""
    return [f"{sentence}." for sentence in report.judge_fit(evidence).doubts]


def write_page(evidence: report.Evidence, path: Path, project: "Project | None" = None) -> Path:
    """The page of a fit."""
    with Progress("page:") as progress:
        progress.stage("drawing")
        return report.write_evidence(evidence, path, "" if project is None else project.report.notes)
