"""What a model declares about its start, `initial` or `guess`: where it stands in z = (X, T), and its values."""

from collections.abc import Mapping
from dataclasses import dataclass

from daedal.models import ParameterFormulas
from daedal.symbolic import Expression
from daedal.systems.reduction import Reduction


@dataclass(frozen=True, eq=False)
class DeclaredStart:
    """Values of some unknowns and derivatives of them, as formulas of the parameters in the order of the reduction."""

    formulas: ParameterFormulas
    places: Mapping[str, tuple[int, int]]  # position in z and sign; without what the model does not determine

    @staticmethod
    def of(reduction: Reduction, expressions: Mapping[str, Expression]) -> "DeclaredStart":
        """What these expressions declare."""
        places = {name: place for name in expressions if (place := reduction.find_place(name))}
        return DeclaredStart(ParameterFormulas(expressions, reduction.parameters), places)
