"""Stages that stand together: a formula of known stages alone is a stage itself, and one signal instead of very many.

A part of formulas that contains, beside stages, at most a few symbols y and is affine in them is a + b · y, with a and
b that follow from stages alone and change when one of these does. A table of a thousand `where` of an input is one.
"""

from dataclasses import replace

import casadi as ca

from daedal.symbolic import intern_symbol, list_symbols, stack_symbols
from daedal.systems.switching.climb import Rewriter
from daedal.systems.switching.switch import Known
from daedal.systems.switching.writer import Written

MANY = 16  # stages, from which on it is worth it


def join_stages(written: Written) -> tuple[Written, tuple[Known, ...]]:
    """The same with fewer stages in its formulas, and the stages that are only parts of others."""
    if len(written.known) < MANY:
        return written, ()
    joining = _Joining(written.known)
    formulas = ca.vertcat(written.residuals, written.observed)
    residuals, observed = joining.rewrite(formulas, written.residuals.shape[0])
    felt = set(list_symbols(ca.vertcat(residuals, observed)))
    known = [stage for stage in [*written.known, *joining.joined] if stage.name in felt]
    inner = tuple(stage for stage in written.known if stage.name not in felt)
    return replace(written, residuals=residuals, observed=observed, known=known), inner


class _Joining(Rewriter):
    def __init__(self, stages: list[Known]) -> None:
        super().__init__()
        self._stages, self.joined = {stage.name: stage for stage in stages}, list[Known]()
        self._names: dict[int, str] = {}

    def find_table(self, name: str) -> int | None:
        return 0 if name in self._stages else None

    def write(self, sx: ca.SX, names: list[str], number: int) -> ca.SX:  # noqa: ARG002 (there is one)
        symbols = stack_symbols(names)
        result = self._join(ca.substitute(sx, symbols, ca.SX.zeros(len(names))) if names else sx)
        for name, slope in zip(names, ca.horzsplit(ca.jacobian(sx, symbols)) if names else (), strict=True):
            result = result + self._join(slope) * intern_symbol(name).sx
        return result

    def _join(self, value: ca.SX) -> ca.SX:
        """The symbol of what follows from stages alone; a number is one."""
        inside = list_symbols(value)
        if not inside:
            return value
        key = value.element_hash()
        if key not in self._names:
            self._names[key] = f"stage {len(self._stages) + len(self.joined) + 1}"
            text = self._stages[inside[0]].text
            self.joined.append(Known(self._names[key], value, value, False, text, joined=True))
        return intern_symbol(self._names[key]).sx
