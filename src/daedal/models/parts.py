"""The parts of an assembly, each with its name before all of its symbols, and what a path leads to."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from daedal.disturbances import Noise, rename_parameters
from daedal.errors import ModelError, nearest, quoted, show
from daedal.models.declarations import as_name, as_tuple
from daedal.models.model import Model
from daedal.models.parameter import Parameter
from daedal.models.port import Port, rename_equations
from daedal.symbolic import NAME, Equation, Expression, intern_symbol, jet, read_expression, rename_symbols


@dataclass(frozen=True)
class Parts:
    """All parts together, everything by path."""

    name: str
    labels: tuple[str, ...]
    ports: Mapping[str, Port]
    equations: Mapping[str, Equation]
    unknowns: Mapping[str, None]
    inputs: Mapping[str, None]
    outputs: Mapping[str, Expression]
    parameters: Mapping[str, Parameter]
    disturbances: Mapping[Any, Noise]
    initial: Mapping[str, Expression]
    guess: Mapping[str, Expression]
    history: Mapping[str, Expression]
    defaults: Mapping[str, float]
    units: Mapping[str, str]

    def find_port(self, path: str) -> Port:
        """The port at a path."""
        if path not in self.ports:
            raise self.explain_missing(path, "port", self.ports)
        return self.ports[path]

    def has_signal(self, path: str) -> bool:
        """Whether a path leads to a variable or an output."""
        return path in self.unknowns or path in self.inputs or path in self.outputs

    @property
    def signals(self) -> list[str]:
        """Paths of all variables and outputs."""
        return [*self.unknowns, *self.inputs, *self.outputs]

    def explain_missing(self, path: str, what: str, known: Iterable[str]) -> ModelError:
        """The error for a path that leads nowhere."""
        label = path.split(".")[0]
        if label not in self.labels and "." in path:
            return ModelError(
                f"'{self.name}' has no part '{label}' for the path '{path}'.", nearest(label, self.labels)
            )
        inside = [other for other in known if other.startswith(f"{label}.")]
        if path in self.labels:
            listed = f"It goes on to {quoted(inside)}." if inside else f"It has no {what}."
            return ModelError(f"'{path}' is a part of '{self.name}' where a {what} belongs.", listed)
        return ModelError(f"'{self.name}' has no {what} '{path}'.", nearest(path, inside or known))

    def find_expression(self, value: Any) -> Any:
        """The expression at a path: an output of a part, a variable or its derivative; else as it is."""
        if not isinstance(value, str):
            return value
        if value in self.outputs:
            return self.outputs[value]
        known = {**self.unknowns, **self.inputs, **dict.fromkeys(self.parameters)}
        known |= dict.fromkeys(name for key in self.disturbances for name in as_tuple(key))
        base = jet(as_name(read_expression(value)))[0] if "(" in value else value
        if base not in known:
            raise self.explain_missing(base, "variable", [*known, *self.outputs])
        return read_expression(value)


def gather_parts(name: str, parts: Any) -> Parts:
    """The parts under their names."""
    if not isinstance(parts, Mapping) or not parts:
        raise ModelError(
            f"The parts of '{name}' must be a mapping from names to models, got {show(parts)}.",
            "Write parts={'motor': Motor(...)}.",
        )
    moved = [_prefix(label, _check_part(label, part)) for label, part in parts.items()]
    merged = {field: {key: value for part in moved for key, value in part[field].items()} for field in moved[0]}
    _check_clocks(name, {label: part.units["time"] for label, part in parts.items() if "time" in part.units})
    return Parts(name=name, labels=tuple(parts), **merged)


def _check_clocks(name: str, clocks: Mapping[str, str]) -> None:
    """All parts that tell a unit of time must tell the same."""
    for label, unit in clocks.items():
        first, other = next(iter(clocks.items()))
        if unit != other:
            raise ModelError(
                f"Time has the unit '{other}' in part '{first}' of '{name}' and '{unit}' in part '{label}'.",
                "Write all parts in the same unit of time; nothing is converted.",
            )


def _check_part(label: Any, part: Any) -> Model:
    if not isinstance(label, str) or not NAME.fullmatch(label) or "." in label:
        raise ModelError(
            f"The name of a part must be a word without dots, got {show(label)}.", "Write for example 'shaft'."
        )
    if isinstance(part, Model):
        return part
    if callable(part):
        called = getattr(part, "__name__", "Resistor")
        raise ModelError(
            f"Part '{label}' must be a Model, got the function {called}.", f"Call it: {{'{label}': {called}()}}."
        )
    raise ModelError(f"Part '{label}' must be a Model, got {show(part)}.", f"Write {{'{label}': Resistor(R=1.0)}}.")


def _prefix(label: str, part: Model) -> dict[str, dict[Any, Any]]:
    """What a model declares, with a path before every name."""
    names = {own: f"{label}.{own}" for own in part.names}

    def move(value: Any) -> Any:
        if isinstance(value, Expression):
            return value if value.sx.is_constant() else rename_symbols(value, names)
        return value if isinstance(value.value, float) else value.with_value(move(value.value))

    def move_key(own: Any) -> Any:
        return tuple(f"{label}.{name}" for name in own) if isinstance(own, tuple) else f"{label}.{own}"

    def move_start(own: str) -> str:
        return names[own] if own in names else rename_symbols(intern_symbol(own), names).sx.name()

    equations = rename_equations(part.equations, names) if part.equations else {}
    return {
        "equations": {move_key(own): equation for own, equation in equations.items()},
        "unknowns": dict.fromkeys(names[own] for own in part.unknown_names),
        "inputs": dict.fromkeys(names[own] for own in part.input_names),
        "ports": {move_key(own): port.renamed(names) for own, port in part.ports.items()},
        **{
            field: {move_key(own): move(value) for own, value in getattr(part, field).items()}
            for field in ("outputs", "parameters")
        },
        "disturbances": {move_key(own): rename_parameters(noise, names) for own, noise in part.disturbances.items()},
        **{
            field: {move_start(own): move(value) for own, value in getattr(part, field).items()}
            for field in ("initial", "guess", "history")
        },
        "defaults": {names[own]: value for own, value in part.defaults.items()},
        "units": {own if own == "time" else move_key(own): unit for own, unit in part.units.items()},
    }
