"""`identifiability`: which combinations of parameters the data determine, told in the names of the parameters.

The curvature H of the criterion is taken in relative units: with D the sizes of the parameters (one for a logarithm,
|value| otherwise, the width of the bounds or the start where the value is about zero), the singular values σ_i and
directions v_i are those of the sensitivities of all weighed predictions,

    D H D = Σ σ_i² v_i v_iᵀ.

Moving all parameters by δ along v_i changes the criterion by ½ δ² σ_i²; the estimate is uncertain by √λ / σ_i along it,
with λ the factor by which the sandwich exceeds H⁻¹ (median over the parameters). σ_i = 0: a change that no prediction
shows. Parameters at a bound take part: that they are there is not known from elsewhere. H contains the priors of the
parameters; what they owe to the data is told with each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from daedal.data import FrozenMapping, frozen
from daedal.errors import EstimationError, interruptible, look_up
from daedal.estimation import LOOSE, LOST, Estimate, Fit, Verdict, compute_variance_factors
from daedal.tables import align_columns, make_frame, stack_frames, write_html
from daedal.validation.arguments import check_fit

if TYPE_CHECKING:
    import pandas

NOTHING = 1e-12  # σ², relative to the largest and times their number: rounding
SHARE = 0.1  # of the largest component of a direction: smaller ones are left out of tables and sentences
EXACT_SHARE = 0.01  # the same where a sentence says that nothing changes
TINY = 1e-3  # of its range or start: a value this close to zero is no size
POOR = 50.0  # per cent of the variation that a model explains, below which it is worth a word
TENTH = 0.1  # change of the parameter that leads a direction, in sentences


@final
@dataclass(frozen=True, eq=False)
class Direction:
    """A combination of relative changes.

    Attributes
    ----------
    singular_value
        How much all weighed predictions together change for a change by one along it.
    deviation
        Standard deviation of the estimate along it; infinite where no prediction shows it.
    weights
        Name → component, relative to the size of the parameter; their squares sum to one.
    sentence
        The direction in words.
    """

    singular_value: float
    deviation: float
    weights: Mapping[str, float]
    verdict: Verdict
    sentence: str


@final
@dataclass(frozen=True, eq=False)
class Identifiability:
    """What the data of a fit determine.

    Attributes
    ----------
    directions
        From the best to the worst determined.
    parameters
        Name → one sentence.
    verdicts
        Name → determined, loosely determined, not determined, at its bound, known from its prior.
    condition
        Largest by smallest singular value; infinite when a direction does not show.
    notes
        What makes this less sure than it looks.

    Examples
    --------
    >>> from daedal import Dataset, Model, der, fit, identifiability, symbols
    >>> x, k = symbols("x k")
    >>> rate, outputs = {"rate": der(x) == -k * x}, {"x": x}
    >>> decay = Model(name="x", equations=rate, unknowns=[x], outputs=outputs, parameters={k: 2.0}, initial={x: 1.0})
    >>> data = Dataset([0.0, 0.5, 1.0, 1.5], outputs={"x": [1.0, 0.61, 0.36, 0.23]})
    >>> found = identifiability(fit(decay, data, free=["k"]))
    >>> print(found.directions[0].sentence)
    k alone: raising k by 10 % is 9.2 standard errors
    """

    model: str
    directions: tuple[Direction, ...]
    parameters: Mapping[str, str]
    verdicts: Mapping[str, Verdict]
    condition: float
    notes: tuple[str, ...] = ()

    @property
    def singular_values(self) -> np.ndarray:
        """Of all directions, decreasing."""
        return frozen(np.array([direction.singular_value for direction in self.directions]))

    @property
    def not_determined(self) -> tuple[str, ...]:
        """Names of the parameters that the data say nothing, or next to nothing, about; a prior may."""
        nothing = ("not determined", "known from its prior")
        return tuple(name for name, verdict in self.verdicts.items() if verdict in nothing)

    def __getitem__(self, name: Any) -> str:
        return look_up(self.parameters, name, EstimationError, "The fit has no estimate")

    def to_pandas(self) -> "pandas.DataFrame":
        """Components over `direction`, counted from 1, and `parameter`; what belongs to a direction is repeated."""
        frames = {
            number: make_frame(
                "parameter",
                list(one.weights),
                {
                    "weight": list(one.weights.values()),
                    "singular_value": one.singular_value,
                    "deviation": one.deviation,
                    "verdict": one.verdict,
                },
            )
            for number, one in enumerate(self.directions, start=1)
        }
        return stack_frames(["direction"], frames)

    def __str__(self) -> str:
        return "\n".join(self._list_lines())

    def _list_lines(self) -> list[str]:
        rows = [["singular value", "uncertain by", "direction", ""]]
        for one in self.directions:
            remark = "" if one.verdict == "determined" else one.verdict.upper()
            deviation, weights = _format_percent(one.deviation), _describe_weights(one.weights)
            rows.append([f"{one.singular_value:.3g}", deviation, weights, remark])
        return [
            f"identifiability of '{self.model}': condition number {self.condition:.3g}",
            *(f"  {name}: {sentence}" for name, sentence in self.parameters.items()),
            *align_columns(rows),
            *(f"  {direction.sentence}" for direction in self.directions if direction.verdict != "determined"),
            *(f"  {note}" for note in self.notes),
        ]

    def _repr_html_(self) -> str:
        return write_html(self._list_lines())

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.parameters)

    __repr__ = __str__


def _format_percent(deviation: float) -> str:
    return f"{100.0 * deviation:.2g} %" if deviation < 10.0 else "∞" if np.isinf(deviation) else f"{deviation:.2g} ×"


def _describe_weights(weights: Mapping[str, float]) -> str:
    """The larger components: 0.71 a − 0.70 b."""
    largest = _find_leading(weights)
    text = " ".join(f"{'−' if weights[name] < 0 else '+'} {abs(weights[name]):.2f} {name}" for name in largest)
    return text.removeprefix("+ ")


def _find_leading(weights: Mapping[str, float], share: float = SHARE) -> list[str]:
    """Names whose component counts, the largest first."""
    most = max(map(abs, weights.values()))
    counting = [name for name in weights if abs(weights[name]) >= share * most]
    return sorted(counting, key=lambda name: -abs(weights[name]))


@interruptible
def identifiability(fit: Fit) -> Identifiability:
    """Say of every parameter, and of their combinations, how far the data determine them.

    Directions hold to first order, around the estimate; `profile` follows the criterion further.

    Examples
    --------
    >>> from daedal import Dataset, Model, der, fit, symbols
    >>> x, a, b = symbols("x a b")
    >>> decay = Model(
    ...     name="decay", equations={"rate": der(x) == -a * b * x}, unknowns=[x], outputs={"x": x},
    ...     parameters={a: 1.0, b: 2.0}, initial={x: 1.0},
    ... )
    >>> data = Dataset([0.0, 0.5, 1.0, 1.5], outputs={"x": [1.0, 0.61, 0.36, 0.23]})
    >>> print(identifiability(fit(decay, data, free=["a", "b"])).directions[-1].sentence)
    a and b move together: raising a by 10 % and lowering b by 10 % changes no prediction
    """
    check_fit("identifiability", fit)
    intervals = fit.conf_int()
    return Identifiability(
        model=fit.model.name,
        directions=(directions := _find_directions(fit)),
        parameters=FrozenMapping(
            {name: _describe_estimate(estimate, intervals[name]) for name, estimate in fit.estimates.items()}
        ),
        verdicts=FrozenMapping({name: estimate.verdict for name, estimate in fit.estimates.items()}),
        condition=_compute_condition(directions),
        notes=tuple(_list_notes(fit)),
    )


def _list_notes(fit: Fit) -> list[str]:
    notes = []
    if fit.status.interrupted:
        notes.append("the fit was interrupted: this is what the data tell at a point that is not the estimate")
    poor = [f"{name} {percent:.1f} %" for name, percent in fit.fit_percent.items() if percent < POOR]
    if poor:
        notes.append(f"poor fit ({', '.join(poor)}): what is determined is so only if all that is left is noise")
    return notes


def _compute_condition(directions: Sequence[Direction]) -> float:
    if not directions:
        return float("nan")
    first, last = directions[0].singular_value, directions[-1].singular_value
    return first / last if np.isfinite(directions[-1].deviation) else float("inf")


def _find_directions(fit: Fit) -> tuple[Direction, ...]:
    estimates = list(fit.estimates.values())
    if not estimates:
        return ()
    sizes = np.array([_find_size(estimate)[0] for estimate in estimates])
    factor = float(np.sqrt(np.median(compute_variance_factors(fit))))
    scaled = fit.curvature * np.outer(sizes, sizes)
    squares, vectors = np.linalg.eigh(scaled)
    squares = np.maximum(squares, 0.0)
    result = []
    for square, vector in zip(squares[::-1], vectors.T[::-1], strict=True):
        gone = square <= NOTHING * len(squares) * squares[-1]
        deviation = float("inf") if gone else factor / float(np.sqrt(square))
        most = float(np.max(np.abs(vector)))
        # Of equal components the first one leads, whatever rounding says.
        lead = vector[np.argmax(np.abs(vector) >= (1.0 - 1e-6) * most)]
        weights = {estimate.name: float(part) for estimate, part in zip(estimates, vector * np.sign(lead), strict=True)}
        worth = _judge_direction(estimates, weights, deviation)
        sentence = _describe_direction(estimates, weights, deviation)
        result.append(Direction(float(np.sqrt(square)), deviation, FrozenMapping(weights), worth, sentence))
    return tuple(result)


def _judge_direction(estimates: Sequence[Estimate], weights: Mapping[str, float], deviation: float) -> Verdict:
    """By its deviation; what is determined by itself, though its value may be zero, is so along every direction."""
    leading = _find_leading(weights)
    if all(estimate.verdict == "determined" for estimate in estimates if estimate.name in leading):
        return "determined"
    return "not determined" if deviation > LOST else "loosely determined" if deviation > LOOSE else "determined"


def _find_size(estimate: Estimate) -> tuple[float, str]:
    """The size of one unit of φ in relative terms, and what a part of it is called."""
    if estimate.scale == "log":
        return 1.0, "%"
    width = estimate.upper - estimate.lower
    other, unit = (width, "% of its range") if np.isfinite(width) else (abs(estimate.start), "% of its start")
    if abs(estimate.value) > TINY * other:
        return abs(estimate.value), "%"
    return (other, unit) if other > 0.0 else (1.0, "")


def _describe_direction(estimates: Sequence[Estimate], weights: Mapping[str, float], deviation: float) -> str:
    """What moves together, and what that changes."""
    hidden = np.isinf(deviation)
    names = _find_leading(weights, EXACT_SHARE if hidden else SHARE)
    by_name = {estimate.name: estimate for estimate in estimates}
    lead = abs(weights[names[0]])
    order = [estimate.name for estimate in estimates if estimate.name in names]
    moves = [_describe_move(by_name[name], TENTH * weights[name] / lead) for name in order]
    subject = f"{_join_words(order)} move together: " if len(order) > 1 else f"{order[0]} alone: "
    length = TENTH / lead / deviation
    effect = "changes no prediction" if hidden else f"is {_write_count(length)} standard errors"
    return f"{subject}{_join_words(moves)} {effect}"


def _write_count(number: float) -> str:
    """Two digits without an exponent, as long as that is short."""
    return f"{number:.2g}" if number < 100.0 or number >= 1e6 else f"{float(f'{number:.2g}'):.0f}"


def _describe_move(estimate: Estimate, part: float) -> str:
    unit = _find_size(estimate)[1]
    amount = f"{100.0 * abs(part):.2g} {unit}" if unit else f"{abs(part):.2g}"
    return f"{'raising' if part > 0 else 'lowering'} {estimate.name} by {amount}"


def _join_words(texts: Sequence[str]) -> str:
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def _describe_estimate(estimate: Estimate, interval: tuple[float, float]) -> str:
    unit = f"{' ' * bool(estimate.unit)}{estimate.unit}"
    value = f"{estimate.value:.4g}{unit}"
    if estimate.verdict == "at its bound":
        bound = min((estimate.lower, estimate.upper), key=lambda end: abs(end - estimate.value))  # but for rounding
        return f"at its bound, {bound:.4g}{unit}: widen it if it is not a physical limit"
    if estimate.verdict == "not determined":
        return "not determined by these data: fix it, or measure more"
    size, measure = _find_size(estimate)
    size *= abs(estimate.value) if estimate.scale == "log" else 1.0
    relative = f" ({100.0 * estimate.std_error / size:.2g} {measure})" if measure else ""
    if measure == "%" and estimate.std_error > size and interval[0] <= 0.0 <= interval[1]:
        relative = " (zero is inside its interval)"
    share = "" if estimate.from_data is None else f", {100.0 * estimate.from_data:.0f} % from the data"
    loose = estimate.verdict == "loosely determined"
    between = f", 95 % between {interval[0]:.4g} and {interval[1]:.4g}" if loose else ""
    return f"{estimate.verdict}, {value} ± {estimate.std_error:.2g}{relative}{between}{share}"
