"""`Port`: where a component meets others; potentials become equal there and flows sum to zero."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, final

from daedal.errors import ModelError
from daedal.symbolic import NAME, Equation, Expression, interned, operator, renamed

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
    >>> from daedal import symbols
    >>> p, m_flow = symbols("p m_flow")
    >>> Port("water", p, m_flow)
    Port('water', p, m_flow)
    """

    domain: str
    potential: Expression | tuple[Expression, ...]
    flow: Expression | tuple[Expression, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.domain, str) or not self.domain:
            raise ModelError(f"The domain of a port must be a text, got {self.domain!r}.", "Write 'electrical'.")
        for role in ("potential", "flow"):
            for symbol in _tuple(getattr(self, role)):
                if not isinstance(symbol, Expression) or not symbol.is_symbol or operator(symbol.sx.name()):
                    raise ModelError(
                        f"The {role} of a port must be a symbol or a tuple of symbols, got {symbol!r}.",
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
        return _tuple(self.potential)

    @property
    def flows(self) -> tuple[Expression, ...]:
        """The flows as a tuple."""
        return _tuple(self.flow)

    @property
    def symbols(self) -> tuple[Expression, ...]:
        """All its variables."""
        return (*self.potentials, *self.flows)

    def renamed(self, names: Mapping[str, str]) -> "Port":
        """The port with other names for its symbols."""

        def change(given: Any) -> Any:
            changed = tuple(interned(names.get(s.sx.name(), s.sx.name())) for s in _tuple(given))
            return changed if isinstance(given, tuple) else changed[0]

        return Port(self.domain, change(self.potential), change(self.flow))

    def __repr__(self) -> str:
        return f"Port({self.domain!r}, {self.potential}, {self.flow})"


def new_port(domain: str, potential: str, flow: str) -> Port:
    """A port with symbols of its own, which are called after it: `flange_a.phi` for phi of a port 'flange_a'.

    Examples
    --------
    >>> a = new_port("rotational", "phi", "tau")
    >>> a.domain
    'rotational'
    """
    number = next(_numbers)
    return Port(domain, *(interned(f"{name}{MARK}{number}") for name in (potential, flow)))


def named_ports(raw: dict[str, Any]) -> dict[str, Any]:
    """The fields of a Model with its ports' symbols named after them, and listed among the unknowns."""
    ports = raw["ports"]
    if not isinstance(ports, Mapping) or not ports:
        return raw
    for label, port in ports.items():
        if not isinstance(label, str) or not NAME.fullmatch(label) or not isinstance(port, Port):
            raise ModelError(
                f"The ports of a model must be a mapping from names to Port, got {label!r}: {port!r}.",
                "Write ports={'flange': Port('rotational', phi, tau)}.",
            )
    names = _given_names(ports)
    made = {field: _renamed(value, names) for field, value in raw.items() if field != "ports"} if names else dict(raw)
    made["ports"] = {label: port.renamed(names) for label, port in ports.items()}
    declared = {str(each) for field in ("unknowns", "inputs") for each in made[field]} | set(
        map(str, made["parameters"])
    )
    variables = [symbol for port in made["ports"].values() for symbol in port.symbols]
    made["unknowns"] = (*made["unknowns"], *(each for each in variables if str(each) not in declared))
    return made


def _given_names(ports: Mapping[str, Port]) -> dict[str, str]:
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


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Everything that may contain a symbol with the new names."""
    if isinstance(value, Expression):
        return renamed(value, names)
    if isinstance(value, Equation):
        return Equation(renamed(value.lhs, names), renamed(value.rhs, names))
    if isinstance(value, Mapping):
        return {_renamed(key, names): _renamed(each, names) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(_renamed(each, names) for each in value)
    return value


def _tuple(given: Any) -> tuple[Any, ...]:
    return given if isinstance(given, tuple) else (given,)
