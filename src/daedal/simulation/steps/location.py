"""Where a switching function crosses zero within a piece of a step, lane by lane and without branches.

From the values and slopes at both ends a cubic is drawn through the piece; its first root is bracketed on a coarse
grid and by its lowest point, which see a pair of roots inside too, and found by Newton steps that stay in the bracket.
The error of the cubic is O(h⁴); one more Newton step on the function itself, at the point where the piece is ended,
makes it O(h⁸).
"""

import casadi as ca

GRID = 8  # cells in which roots are looked for
NEWTON = 6
NOWHERE = 2.0  # a position beyond the piece


def find_crossing(left: ca.SX, left_slope: ca.SX, right: ca.SX, right_slope: ca.SX) -> ca.SX:
    """Where, from 0 to 1, the cubic through values and slopes first becomes negative; NOWHERE if it does not.

    It must not be negative at 0. Where it is zero there, it is divided by u: what is asked for is its next root.
    """
    second = 3 * (right - left) - 2 * left_slope - right_slope
    third = 2 * (left - right) + left_slope + right_slope
    rows = [(left, left_slope, second, third), (left_slope, second, third, 0), (second, third, 0, 0)]
    once, twice = left == 0, ca.logic_and(left == 0, left_slope == 0)
    a, b, c, d = (
        ca.if_else(twice, after, ca.if_else(once, next_one, first))
        for first, next_one, after in zip(*rows, strict=True)
    )

    def evaluate(u: ca.SX) -> ca.SX:
        return a + u * (b + u * (c + u * d))

    high, upper, lower = ca.SX(NOWHERE), ca.SX(-1), a
    before = a
    for cell in range(1, GRID + 1):
        value = evaluate(ca.SX(cell / GRID)) if cell < GRID else right
        first = ca.logic_and(value < 0, high > 1.5)
        high, upper, lower = (
            ca.if_else(first, new, old) for new, old in ((cell / GRID, high), (value, upper), (before, lower))
        )
        before = value
    dip = _find_lowest(b, c, d)
    lowest = evaluate(dip)
    deeper = ca.logic_and(lowest < 0, dip < high)  # narrower than a cell
    before = ca.fmax(dip - 1 / GRID, 0)
    low = ca.if_else(deeper, before, high - 1 / GRID)
    lower, upper = ca.if_else(deeper, evaluate(before), lower), ca.if_else(deeper, lowest, upper)
    high = ca.if_else(deeper, dip, high)
    u = low + ca.fmax(lower, 0) / (ca.fmax(lower, 0) - ca.fmin(upper, -1e-300)) * (high - low)
    start, end = low, high
    for _ in range(NEWTON):
        value = evaluate(u)
        start, end = ca.if_else(value > 0, u, start), ca.if_else(value > 0, end, u)
        slope = b + u * (2 * c + 3 * d * u)
        further = u - value / ca.if_else(slope == 0, 1, slope)
        inside = ca.logic_and(further >= start, further <= end)
        u = ca.if_else(inside, further, (start + end) / 2)
    inner = ca.if_else(high > 1.5, NOWHERE, ca.fmin(ca.fmax(u, 0), 1))
    return ca.if_else(a < 0, 0, inner)


def _find_lowest(slope: ca.SX, second: ca.SX, third: ca.SX) -> ca.SX:
    """Where the cubic with this slope at 0 has its minimum; NOWHERE if that is not inside."""
    root = ca.sqrt(ca.fmax(second**2 - 3 * third * slope, 0))
    below = second + root
    place = -slope / ca.if_else(below > 0, below, 1)
    inside = ca.logic_and(ca.logic_and(below > 0, slope < 0), place < 1)
    return ca.if_else(inside, place, NOWHERE)
