"""`Port`: where a component meets others; potentials become equal there and flows sum to zero."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, final

import casadi as ca

from daedal.errors import ModelError, show
from daedal.symbolic import NAME, Equation, Expression, find_operator, intern_symbol, list_symbols, rename_symbols

MARK = "~"  # in the name of a symbol that gets its real one from the port it belongs to
_numbers = count(1)


@final
@dataclass(frozen=True, eq=False)
class Port:
    """A place to connect: of a domain, with a potential and a flow, which is positive into the part.

    Parameters
    ----------
    domain
        Any text; only ports of the same domain can be connected.
    potential, flow
        Symbols, or tuples of as many symbols each; equal, and summing to zero, where ports are connected.

    Examples
    --------
    A component is a function that returns a Model with ports. Its symbols are local; those of the ports become
    unknowns. A lake, from which water flows off over a weir:

    >>> from daedal import Model, Parameter, assemble, der, simulate, symbols
    >>> def Lake(area):
    ...     level, inflow, A = symbols("level inflow A")
    ...     return Model(
    ...         name="lake",
    ...         ports={"shore": Port("water", level, inflow)},
    ...         unknowns=[level],
    ...         equations={"balance": A * der(level) == inflow},
    ...         parameters={A: Parameter(area, unit="m2")},
    ...         guess={level: 0.0},
    ...     )
    >>> def Weir(width):
    ...     head, flow, k = symbols("head flow k")
    ...     return Model(
    ...         name="weir",
    ...         ports={"upstream": Port("water", head, flow)},
    ...         unknowns=[],
    ...         equations={"law": flow == k * head},
    ...         parameters={k: width},
    ...     )
    >>> valley = assemble(
    ...     name="valley",
    ...     parts={"lake": Lake(area=10.0), "weir": Weir(width=2.0)},
    ...     connections=[("lake.shore", "weir.upstream")],
    ...     initial={"lake.level": 1.0},
    ... )
    >>> float(simulate(valley, [0.0, 5.0])["lake.level"][-1])  # exp(-5 · 2 / 10) # doctest: +ELLIPSIS
    0.36787944...
    """

    domain: str
    potential: Any  # an Expression or a tuple of them, so that components may calculate with it
    flow: Any

    def __post_init__(self) -> None:
        if not isinstance(self.domain, str) or not self.domain:
            raise ModelError(f"The domain of a port must be a text, got {show(self.domain)}.", "Write 'electrical'.")
        for role in ("potential", "flow"):
            for symbol in _as_tuple(getattr(self, role)):
                if not isinstance(symbol, Expression) or not symbol.is_symbol or find_operator(symbol.sx.name()):
                    raise ModelError(
                        f"The {role} of a port must be a symbol or a tuple of symbols, got {show(symbol)}.",
                        "Make one with symbol('name').",
                    )
        if len(self.potentials) != len(self.flows):
            raise ModelError(
                f"A port must have as many potentials as flows, got {len(self.potentials)} and {len(self.flows)}.",
                "Pair each potential with its flow.",
            )

    @property
    def potentials(self) -> tuple[Expression, ...]:
        """The potentials as a tuple."""
        return _as_tuple(self.potential)

    @property
    def flows(self) -> tuple[Expression, ...]:
        """The flows as a tuple."""
        return _as_tuple(self.flow)

    @property
    def symbols(self) -> tuple[Expression, ...]:
        """All its variables."""
        return (*self.potentials, *self.flows)

    def renamed(self, names: Mapping[str, str]) -> "Port":
        """The port with other names for its symbols."""

        def change(symbols: Any) -> Any:
            changed = tuple(intern_symbol(names.get(s.sx.name(), s.sx.name())) for s in _as_tuple(symbols))
            return changed if isinstance(symbols, tuple) else changed[0]

        return Port(self.domain, change(self.potential), change(self.flow))

    def __repr__(self) -> str:
        return f"Port({self.domain!r}, {self.potential}, {self.flow})"


def make_port(domain: str, potential: str | tuple[str, ...], flow: str | tuple[str, ...]) -> Port:
    """A port with symbols of its own, which are called after it: `flange_a.phi` for phi of a port 'flange_a'.

    Parameters
    ----------
    domain
        As of `Port`.
    potential, flow
        What the symbols are called inside the port; tuples for several.

    Examples
    --------
    >>> a = make_port("rotational", "phi", "tau")
    >>> a.domain
    'rotational'
    """
    number = next(_numbers)

    def intern_symbols(names: Any) -> Any:
        marked = tuple(intern_symbol(f"{name}{MARK}{number}") for name in _as_tuple(names))
        return marked if isinstance(names, tuple) else marked[0]

    return Port(domain, intern_symbols(potential), intern_symbols(flow))


def name_ports(raw: dict[str, Any]) -> dict[str, Any]:
    """The fields of a Model with its ports' symbols named after them, and listed among the unknowns."""
    ports = raw["ports"]
    if not isinstance(ports, Mapping) or not ports:
        return raw
    for label, port in ports.items():
        if not isinstance(label, str) or not NAME.fullmatch(label) or not isinstance(port, Port):
            raise ModelError(
                f"The ports of a model must be a mapping from names to Port, got {show(label)}: {show(port)}.",
                "Write ports={'flange': Port('rotational', phi, tau)}.",
            )
    names = _choose_names(ports)
    named = {field: _rename(value, names) for field, value in raw.items() if field != "ports"} if names else dict(raw)
    named["ports"] = {label: port.renamed(names) for label, port in ports.items()}
    declared = {str(symbol) for field in ("unknowns", "inputs") for symbol in named[field]} | set(
        map(str, named["parameters"])
    )
    variables = [symbol for port in named["ports"].values() for symbol in port.symbols]
    named["unknowns"] = (*named["unknowns"], *(symbol for symbol in variables if str(symbol) not in declared))
    return named


