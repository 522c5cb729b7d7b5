"""`assemble`: a Model from connected parts, addressed by path.

Every symbol of a part gets the part's name before it: `c` of the part "shaft" becomes `shaft.c`, and so on to any
depth. Where ports are connected, with flows counted positive into the parts,

    potential_1 = potential_2 = …,     Σ flow_i = 0     (= the flow into the assembly, at a port it offers itself);

the flow into a port that is not connected is zero. Connected signals are equal.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from daedal.disturbances import Noise
from daedal.errors import ModelError, nearest, quoted, with_article
from daedal.models.declarations import as_tuple, key_name
from daedal.models.model import Model
from daedal.models.parameter import Parameter, as_parameter
from daedal.models.port import Port
from daedal.symbolic import NAME, Equation, Expression, as_expression, interned, jet, read_expression, renamed

NOTHING: Mapping[Any, Any] = {}


def assemble(
    *,
    name: str,
    parts: Mapping[str, Model],
    connections: Sequence[Sequence[str]] = (),
    ports: Mapping[str, str] = NOTHING,
    inputs: Sequence[Any] = (),
    outputs: Mapping[str, Any] = NOTHING,
    parameters: Mapping[Any, Any] = NOTHING,
    disturbances: Mapping[Any, Noise] = NOTHING,
    measurement_noise: Mapping[Any, Any] = NOTHING,
    initial: Mapping[Any, Any] = NOTHING,
    guess: Mapping[Any, Any] = NOTHING,
    history: Mapping[Any, Any] = NOTHING,
) -> Model:
    """Connect parts to one Model.

    Parameters
    ----------
    name
        What the assembly is called.
    parts
        Name → Model, usually a component with ports; an assembly may be a part again.
    connections
        Tuples of two or more paths: of ports ("motor.p", "winding.n"), or of signals ("controller.u", "supply.v").
    ports
        Ports that the assembly offers itself: name → path of a part's port.
    inputs
        Paths of part inputs that are known signals.
    outputs
        Name → path, or expression of symbols called by path.
    parameters
        Path → another value; a part's input given a number becomes a constant. New symbols may be added.
    disturbances
        Path of a part's input → noise declaration.
    measurement_noise, initial, guess, history
        As for `Model`, by path; they are added to what the parts bring along.

    Examples
    --------
    >>> from daedal.library import electrical as el
    >>> circuit = assemble(
    ...     name="one loop",
    ...     parts={"source": el.VoltageSource(), "load": el.Resistor(R=10.0), "ground": el.Ground()},
    ...     connections=[("source.p", "load.p"), ("load.n", "source.n", "ground.p")],
    ...     inputs=["source.v"],
    ...     outputs={"current": "load.i"},
    ... )
    >>> circuit["current"]
    load.i
    """
    whole = _Whole(name, _prefixed(name, parts))
    nodes = whole.nodes(connections, ports)
    offered = {label: _offered(label, whole.port(path)) for label, path in ports.items()}
    equations = {**whole.equations, **_node_equations(whole, nodes, offered, ports)}
    signals = whole.signals(connections)
    equations |= signals.equations
    numbers = {key_name(key): value for key, value in _once(parameters, "parameters").items()}
    whole.check_inputs(inputs, disturbances, numbers, signals.driven)
    declared = _parameters(whole, numbers)
    noise = {
        **whole.disturbances,
        **{key_name(key): value for key, value in _once(disturbances, "disturbances").items()},
    }
    variables = [*whole.unknowns, *signals.driven, *(s.sx.name() for port in offered.values() for s in port.symbols)]
    return Model(
        name=name,
        equations=equations,
        unknowns=[interned(each) for each in variables],
        inputs=[interned(key_name(path)) for path in inputs],
        outputs={label: whole.expression(value) for label, value in outputs.items()},
        parameters=declared,
        disturbances=noise,
        measurement_noise=measurement_noise,
        initial={**whole.starts("initial"), **_texts(initial)},
        guess={**whole.starts("guess"), **_texts(guess)},
        history={**whole.starts("history"), **_texts(history)},
        ports=offered,
    )


def _texts(given: Mapping[Any, Any]) -> dict[Any, Any]:
    """Keys as symbols' names, so that they replace what a part brings along."""
    return {key_name(read_expression(key) if isinstance(key, str) else key): value for key, value in given.items()}


