"""`TransferFunction`: a linear system between one or several inputs and an output, by the coefficients of its equation.

    a_n y⁽ⁿ⁾ + … + a_1 y' + a_0 y = Σ_inputs (b_m u⁽ᵐ⁾ + … + b_1 u' + b_0 u)(t − delay),   m ≤ n

Coefficients are lists with the highest power first, as for `FilteredNoise`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from daedal import analysis
from daedal.data import FrozenMapping, frozen
from daedal.errors import ModelError, as_float, is_one_of, is_real, list_entries, nearest, show
from daedal.models import Parameter
from daedal.symbolic import NAME, Expression, delay, der, symbol

if TYPE_CHECKING:
    from daedal.models import Model

MOST = 1000  # coefficients


@final
@dataclass(frozen=True, eq=False)
class TransferFunction:
    """numerator(s) / denominator(s) from inputs to an output, highest power first.

    Parameters
    ----------
    numerator
        Coefficients, or input → coefficients for several inputs.
    denominator
        Coefficients; at least as many as any numerator has.
    delay
        By how much the input acts later, in the time unit of the data; or input → delay.
    input, output
        Names; `input` is not used when the numerator names its inputs.

    Examples
    --------
    >>> print(TransferFunction(numerator=[1.0], denominator=[1.0, 2.8, 1.0]))
    y = 1 / (s² + 2.8 s + 1) u
    """

    numerator: Any
    denominator: Any  # stored as an array
    delay: Any = 0.0
    input: str = "u"
    output: str = "y"

    def __post_init__(self) -> None:
        if isinstance(self.numerator, Mapping):
            numerators = {_as_name(key): _as_coefficients(value, "numerator") for key, value in self.numerator.items()}
        else:
            numerators = {_as_name(self.input): _as_coefficients(self.numerator, "numerator")}
        if not numerators:
            raise ModelError("A transfer function needs an input.", "Write numerator={'u': [1.0]}.")
        denominator = _as_coefficients(self.denominator, "denominator")
        for key, values in numerators.items():
            if values.size > denominator.size:
                raise ModelError(
                    f"The transfer function from '{key}' has {values.size - 1} zeros for {denominator.size - 1} poles: "
                    "it is improper.",
                    "Give the numerator at most as many coefficients as the denominator.",
                )
        with np.errstate(over="ignore"):
            monic = np.concatenate([*numerators.values(), denominator]) / denominator[0]
        if not np.isfinite(monic).all():
            raise ModelError(
                f"The denominator begins with {denominator[0]:g}, too small to divide the other coefficients by.",
                "Leave it out, or use other units.",
            )
        object.__setattr__(self, "numerator", FrozenMapping(numerators))
        object.__setattr__(self, "denominator", denominator)
        object.__setattr__(self, "delay", FrozenMapping(_as_delays(self.delay, numerators)))
        object.__setattr__(self, "input", next(iter(numerators)))
        object.__setattr__(self, "output", _as_name(self.output))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(self.numerator)

    @property
    def order(self) -> int:
        """How many poles it has."""
        return len(self.denominator) - 1

    @property
    def input_order(self) -> int:
        """The highest derivative of an input."""
        return max(len(values) - 1 for values in self.numerator.values())

    @property
    def monic(self) -> "TransferFunction":
        """The same with a denominator that begins with one."""
        leading = self.denominator[0]
        numerators = {name: values / leading for name, values in self.numerator.items()}
        return TransferFunction(numerators, np.asarray(self.denominator) / leading, self.delay, output=self.output)

    @property
    def poles(self) -> np.ndarray:
        """Roots of the denominator."""
        return np.roots(self.denominator)

    @property
    def stable(self) -> bool:
        """Whether all poles have negative real parts."""
        return bool(np.all(np.real(self.poles) < 0.0))

    def zeros(self, name: str | None = None) -> np.ndarray:
        """Roots of the numerator of an input."""
        return np.roots(self._find_numerator(name))

    def gain(self, name: str | None = None) -> float:
        """The steady output for a constant input of one; infinite with a pole at zero."""
        last = float(self.denominator[-1])
        return float(self._find_numerator(name)[-1]) / last if last else float("inf")

    def response(self, s: Any, name: str | None = None) -> Any:
        """The value at complex s, delay included: at s = iω the frequency response."""
        at = analysis.check_points(s)
        key = self.inputs[0] if name is None else name
        below = np.polyval(self.denominator, at)
        if not np.all(below):
            raise ModelError(
                f"The transfer function has no value at s = {s!r:.200}, a pole.", "Give a value beside it."
            )
        value = np.polyval(self._find_numerator(name), at) / below
        return value * np.exp(-self.delay[key] * at)

    def _find_numerator(self, name: str | None) -> np.ndarray:
        key = self.inputs[0] if name is None else show(name, str)
        if key not in self.numerator:
            raise ModelError(f"The transfer function has no input '{key}'.", nearest(key, self.inputs))
        return self.numerator[key]

    def to_model(self, initial: Literal["zero", "free"] = "zero", name: str = "transfer function") -> "Model":
        """The same as a Model with parameters a0, a1, … and b0, b1, … (b0_u, … for several inputs), monic.

        `initial` says whether it starts from rest, or from values that are parameters (x0, x1, …) too. Delays stay
        numbers: to estimate one, use `select_order(...).fit`, or write `delay(u, tau)` in a model of your own.
        """
        from daedal.models import Model

        if not is_one_of(initial, ("zero", "free")):
            raise ModelError(f"initial must be 'zero' or 'free', got {show(initial)}.", "Write initial='free'.")
        tf = self.monic
        parameters: dict[Expression, Any] = {}
        equations, unknowns, terms = {}, [], []
        starts: dict[Any, Any] = {}
        taken = {*tf.inputs, tf.output}

        def own_symbol(text: str) -> Expression:
            """A symbol that no input or output is called by."""
            return own_symbol(f"{text}_") if text in taken else symbol(text)

        a = [own_symbol(f"a{k}") for k in range(tf.order)]
        parameters |= {parameter: float(value) for parameter, value in zip(a, tf.denominator[:0:-1], strict=True)}
        for key, numerator in tf.numerator.items():
            suffix = f"_{key}" if len(tf.inputs) > 1 else ""
            x, u = own_symbol(f"x{suffix}"), symbol(key)
            b = [own_symbol(f"b{k}{suffix}") for k in range(len(numerator))]
            parameters |= {parameter: float(value) for parameter, value in zip(b, numerator[::-1], strict=True)}
            late = delay(u, tf.delay[key]) if tf.delay[key] > 0.0 else u
            chain = [x]
            for _ in range(tf.order):
                chain.append(der(chain[-1]))
            own = sum((c * d for c, d in zip(a, chain[:-1], strict=True)), chain[-1])
            equations[f"response to {key}"] = own == late
            unknowns.append(x)
            terms += [c * d for c, d in zip(b, chain, strict=False)]
            first = not starts
            for k, derivative in enumerate(chain[:-1]):
                if initial == "free" and first:  # one response can take up the whole start
                    value = own_symbol(f"x{k}_start")
                    parameters[value] = Parameter(0.0)
                    starts[derivative] = value
                else:
                    starts[derivative] = 0.0
        output = terms[0]
        for term in terms[1:]:
            output = output + term
        return Model(
            name=name,
            equations=equations,
            unknowns=unknowns,
            inputs=[symbol(key) for key in tf.inputs],
            outputs={tf.output: output},
            parameters=parameters,
            initial=starts,
            # From rest means that nothing was on its way either.
            history={symbol(key): 0.0 for key in tf.inputs if initial == "zero" and tf.delay[key] > 0.0},
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TransferFunction) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        numerators = {name: values.tolist() for name, values in self.numerator.items()}
        return (
            f"TransferFunction(numerator={numerators!r}, denominator={self.denominator.tolist()!r}, "  # type: ignore[union-attr]
            f"delay={dict(self.delay)!r}, output={self.output!r})"
        )

    def _repr_html_(self) -> str:
        from daedal.tables import write_html

        return write_html(str(self).split("\n"))

    def __str__(self) -> str:
        below = _write_polynomial(self.denominator)
        parts = []
        for name, values in self.numerator.items():
            above = _write_polynomial(values)
            late = f" exp(-{self.delay[name]:.5g} s)" if self.delay[name] else ""
            parts.append(f"{_bracket(above)} / {_bracket(below)}{late} {name}")
        return f"{self.output} = {' + '.join(parts)}"


def _as_name(given: Any) -> str:
    text = show(given, str)
    if not NAME.fullmatch(text):
        raise ModelError(f"An input or output must have a name such as 'u', got {show(given)}.", "Write input='u'.")
    return text


def _as_coefficients(values: Any, what: str) -> np.ndarray:
    listed: list[Any] = list_entries(values) or []
    if len(listed) > MOST:
        raise ModelError(
            f"The {what} of a transfer function may have {MOST} coefficients, got {len(listed)}.",
            "Give its parts transfer functions of their own.",
        )
    if not listed:
        raise ModelError(
            f"The {what} of a transfer function must be a list of numbers, got {show(values)}.",
            "Write [1.0, 2.8, 1.0], highest power first.",
        )
    if not all(_is_number(number) for number in listed):
        raise ModelError(
            f"The {what} of a transfer function must be finite numbers, got {show(values)}.",
            "Give numbers; for parameters to estimate use to_model().",
        )
    numbers = np.array(listed, dtype=float)
    if numbers[0] == 0.0 and (what == "denominator" or numbers.size > 1):
        raise ModelError(
            f"The {what} of a transfer function must not begin with zero, got {show(values)}.",
            "Leave leading zeros out.",
        )
    return frozen(numbers)


def _is_number(value: Any) -> bool:
    return is_real(value) and not isinstance(value, bool) and bool(np.isfinite(as_float(value)))


def _as_delays(given: Any, numerators: Mapping[str, Any]) -> dict[str, float]:
    by_input: dict[str, Any] = dict(given) if isinstance(given, Mapping) else dict.fromkeys(numerators, given)
    for name, value in by_input.items():
        if name not in numerators:
            missing = show(name, str)
            raise ModelError(f"There is no input '{missing}' to delay.", nearest(missing, numerators))
        if not is_real(value) or isinstance(value, bool) or not 0.0 <= as_float(value) < np.inf:
            raise ModelError(
                f"The delay of '{name}' must be a time from zero on, got {show(value)}.", "Write delay=0.5."
            )
    return {name: float(by_input[name]) if name in by_input else 0.0 for name in numerators}


def _write_polynomial(values: Any) -> str:
    """s² + 2.8 s + 1."""
    terms = []
    for power, value in zip(range(len(values) - 1, -1, -1), values, strict=True):
        if value == 0.0 and len(values) > 1:
            continue
        variable = "" if power == 0 else "s" if power == 1 else "s" + str(power).translate(_RAISED)
        number = f"{abs(value):.5g}"
        number = "" if number == "1" and variable else number
        terms.append(("−" if value < 0 else "+", " ".join(filter(None, (number, variable)))))
    text = " ".join(f"{sign} {term}" for sign, term in terms)
    return text.removeprefix("+ ").replace("− ", "−", 1) if text.startswith("−") else text.removeprefix("+ ")


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def _bracket(text: str) -> str:
    return f"({text})" if " " in text and any(sign in text[1:] for sign in "+−") else text
