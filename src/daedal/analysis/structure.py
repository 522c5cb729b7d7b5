"""`analyze`: what the equations of a model determine, before any number is known."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from daedal.analysis.aliases import Alias, eliminate_aliases, make_namer
from daedal.analysis.equations import Equations, Incidence, find_incidence
from daedal.analysis.signature import Offsets, find_offsets
from daedal.data import FrozenMapping
from daedal.errors import ModelError, counted, interruptible, often
from daedal.models import Model


@final
@dataclass(frozen=True)
class Choice:
    """At the start, `count` of these variables may be given; the others follow from the equations."""

    count: int
    variables: tuple[str, ...]

    def __str__(self) -> str:
        listed = ", ".join(_shorten(list(self.variables)))
        return listed if self.count == len(self.variables) else f"{self.count} of {listed}"


@final
@dataclass(frozen=True)
class Structure:
    """Index, freedom and differentiations of a model.

    Attributes
    ----------
    model, equations
        The model's name, and how many equations it has.
    index
        How many differentiations separate the equations from an ordinary differential equation.
    degrees_of_freedom
        How many values may be given at the start.
    differentiated
        Equation → how often it must be differentiated, for those that must be.
    choices
        What may be given at the start.
    orders
        Unknown → the highest derivative that is solved for.
    repairs
        What was changed because terms cancel that the structure cannot see.
    occurrences
        Equation → unknown → the highest derivative of it that occurs there.

    Examples
    --------
    >>> from daedal import Model, analyze, der, symbols
    >>> x, v, f = symbols("x v f")
    >>> equations = {"speed": der(x) == v, "force": der(v) == f, "track": x == 0}
    >>> print(analyze(Model(name="track", equations=equations, unknowns=[x, v, f])))
    structure of 'track': 3 equations, index 3, 0 degrees of freedom
      differentiated: speed once, track twice
    """

    model: str
    equations: int
    index: int
    degrees_of_freedom: int
    differentiated: Mapping[str, int]
    choices: tuple[Choice, ...]
    orders: Mapping[str, int]
    repairs: tuple[str, ...] = ()
    occurrences: Mapping[str, Mapping[str, int]] = field(default_factory=lambda: FrozenMapping({}), repr=False)

    def __str__(self) -> str:
        freedom = f"{counted(self.degrees_of_freedom, 'degree')} of freedom"
        lines = [f"structure of '{self.model}': {counted(self.equations, 'equation')}, index {self.index}, {freedom}"]
        if self.differentiated:
            listed = [f"{name} {often(count)}" for name, count in self.differentiated.items()]
            lines.append(f"  differentiated: {', '.join(_shorten(listed))}")
        if self.choices:
            lines.append(f"  may be given at the start: {'; '.join(_shorten([str(c) for c in self.choices]))}")
        return "\n".join(lines + [f"  {sentence}" for sentence in self.repairs])

    def _repr_html_(self) -> str:
        from daedal.tables import write_html

        return write_html(str(self).split("\n"))

    __repr__ = __str__


def _shorten(items: list[str], most: int = 12) -> list[str]:
    return items if len(items) <= most else [*items[:most], f"and {len(items) - most} more"]


@interruptible
def analyze(model: Model) -> Structure:
    """Index, degrees of freedom, differentiated equations, and what may be given at the start.

    Raises `StructureError`, naming the over- and under-determined part, when the equations cannot determine the
    unknowns.

    Examples
    --------
    >>> from daedal import Model, der, symbols
    >>> x, y = symbols("x y")
    >>> model = Model(name="loop", equations={"motion": der(x) == y, "path": x == 3}, unknowns=[x, y])
    >>> analyze(model).index
    2
    """
    typed = Equations.of(check_model("analyze", model))
    offsets = require_offsets(model.name, typed)
    reduced, aliases = eliminate_aliases(typed)
    inner = find_incidence(reduced)
    inner_offsets = find_offsets(inner)
    if inner_offsets is None:
        from daedal.analysis.singularity import explain_repetition

        raise explain_repetition(model.name, typed, reduced, inner)
    return make_structure(model.name, typed, offsets, list_choices(reduced, inner, inner_offsets, aliases))


def check_model(verb: str, model: Any) -> Model:
    """A Model, or a sentence that says what was given in its place."""
    if isinstance(model, Model):
        return model
    raise ModelError(
        f"{verb} takes a Model, got {type(model).__name__}.", "Build one with Model(...) or assemble(...)."
    )


def require_offsets(model: str, equations: Equations) -> Offsets:
    """The offsets of the signature method, or an error that names what is over- and under-determined."""
    entries = find_incidence(equations)
    offsets = find_offsets(entries)
    if offsets is None:
        from daedal.analysis.singularity import explain_singularity

        raise explain_singularity(model, entries, equations.names, equations.unknowns)
    return offsets


def make_structure(
    model: str, equations: Equations, offsets: Offsets, choices: tuple[Choice, ...], repairs: tuple[str, ...] = ()
) -> Structure:
    """Put the findings in a Structure."""
    typed = equations.find_typed_orders({i: int(c) for i, c in enumerate(offsets.equations)})
    differentiated = {name: order for name, order in typed.items() if order}
    index = max([0, *differentiated.values()]) + int(np.any(offsets.unknowns == 0))
    orders = {name: int(d) for name, d in zip(equations.unknowns, offsets.unknowns, strict=True)}
    freedom = offsets.degrees_of_freedom
    return Structure(
        model=model,
        equations=len(equations.names),
        index=index,
        degrees_of_freedom=freedom,
        differentiated=FrozenMapping(differentiated),
        choices=choices,
        orders=FrozenMapping(orders),
        repairs=repairs,
        occurrences=FrozenMapping(_list_occurrences(equations)),
    )


def _list_occurrences(equations: Equations) -> dict[str, Mapping[str, int]]:
    entries = find_incidence(equations)
    listed: dict[str, dict[str, int]] = {name: {} for name in equations.names}
    for row, column, order in zip(
        entries.rows.tolist(), entries.columns.tolist(), entries.orders.tolist(), strict=True
    ):
        listed[equations.names[row]][equations.unknowns[column]] = order
    return {name: FrozenMapping(unknowns) for name, unknowns in listed.items()}


def list_choices(
    equations: Equations, entries: Incidence, offsets: Offsets, aliases: Mapping[str, Alias]
) -> tuple[Choice, ...]:
    """Group what may be given: on each level of differentiation, connected unknowns less the equations between them."""
    name_jet = make_namer(aliases)
    c, d = offsets.equations, offsets.unknowns
    choices = []
    for level in range(1, int(d.max(initial=0)) + 1):
        for unknowns, constraints in _group_connected(entries, d >= level, c >= level, c, d):
            count = len(unknowns) - constraints
            if count > 0:
                jets = [(equations.unknowns[j], int(d[j]) - level) for j in unknowns]
                choices.append(Choice(count, tuple(name_jet(*v) for v in jets)))
    return tuple(reversed(choices))


def _group_connected(
    entries: Incidence, unknowns: np.ndarray, equations: np.ndarray, c: np.ndarray, d: np.ndarray
) -> Iterator[tuple[list[int], int]]:
    """Connected groups of the given unknowns through the given equations, with the number of equations in each."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    tight = (
        (entries.orders == d[entries.columns] - c[entries.rows]) & unknowns[entries.columns] & equations[entries.rows]
    )
    rows, columns = entries.rows[tight], entries.columns[tight] + entries.equations
    size = entries.equations + entries.unknowns
    _, labels = connected_components(
        csr_array((np.ones(rows.size), (rows, columns)), shape=(size, size)), directed=False
    )
    members: dict[int, list[int]] = {}
    for j in np.flatnonzero(unknowns).tolist():
        members.setdefault(int(labels[entries.equations + j]), []).append(j)
    inside = np.bincount(labels[: entries.equations][equations], minlength=int(labels.max()) + 1)
    for label, group in members.items():
        yield group, int(inside[label])
