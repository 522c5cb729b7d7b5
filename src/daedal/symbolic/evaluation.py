"""CasADi functions called through fixed memory: a few microseconds per call instead of conversions."""

from functools import cached_property
from threading import Lock
from typing import Any

import casadi as ca
import numpy as np


class BufferedFunction:
    """A function with one output, whose arguments and result live in arrays that are reused.

    The result is the array of structural nonzeros, column by column; it is overwritten by the next call. Where time
    counts, write into `inputs` and `run`. Only `matrix` may be called from several threads.
    """

    def __init__(self, function: ca.Function) -> None:
        self.sparsity = function.sparsity_out(0)
        self.shape: tuple[int, int] = function.size_out(0)
        self.inputs = [np.zeros(function.nnz_in(i)) for i in range(function.n_in())]
        self.result = np.zeros(function.nnz_out(0))
        self._lock = Lock()
        self._buffer: Any
        self._buffer, self.run = function.buffer()
        for i, values in enumerate(self.inputs):
            self._buffer.set_arg(i, values.data)
        self._buffer.set_res(0, self.result.data)

    def __call__(self, *arguments: Any) -> np.ndarray:
        for target, value in zip(self.inputs, arguments, strict=True):
            target[:] = value
        self.run()
        return self.result

    def matrix(self, *arguments: Any) -> np.ndarray:
        """The result as a dense matrix."""
        dense = np.zeros(self.shape)
        with self._lock:
            dense.reshape(-1)[self.places] = self(*arguments)
        return dense

    @cached_property
    def places(self) -> np.ndarray:
        """Where the nonzeros stand in the dense matrix, counted row by row."""
        rows, columns = self.sparsity.get_triplet()
        return np.array(rows, dtype=int) * self.shape[1] + np.array(columns, dtype=int)
