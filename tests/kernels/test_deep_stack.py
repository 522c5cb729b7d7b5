"""Code that was not optimised puts every value on the stack: a megabyte and more of it must not end the process."""

import subprocess
import sys

from daedal.kernels import compiler

SCRIPT = """
import threading
import casadi as ca
import numpy as np
from daedal.kernels import compiler
from daedal.kernels.scan import compile_scan

count = 8000
x, none = ca.SX.sym("x"), ca.SX.sym("none", 0)
products = [x * (1.0 + k / count) for k in range(count)]  # all needed twice
first = sum(products) / count
total = first
for product in reversed(products):
    total = 0.5 * total + product * first
step = ca.Function("step", [x, none, none, none], [total])
kernel = compile_scan(step, quick=True, width=16)
state = np.linspace(1.0, 2.0, 16)[None].copy()
truth = np.array([float(step(one, [], [], [])) for one in state[0]])


def run():
    kernel.run(state, np.zeros((0, 16)), np.zeros((1, 0)), np.zeros((1, 0, 16)), np.full(1, -1), np.zeros((0, 0, 16)))


before = threading.stack_size(1 << 18)
thread = threading.Thread(target=run)
thread.start()
thread.join()
assert threading.stack_size(before) == 1 << 18
assert np.allclose(state[0], truth, rtol=1e-12), (state[0], truth)
print("done")
"""


def test_values_that_do_not_fit_on_the_stack_of_a_thread():
    """A quarter of a megabyte, as a nest of many switches needs more than the eight that there are."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr


def test_how_much_is_put_there():
    line = "  %v = fadd <16 x double> %a, %b\n"
    assert compiler.estimate_stack(compiler.UNOPTIMISED + line * 1000) == 128 * 1001
    assert compiler.estimate_stack(line * 1000) == compiler.SPILLED * 1000
