"""The drive as a descriptor system: its structure, its verdicts, and its standard form against the equations.

    H (sE − F)⁻¹ G = C (sI − A)⁻¹ B + Σ D_j sʲ

on the left from the 59 equations as they were connected, on the right from the standard form (appendices B and C).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from daedal.analysis import ZERO, Descriptor, WellPosedness, check_noise, descriptor, find_polynomial_part
from daedal.disturbances import WhiteNoise
from daedal.papers.descriptor.experiment import make_drive

FREQUENCIES = np.geomspace(0.1, 1000.0, 401)  # rad/s
SHOWN = {"shaft torque": "shaft.tau", "disc acceleration": "disc.a"}  # compared besides what is measured


@final
@dataclass(frozen=True, eq=False)
class DriveStructure:
    """What the equations of the drive are made of.

    Attributes
    ----------
    matrices
        The descriptor form.
    coloured, white
        The verdicts on what is measured, with the load torque as declared and with a white one.
    wanted
        The verdict when the acceleration of the disc is wanted besides, under a white load torque.
    direct, standard
        (source, variable) → transfer function (frequency,), from the equations and from the standard form.
    """

    matrices: Descriptor
    coloured: WellPosedness
    white: WellPosedness
    wanted: WellPosedness
    direct: Mapping[tuple[str, str], np.ndarray]
    standard: Mapping[tuple[str, str], np.ndarray]

    def difference(self, source: str, variable: str) -> np.ndarray:
        """The relative difference of the two, (frequency,)."""
        direct = self.direct[source, variable]
        return np.abs(self.standard[source, variable] - direct) / np.abs(direct)

    @property
    def largest_difference(self) -> float:
        """Over all frequencies, sources and variables."""
        return max(float(self.difference(*pair).max()) for pair in self.direct)


def analyze_drive() -> DriveStructure:
    """Judge the drive, and compare transfer functions."""
    model = make_drive()
    white = model.with_disturbances({"load.tau": WhiteNoise(intensity=1.0)})
    shown = descriptor(model.with_outputs({name: model[variable] for name, variable in SHOWN.items()}))
    # The disturbance as one more input.
    driven = replace(shown, G=np.hstack([shown.G, shown.J]), inputs=(*shown.inputs, *shown.disturbances))
    return DriveStructure(
        matrices=descriptor(model),
        coloured=check_noise(model),
        white=check_noise(white),
        wanted=check_noise(white, variables=["disc.a"]),
        direct=_order_by_name(driven, driven.transfer(1j * FREQUENCIES)),
        standard=_order_by_name(driven, transfer_in_standard_form(driven, 1j * FREQUENCIES)),
    )


def _order_by_name(matrices: Descriptor, values: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
    """(source, variable) → (point,), of an array (point, output, input)."""
    return {
        (source, variable): values[:, row, column]
        for column, source in enumerate(matrices.inputs)
        for row, variable in enumerate(matrices.outputs)
    }


def transfer_in_standard_form(matrices: Descriptor, points: np.ndarray) -> np.ndarray:
    """The transfer function of the standard form, (point, output, input)."""
    form = matrices.standard_form()
    evolving = slice(form.evolving)
    B, C = (form.P @ matrices.G)[evolving], matrices.H @ form.Q[:, evolving]
    part = find_polynomial_part(matrices.G, matrices.H, form)
    at_once = np.where(part.sizes > ZERO, part.coefficients, 0.0)
    resolvent = np.linalg.solve(
        points[:, None, None] * np.eye(form.evolving) - form.A, np.broadcast_to(B, (len(points), *B.shape))
    )
    powers = points[:, None] ** np.arange(len(at_once))
    return C @ resolvent + np.einsum("pj,jor->por", powers, at_once)
