"""What happens on the border g = 0 of a switch, looked at near some points of it: a jump, a kink, or nothing.

Not every such node has to be located. Where the equations and their slopes are continuous across g = 0, or the slopes
are infinite there, it stays as it was typed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedal.progress import watch
from daedal.symbolic import intern_symbol, list_symbols, stack_symbols
from daedal.systems.switching.climb import Climb
from daedal.systems.switching.reader import Reader
from daedal.systems.switching.table import Table
from daedal.systems.switching.writer import REMEDY, Written

BEYOND = (1e-3, 0.1, 1.0)  # distances from g = 0 to which a side may be followed beyond its border
NEAR = (1e-3, 1e-6, 1e-9)  # distances from g = 0, of its size, at which jumps are looked for
RUNG_DRAWS = 3  # points near each border of a table
SIDES = (1.0, -1.0)
TINY = 1e-300
LASTING = 0.05  # of the difference at the first distance: what a jump still has at the last one


def find_verdicts(reader: Reader, climb: Climb, written: Written, values: Mapping[str, float]) -> list[str]:
    """What happens on each border: "jump", "kink", or nothing that has to be located ("")."""
    verdicts = {}
    for ladder, table in zip(climb.ladders, climb.tables, strict=True):
        sides = _make_effect(reader, written.residuals, table.modes[0], _write_low(table), among_modes=False)
        urn = _Urn.of(sides.symbols, values)
        for rung, number in enumerate(ladder.numbers):
            verdicts[number] = _judge(sides, urn.draw(np.random.default_rng([3, rung]), RUNG_DRAWS, table, rung))
    for number in watch(range(len(reader.functions)), f"judging the switches of '{reader.words.model}':", REMEDY):
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
        urn = _Urn.of(sides.symbols, values)
        for rung, number in enumerate(ladder.numbers):
            points = urn.draw(np.random.default_rng([5, rung]), RUNG_DRAWS, table, rung)
            fragile |= {number} if number in asked and _breaks_off(sides, points) else set()
    alone = sorted(asked.intersection(written.functions))
    for number in watch(alone, f"looking beyond the switches of '{reader.words.model}':", REMEDY):
        sides = _look_at(written.residuals, reader.name_mode(number), written.functions[number], rows)
        if _breaks_off(sides, _Urn.of(sides.symbols, values).draw(np.random.default_rng(5), 4)):
            fragile.add(number)
    return frozenset(fragile)


def _breaks_off(sides: "_Sides", points: np.ndarray) -> bool:
    """Whether rows are defined on a side of the border near a point, but not as far beyond it."""
    reached, borders, directions = _reach_borders(sides, points)
    for side in (1.0, -1.0):
        for distance in BEYOND:
            own, beyond = (
                np.isfinite(sides.evaluate(borders + way * distance * directions, side)[0]).all(axis=1)
                for way in (side, -side)
            )
            if np.any(reached & own & ~beyond):
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

    def evaluate(self, points: np.ndarray, side: float) -> list[np.ndarray]:
        """The entries of all rows at some points, all at once."""
        parts = self.rows.call([points.T, np.full((1, len(points)), side)])
        return [np.array(part.nonzeros()).reshape(len(points), -1) for part in parts]

    def evaluate_border(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """g and its gradient by the symbols that it contains."""
        g, gradient = self.border.call([points.T, np.ones((1, len(points)))])
        return g.full().ravel(), gradient.full().T


@dataclass(frozen=True, eq=False)
class _Urn:
    """Numbers for symbols: parameters near their values, modes on either side, anything else around one."""

    symbols: list[str]
    modes: np.ndarray  # their places
    known: np.ndarray  # those of parameters that are not zero
    values: np.ndarray  # of these

    @staticmethod
    def of(symbols: list[str], values: Mapping[str, float]) -> "_Urn":
        known = [place for place, name in enumerate(symbols) if values.get(name)]
        modes = [place for place, name in enumerate(symbols) if name.startswith("mode ")]
        return _Urn(
            symbols,
            np.array(modes, dtype=int),
            np.array(known, dtype=int),
            np.array([values[symbols[place]] for place in known], dtype=float),
        )

    def draw(self, rng: np.random.Generator, count: int, table: Table | None = None, rung: int = 0) -> np.ndarray:
        """A row of numbers for each point; on a rung of a table where one is given."""
        points = np.array([self._draw_one(rng) for _ in range(count)])
        for name, number in _stand_on(table, rung).items() if table else ():
            if name in self.symbols:
                points[:, self.symbols.index(name)] = number
        return points

    def _draw_one(self, rng: np.random.Generator) -> np.ndarray:
        count = len(self.symbols)
        point = rng.uniform(0.3, 1.7, count) * rng.choice([1.0, 1.0, -1.0], count)
        point[self.modes] = np.sign(point[self.modes])
        point[self.known] = self.values * rng.uniform(0.8, 1.2, self.known.size)
        return point


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
    urn, rng = _Urn.of(sides.symbols, values), np.random.default_rng(3)
    points = urn.draw(rng, 6)
    if urn.modes.size:  # what decides may need all the others
        modes = np.vstack([np.ones(urn.modes.size), -np.ones(urn.modes.size), rng.choice(SIDES, (4, urn.modes.size))])
        further = urn.draw(rng, len(modes))
        further[:, urn.modes] = modes
        points = np.vstack([points, further])
    return _judge(sides, points)


def _judge(sides: _Sides, points: np.ndarray) -> str:
    """The strongest of what happens near some points of a border."""
    verdicts = set(_look_across(sides, points))
    if "jump" in verdicts:
        return "jump"
    if "kink" in verdicts:
        return "kink"
    return "jump" if verdicts <= {None, "nothing"} else ""  # rather located in vain than not


def _look_across(effect: _Sides, points: np.ndarray) -> list[str | None]:
    """What the mode does on g = 0 near points: "jump", "kink", "" or "nothing"; None where that is undefined.

    The rows of `effect` are that of the mode on the residuals, ∂f/∂m, and its slopes. The effect of a jump lasts as
    g → 0, that of a kink falls in proportion to g, with a slope that lasts.
    """
    reached, borders, directions = _reach_borders(effect, points)
    gradients = directions / np.maximum(np.sum(directions**2, axis=1, keepdims=True), TINY)
    reach = np.sum(np.abs(gradients) * np.abs(borders), axis=1, keepdims=True)
    steps = directions * np.where(reach > 0, reach, 1.0)  # g changes by the size of its terms
    near = [
        [_find_largest(effect.evaluate(borders + side * distance * steps, side)) for side in SIDES] for distance in NEAR
    ]  # by distance and side, the largest effects and slopes of each point
    sizes = np.array(near).transpose(3, 2, 0, 1)
    return [_tell(*sizes[k]) if reached[k] else None for k in range(len(points))]


def _tell(effects: np.ndarray, slopes: np.ndarray) -> str | None:
    """The same of one point: the sizes of effects and slopes at each distance (rows) on both sides (columns)."""
    if not np.isfinite(effects).any(axis=1).all():
        return None
    jumps = np.where(np.isfinite(effects), effects, 0.0).max(axis=1)
    kinks = [max(both) for both in slopes.tolist()]
    if jumps[-1] > LASTING * jumps[0]:
        return "jump"
    if not np.isfinite(kinks).all() or kinks[-1] > 10 * kinks[0]:  # infinite on the border
        return ""
    if kinks[-1] > LASTING * kinks[0]:
        return "kink"
    return "nothing" if jumps.max() == 0.0 == max(kinks) else ""


def _find_largest(parts: list[np.ndarray]) -> list[np.ndarray]:
    return [np.abs(part).max(axis=1, initial=0.0) for part in parts]


def _reach_borders(sides: _Sides, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points on g = 0 and the directions in which g rises there by one; by Newton steps along its gradient.

    The first tells which of the points came there.
    """
    points, directions = points.copy(), np.zeros_like(points)
    reached, going = np.zeros(len(points), dtype=bool), np.ones(len(points), dtype=bool)
    for _ in range(50):
        with np.errstate(all="ignore"):
            g, gradients = sides.evaluate_border(points)
            squares = np.sum(gradients**2, axis=1)
            going &= np.isfinite(g) & np.isfinite(squares) & (squares > 0)
            on = going & (np.abs(g) <= 1e-13 * np.sum(np.abs(gradients * points[:, sides.moving]), axis=1))
            ways = gradients / squares[:, None]
        directions[np.ix_(going, sides.moving)] = ways[going]
        reached |= on
        going &= ~on
        if not going.any():
            break
        points[going] -= g[going, None] * directions[going]
    return reached, points, directions