def _once(given: Mapping[Any, Any], what: str) -> Mapping[Any, Any]:
    """Refuse a path that is given twice, once by name and once by symbol."""
    count = Counter(key_name(key) for key in given)
    twice = [name for name, times in count.items() if times > 1]
    if twice:
        raise ModelError(f"Under {what}, {quoted(str(one) for one in twice)} is given twice.", "Keep one of the two.")
    return given


def _prefixed(name: str, parts: Any) -> dict[str, Model]:
    if not isinstance(parts, Mapping) or not parts:
        raise ModelError(
            f"The parts of '{name}' must be a mapping from names to models, got {parts!r}.",
            "Write parts={'motor': Motor(...)}.",
        )
    result = {}
    for label, part in parts.items():
        if not isinstance(label, str) or not NAME.fullmatch(label):
            raise ModelError(f"The name of a part must be a word, got {label!r}.", "Write for example 'shaft'.")
        if not isinstance(part, Model):
            made = ": call it" if callable(part) else ""
            raise ModelError(
                f"Part '{label}' must be a Model, got {getattr(part, '__name__', repr(part))}.",
                f"Write parts={{'{label}': Resistor(R=1.0)}}{made}.",
            )
        result[label] = part_under(label, part)
    return result


def part_under(label: str, part: Model) -> Model:
    """The same model with a path before every name."""
    names = {own: f"{label}.{own}" for own in part.names}

    def moved(value: Any) -> Any:
        if isinstance(value, Expression):
            return renamed(value, names)
        if isinstance(value, Parameter):
            return value.with_value(moved(value.value))
        if isinstance(value, Equation):
            return Equation(moved(value.lhs), moved(value.rhs))
        if isinstance(value, Noise):
            return replace(value, **{each.name: moved(getattr(value, each.name)) for each in fields(value)})  # pyright: ignore[reportArgumentType]
        if isinstance(value, (list, tuple)):
            return type(value)(moved(each) for each in value)
        return value

    def key(own: Any) -> Any:
        return tuple(f"{label}.{each}" for each in own) if isinstance(own, tuple) else f"{label}.{own}"

    def start(own: str) -> str:
        return renamed(read_expression(own), names).sx.name()

    return Model(
        name=part.name,
        equations={key(own): moved(value) for own, value in part.equations.items()},
        unknowns=[moved(each) for each in part.unknowns],
        inputs=[moved(each) for each in part.inputs],
        outputs={key(own): moved(value) for own, value in part.outputs.items()},
        parameters={key(own): moved(value) for own, value in part.parameters.items()},
        disturbances={key(own): moved(value) for own, value in part.disturbances.items()},
        measurement_noise={key(own): moved(value) for own, value in part.measurement_noise.items()},
        initial={start(own): moved(value) for own, value in part.initial.items()},
        guess={start(own): moved(value) for own, value in part.guess.items()},
        history={start(own): moved(value) for own, value in part.history.items()},
        ports={own: port.renamed(names) for own, port in part.ports.items()},
    )


@dataclass(frozen=True)
class _Signals:
    """Connected signals: their equations, and the part inputs that become unknowns by them."""

    equations: dict[str, Equation]
    driven: list[str]


