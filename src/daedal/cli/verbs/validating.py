"""`daedal validate`: a fit against data that it never saw."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daedal import validation
from daedal.cli import pages, results
from daedal.cli.verbs.fitting import conclude
from daedal.cli.voice import Voice
from daedal.validation import Comparison, Residuals

if TYPE_CHECKING:
    from daedal.validation import Profile


def validate(path: Path, out: Path | None, voice: Voice, *, show: bool) -> int:
    """Compare, test, profile; print, and add to numbers and page."""
    fit, record = results.load_result(path)
    project = results.restore_project(path, record)
    files = results.Files(path.parent if out is None else out, path.stem, results.name_page(project, path.stem))
    results.make_folder(files.folder)
    data = list(project.held_out or project.experiments)
    comparison = validation.compare(fit, data, horizon=list(project.validate.horizon) or None)
    voice.say(str(comparison))
    evidence = pages.gather_evidence(fit, project, full=True)
    if evidence.profile is not None and evidence.profile.status.interrupted:
        raise KeyboardInterrupt("Stopped within the profile; nothing was written.")
    for one in (evidence.residuals, evidence.profile):
        if one is not None:
            voice.say(str(one))
    if not project.held_out:
        voice.doubt('No data are held out: write use = "validate" in a [[data]] that the fit need not see.')
    reasons = pages.list_reasons(evidence)
    validated = _list_numbers(comparison, evidence.residuals, evidence.profile)
    numbers = {**pages.list_numbers(fit, reasons), "Validation": validated}
    results.write_numbers(files.numbers, numbers)
    pages.write_page(evidence, files.page, project)
    voice.give(numbers)
    voice.say(f"files: {files.numbers.name}, {files.page.name} in {files.folder}")
    if show:
        results.show_page(files.page)
    return conclude(reasons, voice)


def _list_numbers(comparison: Comparison, residuals: Residuals | None, profiled: "Profile | None") -> Mapping[str, Any]:
    return {
        "Relation": comparison.relation,
        "FitPercent": comparison.fit_percent,
        "RMSE": comparison.rmse,
        "Coverage": comparison.coverage,
        "StepsAhead": [
            {
                "Experiment": one.experiment,
                "Output": one.output,
                "Steps": steps,
                "FitPercent": ahead.fit_percent,
                "RMSE": ahead.rmse,
                "Coverage": ahead.coverage,
            }
            for one in comparison.series
            for steps, ahead in one.steps_ahead.items()
        ],
        "Residuals": {
            name: {"White": one.whiteness.p_value, "Independent": {key: t.p_value for key, t in one.inputs.items()}}
            for name, one in (residuals.outputs.items() if residuals else ())
        },
        "Profile": dict(profiled.intervals) if profiled else {},
    }
