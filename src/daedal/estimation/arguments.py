"""What `fit` and `evaluate` are asked for, checked and lined up."""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from daedal.data import Dataset
from daedal.errors import EstimationError, SimulationError
from daedal.estimation.criteria import Criterion, Objective, chosen_criterion
from daedal.estimation.problem import Problem, check_delay_bounds, freed, make_coordinates
from daedal.estimation.search import refuse_growth
from daedal.experiments import datasets
from daedal.models import Model
from daedal.simulation import Lanes
from daedal.symbolic import Expression
from daedal.systems import System, build


@dataclass(frozen=True, eq=False)
class Asked:
    """The arguments that `fit` and `evaluate` share, as they were given."""

    model: Any
    data: Any
    free: Any
    local: Any
    fixed: Any
    criterion: Any
    solver: Any

    def __post_init__(self) -> None:
        # Lists may change afterwards, and iterators can be read only once.
        for name in ("free", "local"):
            given = getattr(self, name)
            if isinstance(given, Iterable) and not isinstance(given, (str, Expression)):
                object.__setattr__(self, name, dict(given) if isinstance(given, Mapping) else tuple(given))
        if isinstance(self.data, list):
            object.__setattr__(self, "data", tuple(self.data))
        object.__setattr__(self, "fixed", deepcopy(self.fixed) if isinstance(self.fixed, (dict, list)) else self.fixed)

    def same(self, other: "Asked") -> bool:
        """Whether both ask for the same; models and data are the same if they are the same objects."""
        mine, others = self._objects(), other._objects()
        choices = [repr((a.free, a.local, a.fixed, a.criterion, a.solver)) for a in (self, other)]
        alike = len(mine) == len(others) and all(a is b for a, b in zip(mine, others, strict=True))
        return alike and choices[0] == choices[1]

    def _objects(self) -> tuple[Any, ...]:
        return (self.model, *(self.data if isinstance(self.data, tuple) else (self.data,)))


def prepared(verb: str, asked: Asked, seed: int) -> tuple[Objective, Criterion, tuple[str, ...]]:
    """Check everything and line it up; also the criterion, and the reason if it was chosen here."""
    sets = datasets(verb, asked.model, asked.data)
    model = asked.model.model if isinstance(asked.model, System) else asked.model
    if not isinstance(model, Model):
        raise EstimationError(
            f"{verb} takes a Model or a System, got {type(model).__name__}.", "Build one with Model(...)."
        )
    if not (asked.solver is None or isinstance(asked.solver, Lanes)):
        raise EstimationError(
            f"The solver of a fit must be Lanes, got {asked.solver!r}.", "Write solver=Lanes(step=0.01)."
        )
    declared = freed(model, asked.free, asked.local)
    space = make_coordinates(declared, sets, asked.free, asked.local, asked.fixed)
    problem = Problem(build(declared), sets, space, seed, asked.solver)
    check_delay_bounds(problem)
    criterion, reason = (asked.criterion, "") if asked.criterion is not None else chosen_criterion(problem)
    if not hasattr(criterion, "objective") or isinstance(criterion, type):
        raise EstimationError(
            f"The criterion must be Likelihood(...), OutputError(...) or SimulationPEM(...), got {_named(criterion)}.",
            f"Write criterion={_named(criterion)}()."
            if isinstance(criterion, type)
            else "Write criterion=OutputError().",
        )
    notes = (reason,) if reason else ()
    try:
        objective = criterion.objective(problem)
    except SimulationError:
        refuse_growth(problem)  # a better reason, where it is one
        raise
    return objective, criterion, (*notes, *_unused(declared, sets))


def _named(given: Any) -> str:
    return given.__name__ if isinstance(given, type) else repr(given)


def _unused(model: Model, sets: Sequence[Dataset]) -> tuple[str, ...]:
    """What is measured or modelled but not compared."""
    notes = []
    extra = {name for one in sets for name in one.outputs} - set(model.outputs)
    if extra:
        notes.append(f"measured but no output of the model, and not used: {', '.join(sorted(extra))}")
    missing = [name for name in model.outputs if not any(name in one.outputs for one in sets)]
    if missing:
        notes.append(f"outputs of the model that were not measured: {', '.join(missing)}")
    return tuple(notes)
