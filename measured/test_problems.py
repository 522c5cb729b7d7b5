"""The examples on published problems whose data are too long to type in."""

import re

from running import example, number, run


def test_semibatch_reaches_the_stated_objective_from_every_start(problem, tmp_path):
    printed = run(example("semibatch.py"), problem("semibatch.json"), folder=tmp_path)
    assert "1176 samples in 14 experiments" in printed
    assert number(r"sum of squares: (\S+)", printed) <= 28.10
    assert re.search(r"minima that the 3 starts ended in: 3 at 28\.0995\n", printed)
    assert number(r"correlation of k1 and E1: (\S+)\)", printed) > 0.999
