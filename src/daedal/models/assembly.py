"""`assemble`: a Model from connected parts, addressed by path.

Every symbol of a part gets the part's name before it: `c` of the part "shaft" becomes `shaft.c`, and so on to any
depth. Where ports are connected, with flows counted positive into the parts,

    potential_1 = potential_2 = …,     Σ flow_i = 0     (= the flow into the assembly, at a port it offers itself);

the flow into a port that is not connected is zero. Connected signals are equal.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from daedal.disturbances import Noise
from daedal.errors import ModelError, quoted, show
from daedal.models.connections import make_offered_ports, sort_connections, write_node_equations, write_signal_equations
from daedal.models.declarations import as_name, as_tuple, check_model_name
from daedal.models.model import Model
from daedal.models.parameter import Parameter, as_parameter
from daedal.models.parts import Parts, gather_parts
from daedal.models.undetermined import refuse_undetermined
from daedal.symbolic import Expression, intern_symbol, read_expression

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
    defaults: Mapping[Any, float] = NOTHING,
    units: Mapping[Any, str] = NOTHING,
) -> Model:
    """Connect parts to one Model.

    Parameters
    ----------
    name
        What the assembly is called.
    parts
        Name → Model, usually a component with ports; an assembly may be a part again. `Port` shows how one is written.
    connections
        Tuples of two or more paths: of ports ("motor.p", "winding.n"), or of signals ("controller.u", "supply.v").
    ports
        Ports that the assembly offers itself: name → path of a part's port.
    inputs
        Paths of part inputs that are known signals.
    outputs
        Name → path, or expression of symbols called by path.
    parameters
        Path → another value; a part's input given a number becomes a constant. A new one is given by its symbol.
    disturbances
        Path of a part's input, or of a disturbance that the part brings along → noise declaration.
    measurement_noise
        Output of the assembly → accuracy, as for `Model`.
    initial, guess, history, defaults
        As for `Model`, by path; they are added to what the parts bring along.
    units
        As for `Model`, by path or output; added to those of the parts.

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
    _check_mappings(
        ports=ports,
        outputs=outputs,
        parameters=parameters,
        disturbances=disturbances,
        measurement_noise=measurement_noise,
        initial=initial,
        guess=guess,
        history=history,
        defaults=defaults,
        units=units,
    )
    whole = gather_parts(check_model_name(name), parts)
    connected = sort_connections(whole, connections)
    offered = make_offered_ports(whole, ports)
    declared = _collect_parameters(whole, parameters)
    roles = _assign_roles(whole, inputs, disturbances, declared)
    signals, driven = write_signal_equations(whole, connected.signals, roles)
    _check_driven(whole, roles, driven)
    names, unknowns = [as_name(path) for path in inputs], [*whole.unknowns, *driven]
    disturbed = {**whole.disturbances, **_key_by_path(disturbances)}
    varying = {"time", *names, *unknowns, *(path for key in disturbed for path in as_tuple(key))}
    model = Model(
        name=name,
        equations={**whole.equations, **write_node_equations(whole, connected.nodes, offered, ports), **signals},
        unknowns=list(map(intern_symbol, unknowns)),
        inputs=list(map(intern_symbol, names)),
        outputs={label: whole.find_expression(value) for label, value in outputs.items()},
        parameters=declared,
        disturbances=disturbed,
        measurement_noise=measurement_noise,
        initial={**whole.initial, **_key_by_name(initial)},
        guess={**whole.guess, **_key_by_name(guess)},
        history={**whole.history, **_key_by_name(history)},
        defaults={
            **{path: value for path, value in whole.defaults.items() if path in names},
            **_key_by_name(defaults),
        },
        ports=offered,
        units={path: unit for path, unit in whole.units.items() if path in varying} | _key_by_path(units),
    )
    refuse_undetermined(model, whole.ports, connected.nodes)
    return model


