"""Section 4: how sure we are."""

from math import isfinite
from typing import Any

from daedal.errors import counted
from daedal.report.page import Evidence, Section, embed, fold, list_remarks, section, tag


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
            tag("p", f"The least determined direction: {worst.sentence}"),
            list_remarks(found.notes),
            fold(f"All {len(found.directions)} directions", embed(found)) if len(fit.estimates) > 1 else "",
        ]
    elif "identifiability" in evidence.missing:
        children.append(tag("p", evidence.missing["identifiability"]))
    if sum(one.value is not None for one in fit.attempts) > 1:
        children += [
            tag("h3", "Starts"),
            tag("p", _count_minima(evidence)),
            embed(fit, None, "starts"),
        ]
    if any(one.monte_carlo_error > 0.0 for one in fit.estimates.values()):
        shares = [
            one.monte_carlo_error / one.std_error
            for one in fit.estimates.values()
            if one.std_error > 0.0 and isfinite(one.std_error)
        ]
        if shares:
            children.append(
                tag(
                    "p",
                    f"A finite number of realizations adds at most {100.0 * max(shares):.2g} % of a standard error "
                    "(column MC error); it falls with their square root.",
                )
            )
    return section("certainty", "How sure are we?", *children)


def _count_minima(evidence: Evidence) -> str:
    fit = evidence.fit
    best = fit.minima[0]
    others = (
        f"; {counted(len(fit.minima) - 1, 'other minimum').replace('minimums', 'minima')} were found"
        if len(fit.minima) > 1
        else ""
    )
    return f"{len(fit.attempts)} starts, of which {best.count} ended in the best minimum{others}."
