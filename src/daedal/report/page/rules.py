"""Verdicts of a page: a few rules, each of which looks at one thing and says one sentence about it.

The word above all sentences is that of the worst of them. Every rule is a text with the limits that its judge uses; the
page lists the texts.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

from daedal.errors import counted
from daedal.estimation import CorrelationTest, Fit, list_rivals
from daedal.report.layout import write_p
from daedal.report.page.evidence import Evidence
from daedal.validation import Comparison, Residuals

Level = Literal["good", "care", "bad"]
WORDS: dict[Level, str] = {"good": "Usable.", "care": "With care.", "bad": "Not usable."}
SIGNS: dict[Level, str] = {"good": "✓", "care": "!", "bad": "✕"}
WELL = 80.0  # per cent of fit of a simulation that needs no further word
POOR = 0.0  # per cent of fit below which the mean of the samples is the better model
HELD, SCARCE = 0.90, 0.80  # share of samples in the band of 95 % that counts as right, and as too small
CHANCE = 0.05  # of a right model to fail in all tests together
MOST_NAMES = 4


@dataclass(frozen=True)
class Finding:
    """What one rule says, how bad it is, and where on the page it is shown."""

    level: Level
    sentence: str
    anchor: str
    aside: bool = False  # asks for care, but is no doubt about the result itself


@dataclass(frozen=True)
class Rule:
    """A rule as a page lists it, and what applies it."""

    text: str
    judge: Callable[[Any], Iterator[Finding]]


@dataclass(frozen=True)
class Verdict:
    """All findings; the worst gives the word."""

    findings: tuple[Finding, ...]

    @property
    def level(self) -> Level:
        """Of the worst finding."""
        levels = [one.level for one in self.findings]
        return "bad" if "bad" in levels else "care" if "care" in levels else "good"

    @property
    def word(self) -> str:
        """What a reader in a hurry takes away."""
        return WORDS[self.level]

    @property
    def doubts(self) -> tuple[str, ...]:
        """The sentences that speak against the result, the worst first."""
        return tuple(one.sentence for one in self.findings if one.level != "good" and not one.aside)


def judge(rules: Sequence[Rule], subject: Any) -> Verdict:
    """Apply rules to what they are about; the worst findings come first, good news last."""
    found = [finding for rule in rules for finding in rule.judge(subject)]
    return Verdict(tuple(sorted(found, key=lambda one: ("bad", "care", "good").index(one.level))))


def name_some(names: Sequence[str]) -> str:
    """Names for a sentence; of many the first."""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"{', '.join(names[:MOST_NAMES])}{more}"


def write_percent(value: float) -> str:
    """One digit after the point, with a proper minus."""
    return f"{value:.1f} %".replace("-", "−") if isfinite(value) else "not defined"


def list_tests(residuals: Residuals, *, white: bool = True) -> list[tuple[str, str, CorrelationTest]]:
    """Output, input (empty: whiteness) and test of all that can be told."""
    tests = []
    for name, one in residuals.outputs.items():
        if white:
            tests.append((name, "", one.whiteness))
        tests += [(name, key, test) for key, test in one.inputs.items()]
    return [entry for entry in tests if isfinite(entry[2].p_value)]


def expects_white(fit: Fit) -> bool:
    """Whether a right model leaves a white residual: not where what disturbances do beyond their mean stays in it."""
    return fit.criterion.condition is not None or bool(fit.filters) or not fit.model.disturbances


def measure_looseness(evidence: Evidence, name: str) -> float | None:
    """Half the interval of 95 % relative to the estimate; None where that says nothing, as around zero."""
    (low, high), value = evidence.intervals[name], evidence.fit.estimates[name].value
    if not (isfinite(low) and isfinite(high)) or low <= 0.0 <= high:
        return None
    return max(high - value, value - low) / abs(value)


def _judge_search(evidence: Evidence) -> Iterator[Finding]:
    status = evidence.fit.status
    if status.interrupted:
        yield Finding("bad", "the search was interrupted, so there are no intervals", "making")
    elif not status.ok:
        yield Finding("bad", "the search did not end at a minimum", "making")


def _judge_parameters(evidence: Evidence) -> Iterator[Finding]:
    estimates = evidence.fit.estimates
    groups = {
        word: [n for n, one in estimates.items() if one.verdict == word]
        for word in ("determined", "loosely determined", "not determined", "at its bound", "known from its prior")
    }
    sure = groups["determined"]
    if sure:
        widths = [width for name in sure if (width := measure_looseness(evidence, name)) is not None]
        to = f", to ±{_write_width(max(widths))} or better (95 %)" if len(widths) == len(sure) else ""
        count = (
            "the parameter is"
            if len(estimates) == 1
            else (
                f"all {len(estimates)} parameters are"
                if len(sure) == len(estimates)
                else f"{len(sure)} of {len(estimates)} parameters {'is' if len(sure) == 1 else 'are'}"
            )
        )
        yield Finding("good", f"{count} determined{to}", "parameters")
    lost = groups["not determined"] + groups["at its bound"]
    level: Level = "bad" if 2 * len(lost) >= len(estimates) else "care"
    for word, said in (("not determined", "not determined"), ("at its bound", "at a bound")):
        if names := groups[word]:
            yield Finding(level, f"{said}: {name_some(names)}", "parameters")
    for word, said in (
        ("loosely determined", "only loosely determined"),
        ("known from its prior", "known from the prior, not from the data"),
    ):
        if names := groups[word]:
            yield Finding("care", f"{said}: {name_some(names)}", "parameters", aside=True)


def _write_width(width: float) -> str:
    return f"{float(f'{100.0 * width:.2g}'):g} %" if width < 10.0 else f"a factor of {1.0 + width:.2g}"


def _judge_minima(evidence: Evidence) -> Iterator[Finding]:
    near = list_rivals(evidence.fit)
    if near:
        yield Finding(
            "care",
            f"{counted(len(near), 'other minimum').replace('minimums', 'minima')} of the criterion "
            f"{'describes' if len(near) == 1 else 'describe'} the data as well",
            "certainty",
        )


def _judge_residuals(evidence: Evidence) -> Iterator[Finding]:
    residuals = evidence.residuals
    if residuals is None:
        yield Finding("care", "the residuals could not be tested", "residuals")
        return
    tests = list_tests(residuals, white=expects_white(evidence.fit))
    if not tests:
        return
    where = "on unseen data" if evidence.unseen_residuals is not None else "on the data of the fit"
    limit = CHANCE / len(tests)
    failed = [entry for entry in tests if entry[2].p_value < limit]
    lowest = min(test.p_value for _, _, test in tests)
    if not failed:
        white = "white and " if expects_white(evidence.fit) else ""
        driven = any(key for _, key, _ in tests)
        word = f"{white}independent of the inputs" if driven else "white"
        yield Finding("good", f"the residuals {where} are {word} ({write_p(lowest)} or more)", "residuals")
        return
    autocorrelated = sorted({name for name, key, _ in failed if not key})
    dependent = sorted({f"{name} on {key}" for name, key, _ in failed if key})
    if autocorrelated:
        p = min(test.p_value for _, key, test in failed if not key)
        yield Finding(
            "care",
            f"the residuals of {name_some(autocorrelated)} {where} are autocorrelated ({write_p(p)})",
            "residuals",
        )
    if dependent:
        p = min(test.p_value for _, key, test in failed if key)
        yield Finding("care", f"residuals {where} depend on inputs ({name_some(dependent)}; {write_p(p)})", "residuals")


def _judge_unseen(evidence: Evidence) -> Iterator[Finding]:
    if evidence.unseen is None:
        yield Finding(
            "care",
            "no unseen data were given, so nothing is known about data other than those of the fit",
            "data-fit",
            aside=True,
        )
        return
    if evidence.unseen.relation == "data of the fit":
        yield Finding(
            "care",
            "the validation data are those of the fit, so nothing was tried on unseen data",
            "data-fit",
            aside=True,
        )
    yield from judge_comparison(evidence.unseen)


def judge_comparison(comparison: Comparison) -> Iterator[Finding]:
    """How well data are simulated: the worst of all outputs decides, and a right band excuses a low fit."""
    percents = {name: value for name, value in comparison.fit_percent.items() if isfinite(value)}
    seen = {"held-out data": "unseen data", "data of the fit": "the data of the fit"}.get(
        comparison.relation, "the data"
    )
    if not percents:
        told = all(isfinite(value) for value in comparison.rmse.values())
        reason = f"the samples of {seen} do not vary" if told else f"{seen} are not predicted with numbers"
        yield Finding("care", f"{reason}, so no fit in per cent is defined", "data-fit")
        return
    worst = min(percents, key=lambda name: percents[name])
    shown = (
        " and ".join(f"{write_percent(value)} ({name})" for name, value in percents.items())
        if len(percents) < 3
        else (f"{write_percent(percents[worst])} ({worst}) or better")
    )
    shares = {name: share for name, share in comparison.coverage.items() if isfinite(share)}
    narrow = [name for name, share in shares.items() if share < SCARCE]
    low = [name for name, value in percents.items() if value < WELL]
    excused = bool(low) and all(shares.get(name, 0.0) >= HELD for name in low)
    if percents[worst] < POOR and not excused:
        yield Finding("bad", f"{seen} are simulated worse than by their mean: {shown}", "data-fit")
    elif low and not excused:
        yield Finding("care", f"{seen} are simulated to {shown}", "data-fit")
    elif low:
        yield Finding(
            "good",
            f"{seen} are simulated to {shown}, as far as disturbances and noise allow: "
            f"{100.0 * min(shares[name] for name in low):.0f} % of the samples lie in the band of 95 %",
            "data-fit",
        )
    else:
        yield Finding("good", f"{seen} are simulated to {shown}", "data-fit")
    if narrow:
        least = min(shares[name] for name in narrow)
        yield Finding(
            "care",
            f"only {100.0 * least:.0f} % of the samples of {name_some(narrow)} lie in the band of 95 %",
            "data-fit",
        )


FIT_RULES = (
    Rule("Search: it must have ended at a minimum; otherwise the fit is not usable.", _judge_search),
    Rule(
        "Parameters: “determined” has a standard error below half its value (on a log scale: of its logarithm below "
        "0.5) and a prior that is not all that is known of it. A parameter that is loosely determined, not determined, "
        "at its bound or known from its prior asks for care; if half of all or more are not determined or at a bound, "
        "the fit is not usable.",
        _judge_parameters,
    ),
    Rule("Other minima: one that lies within the 95 % threshold of the fit's intervals asks for care.", _judge_minima),
    Rule(
        f"Residuals: tests of whiteness and of independence of every input, on unseen data where there are any. With n "
        f"tests, one with p < {CHANCE:g}/n asks for care. Whiteness does not count where what disturbances do beyond "
        "their mean stays in the residual of a simulation.",
        _judge_residuals,
    ),
    Rule(
        f"Unseen data: without any, care. A simulation that fits {WELL:g} % or more is good; less asks for care, and "
        f"less than {POOR:g} %, which the mean of the samples would reach, is not usable, unless {100 * HELD:g} % of "
        f"the samples or more lie in the band of 95 %, which disturbances and noise make. A band that holds fewer than "
        f"{100 * SCARCE:g} % asks for care. The worst output counts.",
        _judge_unseen,
    ),
)


def judge_fit(evidence: Evidence) -> Verdict:
    """What all rules say of a fit."""
    return judge(FIT_RULES, evidence)
