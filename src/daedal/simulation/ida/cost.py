"""Whether a single trajectory costs less by IDA or by Lanes, with all that is compiled.

Costs are counted in calls of IDA's residual, about 7 µs each, so that the choice does not depend on the clock, nor on
what was compiled before. Lanes take `SETUP` calls and `COMPILED` for every operation of IDA's Jacobian, which tells how
long their code is, and then next to nothing for a sample; IDA compiles nothing, and looks at every sample and knot of
the inputs by itself. How many steps IDA takes is not known beforehand: it is given up where it has taken as long as
Lanes would, so that both together take twice the shorter time at most. Between few samples Lanes would have to find
steps one by one, as IDA does: then it goes on to the end.

`python benchmarks/scale.py catalogue` compares both with the choice made here.
"""

import numpy as np

from daedal.simulation.ida.implicit import make_jacobian
from daedal.simulation.request import Request

SETUP, COMPILED = 7000, 20  # calls that Lanes take at least, and for each operation
PLAIN, PROJECTED, SOLVED = 7, 15, 0.01  # calls for a sample: without constraints, with them, and for each operation
KNOT = 60  # calls for a knot of an input, where steps are short
FEW = 100  # samples after the start, and knots, between which steps have room to vary


def limit_calls(asked: Request) -> float:
    """Calls after which Lanes are the better choice: none where they are so at once, infinite where they never are."""
    reduction, forcing = asked.system.reduction, asked.forcing
    knots = sum(track[0].times.size for track in forcing.tracks if track) + len(forcing.find_jumps())
    if np.sum(asked.times > forcing.start) + knots <= FEW:
        return np.inf
    operations = make_jacobian(reduction).n_instructions()
    lanes = SETUP + COMPILED * operations
    sample = PROJECTED + SOLVED * operations if reduction.constraints else PLAIN
    return lanes if sample * asked.times.size + KNOT * knots < lanes else 0.0
