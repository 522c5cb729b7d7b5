"""`descriptor`: a linear model as matrices with names, E ż = F z + G u + J w + f, y = H z."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

import numpy as np

from daedal.analysis.equations import Equations
from daedal.analysis.linear_form import LinearForm, extract_linear_form
from daedal.analysis.polynomial_part import find_polynomial_part
from daedal.analysis.structure import check_model, require_offsets
from daedal.data import frozen
from daedal.errors import (
    ModelError,
    RefusalError,
    StructureError,
    counted,
    interruptible,
    often,
    quoted,
    show,
    warn_user,
)
from daedal.linear import (
    SingularPencilError,
    StandardForm,
    balance,
    find_eigenvalues,
    list_rates,
    reduce_to_standard_form,
)
from daedal.models import Model

if TYPE_CHECKING:
    import control

FAR_APART = 16.0  # powers of ten between rates of which double precision holds no sum
UNEVEN = (
    1e-5  # of the largest coefficient of derivatives, in natural units: without smaller ones no rates are far apart
)
SHARE = 0.1  # of the largest: equations and variables with less take no part in a singularity
MOST = 12  # rows and columns up to which matrices are printed entry by entry


@final
@dataclass(frozen=True, eq=False)
class Descriptor:
    """The matrices of a linear model at given values of its parameters.

    Attributes
    ----------
    model
        The model's name.
    E, F, G, J, f, H
        E ż = F z + G u + J w + f, y = H z; read-only. f is a vector.
    variables, equations
        Names of the columns and rows of E and F: the unknowns and equations of the model, and what makes them of first
        order.
    inputs, disturbances, outputs
        Names of the columns of G and J, and of the rows of H.

    Examples
    --------
    >>> from daedal import Model, der, descriptor, symbols
    >>> x, u = symbols("x u")
    >>> lag = Model(name="lag", equations={"lag": 2 * der(x) == u - x}, unknowns=[x], inputs=[u], outputs={"x": x})
    >>> found = descriptor(lag)
    >>> found.E, found.F, found.transfer(0.0).real
    (array([[2.]]), array([[-1.]]), array([[1.]]))
    """

    model: str
    E: np.ndarray
    F: np.ndarray
    G: np.ndarray
    J: np.ndarray
    f: np.ndarray
    H: np.ndarray
    variables: tuple[str, ...]
    equations: tuple[str, ...]
    inputs: tuple[str, ...]
    disturbances: tuple[str, ...]
    outputs: tuple[str, ...]

    @cached_property
    def index(self) -> int:
        """How many differentiations separate the equations from an ordinary differential equation."""
        # An output of more than unknowns is a variable here, and would raise the index of an ordinary equation.
        own = [i for i, name in enumerate(self.variables) if not name.startswith("output '")]
        return split_pencil(self.model, self.E[own][:, own], self.F[own][:, own], self.equations, self.variables).index

    @property
    def states(self) -> int:
        """How many values may be given at the start: the number of finite eigenvalues of λE − F."""
        return self.standard_form().evolving

    @property
    def poles(self) -> np.ndarray:
        """The finite eigenvalues of λE − F, in rad/s, the slowest first."""
        values = find_eigenvalues(self.standard_form().A)
        return values[np.lexsort((np.imag(values), -np.real(values), np.abs(values).round(12)))]

    def standard_form(self) -> StandardForm:
        """P and Q with P E Q = [I 0; 0 N] and P F Q = [A 0; 0 I]."""
        return self._form

    @cached_property
    def _form(self) -> StandardForm:
        return split_pencil(self.model, self.E, self.F, self.equations, self.variables)

    def transfer(self, s: Any) -> np.ndarray:
        """H (sE − F)⁻¹ G at complex s, (output, input); at an array of s, (…, output, input)."""
        points = check_points(s)
        rows, columns, _ = balance(self.E, self.F)
        E, F = (rows[:, None] * matrix * columns for matrix in (self.E, self.F))
        response = np.empty((*points.shape, len(self.outputs), len(self.inputs)), dtype=complex)
        for place, point in np.ndenumerate(points):
            try:
                response[place] = (self.H * columns) @ np.linalg.solve(point * E - F, rows[:, None] * self.G)
            except np.linalg.LinAlgError:
                raise ModelError(
                    f"The transfer function of '{self.model}' has no value at s = {point:g}, a pole of the model.",
                    "Give a value beside it.",
                ) from None
        return response

    def to_control(self) -> "control.StateSpace":
        """The transfer from inputs to outputs as a state space of python-control; constant terms are left out.

        Its names may not contain dots: `supply.v` becomes `supply_v`.
        """
        try:
            import control
        except ImportError:
            raise MissingPackageError(
                "to_control needs the package 'control', which is not installed.", "Install it: pip install control."
            ) from None
        form = self.standard_form()
        direct = find_polynomial_part(self.G, self.H, form)
        if np.any(direct.orders > 0):
            i, j = (int(place) for place in np.argwhere(direct.orders > 0)[0])
            raise ModelError(
                f"Output '{self.outputs[i]}' of model '{self.model}' follows the derivative of input "
                f"'{self.inputs[j]}' (differentiated {often(int(direct.orders[i, j]))}), which a state space cannot.",
                f"Filter the output, model.with_presampling_filter({{'{self.outputs[i]}': ...}}), or remove it.",
            )
        n = form.evolving
        through = np.zeros((len(self.outputs), len(self.inputs)))
        if form.index:
            through = np.where(direct.orders == 0, direct.coefficients[0], through)
        return control.StateSpace(
            form.A,
            (form.P @ self.G)[:n],
            self.H @ form.Q[:, :n],
            through,
            inputs=_replace_dots(self.inputs),
            outputs=_replace_dots(self.outputs),
            name=_replace_dots((self.model,))[0],
        )

    def __str__(self) -> str:
        size = f"{counted(len(self.equations), 'equation')}, index {self.index}, {counted(self.states, 'state')}"
        lines = [f"descriptor form of '{self.model}': {size}"]
        listed = {
            "variables": self.variables,
            "inputs": self.inputs,
            "disturbances": self.disturbances,
            "outputs": self.outputs,
        }
        lines += [f"  {title}: {_shorten(names)}" for title, names in listed.items() if names]
        if self.states:
            lines.append(f"  poles: {_shorten([f'{_simplify(pole):.6g}' for pole in self.poles])}")
        if len(self.variables) <= MOST:
            for key in ("E", "F", "G", "J", "H"):
                matrix = getattr(self, key)
                if matrix.size:
                    text = np.array2string(matrix, precision=6, suppress_small=False, max_line_width=120)
                    lines.append(f"  {key} = {text}".replace("\n", "\n      "))
            if np.any(self.f):
                lines.append(f"  f = {np.array2string(self.f, precision=6, max_line_width=120)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from daedal.tables import write_html

        told, begun, matrices = str(self).partition("\n  E = ")
        shown = f"<pre>{escape(f'  E = {matrices}')}</pre>" if begun else ""
        return f"<div>{write_html(told.splitlines())}{shown}</div>"

    __repr__ = __str__


def check_points(s: Any) -> np.ndarray:
    """Points of the complex plane, at which a transfer function is asked for."""
    try:
        with np.errstate(over="ignore"):  # longer floats become infinite
            points = np.asarray(s, dtype=complex)
    except Exception:  # whatever the method of a stranger raises
        points = np.array(np.nan)
    if not np.isfinite(points).all():
        raise ModelError(f"s must be finite complex numbers, got {show(s):.200}.", "Write 1j*omega.")
    return points


class MissingPackageError(RefusalError, ImportError):
    """An optional package that is needed and not there."""


@interruptible
def descriptor(model: Model, values: Mapping[Any, float] | None = None) -> Descriptor:
    """The matrices of a linear model at the values of its parameters, `values` overriding those.

    Raises `ModelError` naming the first nonlinear term, and `StructureError` naming equations and variables where the
    equations do not determine the unknowns.

    Examples
    --------
    >>> from daedal import Model, der, symbols
    >>> x, y, u = symbols("x y u")
    >>> equations = {"lag": der(x) == -2 * x + y, "law": y == 3 * u}
    >>> lag = Model(name="lag", equations=equations, unknowns=[x, y], inputs=[u], outputs={"x": x})
    >>> print(descriptor(lag))
    descriptor form of 'lag': 2 equations, index 1, 1 state
      variables: x, y
      inputs: u
      outputs: x
      poles: -2
      E = [[1. 0.]
           [0. 0.]]
      F = [[-2.  1.]
           [ 0. -1.]]
      G = [[0.]
           [3.]]
      H = [[1. 0.]]
    """
    form = extract_linear_form(check_model("descriptor", model), "descriptor")
    if form.delays:
        raise ModelError(
            f"The outputs of model '{model.name}' contain {form.variables[form.delays[0].variable]}, and delays have "
            "no descriptor form.",
            "Remove that output with with_outputs({...: None}), or filter it with with_presampling_filter.",
        )
    return evaluate_descriptor(model, form, values)


def evaluate_descriptor(model: Model, form: LinearForm, values: Mapping[Any, float] | None = None) -> Descriptor:
    """A linear form with numbers; refused when the equations do not determine the unknowns."""
    require_offsets(model.name, Equations.of(model))
    matrices = form.at(model, values)
    matrices["f"] = matrices["f"].ravel()
    evaluated = Descriptor(
        model=model.name,
        variables=form.variables,
        equations=form.equations,
        inputs=form.inputs,
        disturbances=form.disturbances,
        outputs=form.outputs,
        **{key: frozen(matrices[key] + 0.0) for key in ("E", "F", "G", "J", "f", "H")},
    )
    evaluated.standard_form()
    _warn_of_gap(evaluated)
    return evaluated


def _warn_of_gap(descriptor: Descriptor) -> None:
    """Time constants that no number holds beside the others may be what is left of terms that should have cancelled."""
    form = descriptor.standard_form()
    sizes = np.abs(form.units[0][:, None] * descriptor.E * form.units[1])
    if not sizes.any() or sizes[sizes > 0.0].min() > UNEVEN * sizes.max():
        return
    rates = list_rates(descriptor.E, descriptor.F)
    moving = [rate for rate in rates if np.isfinite(rate)]
    gap = next((upper - lower for lower, upper in pairwise(moving) if upper - lower >= FAR_APART), None)
    if gap is None:
        return
    counts = "counts as zero" if form.evolving < len(rates) else "is taken as it is"
    warn_user(
        f"The shortest time constant of model '{descriptor.model}', about {10.0 ** -moving[-1]:.0e}, is shorter than "
        f"others by {10.0**gap:.0e} and {counts}. Where it is what rounding has left in a coefficient of a derivative, "
        "write zero."
    )


def split_pencil(
    model: str, E: np.ndarray, F: np.ndarray, equations: tuple[str, ...], variables: tuple[str, ...]
) -> StandardForm:
    """The standard form of a pencil; a singular one is refused in the names of its equations and variables."""
    try:
        return reduce_to_standard_form(E, F)
    except SingularPencilError as error:
        rows = [equations[i] for i in np.flatnonzero(error.rows > SHARE * error.rows.max())]
        columns = [variables[j] for j in np.flatnonzero(error.columns > SHARE * error.columns.max())]
        raise StructureError(
            f"Model '{model}' cannot be solved at these values of its parameters: the equations {quoted(rows)} depend "
            f"on each other, and {quoted(columns)} {'is' if len(columns) == 1 else 'are'} not determined.",
            "Change one of the equations, or the values that make them alike.",
        ) from None


def _replace_dots(names: tuple[str, ...]) -> list[str]:
    changed: list[str] = []
    for name in names:
        plain = name.replace(".", "_")
        while plain in changed:
            plain += "_"
        changed.append(plain)
    return changed


def _simplify(pole: complex) -> complex | float:
    return pole if pole.imag else pole.real


def _shorten(items: Any) -> str:
    listed = list(items)
    return ", ".join(listed if len(listed) <= MOST else [*listed[:MOST], f"and {len(listed) - MOST} more"])