def _choose_names(ports: Mapping[str, Port]) -> dict[str, str]:
    """Unnamed symbol of a port → the name it gets there."""
    names: dict[str, str] = {}
    for label, port in ports.items():
        for symbol in port.symbols:
            text = symbol.sx.name()
            if MARK in text:
                if text in names:
                    raise ModelError(
                        f"The ports '{names[text].rsplit('.', 1)[0]}' and '{label}' are the same object.",
                        "Make a port for each.",
                    )
                names[text] = f"{label}.{text.split(MARK)[0]}"
    return names


def _rename(value: Any, names: Mapping[str, str]) -> Any:
    """Everything that may contain a symbol with the new names."""
    if isinstance(value, Expression):
        return rename_symbols(value, names)
    if isinstance(value, Mapping) and value and all(isinstance(entry, Equation) for entry in value.values()):
        return rename_equations(value, names)
    if isinstance(value, Mapping):
        return {_rename(key, names): _rename(entry, names) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(_rename(entry, names) for entry in value)
    return value


def rename_equations(equations: Mapping[Any, Equation], names: Mapping[str, str]) -> dict[Any, Equation]:
    """All equations with other names for their symbols, in one substitution: that is many times faster."""
    vector = ca.vertcat(*(side.sx for equation in equations.values() for side in (equation.lhs, equation.rhs)))
    changed = {leaf: names[leaf] if leaf in names else _rename_leaf(leaf, names) for leaf in list_symbols(vector)}
    old, new = (ca.vertcat(*(intern_symbol(name).sx for name in side)) for side in (changed, changed.values()))
    sides = iter(ca.vertsplit(ca.substitute(vector, old, new)))
    return {key: Equation(Expression(next(sides)), Expression(next(sides))) for key in equations}


def _rename_leaf(leaf: str, names: Mapping[str, str]) -> str:
    return rename_symbols(intern_symbol(leaf), names).sx.name() if find_operator(leaf) else leaf


def _as_tuple(symbols: Any) -> tuple[Any, ...]:
    return symbols if isinstance(symbols, tuple) else (symbols,)
