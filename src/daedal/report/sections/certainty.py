"""Section 4: how sure we are: profiles, directions, starts, the search, realizations."""

from typing import Any

from daedal.errors import ReportError, counted
from daedal.estimation import Fit, list_rivals
from daedal.report.page import Evidence, Section, embed, fold, list_remarks, section, tag, write_sentence


def write_certainty(evidence: Evidence) -> Section:
    """Profiles, directions, starts."""
    fit = evidence.fit
    children: list[Any] = []
    if evidence.profile is not None:
        children += [tag("h3", "Profiles"), embed(evidence.profile), list_remarks(evidence.profile.notes)]
        left = [name for name in fit.estimates if name not in evidence.profile.curves]
        if left:
            children.append(tag("p", f"{counted(len(left), 'parameter')} not profiled.", class_="soft"))
    found = evidence.identifiability
    if found is not None:
        worst = found.directions[-1]
        children += [
            tag("h3", "Which combinations the data tell"),
            tag("p", write_sentence(f"The least determined direction: {worst.sentence}")),
            list_remarks(found.notes),
            fold(f"All {len(found.directions)} directions", embed(found)) if len(fit.estimates) > 1 else "",
        ]
    elif "identifiability" in evidence.missing:
        children.append(tag("p", evidence.missing["identifiability"]))
    children += _write_search(evidence)
    children += _write_realizations(fit)
    return section("certainty", "How sure are we?", *children)


def _write_search(evidence: Evidence) -> list[Any]:
    """Starts, minima that the data allow too, and the way to the estimate."""
    fit, children = evidence.fit, []
    if sum(one.value is not None for one in fit.attempts) > 1:
        children += [tag("h3", "Starts"), tag("p", _count_minima(evidence)), embed(fit, None, "starts")]
        if list_rivals(fit):
            children.append(embed(fit, None, "minima"))
    if fit.course is not None and fit.course.values.size > 1:
        children.append(fold("Course of the search", embed(fit, None, "course")))
    return children


def _write_realizations(fit: Fit) -> list[Any]:
    """What a finite number of realizations or particles adds to the errors."""
    if fit.averaged is None or not any(one.monte_carlo_error > 0.0 for one in fit.estimates.values()):
        return []
    try:
        picture = embed(fit, None, "realizations")
    except ReportError:
        return []
    what = fit.averaged[0]
    said = f"Averages over a finite number of {what} add an error (column MC error), which falls with its root."
    return [tag("h3", what.capitalize()), tag("p", said), fold("Monte-Carlo error over the number", picture)]


def _count_minima(evidence: Evidence) -> str:
    fit = evidence.fit
    best = fit.minima[0]
    others = (
        f"; {counted(len(fit.minima) - 1, 'other minimum').replace('minimums', 'minima')} were found"
        if len(fit.minima) > 1
        else ""
    )
    return f"{len(fit.attempts)} starts, of which {best.count} ended in the best minimum{others}."
