"""Every benchmark runs to its end at its tiny size, each of its figures; what they measure is read elsewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
LAST_WORDS = {  # of each figure, in the order in which they are printed
    "components": ["drive", "RC ladder of 3 stages", "RLC ladder of 3 stages", "house of 3 rooms"],
    "commands": ["daedal --help", "daedal check", "ratio"],
    "coverage": ["decay", "beam", "oscillator", "furnace", "kiln", "tank", "duffing", "sensor", "bilinear", "fan"],
    "damage": ["written: 10 flipped bits", "without its last line: 2 zeroed", "of 0.1.0: 2 zeroed blocks"],
    "delays": ["DOP853", "11 weights", "5 parameters, 2 states", "delayed, held input", "function calls"],
    "ensemble": ["from compiled code on disk", "CasADi idas", "of each pendulum", "64 realizations"],
    "errors": ["plain residuals", "mean", "whitened residuals", "worst"],
    "estimation": ["whitened fit", "joint fit", "whitened, N = 100", "not debiased"],
    "foundation": ["robertson", "rlc ladder of 5", "rtol 1e-10", "import daedal"],
    "growth": ["exponent", "simulate, uneven", "save and load"],
    "interrupts": ["evaluate: ", "build: ", "0 without a sentence", "0 after which"],
    "laplace": ["by radau5", "value alone in"],
    "likelihood": ["100 regular samples", "three intervals", "4 states, 20 samples", "hold the truth"],
    "nist": ["start 1", "start 2", "0 of them missed"],
    "nonlinear": ["pendulum", "wind", "long", "oscillator", "bistable", "regulator"],
    "order": [
        "Rao–Garnier, held",
        "with the delay known",
        "regular samples",
        "irregular samples",
        "input order right",
        "relative to output",
    ],
    "report": ["OutputError: ", "Likelihood: "],
    "residuals": ["independent residuals", "dependent residuals", "N = 1000, pole 0.2"],
    "studies": [
        "× faster",
        "commits too",
        "rows read in",
        "bit for bit: True",
        "the same table True",
        "normal estimates, 999 runs",
        "MonteCarlo(truth='tank'): 2 runs",
        "drive, 1",
        "tank, 1",
    ],
    "scale": [
        "6 parameters",
        "delta robot",
        "grid of 6 buses",
        "30 states",
        "SimulationPEM, 200 samples",
        "akzo nobel",
        "stiff kinetics",
        "evaluate beside",
        "2 exchangers",
        "4 experiments",
    ],
    "starts": ["2 workers", "same: True", "Lorenz from", "Lotka-Volterra from"],
    "switching": ["never changes, against none", "to the next", "against viscous friction", "friction by its sign"],
}


QUICK = """
import runpy, sys
from pathlib import Path
from daedal.kernels import compiler
load = compiler.load
compiler.load = lambda text, _quick=False: load(text, quick=True)
del sys.argv[0]
sys.path.insert(0, str(Path(sys.argv[0]).parent))
runpy.run_path(sys.argv[0], run_name="__main__")
"""  # long code is run for a moment here and is not optimised


def test_every_benchmark_is_tested_here():
    scripts = {path.stem for path in FOLDER.glob("*.py") if "__main__" in path.read_text(encoding="utf-8")}
    assert scripts == set(LAST_WORDS)


@pytest.mark.parametrize("name", LAST_WORDS)
def test_a_benchmark_runs_to_its_end(name, tmp_path):
    command = [sys.executable, "-c", QUICK, str(FOLDER / f"{name}.py"), "--tiny"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert re.search(".*".join(map(re.escape, LAST_WORDS[name])), done.stdout, re.DOTALL), done.stdout
