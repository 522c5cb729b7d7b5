"""`Project`: a model, data and a question, as one file binds them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any, final

from daedal.data import Dataset, FrozenMapping
from daedal.errors import ProjectError, as_float, is_real, list_entries, look_up, quoted, show
from daedal.estimation import Criterion, Grid, LatinHypercube
from daedal.models import Model, Parameter
from daedal.tables import align_columns, write_html


@final
@dataclass(frozen=True)
class DataBlock:
    """One `[[data]]` of a project: its file, what `read_csv` was told about it, and what was done to it besides."""

    file: str
    name: str
    options: Mapping[str, Any]
    between: tuple[float, float] | None = None
    missing: tuple[float, ...] = ()
    held_out: bool = False


@final
@dataclass(frozen=True)
class Validating:
    """What `daedal validate` does: steps ahead, parameters to profile, states to estimate."""

    horizon: tuple[int, ...] = ()
    profile: tuple[str, ...] = ()
    states: tuple[str, ...] = ()


@final
@dataclass(frozen=True)
class Reporting:
    """What the page is called (without a name: as the project), and the words on top of it."""

    file: str = ""
    notes: str = ""


@final
@dataclass(frozen=True, eq=False)
class Project:
    """What `read_project` found: everything that a fit takes, and what is to be done with it.

    Attributes
    ----------
    model
        With the values of `[model.set]`.
    experiments, held_out
        Data to fit, and data that no fit sees.
    free
        Parameter → `Parameter` with its start, bounds, scale and prior.
    local
        The same for parameters that have a value of their own in each experiment.
    criterion, starts
        As `fit` takes them; None where the project leaves them open.
    digests
        File → SHA-256 of all files that were read beside the project itself.
    changes
        What was changed by `with_values` and `with_free`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from daedal import fit, read_project
    >>> model = 'name = "decay"\\nunknowns = ["x"]\\n[equations]\\nrate = "der(x) == -k*x"\\n[outputs]\\nx = "x"\\n'
    >>> model += "[parameters]\\nk = 2.0\\n[initial]\\nx = 1.0\\n"
    >>> text = '[model]\\nfile = "decay.toml"\\n[[data]]\\nfile = "run.csv"\\ntime = "t"\\noutputs = { x = "x" }\\n'
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "decay.toml").write_text(model), Path(folder, "rig.toml").write_text(text)
    ...     _ = Path(folder, "run.csv").write_text("t,x\\n0,1.0\\n1,0.36\\n2,0.14\\n")
    ...     project = read_project(Path(folder, "rig.toml"))
    >>> round(fit(project.model, project.experiments, free=["k"])["k"].value, 2)
    1.01
    """

    path: Path
    text: str
    title: str
    author: str
    model: Model
    experiments: tuple[Dataset, ...]
    held_out: tuple[Dataset, ...]
    free: Mapping[str, Parameter]
    local: Mapping[str, Parameter]
    criterion: Criterion | None
    starts: LatinHypercube | Grid | tuple[Mapping[str, float], ...] | None
    validate: Validating
    report: Reporting
    blocks: tuple[DataBlock, ...]
    model_source: Mapping[str, Any]
    digests: Mapping[str, str]
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What its results are called."""
        return self.path.stem

    @property
    def model_at_starts(self) -> Model:
        """The model with free parameters where a fit would start."""
        starts = {name: one.value for name, one in {**self.free, **self.local}.items()}
        return self.model.with_parameters(starts) if starts else self.model

    def with_values(self, values: Mapping[str, float]) -> "Project":
        """Other values of parameters: where a fit holds them, or where it starts if they are free."""
        if not isinstance(values, Mapping):
            raise ProjectError(f"Values are a mapping from names to numbers, got {show(values)}.", "Write {'k': 2.5}.")
        for name, value in values.items():
            self._check_parameter(name)
            if not is_real(value) or not isfinite(as_float(value)):
                raise ProjectError(f"The value of '{name}' must be a number, got {show(value)}.", "Write 2.5.")
        model, tables = self.model, {}
        held = {name: value for name, value in values.items() if name not in self.free and name not in self.local}
        for table in ("free", "local"):
            rows = getattr(self, table)
            tables[table] = FrozenMapping({n: p.with_value(values[n]) if n in values else p for n, p in rows.items()})
            for name, parameter in tables[table].items():
                if name in values:
                    parameter.check(name, float(values[name]))
        changed = {**self.changes.get("set", {}), **{name: float(value) for name, value in values.items()}}
        model = model.with_parameters(held) if held else model
        return replace(self, model=model, **tables, changes=FrozenMapping({**self.changes, "set": changed}))

    def with_free(self, names: Sequence[str]) -> "Project":
        """Other free parameters; those that the project frees already keep what it says about them."""
        if (listed := list_entries(names)) is None:
            raise ProjectError(f"Free parameters are a list of names, got {show(names)}.", "Write ['k'].")
        names = listed
        for name in names:
            self._check_parameter(name)
        known = {**self.model.parameters, **self.free}
        free = FrozenMapping({name: known[name] for name in names if name not in self.local})
        local = FrozenMapping({name: one for name, one in self.local.items() if name in names})
        return replace(self, free=free, local=local, changes=FrozenMapping({**self.changes, "free": list(names)}))

    def _check_parameter(self, name: str) -> None:
        look_up(self.model.parameters, name, ProjectError, f"The model '{self.model.name}' has no parameter")

    def _repr_html_(self) -> str:
        rows = [[name, f"{one.value}", f"{one.lower:g} … {one.upper:g}", one.unit] for name, one in self.free.items()]
        table = align_columns([["free", "start", "bounds", "unit"], *rows]) if rows else []
        return write_html([*repr(self).splitlines(), *table])

    def __repr__(self) -> str:
        data = quoted(one.name for one in (*self.experiments, *self.held_out))
        return (
            f"Project({str(self.path)!r}: model '{self.model.name}', data {data}, free {quoted(self.free) or 'none'})"
        )