class _Whole:
    """All parts, with what can be found by path."""

    def __init__(self, name: str, parts: Mapping[str, Model]) -> None:
        self.name, self.parts = name, parts
        self.ports = {f"{label}.{own}": port for label, part in parts.items() for own, port in part.ports.items()}
        self.equations = {key: each for part in parts.values() for key, each in part.equations.items()}
        self.unknowns = [each for part in parts.values() for each in part.unknown_names]
        self.inputs = [each for part in parts.values() for each in part.input_names]
        self.outputs = {key: each for part in parts.values() for key, each in part.outputs.items()}
        self.parameters = {key: each for part in parts.values() for key, each in part.parameters.items()}
        self.disturbances = {key: each for part in parts.values() for key, each in part.disturbances.items()}

    def starts(self, field: str) -> dict[str, Any]:
        """Initial values, guesses or histories of all parts."""
        return {key: value for part in self.parts.values() for key, value in getattr(part, field).items()}

    @property
    def variables(self) -> list[str]:
        return [*self.unknowns, *self.inputs]

    def port(self, path: Any) -> Port:
        if path not in self.ports:
            raise self.nothing(path, "port", self.ports)
        return self.ports[path]

    def nothing(self, path: Any, what: str, known: Iterable[str]) -> ModelError:
        """The error for a path that leads nowhere."""
        if not isinstance(path, str):
            return ModelError(f"A path must be a text, got {path!r}.", "Write for example 'motor.p'.")
        label = path.split(".")[0]
        if label not in self.parts and "." in path:
            return ModelError(f"'{self.name}' has no part '{label}' for the path '{path}'.", nearest(label, self.parts))
        return ModelError(f"'{self.name}' has no {what} '{path}'.", nearest(path, known))

    def expression(self, value: Any) -> Any:
        """The expression at a path: an output of a part, or a variable; other expressions as they are."""
        if not isinstance(value, str):
            return value
        if value in self.outputs:
            return self.outputs[value]
        known = [*self.variables, *self.parameters, *(n for key in self.disturbances for n in as_tuple(key))]
        base = jet(key_name(read_expression(value)))[0] if "(" in value else value
        if base not in known:
            raise self.nothing(value, "variable", [*known, *self.outputs])
        return read_expression(value)

    def nodes(self, connections: Any, offered: Mapping[str, str]) -> list[list[str]]:
        """Sets of connected ports; connections that share a port are joined."""
        sets: list[list[str]] = []
        for connection in _checked_connections(connections):
            if not any(path in self.ports for path in connection):
                continue
            for path in connection:
                if path not in self.ports and path in self.variables:
                    raise ModelError(
                        f"The connection {connection} joins a port with the signal '{path}'.",
                        "Connect ports with ports and signals with signals.",
                    )
                self.port(path)
            self._check_domains(connection)
            touching = [each for each in sets if set(each) & set(connection)]
            joined = list(dict.fromkeys([path for each in touching for path in each] + list(connection)))
            sets = [each for each in sets if each not in touching] + [joined]
        connected = {path for each in sets for path in each}
        for path in offered.values():
            self.port(path)
        return sets + [[path] for path in self.ports if path not in connected]

    def _check_domains(self, connection: Sequence[str]) -> None:
        repeated = [path for path, times in Counter(connection).items() if times > 1]
        if repeated:
            raise ModelError(f"Port {quoted(repeated)} is connected to itself.", "Name each port once.")
        first = connection[0]
        for path in connection[1:]:
            if self.ports[path].domain != self.ports[first].domain:
                raise ModelError(
                    f"'{first}' is {with_article(self.ports[first].domain)} port and '{path}' "
                    f"{with_article(self.ports[path].domain)} one: they cannot be connected.",
                    "Put a component between them that belongs to both domains.",
                )

    def signals(self, connections: Any) -> _Signals:
        """Connections of variables: all are equal, and part inputs among them become unknowns."""
        equations, driven = {}, []
        for connection in _checked_connections(connections):
            if any(path in self.ports for path in connection):
                continue
            for path in connection:
                if path not in self.variables:
                    raise self.nothing(path, "port or signal", [*self.ports, *self.variables])
            if len(set(connection)) < len(connection):
                raise ModelError(f"The signals {connection} repeat one of them.", "Name each signal once.")
            sources = [path for path in connection if path not in self.inputs]
            if len(sources) > 1:
                raise ModelError(
                    f"The signals {quoted(sources)} are both determined by their parts, so they cannot be connected.",
                    "Connect one of them to an input of the other part.",
                )
            driven += [path for path in connection if path in self.inputs and path not in driven]
            first = sources[0] if sources else connection[0]
            for path in connection:
                if path != first:
                    equations[f"{first} = {path}"] = interned(path) == interned(first)
        return _Signals(equations, driven)

    def check_inputs(
        self, inputs: Sequence[Any], disturbances: Mapping[Any, Any], numbers: Mapping[str, Any], driven: Sequence[str]
    ) -> None:
        """Every input of a part must be one thing at the top."""
        if isinstance(inputs, (str, Expression)):
            raise ModelError(
                f"The inputs of '{self.name}' must be a list of paths, got {inputs!r}.", "Write ['supply.v']."
            )
        roles: dict[str, str] = {}
        named = [("an input", key_name(path)) for path in inputs]
        named += [("a disturbance", each) for key in disturbances for each in as_tuple(key_name(key))]
        named += [("a number", each) for each in numbers if each in self.inputs] + [
            ("connected", each) for each in driven
        ]
        for role, path in named:
            if path not in self.inputs:
                raise self._no_input(path, role)
            if path in roles:
                raise ModelError(f"'{path}' cannot be both {roles[path]} and {role}.", "Keep one of the two.")
            roles[path] = role
        left = [path for path in self.inputs if path not in roles]
        if left:
            raise ModelError(
                f"Nothing drives {quoted(left)} of '{self.name}'.",
                f"List it under inputs or disturbances, give it a number under parameters, or connect it: "
                f"('part.signal', '{left[0]}').",
            )

    def _no_input(self, path: str, role: str) -> ModelError:
        if path in self.unknowns:
            return ModelError(
                f"'{path}' cannot be {role}: it is determined by its part.",
                "Only inputs of parts, such as those of sources, can be driven from outside.",
            )
        return self.nothing(path, "input", self.inputs)