def _check_mappings(**mappings: Any) -> None:
    for field, value in mappings.items():
        if not isinstance(value, Mapping):
            raise ModelError(
                f"The {field} of an assembly must be a mapping, got {show(value)}.", f"Write {field}={{...: ...}}."
            )
        if field != "measurement_noise":
            count = Counter(as_name(key) for key in value)
            twice = [key for key, times in count.items() if times > 1]
            if twice:
                raise ModelError(f"Under {field}, {quoted(as_tuple(twice[0]))} is given twice.", "Keep one of the two.")


def _key_by_path(entries: Mapping[Any, Any]) -> dict[Any, Any]:
    return {as_name(key): value for key, value in entries.items()}


def _key_by_name(starts: Mapping[Any, Any]) -> dict[str, Any]:
    """Values at the start by the names of what they belong to, so that they replace what a part brings along."""
    return {as_name(read_expression(key) if isinstance(key, str) else key): value for key, value in starts.items()}


def _collect_parameters(whole: Parts, changes: Mapping[Any, Any]) -> dict[str, Parameter]:
    """Those of the parts with other values, inputs that became constants, and new ones."""
    declared = dict(whole.parameters)
    for key, value in changes.items():
        path = as_name(key)
        new = as_parameter(value, path)
        known = declared.get(path)
        if path in whole.unknowns:
            raise ModelError(
                f"'{path}' cannot be a parameter: it is determined by its part.",
                "Only parameters and inputs of parts can be given numbers.",
            )
        if known is None and path not in whole.inputs and (isinstance(key, str) or "." in path):
            error = whole.explain_missing(path, "parameter", whole.parameters)
            hint = "" if "." in path else f" A new one is given by its symbol: symbol('{path}')."
            raise ModelError(error.sentence, error.remedy + hint)
        declared[path] = new if known is None or isinstance(value, Parameter) else known.with_value(new.value)
    return declared


def _assign_roles(
    whole: Parts, inputs: Sequence[Any], disturbances: Mapping[Any, Any], declared: Collection[str]
) -> dict[str, str]:
    """Input of a part → what it is at the top."""
    if isinstance(inputs, (str, Expression, Mapping)) or not isinstance(inputs, Sequence):
        raise ModelError(
            f"The inputs of '{whole.name}' must be a list of paths, got {show(inputs)}.", "Write inputs=['supply.v']."
        )
    named = [("an input", as_name(path)) for path in inputs]
    new = [as_name(key) for key in disturbances if as_name(key) not in whole.disturbances]
    named += [("a disturbance", path) for key in new for path in as_tuple(key)]
    named += [("a number", path) for path in declared if path in whole.inputs]
    roles: dict[str, str] = {}
    for role, path in named:
        if path not in whole.inputs:
            raise _explain_no_input(whole, path, role)
        if path in roles:
            again = f"{role} twice" if roles[path] == role else f"both {roles[path]} and {role}"
            raise ModelError(f"'{path}' cannot be {again}.", "Keep one of the two.")
        roles[path] = role
    return roles


def _explain_no_input(whole: Parts, path: str, role: str) -> ModelError:
    if path in whole.unknowns:
        return ModelError(
            f"'{path}' cannot be {role}: it is determined by its part.",
            "Only inputs of parts, such as those of sources, can be driven from outside.",
        )
    if path in whole.parameters:
        return ModelError(
            f"'{path}' cannot be {role}: it is a parameter.", "Give it a value under parameters, or leave it out."
        )
    return whole.explain_missing(path, "input", whole.inputs)


def _check_driven(whole: Parts, roles: Mapping[str, str], driven: Sequence[str]) -> None:
    """Every input of a part must be one thing at the top."""
    for path in driven:
        if path in roles:
            raise ModelError(f"'{path}' cannot be both {roles[path]} and connected.", "Keep one of the two.")
    left = [path for path in whole.inputs if path not in roles and path not in driven]
    if left:
        raise ModelError(
            f"Nothing drives {quoted(left)} of '{whole.name}'.",
            f"List {'it' if len(left) == 1 else 'each'} under inputs or disturbances, give it a number under "
            f"parameters, or connect it: ('part.signal', '{left[0]}').",
        )
