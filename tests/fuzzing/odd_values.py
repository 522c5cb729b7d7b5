"""Values of the right and of the wrong kind, and extreme ones; made anew for each call, as some can be used once."""

import decimal
import fractions
import pathlib

import numpy as np
import pandas
import xarray

import daedal as dd

x, u, k = dd.symbols("x u k")

NUMBERS = {
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: -float("inf"),
    "-0.0": lambda: -0.0,
    "0": lambda: 0,
    "-1": lambda: -1,
    "1": lambda: 1,
    "2.5": lambda: 2.5,
    "1e-300": lambda: 1e-300,
    "1e300": lambda: 1e300,
    "10**400": lambda: 10**400,
    "complex": lambda: 1 + 2j,
    "decimal": lambda: decimal.Decimal("1.5"),
    "fraction": lambda: fractions.Fraction(1, 3),
    "float16": lambda: np.float16(1.5),
    "int8": lambda: np.int8(3),
    "True": lambda: True,
    "np.bool": lambda: np.bool_(False),
}
TEXTS = {
    "empty": lambda: "",
    "NUL": lambda: "a\0b",
    "surrogate": lambda: "\ud800",
    "long": lambda: "a" * 100_000,
    "x": lambda: "x",
    "y": lambda: "y",
    "k": lambda: "k",
    "der(x)": lambda: "der(x)",
    "brackets": lambda: "((((",
    "bytes": lambda: b"x",
    "path": lambda: pathlib.Path("nowhere"),
}
CONTAINERS = {
    "[]": list,
    "()": tuple,
    "{}": dict,
    "set": lambda: {1, 2},
    "nested": lambda: [[1.0], [[2.0]]],
    "ragged": lambda: [[1.0, 2.0], [3.0]],
    "generator": lambda: (n for n in range(3)),
    "range": lambda: range(3),
    "odd keys": lambda: {None: 1.0, 3: "a"},
    "tuple keys": lambda: {(1, 2): 3.0},
    "wrong names": lambda: {"nothing": 1.0},
    "name to text": lambda: {"k": "text"},
    "name to None": lambda: {"k": None, "x": None, "y": None},
    "name to nan": lambda: {"k": float("nan"), "x": float("nan")},
    "name to array": lambda: {"k": np.zeros(3), "u": np.zeros(3)},
    "symbol to number": lambda: {k: 2.0, x: 1.0},
    "numbers": lambda: [0.0, 1.0, 2.0],
    "unsorted": lambda: [2.0, 1.0, 0.0],
    "one number": lambda: [1.0],
    "names": lambda: ["x", "y"],
    "nones": lambda: [None, None],
    "0-d": lambda: np.array(1.0),
    "3-d": lambda: np.zeros((2, 2, 2)),
    "matrix": lambda: np.eye(2),
    "empty array": lambda: np.zeros(0),
    "objects": lambda: np.array([None, "a"], dtype=object),
    "texts": lambda: np.array(["a", "b"]),
    "masked": lambda: np.ma.array([1.0, 2.0], mask=[True, False]),
    "structured": lambda: np.zeros(2, dtype=[("a", float)]),
    "dates": lambda: np.array(["2024-01-01"], dtype="datetime64[s]"),
    "series": lambda: pandas.Series([1.0, 2.0]),
    "frame": lambda: pandas.DataFrame({"x": [1.0, 2.0]}),
    "data array": lambda: xarray.DataArray([1.0, 2.0]),
    "xarray": lambda: xarray.Dataset({"x": ("time", [1.0, 2.0])}),
}
OBJECTS = {
    "None": lambda: None,
    "Ellipsis": lambda: ...,
    "object": object,
    "class": lambda: dict,
    "a class of daedal": lambda: dd.Model,
    "function": lambda: len,
    "lambda": lambda: lambda *_: 1.0,
    "module": lambda: np,
    "error": lambda: ValueError("x"),
    "slice": lambda: slice(None),
    "generator of numbers": lambda: np.random.default_rng(0),
    "symbol": lambda: x,
    "formula": lambda: x * k + 1,
    "derivative": lambda: dd.der(x),
    "condition": lambda: x > 0,
    "equation": lambda: x == 1,
    "time": lambda: dd.time,
    "parameter": lambda: dd.Parameter(1.0),
    "port": lambda: dd.Port("electrical", x, u),
    "noise": lambda: dd.FilteredNoise.low_pass(std=1.0, time_constant=1.0),
    "signal": lambda: dd.Signal([0.0, 1.0], [0.0, 1.0]),
    "samples": lambda: dd.Samples(np.array([0.0, 1.0]), np.array([0.0, 1.0])),
    "solver": dd.IDA,
    "criterion": dd.OutputError,
}
POOL = {**NUMBERS, **TEXTS, **CONTAINERS, **OBJECTS}
