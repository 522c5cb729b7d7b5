"""The arguments of `fit` and `evaluate`, checked and lined up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daedal.data import Dataset
from daedal.errors import EstimationError, SimulationError, list_entries, show
from daedal.estimation.criteria import Criterion, Objective, check_criterion
from daedal.estimation.likelihood import choose_criterion
from daedal.estimation.problem import Problem, check_delay_bounds, declare_free, make_coordinates
from daedal.estimation.search import add_priors, refuse_growth
from daedal.experiments import describe_absent, list_datasets
from daedal.models import Model
from daedal.simulation import Lanes
from daedal.systems import System, build


@dataclass(frozen=True, eq=False)
class Arguments:
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
            if (entries := list_entries(given)) is not None:
                object.__setattr__(self, name, dict(given) if isinstance(given, Mapping) else tuple(entries))
        if isinstance(self.data, list):
            object.__setattr__(self, "data", tuple(self.data))
        if isinstance(self.fixed, dict):
            object.__setattr__(self, "fixed", dict(self.fixed))
        elif isinstance(self.fixed, list):
            listed = [dict(one) if isinstance(one, dict) else one for one in self.fixed]
            object.__setattr__(self, "fixed", listed)

    def is_same(self, other: "Arguments") -> bool:
        """Whether both ask for the same; models and data are the same if they are the same objects."""
        mine, others = self._objects(), other._objects()
        try:
            choices = [repr((a.free, a.local, a.fixed, a.criterion, a.solver)) for a in (self, other)]
        except Exception:  # what cannot be written cannot be told apart
            return False
        alike = len(mine) == len(others) and all(a is b for a, b in zip(mine, others, strict=True))
        alike = alike and type(self.criterion) is type(other.criterion)  # a class may have been written anew
        return alike and choices[0] == choices[1]

    def _objects(self) -> tuple[Any, ...]:
        return (self.model, *(self.data if isinstance(self.data, tuple) else (self.data,)))


def prepare_objective(verb: str, arguments: Arguments, seed: int) -> tuple[Objective, Criterion, tuple[str, ...]]:
    """Check everything and line it up; also the criterion, and the reason if it was chosen here."""
    sets = list_datasets(verb, arguments.model, arguments.data)
    model = arguments.model.model if isinstance(arguments.model, System) else arguments.model
    if not isinstance(model, Model):
        raise EstimationError(
            f"{verb} takes a Model or a System, got {type(model).__name__}.", "Build one with Model(...)."
        )
    if not (arguments.solver is None or isinstance(arguments.solver, Lanes)):
        raise EstimationError(
            f"The solver of a fit must be Lanes, got {show(arguments.solver)}.", "Write solver=Lanes(step=0.01)."
        )
    declared = declare_free(model, arguments.free, arguments.local)
    space = make_coordinates(declared, sets, arguments.free, arguments.local, arguments.fixed)
    problem = Problem(build(declared), sets, space, seed, arguments.solver)
    check_delay_bounds(problem)
    notes = ()
    if arguments.criterion is None:
        criterion, reason = choose_criterion(problem)
        notes = (reason,)
    else:
        criterion = check_criterion(arguments.criterion)
    try:
        objective = criterion.objective(problem)
    except SimulationError:
        refuse_growth(problem)  # a better reason, where it is one
        raise
    return add_priors(objective, space.start), criterion, (*notes, *_list_unused(declared, sets))


def _list_unused(model: Model, sets: Sequence[Dataset]) -> tuple[str, ...]:
    """What is measured or modelled but not compared."""
    notes = []
    extra = {name for one in sets for name in one.outputs} - set(model.outputs)
    if extra:
        notes.append(f"measured but no output of the model, and not used: {', '.join(sorted(extra))}")
    missing = [name for name in model.outputs if not any(name in one.outputs for one in sets)]
    if missing:
        notes.append(f"outputs of the model that were not measured: {', '.join(missing)}")
    return (*notes, *describe_absent(model, sets))