def _checked_connections(connections: Any) -> list[tuple[str, ...]]:
    result = []
    for connection in connections:
        if isinstance(connection, str) or not isinstance(connection, Sequence) or len(connection) < 2:
            raise ModelError(
                f"A connection must be two or more paths, got {connection!r}.", "Write ('supply.p', 'winding.p')."
            )
        result.append(tuple(connection))
    return result


def _offered(label: str, inner: Port) -> Port:
    """A port of the assembly like that of a part, with variables of its own."""
    names = {symbol.sx.name(): f"{label}.{symbol.sx.name().rsplit('.', 1)[-1]}" for symbol in inner.symbols}
    return inner.renamed(names)


def _node_equations(
    whole: _Whole, nodes: Sequence[Sequence[str]], offered: Mapping[str, Port], ports: Mapping[str, str]
) -> dict[str, Equation]:
    """Potentials equal, flows summing to zero or to what the assembly offers."""
    equations: dict[str, Equation] = {}
    for node in nodes:
        outside = [label for label, path in ports.items() if path in node]
        first = whole.ports[node[0]]
        for k, potential in enumerate(first.potentials):
            index = f"[{k}]" if len(first.potentials) > 1 else ""
            for path in node[1:]:
                equations[f"{node[0]} = {path}{index}"] = whole.ports[path].potentials[k] == potential
            for label in outside:
                equations[f"{label} = {node[0]}{index}"] = offered[label].potentials[k] == potential
            total = as_expression(np.sum([whole.ports[path].flows[k] for path in node]), "flow")
            entering = [offered[label].flows[k] for label in outside]
            what = "flows at" if len(node) > 1 or outside else "no flow into"
            equations[f"{what} {node[0]}{index}"] = total == (
                as_expression(np.sum(entering), "flow") if entering else 0.0
            )
    return equations


def _parameters(whole: _Whole, numbers: Mapping[str, Any]) -> dict[Any, Parameter]:
    """Those of the parts with other values, inputs that became constants, and new ones."""
    declared: dict[Any, Parameter] = dict(whole.parameters)
    for path, value in numbers.items():
        made = as_parameter(value, path)
        known = declared.get(path)
        if known is None and "." in path and path not in whole.inputs:
            raise whole.nothing(path, "parameter", whole.parameters)
        declared[path] = made if known is None or isinstance(value, Parameter) else known.with_value(made.value)
    return declared
