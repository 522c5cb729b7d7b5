"""Connections: ports whose potentials become equal and whose flows sum to zero, and signals that are equal."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from daedal.errors import ModelError, counted, list_entries, quoted, show, with_article
from daedal.models.parts import Parts
from daedal.models.port import Port
from daedal.symbolic import NAME, Equation, as_expression, intern_symbol


@dataclass(frozen=True)
class Connections:
    """Groups of connected ports and of connected signals."""

    nodes: tuple[tuple[str, ...], ...]
    signals: tuple[tuple[str, ...], ...]


def sort_connections(parts: Parts, connections: Any) -> Connections:
    """The connections by kind; those that share a port or a signal are joined."""
    ports, signals = [], []
    for connection in _check_connections(connections):
        is_port = [path in parts.ports for path in connection]
        for path in connection:
            if path not in parts.ports and not parts.has_signal(path):
                what = ("port", parts.ports) if any(is_port) else ("port or signal", [*parts.ports, *parts.signals])
                raise parts.explain_missing(path, *what)
        if any(is_port) and not all(is_port):
            port, signal = connection[is_port.index(True)], connection[is_port.index(False)]
            raise ModelError(
                f"The connection {connection} joins the port '{port}' with the signal '{signal}'.",
                "Connect ports with ports and signals with signals.",
            )
        (ports if is_port[0] else signals).append(connection)
        if is_port[0]:
            _check_alike(parts, connection)
    return Connections(_join(ports), _join(signals))


def _check_connections(connections: Any) -> list[tuple[str, ...]]:
    remedy = "Write connections=[('supply.p', 'winding.p'), ...]."
    entries = list_entries(connections)
    if isinstance(connections, Mapping) or entries is None:
        raise ModelError(f"The connections must be a list of tuples of paths, got {show(connections)}.", remedy)
    checked = []
    for connection in entries:
        if isinstance(connection, str) or not isinstance(connection, Sequence) or len(connection) < 2:
            raise ModelError(f"A connection must be two or more paths, got {show(connection)}.", remedy)
        for path in connection:
            if not isinstance(path, str):
                raise ModelError(f"A path must be a text, got {show(path)}.", "Write for example 'motor.p'.")
        repeated = [path for path in connection if list(connection).count(path) > 1]
        if repeated:
            raise ModelError(f"'{repeated[0]}' is connected to itself.", "Name each port or signal once.")
        checked.append(tuple(connection))
    return checked


def _check_alike(parts: Parts, connection: Sequence[str]) -> None:
    """Only ports of one domain, with as many variables, can be connected."""
    path, first = connection[0], parts.ports[connection[0]]
    for other, port in ((path, parts.ports[path]) for path in connection[1:]):
        if port.domain != first.domain:
            raise ModelError(
                f"'{path}' is {with_article(first.domain)} port and '{other}' {with_article(port.domain)} one: they "
                f"cannot be connected.",
                "Put a component between them that belongs to both domains.",
            )
        if len(port.potentials) != len(first.potentials):
            raise ModelError(
                f"'{path}' has {counted(len(first.potentials), 'potential')} and '{other}' {len(port.potentials)}: "
                f"they cannot be connected.",
                "Give one of the two kinds of port a domain of its own.",
            )


def _join(connections: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Connections that have a path in common as one."""
    group_of: dict[str, dict[str, None]] = {}
    for connection in connections:
        merged: dict[str, None] = {}
        for path in connection:
            merged |= group_of.get(path, {})
        merged |= dict.fromkeys(connection)
        group_of |= dict.fromkeys(merged, merged)
    return tuple({id(group): tuple(group) for group in group_of.values()}.values())


def make_offered_ports(parts: Parts, paths: Mapping[str, str]) -> dict[str, Port]:
    """The ports of the assembly: like those of the parts, with variables of their own."""
    offered = {}
    for label, path in paths.items():
        if not isinstance(label, str) or not NAME.fullmatch(label) or "." in label or label in parts.labels:
            taken = ", but a part is called so" if label in parts.labels else ""
            raise ModelError(
                f"A port of '{parts.name}' must be called by a word, got {show(label)}{taken}.", "Rename it."
            )
        if not isinstance(path, str):
            raise ModelError(f"A path must be a text, got {show(path)}.", "Write for example 'motor.p'.")
        inner = parts.find_port(path)
        names = {symbol.sx.name(): f"{label}.{symbol.sx.name().rsplit('.', 1)[-1]}" for symbol in inner.symbols}
        offered[label] = inner.renamed(names)
    return offered


def write_node_equations(
    parts: Parts, nodes: Sequence[Sequence[str]], offered: Mapping[str, Port], ports: Mapping[str, str]
) -> dict[str, Equation]:
    """Potentials equal, flows summing to zero or to what enters at a port of the assembly; none where it ends."""
    connected = {path for node in nodes for path in node}
    equations: dict[str, Equation] = {}
    for node in [*nodes, *((path,) for path in parts.ports if path not in connected)]:
        outside = [label for label, path in ports.items() if path in node]
        first = parts.ports[node[0]]
        for k, potential in enumerate(first.potentials):
            index = f"[{k}]" if len(first.potentials) > 1 else ""
            for path in node[1:]:
                equations[f"{node[0]} = {path}{index}"] = parts.ports[path].potentials[k] == potential
            for label in outside:
                equations[f"{label} = {node[0]}{index}"] = offered[label].potentials[k] == potential
            total = reduce(add, (parts.ports[path].flows[k] for path in node))
            entering = reduce(add, (offered[label].flows[k] for label in outside), as_expression(0.0, "flow"))
            what = "flows at" if len(node) > 1 or outside else "no flow into"
            equations[f"{what} {node[0]}{index}"] = total == entering
    return equations


def write_signal_equations(
    parts: Parts, signals: Sequence[Sequence[str]], determined: Collection[str]
) -> tuple[dict[str, Equation], list[str]]:
    """Connected signals equal to the one that is determined; and the inputs of parts that become unknowns thereby.

    `determined` are the inputs of parts that are determined at the top: one of them may drive others.
    """
    equations, driven = {}, []
    for group in signals:
        sources = [path for path in group if path not in parts.inputs] or [path for path in group if path in determined]
        if len(sources) > 1:
            raise ModelError(
                f"The signals {quoted(sources)} are connected, but each is already determined.",
                "Connect one of them to inputs of parts that nothing else drives.",
            )
        if sources:
            for path in (path for path in group if path != sources[0]):
                equations[f"{sources[0]} = {path}"] = intern_symbol(path) == parts.find_expression(sources[0])
                driven.append(path)
    return equations, driven
