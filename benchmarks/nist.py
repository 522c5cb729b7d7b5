"""Nonlinear regression with certified answers: how close a fit with nothing but its defaults comes, in one call.

    python benchmarks/nist.py [nist_strd.json] [--tiny]

The file has all 27 problems of the Statistical Reference Datasets as {"problems": {name: {"x", "y", "starts",
"certified"}}}; without it the four that are typed in, in tests/catalogue/regression.py, are fitted. Ends with an error
where a fit is more than 1e-6 away, relative, from a certified value, or does not say that it converged.
"""

import json
import logging
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path

from shared import seconds

import daedal as dd

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from catalogue.regression import REGRESSIONS, Regression

CLOSE = 1e-6


def read_problems(path: Path) -> list[Regression]:
    problems = json.loads(path.read_text(encoding="utf-8"))["problems"]
    return [Regression(name, p["x"], p["y"], p["starts"], p["certified"]) for name, p in problems.items()]


def main() -> None:
    reader = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    reader.add_argument("file", nargs="?", type=Path, help="all problems, as described above")
    reader.add_argument("--tiny", action="store_true", help="the first of them alone")
    asked = reader.parse_args()
    logging.getLogger("daedal").setLevel("ERROR")
    problems = read_problems(asked.file) if asked.file else list(REGRESSIONS)
    missed = 0
    for problem in problems[:1] if asked.tiny else problems:
        for start in range(len(problem.starts)):
            model = problem.model(start)
            took, fit = seconds(lambda m=model, p=problem: dd.fit(m, p.data, free=p.free))
            error = problem.measure_error(fit.params)
            good = error <= CLOSE and fit.status.ok
            missed += not good
            end = "" if good else f"  {fit.status}"
            print(
                f"{problem.name:10} start {start + 1}  {error:8.1e}  {fit.evaluations:5} evaluations {took:6.2f} s{end}"
            )
    print(f"{missed} of them missed a certified value by more than {CLOSE:g}")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
