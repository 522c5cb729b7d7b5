"""A run of a study: one more fit, as numbers.

A row holds, with p estimates in the order of the fit: value of the criterion, log likelihood, and of each estimate its
value, its standard error, the ends of its interval of 95 %, and its step: how far one Newton step on the data of the
run goes from the estimate of the fit, −H⁻¹ g. That is the run's estimate as a linear function of its data, whose
skewness BCa intervals need (`daedal.studies.intervals`). What is not known is NaN.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from daedal.data import Dataset
from daedal.disturbances import derive_seed
from daedal.errors import RefusalError, StudyError, quoted
from daedal.estimation import (
    Fit,
    FittedProblem,
    Problem,
    fit,
    label_experiments,
    restore_objective,
    unpack_fit,
)
from daedal.linear import invert_semidefinite
from daedal.studies.charter import CONVERGED, STOPPED, Charter, Make, Row, write_charter
from daedal.studies.kinds import Outline, Run, StudyKind, read_kind, spell_kind
from daedal.systems import build

FUNCTION = "daedal.studies.fit_runs:prepare_fits"
WIDTH = 5  # numbers of each estimate
ALONE = 2  # numbers of a run beside those
LEVEL = 0.95
STEPPED = 200  # runs whose steps are computed: enough for a skewness, and each costs an evaluation


def charter_fits(subject: Fit, packed: bytes, kind: StudyKind, outline: Outline, seed: int) -> Charter:
    """What another process needs; the fit as it is saved."""
    content = {
        "fit": b64encode(packed).decode(),
        "kind": spell_kind(kind),
        "seed": str(seed),
        "stepped": STEPPED if outline.reading == "bootstrap" else 0,
    }
    return write_charter(FUNCTION, content, [type(subject.criterion), type(kind)])


def prepare_fits(content: Mapping[str, Any]) -> Make:
    """Run number → row."""
    subject = unpack_fit(b64decode(content["fit"]), Path("fit of the study"))
    kind, seed, stepped = read_kind(content["kind"]), int(content["seed"]), content["stepped"]
    return lambda number: _fit_run(subject, kind.make_run(subject, number, seed), number, seed, number < stepped)


def _fit_run(subject: Fit, run: Run, number: int, seed: int, linear: bool) -> Row:
    items = subject.coordinates.items
    held = set(run.fixed)
    start = {**subject.params, **run.start}
    free = [item for item in items if item.parameter not in held]
    labels, there = label_experiments(subject.data), label_experiments(run.data)
    names = [item.name for item in free if item.experiment is None or labels[item.experiment] in there]
    found = fit(
        subject.model,
        list(run.data),
        free=list(dict.fromkeys(item.parameter for item in free if item.experiment is None)),
        local=list(dict.fromkeys(item.parameter for item in free if item.experiment is not None)),
        fixed=[{**one, **run.fixed} for one in _list_fixed(subject, run.data)],
        criterion=subject.criterion,
        starts=[{name: start[name] for name in names}],
        rng=derive_seed(seed, "fit of a study", number) if run.seed is None else run.seed,
        solver=subject.solver,
    )
    if found.status.interrupted:
        raise KeyboardInterrupt
    ends, order = found.conf_int(LEVEL), [item.name for item in items]
    steps = _find_steps(subject, run) if linear else {}
    missing = np.nan
    columns = (
        {**dict(run.fixed), **found.params},
        found.std_errors,
        {name: pair[0] for name, pair in ends.items()},
        {name: pair[1] for name, pair in ends.items()},
        steps,
    )
    numbers = [found.value, missing if found.loglik is None else found.loglik]
    numbers += [column.get(name, missing) for column in columns for name in order]
    status = CONVERGED if found.status.ok else STOPPED
    told = "" if found.status.ok else str(found.status)
    return Row(number, status, told, tuple(map(float, numbers)), dict(run.labels))


def _list_fixed(subject: Fit, data: Sequence[Dataset]) -> list[dict[str, Any]]:
    """What is fixed in each experiment of a run, as in that of the fit which it stands for."""
    space = subject.coordinates
    formulas = space.following or [{}] * len(subject.data)
    own = [{**one, **two} for one, two in zip(space.fixed, formulas, strict=True)]
    by_label = dict(zip(label_experiments(subject.data), own, strict=True))
    labels = label_experiments(data)
    if unknown := [label for label in labels if label not in by_label]:
        raise StudyError(
            f"The fit has no experiment {quoted(unknown)} for data of a run to stand for.",
            f"Name the data as those of the fit: {quoted(by_label)}.",
        )
    return [by_label[label] for label in labels]


def _find_steps(subject: Fit, run: Run) -> dict[str, float]:
    """−H⁻¹ g of each estimate on the data of the run, from the estimates of the fit."""
    by_label = dict(zip(label_experiments(run.data), run.data, strict=True))
    labels = label_experiments(subject.data)
    if set(by_label) != set(labels):
        return {}
    space = subject.coordinates.hold((), subject.point)
    data = tuple(by_label[label] for label in labels)
    problem = Problem(build(subject.model), data, space, subject.seed, subject.solver)
    try:
        evaluation = restore_objective(FittedProblem(subject, problem, subject.point))(subject.point)
        inside = [k for k, one in enumerate(subject.estimates.values()) if not one.at_bound]
        H, g = evaluation.curvature[np.ix_(inside, inside)], evaluation.gradient[inside]
        step = -invert_semidefinite(H) @ g
    except (RefusalError, np.linalg.LinAlgError):
        return {}
    return {space.names[k]: float(value) for k, value in zip(inside, step, strict=True)}
