"""`check_noise`: whether what is measured or wanted has a finite variance under the declared disturbances.

A disturbance with p more poles than zeros may be differentiated p − 1 times; once more, and it is white noise. For a
linear model the coefficient of the j-th derivative of disturbance l in variable i must vanish for j ≥ p_l (Gerdin et
al. 2006, theorems 3 and 5; here from the standard form of the balanced pencil, see `polynomial_part`). For other models
the structure tells how often a disturbance is differentiated at most; and where the structure leaves white noise or
something rougher, it must enter linearly, because powers of it have no meaning.

M. Gerdin et al., On parameter and state estimation for linear differential-algebraic equations (2006).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import casadi as ca
import numpy as np

from daedal.analysis.descriptor_matrices import evaluate_descriptor
from daedal.analysis.differentiations import Differentiations, count_differentiations, list_operands
from daedal.analysis.equations import Equations
from daedal.analysis.linear_form import LinearForm, NonlinearError, extract_linear_form, refuse_nonlinear
from daedal.analysis.polynomial_part import ZERO, find_polynomial_part
from daedal.analysis.structure import analyze, check_model
from daedal.disturbances import count_derivatives
from daedal.errors import ModelError, counted, interruptible, list_entries, nearest, quoted, show
from daedal.models import Model, as_name, as_tuple, evaluate_parameters
from daedal.symbolic import Expression, expand, intern_symbol, jet, list_symbols, read_expression

DOUBTFUL = 1e3  # factor around ZERO within which a verdict is called uncertain


@final
@dataclass(frozen=True)
class Margin:
    """The largest coefficient that counted as zero and the smallest that did not, relative to their natural size.

    0 and infinity where there was none.
    """

    zero: float
    nonzero: float

    @property
    def clear(self) -> bool:
        """Whether both lie far from the border."""
        return self.zero * DOUBTFUL < ZERO and self.nonzero > ZERO * DOUBTFUL

    def __str__(self) -> str:
        others = f", other values begin at {self.nonzero:.1g}" if np.isfinite(self.nonzero) else ""
        return f"relative to their natural size, zeros reach {self.zero:.1g}{others}"


@final
@dataclass(frozen=True)
class Finding:
    """A disturbance that gives a variable an infinite variance.

    Attributes
    ----------
    disturbance, variable
        Their names; the name of an equation where `role` is "equation".
    role
        "output", "wanted", or "equation": there the disturbance enters in a nonlinear way while white or rougher.
    differentiations
        How often the disturbance is differentiated on its way.
    pole_excess, needed
        How many more poles than zeros its noise has, and how many it must have.
    """

    disturbance: str
    variable: str
    role: Literal["output", "wanted", "equation"]
    differentiations: int
    pole_excess: int
    needed: int

    @property
    def sentence(self) -> str:
        """What is wrong."""
        through = (
            f"through {counted(self.differentiations, 'differentiation')}" if self.differentiations else "directly"
        )
        excess = (
            "its noise is white"
            if self.pole_excess == 0
            else f"its noise has only {counted(self.pole_excess, 'pole')} more than zeros"
        )
        if self.role == "equation":
            return (
                f"equation '{self.variable}' has no meaning: disturbance '{self.disturbance}' enters it {through} and "
                f"not linearly, and {excess}."
            )
        what = "output" if self.role == "output" else "variable"
        return (
            f"{what} '{self.variable}' has infinite variance: disturbance '{self.disturbance}' reaches it {through}, "
            f"and {excess}."
        )

    @property
    def remedy(self) -> str:
        """What to do about it."""
        poles = counted(self.needed, "more pole")
        shaped = f"Give '{self.disturbance}' noise with at least {poles} than zeros, such as {_suggest(self.needed)}"
        if self.role != "output":
            return f"{shaped}."
        lacking = self.needed - self.pole_excess
        if lacking == 1:
            return (
                f"{shaped}; or measure '{self.variable}' with a low-pass sensor, "
                f"model.with_presampling_filter({{'{self.variable}': time_constant}}), or one that integrates, "
                f"model.with_integrating_sampling({{'{self.variable}': window}})."
            )
        return (
            f"{shaped}; or measure '{self.variable}' with {lacking} low-pass sensors in a row, "
            f"model.with_presampling_filter({{'{self.variable}': time_constant}}) {lacking} times."
        )


def _suggest(poles: int) -> str:
    if poles == 1:
        return "FilteredNoise.low_pass(std=..., time_constant=...)"
    if poles == 2:
        return "FilteredNoise.resonant(std=..., frequency=..., damping=...)"
    return f"FilteredNoise(numerator=[...], denominator=[...]) with 1 and {poles + 1} coefficients"


@final
@dataclass(frozen=True)
class WellPosedness:
    """The verdict on the noise of a model.

    Attributes
    ----------
    model
        The model's name.
    variables
        What was checked: the outputs, then what was wanted besides.
    disturbances
        What drives the model unmeasured.
    index
        How many differentiations separate the equations from an ordinary differential equation.
    findings
        Which disturbance gives which variable an infinite variance; none when all is well.
    structural
        Whether the verdict comes from the structure, which sees no cancellations, rather than from the numbers.
    margin
        How far the numbers were from the border; None when it was not they that decided.

    Examples
    --------
    >>> from daedal import Model, WhiteNoise, check_noise, der, symbols
    >>> x, w = symbols("x w")
    >>> equations, outputs = {"lag": der(x) == w - x}, {"x": x, "rate": der(x)}
    >>> lag = Model(name="lag", equations=equations, unknowns=[x], disturbances={w: WhiteNoise()}, outputs=outputs)
    >>> verdict = check_noise(lag)
    >>> verdict.well_posed, len(verdict.findings)
    (False, 1)
    """

    model: str
    variables: tuple[str, ...]
    disturbances: tuple[str, ...]
    index: int
    findings: tuple[Finding, ...]
    structural: bool
    margin: Margin | None = None

    @property
    def well_posed(self) -> bool:
        """Whether everything that was checked has a finite variance."""
        return not self.findings

    def __str__(self) -> str:
        notes = [f"index {self.index}"]
        if self.structural:
            notes.append("judged by the structure, which does not see when terms cancel")
        if self.margin is not None:
            notes.append(str(self.margin))
            if not self.margin.clear:
                notes.append(f"which is close to the border at {ZERO:g}")
        ending = f" ({'; '.join(notes)})"
        if self.findings:
            lines = [f"the noise of '{self.model}' is not well-posed{ending}"]
            return "\n".join(lines + [f"  {finding.sentence}\n    {finding.remedy}" for finding in self.findings])
        if not self.disturbances:
            return f"the noise of '{self.model}' is well-posed: the model has no disturbances (index {self.index})"
        if not self.variables:
            return f"the noise of '{self.model}' is well-posed: nothing is measured or wanted{ending}"
        have = "has" if len(self.variables) == 1 else "have"
        return f"the noise of '{self.model}' is well-posed: {quoted(self.variables)} {have} finite variance{ending}"

    def _repr_html_(self) -> str:
        from daedal.tables import write_html

        return write_html(str(self).split("\n"))

    __repr__ = __str__


@interruptible
def check_noise(model: Model, variables: Sequence[Any] | None = None) -> WellPosedness:
    """Whether the outputs of a model have a finite variance, and the variables wanted besides.

    Parameters
    ----------
    model
        Linear models are judged exactly, at the values of their parameters; others by their structure.
    variables
        Names or symbols of unknowns, disturbances or derivatives such as "der(x)" that are to be estimated too.

    Examples
    --------
    >>> from daedal import Model, WhiteNoise, der, symbols
    >>> z1, z2, v = symbols("z1 z2 v")
    >>> equations = {"lag": der(z1) == -2 * z1 + v, "direct": z2 == v}
    >>> disturbances = {v: WhiteNoise(intensity=1.0)}
    >>> model = Model(name="m", equations=equations, unknowns=[z1, z2], disturbances=disturbances, outputs={"y": z1})
    >>> print(check_noise(model))
    the noise of 'm' is well-posed: 'y' has finite variance (index 1; relative to their natural size, zeros reach 0)
    >>> print(check_noise(model, variables=["z2"]).findings[0].sentence)
    variable 'z2' has infinite variance: disturbance 'v' reaches it directly, and its noise is white.
    """
    wanted = _read_wanted(check_model("check_noise", model), variables)
    try:
        form = extract_linear_form(model, "check_noise", wanted, forced=True)
    except ModelError:
        return _judge_by_structure(model, wanted)
    return _judge_exactly(model, form)


def _judge_exactly(model: Model, form: LinearForm) -> WellPosedness:
    matrices = evaluate_descriptor(model, form)
    excess = _count_pole_excess(model)
    past = _find_delayed_sources(model, form)
    # What an output was a while ago must have had a finite variance too, whatever is added now.
    H = np.vstack([matrices.H, *(np.eye(len(matrices.E))[[source]] for _, source in past)])
    part = find_polynomial_part(matrices.J, H, matrices.standard_form())
    order = np.arange(len(part.sizes))[:, None, None] + np.zeros(part.sizes.shape)
    deciding = part.sizes[order >= excess]  # the derivatives that do not exist
    zero = deciding <= ZERO
    margin = Margin(float(deciding[zero].max(initial=0.0)), float(deciding[~zero].min(initial=np.inf)))
    orders = part.orders[: len(form.outputs)].copy()
    for (output, _), before in zip(past, part.orders[len(form.outputs) :], strict=True):
        orders[output] = np.maximum(orders[output], before)
    findings = [
        _make_finding(model, form.outputs[i], form.disturbances[j], int(orders[i, j]), int(excess[j]))
        for i, j in np.argwhere(orders >= excess)
    ]
    return WellPosedness(
        model.name, form.outputs, form.disturbances, matrices.index, tuple(findings), structural=False, margin=margin
    )


def _find_delayed_sources(model: Model, form: LinearForm) -> list[tuple[int, int]]:
    """Outputs with the variables whose past they contain, by their places."""
    constants = frozenset(model.parameters)
    leaves = [list_symbols(expand(model[name].sx, constants)) if name in model.outputs else () for name in form.outputs]
    return [
        (i, held.source)
        for i, names in enumerate(leaves)
        for held in form.delays
        if form.variables[held.variable] in names
    ]


def _judge_by_structure(model: Model, wanted: Mapping[str, Expression]) -> WellPosedness:
    index = analyze(model).index
    typed = Equations.of(model)
    names = model.disturbance_names
    paths = count_differentiations(model.name, typed, names)
    excess = _count_pole_excess(model)
    findings = _find_rough_and_nonlinear(typed, paths, excess)
    shown = {**model.outputs, **wanted}
    for variable, value in shown.items():
        orders = paths.of_expression(expand(value.sx, typed.constants))
        findings += [
            _make_finding(model, variable, names[j], int(orders[j]), int(excess[j]))
            for j in np.flatnonzero(orders >= excess)
        ]
    return WellPosedness(model.name, tuple(shown), names, index, tuple(findings), structural=True)


def _find_rough_and_nonlinear(equations: Equations, paths: Differentiations, excess: np.ndarray) -> list[Finding]:
    """Equations in which something of infinite variance stands under a nonlinear function."""
    findings = []
    for equation, row in zip(equations.names, ca.vertsplit(equations.residuals), strict=True):
        reached = np.full(len(excess), -np.inf)
        for sx in (row, *list_operands(row)):
            leaves = list_symbols(sx)
            rough = [name for name in leaves if np.any(paths.of_symbol(name) >= excess)]
            try:
                refuse_nonlinear({"": sx}, frozenset(leaves) - frozenset(rough), allowed=rough)
            except NonlinearError:
                reached = np.max([reached, *(paths.of_symbol(name) for name in rough)], axis=0)
        findings += [
            Finding(paths.disturbances[j], equation, "equation", int(reached[j]), int(excess[j]), int(reached[j]) + 1)
            for j in np.flatnonzero(reached >= excess)
        ]
    return findings


def _make_finding(model: Model, variable: str, disturbance: str, order: int, excess: int) -> Finding:
    return Finding(disturbance, variable, "output" if variable in model.outputs else "wanted", order, excess, order + 1)


def _count_pole_excess(model: Model) -> np.ndarray:
    """Poles minus zeros of the noise of each disturbance symbol, (disturbance,)."""
    numbers = evaluate_parameters(model)
    derivatives = {
        name: count
        for key, noise in model.disturbances.items()
        for name, count in zip(as_tuple(key), count_derivatives(noise, numbers), strict=True)
    }
    return np.array([1 + derivatives[name] for name in model.disturbance_names], dtype=int)


def _read_wanted(model: Model, variables: Any) -> dict[str, Expression]:
    """Name → expression of what is wanted besides the outputs."""
    if variables is None:
        return {}
    if (entries := list_entries(variables)) is None:
        raise ModelError(
            f"The variables of check_noise must be a list of names, got {show(variables)}.",
            f"Write variables=['{show(variables, str)}'].",
        )
    names = [as_name(read_expression(v) if isinstance(v, str) and "(" in v else v) for v in entries]
    if not names:
        raise ModelError("The list of variables of check_noise is empty.", "Leave it out to check the outputs alone.")
    for name in names:
        role = model.names.get(jet(name)[0])
        if role is None and name not in model.outputs:
            known = [*model.outputs, *(other for other, what in model.names.items() if what != "parameter")]
            raise ModelError(f"Model '{model.name}' has no variable '{name}'.", nearest(str(name), known))
        if role == "parameter":
            raise ModelError(f"'{name}' is a parameter and does not vary.", "Name unknowns, outputs or derivatives.")
    return {name: intern_symbol(name) for name in names if name not in model.outputs}
