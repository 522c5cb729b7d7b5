"""`daedal check`: what a fit would do, in five sentences, and what speaks against it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from daedal.analysis import analyze, check_noise
from daedal.cli.running import NOT_TRUSTED, TRUSTED
from daedal.cli.voice import Voice
from daedal.data import Dataset
from daedal.errors import counted, quoted
from daedal.estimation import Arguments, describe, prepare_objective

if TYPE_CHECKING:
    from daedal.projects import Project

LARGE = 24  # unknowns, beyond which lining up data and model may take longer than anybody waits for a check
MANY_MISSING = 0.2  # of the samples


def check(project: "Project", voice: Voice) -> int:
    """Say it; refused is what a fit would refuse."""
    sentences = list(list_sentences(project))
    doubts = list(list_doubts(project))
    for number, sentence in enumerate(sentences, start=1):
        voice.say(f"{number}. {sentence}")
    for doubt in doubts:
        voice.doubt(f"But {doubt}")
    voice.give({"sentences": sentences, "doubts": doubts, "samples": _count(project.experiments)})
    return NOT_TRUSTED if doubts else TRUSTED


def list_sentences(project: "Project") -> Iterator[str]:
    """Model, noise, data, question, and where the answer will be."""
    model = project.model
    structure, noise = str(analyze(model)).splitlines()[0], str(check_noise(model)).splitlines()[0]
    yield f"{_begin(structure)}."
    yield (
        f"{_begin(noise)}."
        if model.disturbances
        else f"'{model.name}' has no disturbances: all that drives it is known."
    )
    yield f"Fitted: {_describe_data(project.experiments)}; held out: {_describe_data(project.held_out)}."
    yield _describe_question(project)
    files = ", ".join(f"{project.name}.{end}" for end in ("nc", "json"))
    page = project.report.file or f"{project.name}.html"
    yield f"'daedal fit {project.path}' writes {files} and the page {page} into 'results' beside the project."


def _begin(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _count(sets: tuple[Dataset, ...]) -> int:
    return sum(int(np.isfinite(one.values).sum()) for data in sets for one in data.outputs.values())


def _describe_data(sets: tuple[Dataset, ...]) -> str:
    listed = []
    for data in sets:
        names, extent = str(data).splitlines()[:2]
        listed.append(f"{names.removeprefix('data ')}, {extent}")
    return "; and ".join(listed) or "nothing"


def _describe_question(project: "Project") -> str:
    names = [*project.free, *project.local]
    if not names:
        return "No parameter is free, so that there is nothing to estimate yet."
    criterion, reason = _find_criterion(project)
    starts = f"from {_describe_starts(project)}"
    local = f", {quoted(project.local)} for each experiment," if project.local else ""
    why = f" ({reason})" if reason else ""
    return (
        f"{quoted(names)} {'is' if len(names) == 1 else 'are'} estimated{local} from "
        f"{counted(_count(project.experiments), 'sample')} by {criterion}, {starts}{why}."
    )


def _describe_starts(project: "Project") -> str:
    if project.starts is None:
        return "the values given"
    return counted(len(project.starts), "start") if isinstance(project.starts, tuple) else str(project.starts)


def _find_criterion(project: "Project") -> tuple[str, str]:
    """What a fit would minimise; whatever a fit would refuse is refused here."""
    if len(project.model.unknowns) > LARGE and project.criterion is not None:
        return describe(project.criterion), ""
    arguments = Arguments(
        project.model, project.experiments, project.free, project.local, None, project.criterion, None
    )
    _, criterion, notes = prepare_objective("fit", arguments, 0)
    return describe(criterion), "; ".join(notes)


def list_doubts(project: "Project") -> Iterator[str]:
    """What would be done as the project says, but probably not as meant."""
    if not project.free and not project.local:
        yield f"[estimate.free] is empty: name some of the parameters {quoted(project.model.parameters)}."
    for data in (*project.experiments, *project.held_out):
        for name, signal in data.inputs.items():
            if np.ptp(signal.values) == 0.0:
                yield f"the input '{name}' of '{data.name}' never changes: it tells little about the system."
        for name, samples in data.outputs.items():
            known = np.isfinite(samples.values)
            share = 1.0 - float(np.mean(known))
            if not known.any() or np.ptp(samples.values[known]) == 0.0:
                yield f"the output '{name}' of '{data.name}' {'never changes' if known.any() else 'has no samples'}."
            elif share > MANY_MISSING:
                yield f"{100.0 * share:.0f} % of the samples of '{name}' in '{data.name}' are missing."
        if project.model.initial and _begins_later(project, data):
            yield (
                f"'{data.name}' is used from {data.t0:g} on, and the model starts there with the values it holds in "
                f"'initial' ({quoted(project.model.initial)}): where they are not true then, write them in 'guess'."
            )
    if project.free and _count(project.experiments) < 5 * len(project.free):
        yield f"there are only {_count(project.experiments)} samples for {len(project.free)} parameters."


def _begins_later(project: "Project", data: Dataset) -> bool:
    """Whether `between` leaves out the beginning of a record, which inputs keep."""
    between = next(block.between for block in project.blocks if block.name == data.name)
    begins = [signal.times[0] for signal in data.inputs.values()]
    return between is not None and (min(begins) < data.t0 if begins else between[0] > 0.0)
