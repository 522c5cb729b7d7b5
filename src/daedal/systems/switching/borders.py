"""What happens on the border g = 0 of a switch, looked at near some points of it: a jump, a kink, or nothing.

Not every such node has to be located. Where the equations and their slopes are continuous across g = 0, or the slopes
are infinite there, it stays as it was typed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedal.symbolic import intern_symbol, list_symbols, stack_symbols
from daedal.systems.switching.climb import Climb
from daedal.systems.switching.reader import Reader
from daedal.systems.switching.table import Table
from daedal.systems.switching.writer import Written

BEYOND = (1e-3, 0.1, 1.0)  # distances from g = 0 to which a side may be followed beyond its border
NEAR = (1e-3, 1e-6, 1e-9)  # distances from g = 0, of its size, at which jumps are looked for
RUNG_DRAWS = 3  # points near each border of a table
NOTHING: Mapping[str, float] = {}
LASTING = 0.05  # of the difference at the first distance: what a jump still has at the last one


def find_verdicts(reader: Reader, climb: Climb, written: Written, values: Mapping[str, float]) -> list[str]:
    """What happens on each border: "jump", "kink", or nothing that has to be located ("")."""
    verdicts = {}
    for ladder, table in zip(climb.ladders, climb.tables, strict=True):
        sides = _make_effect(reader, written.residuals, table.modes[0], _write_low(table), among_modes=False)
        for rung, number in enumerate(ladder.numbers):
            rng, fixed = np.random.default_rng([3, rung]), _stand_on(table, rung)
            points = [_draw(sides.symbols, values, rng, fixed) for _ in range(RUNG_DRAWS)]
            verdicts[number] = _judge(sides, points)
    for number in range(len(reader.functions)):
        if number not in verdicts:
            verdicts[number] = _classify(reader, written, number, values)
    return [verdicts[number] for number in range(len(reader.functions))]


def find_fragile(
    reader: Reader, climb: Climb, written: Written, idle: frozenset[int], values: Mapping[str, float]
) -> frozenset[int]:
    """Kinks around which the equations of one side are not defined a little beyond the border: log(abs(x) + 0.1)."""
    asked = reader.kinked.difference(idle)
    rows = [ca.densify(written.residuals)]
    fragile = set()
    for ladder, table in zip(climb.ladders, climb.tables, strict=True):
        if asked.isdisjoint(ladder.numbers):
            continue
        sides = _look_at(written.residuals, table.modes[0], _write_low(table), rows)
        for rung, number in enumerate(ladder.numbers):
            rng, fixed = np.random.default_rng([5, rung]), _stand_on(table, rung)
            points = (_draw(sides.symbols, values, rng, fixed) for _ in range(RUNG_DRAWS))
            fragile |= {number} if number in asked and any(_breaks_off(sides, point) for point in points) else set()
    for number in asked.intersection(written.functions):
        sides = _look_at(written.residuals, reader.name_mode(number), written.functions[number], rows)
        rng = np.random.default_rng(5)
        if any(_breaks_off(sides, _draw(sides.symbols, values, rng)) for _ in range(4)):
            fragile.add(number)
    return frozenset(fragile)


def _breaks_off(sides: "_Sides", point: np.ndarray) -> bool:
    """Whether rows are defined on a side of the border, but not as far beyond it."""
    reached = _reach_border(sides, point)
    if reached is None:
        return False
    border, direction = reached
    for side in (1.0, -1.0):
        own, beyond = (
            [np.isfinite(sides.rows(border + way * distance * direction, side).nonzeros()).all() for distance in BEYOND]
            for way in (side, -side)
        )
        if any(here and not there for here, there in zip(own, beyond, strict=True)):
            return True
    return False


def _write_low(table: Table) -> ca.SX:
    """The function of the lower border of a table, wherever that is."""
    return table.argument - intern_symbol(table.low).sx


def _stand_on(table: Table, rung: int) -> dict[str, float]:
    """The symbols of a table whose lower border is this one."""
    return dict(zip(table.symbols, table.describe(rung + 1), strict=True)) | {table.modes[1]: -1.0}


@dataclass(frozen=True, eq=False)
class _Sides:
    """Formulas on either side of g = 0, and g with its gradient, as functions of symbols and of the mode."""

    rows: ca.Function
    border: ca.Function
    symbols: list[str]
    moving: list[int]  # the symbols that g contains


def _look_at(residuals: ca.SX, mode: str, g: ca.SX, rows: list[ca.SX]) -> _Sides:
    symbols = [name for name in list_symbols(ca.vertcat(residuals, g)) if name != mode]
    others = [name for name in list_symbols(g) if name != mode and not name.startswith("low ")]
    arguments = [stack_symbols(symbols), intern_symbol(mode).sx]
    border = ca.Function("border", arguments, [g, ca.gradient(g, stack_symbols(others))])
    places = {name: place for place, name in enumerate(symbols)}
    return _Sides(ca.Function("rows", arguments, rows), border, symbols, [places[name] for name in others])


def _make_effect(reader: Reader, residuals: ca.SX, mode: str, g: ca.SX, among_modes: bool = True) -> _Sides:
    """∂f/∂m and its slopes; among those by other modes, or not."""
    effect = ca.jacobian(residuals, intern_symbol(mode).sx)
    names = list_symbols(ca.vertcat(residuals, g))
    unmoved = {mode, *reader.words.constants}
    if not among_modes:
        unmoved |= {name for name in names if name.startswith(("mode ", "level ", "low ", "entry "))}
    moving = stack_symbols(name for name in names if name not in unmoved)
    return _look_at(residuals, mode, g, [effect, ca.jacobian(effect, moving)])


def _classify(reader: Reader, written: Written, number: int, values: Mapping[str, float]) -> str:
    if number not in written.functions:
        return ""
    sides = _make_effect(reader, written.residuals, reader.name_mode(number), written.functions[number])
    symbols, rng = sides.symbols, np.random.default_rng(3)
    points = [_draw(symbols, values, rng) for _ in range(6)]
    if places := [place for place, name in enumerate(symbols) if name.startswith("mode ")]:
        for modes in (1.0, -1.0, *rng.choice([-1.0, 1.0], (4, len(places)))):  # what decides may need all the others
            points.append(_draw(symbols, values, rng))
            points[-1][places] = modes
    return _judge(sides, points)


def _judge(sides: _Sides, points: list[np.ndarray]) -> str:
    """The strongest of what happens near some points of a border."""
    verdicts = []
    for point in points:
        verdicts.append(_look_across(sides, point))
        if verdicts[-1] == "jump":
            return "jump"
    if "kink" in verdicts:
        return "kink"
    return "jump" if set(verdicts) <= {None, "nothing"} else ""  # rather located in vain than not


def _draw(
    symbols: list[str], values: Mapping[str, float], rng: np.random.Generator, fixed: Mapping[str, float] = NOTHING
) -> np.ndarray:
    """Numbers for symbols: parameters near their values, modes on either side, anything else around one."""
    point = rng.uniform(0.3, 1.7, len(symbols)) * rng.choice([1.0, 1.0, -1.0], len(symbols))
    for place, name in enumerate(symbols):
        if name in fixed:
            point[place] = fixed[name]
        elif name.startswith("mode "):
            point[place] = np.sign(point[place])
        elif values.get(name):
            point[place] = values[name] * rng.uniform(0.8, 1.2)
    return point


def _look_across(effect: _Sides, point: np.ndarray) -> str | None:
    """What the mode does on g = 0 near a point: "jump", "kink", "" or "nothing"; None where that is undefined.

    The rows of `effect` are that of the mode on the residuals, ∂f/∂m, and its slopes. The effect of a jump lasts as
    g → 0, that of a kink falls in proportion to g, with a slope that lasts.
    """
    reached = _reach_border(effect, point)
    if reached is None:
        return None
    border, direction = reached
    gradient = direction / float(direction @ direction)
    step = direction * (float(np.abs(gradient) @ np.abs(border)) or 1.0)  # g changes by the size of its terms
    jumps, kinks = [], []
    for distance in NEAR:
        sides = [effect.rows(border + side * distance * step, side) for side in (1.0, -1.0)]
        effects, slopes = ([_find_largest(side[k]) for side in sides] for k in (0, 1))
        if not np.isfinite(effects).any():
            return None
        jumps.append(max(size for size in effects if np.isfinite(size)))
        kinks.append(max(slopes))
    if jumps[-1] > LASTING * jumps[0]:
        return "jump"
    if not np.isfinite(kinks).all() or kinks[-1] > 10 * kinks[0]:  # infinite on the border
        return ""
    if kinks[-1] > LASTING * kinks[0]:
        return "kink"
    return "nothing" if max(jumps) == 0.0 == max(kinks) else ""


def _find_largest(numbers: ca.DM) -> float:
    return float(np.abs(numbers.nonzeros()).max(initial=0.0))


def _reach_border(sides: _Sides, point: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """A point on g = 0 and the direction in which g rises there by one; by Newton steps along its gradient."""
    for _ in range(50):
        g, gradient = (part.full().ravel() for part in sides.border(point, 1.0))
        square = float(gradient @ gradient)
        if not (np.isfinite(g).all() and np.isfinite(square) and square > 0):
            return None
        direction = np.zeros(point.size)
        direction[sides.moving] = gradient / square
        if abs(g[0]) <= 1e-13 * np.abs(gradient * point[sides.moving]).sum():
            return point, direction
        point = point - g[0] * direction
    return None
