"""Examples and benchmarks on published problems whose data are too long to type in."""

import re

from running import ROOT, example, number, run


def test_semibatch_reaches_the_stated_objective_from_every_start(problem, tmp_path):
    printed = run(example("semibatch.py"), problem("semibatch.json"), folder=tmp_path)
    assert "1176 samples in 14 experiments" in printed
    assert number(r"sum of squares: (\S+)", printed) <= 28.10
    assert re.search(r"minima that the 3 starts ended in: 3 at 28\.0995\n", printed)
    assert number(r"correlation of k1 and E1: (\S+)\)", printed) > 0.999


def test_all_regressions_of_the_reference_datasets_reach_their_certified_values(problem, tmp_path):
    """From both starts of each of the 27, in one call; the script ends with an error otherwise."""
    printed = run(ROOT / "benchmarks" / "nist.py", problem("nist_strd.json"), folder=tmp_path)
    assert len(re.findall(r" start [12] ", printed)) == 54
    assert "\n0 of them missed a certified value by more than 1e-06" in printed
