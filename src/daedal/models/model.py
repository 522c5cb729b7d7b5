"""`Model`: the equations of a physical system with everything declared about them; pure data.

Declared with symbols, afterwards used by name: `unknowns` and `inputs` are tuples of symbols, all mappings have names
as keys. A Model says nothing about how it is solved.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import casadi as ca

from daedal import models
from daedal.data import FrozenMapping
from daedal.errors import ModelError, counted, nearest, quoted, show
from daedal.models.contradictions import refuse_contradictions
from daedal.models.declarations import as_name, as_tuple, normalize
from daedal.models.parameter import Parameter, as_parameter
from daedal.models.parameter_formulas import ParameterFormulas, sort_in_rounds
from daedal.symbolic import Delayed, Equation, Expression, find_operator, intern_symbol, list_symbols

if TYPE_CHECKING:
    from daedal.disturbances import Noise
    from daedal.models.port import Port


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Model:
    """A system of equations, its unknowns, and what is known about the rest.

    Parameters
    ----------
    name
        What the model is called in tables and messages.
    equations
        Name → equation, made with `==`; of any index, any derivative, in any order.
    unknowns
        The symbols the equations determine.
    inputs
        Symbols whose values come from data.
    outputs
        Name → expression that is measured or wanted.
    parameters
        Symbol → number, expression of other parameters, or `Parameter`.
    disturbances
        Symbol (or a tuple of symbols) → noise declaration: what drives the system unmeasured.
    measurement_noise
        Output → standard deviation: number, one per sample, or expression of parameters and of the output itself, by
        its name (``{"level": np.hypot(0.05 * symbol("level"), 0.01)}``: five percent, and what is there at zero); a
        tuple of outputs → covariance matrix.
    initial
        Unknown, or derivative of one → value held at the start; numbers or expressions of parameters.
    guess
        The same, as hints; what `initial` leaves open is held here (0 where nothing is given).
    history
        Unknown → value up to the start, for delays; may contain parameters and `time`, which counts as in the data. An
        input too: what it was before its first sample (its first value where nothing is said).
    defaults
        Input → the number that it is where data lack it; used ones are among the notes of a result.
    ports
        Name → `Port`, where the model is connected to others (`assemble`); its variables are unknowns too.
    units
        Unknown, input, disturbance, output, or "time" → text, for tables and pictures; nothing is converted. The unit
        of a parameter belongs to its `Parameter`.

    Examples
    --------
    >>> from daedal.symbolic import der, symbols
    >>> x, k = symbols("x k")
    >>> Model(name="decay", equations={"rate": der(x) == -k * x}, unknowns=[x], parameters={k: 2.0}, initial={x: 1.0})
    Model('decay': 1 equation, unknown 'x')
    """

    name: str
    equations: Mapping[str, Equation]
    unknowns: Sequence[Expression]
    inputs: Sequence[Expression] = ()
    # Symbols or names are taken as keys and plain numbers as values; names, Expression, Parameter and Noise are stored.
    outputs: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[Any, Any] = field(default_factory=dict)
    disturbances: Mapping[Any, Any] = field(default_factory=dict)
    measurement_noise: Mapping[Any, Any] = field(default_factory=dict)
    initial: Mapping[Any, Any] = field(default_factory=dict)
    guess: Mapping[Any, Any] = field(default_factory=dict)
    history: Mapping[Any, Any] = field(default_factory=dict)
    defaults: Mapping[Any, float] = field(default_factory=dict)
    ports: "Mapping[str, Port]" = field(default_factory=dict)
    units: Mapping[Any, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = {f: getattr(self, f) for f in self.__dataclass_fields__}
        normal = normalize(models.name_ports(given) if isinstance(self.ports, Mapping) and self.ports else given)
        for key, value in normal.items():
            object.__setattr__(self, key, FrozenMapping(value) if isinstance(value, dict) else value)
        refuse_contradictions(self)

    def __getitem__(self, key: str | Expression) -> Expression:
        """The expression of an output, or the symbol of that name."""
        name = as_name(key)
        if name in self.outputs:
            return self.outputs[name]
        if name not in self.names:
            raise ModelError(
                f"Model '{self.name}' has nothing called '{name}'.", nearest(str(name), [*self.names, *self.outputs])
            )
        return intern_symbol(name)

    @property
    def names(self) -> dict[str, str]:
        """Every symbol's name → what it is: unknown, input, disturbance or parameter."""
        roles = dict.fromkeys(self.unknown_names, "unknown") | dict.fromkeys(self.input_names, "input")
        roles |= dict.fromkeys(self.disturbance_names, "disturbance")
        return roles | dict.fromkeys(self.parameters, "parameter")

    @cached_property
    def formulas(self) -> tuple[ParameterFormulas, ...]:
        """The parameters whose values are expressions of others, in the order of their evaluation."""
        return sort_in_rounds({name: parameter.value for name, parameter in self.parameters.items()})

    @cached_property
    def delayed(self) -> dict[str, Delayed]:
        """What equations and outputs contain of the past: symbol → what is delayed, and by how much."""
        sides = [side for equation in self.equations.values() for side in (equation.lhs, equation.rhs)]
        leaves = list_symbols(ca.vertcat(*(side.sx for side in (*sides, *self.outputs.values()))))
        return {name: meaning for name in leaves if isinstance(meaning := find_operator(name), Delayed)}

    @property
    def unknown_names(self) -> tuple[str, ...]:
        """Names of the unknowns, in their order."""
        return tuple(symbol.sx.name() for symbol in self.unknowns)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs, in their order."""
        return tuple(symbol.sx.name() for symbol in self.inputs)

    @property
    def disturbance_names(self) -> tuple[str, ...]:
        """Names of the disturbances; those of a tuple one after the other."""
        return tuple(name for key in self.disturbances for name in as_tuple(key))

    def with_parameters(self, changes: Mapping[Any, Any]) -> "Model":
        """Other values: a number keeps the bounds, a `Parameter` replaces everything, None removes.

        A new parameter is given by its symbol; a name must be known.
        """

        def change(name: str, value: Any) -> Parameter:
            known = self.parameters.get(name)
            new = as_parameter(value, name)
            return new if known is None or isinstance(value, Parameter) else known.with_value(new.value)

        _check_known(self.parameters, changes, "parameter")
        return replace(self, parameters=_merge(self.parameters, changes, change))

    def with_disturbances(self, changes: Mapping[Any, "Noise | None"]) -> "Model":
        """Other disturbances; None removes one, and its symbol must then be an input or a parameter.

        A new disturbance is given by its symbol; a name must be known.
        """
        _check_known(self.disturbances, changes, "disturbance")
        return replace(self, disturbances=_merge(self.disturbances, changes))

    def with_outputs(self, changes: Mapping[str, Expression | None]) -> "Model":
        """Other outputs, merged by name; None removes one, its measurement noise and unit with it."""
        outputs = _merge(self.outputs, changes)
        noise = {
            key: value
            for key, value in self.measurement_noise.items()
            if all(name in outputs for name in as_tuple(key))
        }
        known = {"time", *self.names, *outputs}
        units = {name: unit for name, unit in self.units.items() if name in known}
        return replace(self, outputs=outputs, measurement_noise=noise, units=units)

    def with_measurement_noise(self, changes: Mapping[Any, Any]) -> "Model":
        """Other measurement accuracies, merged by output; None removes one."""
        return replace(self, measurement_noise=_merge(self.measurement_noise, changes))

    def with_initial(self, changes: Mapping[Any, Any]) -> "Model":
        """Other values held at the start, merged by unknown; None releases one."""
        return replace(self, initial=_merge(self.initial, changes))

    def with_guess(self, changes: Mapping[Any, Any]) -> "Model":
        """Other hints for the start, merged by unknown; None removes one."""
        return replace(self, guess=_merge(self.guess, changes))

    def with_defaults(self, changes: Mapping[Any, float | None]) -> "Model":
        """Other numbers for inputs that data lack, merged by input; None removes one."""
        return replace(self, defaults=_merge(self.defaults, changes))

    def with_units(self, changes: Mapping[Any, str | None]) -> "Model":
        """Other units, merged by name; None removes one."""
        return replace(self, units=_merge(self.units, changes))

    def with_presampling_filter(self, time_constants: Mapping[str, Any]) -> "Model":
        """Outputs seen through first-order low-pass sensors: T·der(filtered) == h − filtered, output = filtered.

        Makes the variance of an output finite that white noise reaches (`check_noise`). The time constants are numbers
        or expressions of parameters, in seconds; where the sensors start is left open.

        Examples
        --------
        >>> from daedal.symbolic import der, symbols
        >>> x, y = symbols("x y")
        >>> model = Model(name="m", equations={"x": der(x) == -x}, unknowns=[x], outputs={"y": x})
        >>> print(model.with_presampling_filter({"y": 0.01}).equations["presampling filter of 'y'"])
        0.01*der(y.filtered) == x - y.filtered
        """
        from daedal.models.sensors import add_presampling_filter

        return add_presampling_filter(self, time_constants)

    def with_integrating_sampling(self, windows: Mapping[str, float]) -> "Model":
        """Outputs averaged over a window before each sample, in seconds: der(integral) == h, integral = 0 at the start,
        output = (integral − delay(integral, window)) / window.

        Makes the variance of an output finite that white noise reaches (`check_noise`).

        Examples
        --------
        >>> from daedal.symbolic import der, symbol
        >>> x = symbol("x")
        >>> model = Model(name="m", equations={"x": der(x) == -x}, unknowns=[x], outputs={"y": x})
        >>> model.with_integrating_sampling({"y": 0.5})["y"]
        2*(y.integral - delay(y.integral, 0.5))
        """
        from daedal.models.sensors import add_integrating_sampling

        return add_integrating_sampling(self, windows)

    @staticmethod
    def from_descriptor(
        *,
        name: str,
        E: Any,
        F: Any,
        G: Any = None,
        J: Any = None,
        H: Any = None,
        f: Any = None,
        variables: Sequence[Any] | None = None,
        inputs: Sequence[Any] | None = None,
        disturbances: "Mapping[Any, Noise] | Sequence[Noise] | None" = None,
        outputs: Sequence[str] | None = None,
        equations: Sequence[str] | None = None,
        parameters: Mapping[Any, Any] | None = None,
        measurement_noise: Mapping[Any, Any] | None = None,
        initial: Mapping[Any, Any] | None = None,
        guess: Mapping[Any, Any] | None = None,
    ) -> "Model":
        """The linear model E ż = F z + G u + J w + f, y = H z; `descriptor` gives the matrices back.

        Parameters
        ----------
        name
            What the model is called.
        E, F, G, J, H
            Arrays or lists of rows; entries are numbers or expressions of parameters. E may be singular.
        f
            Constant term, one entry per row of E.
        variables, inputs, outputs, equations
            Names, one per column of E, column of G, row of H and row of E; z[0], u[0], y[0], row[0], … when left out.
        disturbances
            Noise declarations in the order of the columns of J: name → noise, or a list (w[0], w[1], …).
        parameters, measurement_noise, initial, guess
            As for `Model`.

        Examples
        --------
        >>> from daedal.symbolic import symbol
        >>> k = symbol("k")
        >>> print(Model.from_descriptor(name="lag", E=[[1.0]], F=[[-k]], G=[[k]], H=[[1.0]], parameters={k: 2.0}))
        model 'lag'
          row[0]  der(z[0]) == k*u[0] - k*z[0]
          unknowns: z[0]
          inputs: u[0]
          outputs: y[0] = z[0]
          parameters: k = 2.0
        """
        from daedal.models.from_descriptor import build_from_matrices

        return build_from_matrices(
            name=name,
            E=E,
            F=F,
            G=G,
            J=J,
            H=H,
            f=f,
            variables=variables,
            inputs=inputs,
            disturbances=disturbances,
            outputs=outputs,
            equations=equations,
            parameters={} if parameters is None else parameters,
            measurement_noise={} if measurement_noise is None else measurement_noise,
            initial={} if initial is None else initial,
            guess={} if guess is None else guess,
        )

    def to_text(self) -> str:
        """The model as TOML text, which `Model.from_text` reads back."""
        from daedal.models.text import write_model

        return write_model(self)

    @staticmethod
    def from_text(text: str) -> "Model":
        """The model written in `text`; reading never executes code."""
        from daedal.models.text import read_model

        return read_model(text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self.to_text() == other.to_text()

    def __hash__(self) -> int:
        return hash(self.to_text())

    def __reduce__(self) -> tuple[Callable[[str], "Model"], tuple[str]]:
        return Model.from_text, (self.to_text(),)

    def __repr__(self) -> str:
        unknowns = f"unknown{'s' * (len(self.unknowns) != 1)} {quoted(self.unknown_names)}"
        return f"Model('{self.name}': {counted(len(self.equations), 'equation')}, {unknowns})"

    def _repr_html_(self) -> str:
        """Equations typeset, the rest as it is printed."""
        from html import escape

        from daedal.symbolic import write_mathml
        from daedal.tables import write_html

        first, *others = str(self).split("\n")
        left = "text-align:left"
        rows = "".join(
            f'<tr><th style="{left}">{escape(name)}</th><td style="{left}">{write_mathml(one)}</td></tr>'
            for name, one in self.equations.items()
        )
        said = write_html([first, *others[len(self.equations) :]])
        return said.replace("</b></p>", f"</b></p>\n<table>{rows}</table>", 1)

    def _ipython_key_completions_(self) -> list[str]:
        return [*self.outputs, *self.names]

    def __str__(self) -> str:
        width = max([0, *(len(name) for name in self.equations)])
        lines = [f"model '{self.name}'"] + [
            f"  {name:<{width}}  {equation}" for name, equation in self.equations.items()
        ]
        rows = {
            "unknowns": self.unknown_names,
            "inputs": self.input_names,
            "outputs": [f"{name} = {value}" for name, value in self.outputs.items()],
            "parameters": [_describe_parameter(name, one) for name, one in self.parameters.items()],
            "disturbances": [f"{' '.join(as_tuple(key))}: {noise!r}" for key, noise in self.disturbances.items()],
            "measurement noise": [f"{' '.join(as_tuple(k))}: {v!r}" for k, v in self.measurement_noise.items()],
            "held at the start": [f"{name} = {value}" for name, value in self.initial.items()],
            "guessed": [f"{name} = {value}" for name, value in self.guess.items()],
            "history": [f"{name} = {value}" for name, value in self.history.items()],
            "where data lack it": [f"{name} = {value}" for name, value in self.defaults.items()],
            "units": [f"{name} {unit}" for name, unit in self.units.items()],
        }
        return "\n".join(lines + [f"  {title}: {', '.join(values)}" for title, values in rows.items() if values])


def _describe_parameter(name: str, one: Parameter) -> str:
    told = f" ({one.description})" if one.description else ""
    return f"{name} = {one.value!r}{' ' * bool(one.unit)}{one.unit}{told}"


def _merge(
    old: Mapping[Any, Any], changes: Mapping[Any, Any], change: Callable = lambda _, value: value
) -> dict[Any, Any]:
    """The old mapping with changes by key; None removes, and removing what is not there is a mistake."""
    if not isinstance(changes, Mapping):
        raise ModelError(f"Changes must be a mapping name → value, got {show(changes)}.", "Write {'k': 6.25}.")
    merged = dict(old)
    for key, value in changes.items():
        name = as_name(key)
        if value is not None:
            merged[name] = change(name, value)
        elif merged.pop(name, None) is None:
            text, *known = _write_keys([name, *old])
            raise ModelError(f"There is no '{text}' to remove.", nearest(text, known))
    return merged


def _check_known(old: Mapping[Any, Any], changes: Mapping[Any, Any], role: str) -> None:
    """A misspelt name must not declare something new."""
    for key in changes if isinstance(changes, Mapping) else ():
        if isinstance(key, str) and key not in old and changes[key] is not None:
            raise ModelError(
                f"There is no {role} '{key}' to change.",
                f"{nearest(key, _write_keys(old))} A new one is given by its symbol: symbol({key!r}).",
            )


def _write_keys(keys: Iterable[Any]) -> list[str]:
    return [" ".join(as_tuple(key)) for key in keys]
