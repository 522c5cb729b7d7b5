"""Values of the right and of the wrong kind, and extreme ones; made anew for each call, as some can be used once."""

import datetime
import decimal
import enum
import fractions
import functools
import itertools
import pathlib

import numpy as np
import pandas
import xarray

import daedal as dd

x, u, k = dd.symbols("x u k")


class OwnError(Exception):
    """What an object of the user's raises."""


def fail(*_, **__):
    raise OwnError("spoilt")


def spoil(method: str, base: type = object, *given, **named):
    """An object that fails, with an error of its own, in one of Python's special methods."""
    return type("Spoilt", (base,), {method: fail})(*given, **named)


def spoil_after(method: str, made):
    """A noun of daedal whose class was derived from and one attribute of which fails."""
    spoilt = object.__new__(type("Spoilt", (type(made),), {method: property(fail)}))
    spoilt.__dict__.update({name: value for name, value in vars(made).items() if name != method})
    return spoilt


class Endless:
    """Something to go through that has no end, again and again; one that lied about its length would hang numpy."""

    def __iter__(self):
        return itertools.repeat(1.0)


class Cloud(list):
    """A list that contains itself."""

    def __init__(self):
        super().__init__([self])


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
    "5e-324": lambda: 5e-324,
    "1e-310": lambda: 1e-310,
    "1.8e308": lambda: 1.7976931348623157e308,
    "0.1": lambda: 0.1,
    "3": lambda: 3,
    "-3.5": lambda: -3.5,
    "1000": lambda: 1000,
    "10**9": lambda: 10**9,
    "2**31": lambda: 2**31,
    "2**63": lambda: 2**63,
    "2**64 - 1": lambda: np.uint64(2**64 - 1),
    "10**400": lambda: 10**400,
    "-10**400": lambda: -(10**400),
    "10**5000": lambda: 10**5000,
    "complex": lambda: 1 + 2j,
    "decimal": lambda: decimal.Decimal("1.5"),
    "fraction": lambda: fractions.Fraction(1, 3),
    "float16": lambda: np.float16(1.5),
    "int8": lambda: np.int8(3),
    "True": lambda: True,
    "np.bool": lambda: np.bool_(False),
    "float32": lambda: np.float32(0.5),
    "int64": lambda: np.int64(2),
    "longdouble": lambda: np.longdouble("1e4000"),
    "np.nan": lambda: np.float64("nan"),
    "np.complex": lambda: np.complex128(1 + 2j),
    "datetime": lambda: datetime.datetime(2024, 1, 1),
    "timedelta": lambda: datetime.timedelta(seconds=2),
    "datetime64": lambda: np.datetime64("2024-01-01"),
    "NaT": lambda: np.timedelta64("NaT"),
    "timestamp": lambda: pandas.Timestamp("2024-01-01", tz="UTC"),
    "pandas.NA": lambda: pandas.NA,
    "enum": lambda: enum.Enum("Colour", "red").red,
    "decimal nan": lambda: decimal.Decimal("sNaN"),
}
TEXTS = {
    "empty": lambda: "",
    "NUL": lambda: "a\0b",
    "surrogate": lambda: "\ud800",
    "long": lambda: "a" * 100_000,
    "x": lambda: "x",
    "y": lambda: "y",
    "k": lambda: "k",
    "u": lambda: "u",
    "t": lambda: "t",
    "der(x)": lambda: "der(x)",
    "time word": lambda: "time",
    "keyword": lambda: "lambda",
    "line": lambda: "a\nb",
    "space": lambda: " ",
    "blank": lambda: "\u200b\u202e",
    "percent": lambda: "%s {0} {x!r} \\",
    "html": lambda: "<b>&amp;</b>",
    "number": lambda: "1.0",
    "np.str": lambda: np.str_("x"),
    "bytearray": lambda: bytearray(b"x"),
    "folder": lambda: pathlib.Path(),
    "device": lambda: "/dev/zero",
    "brackets": lambda: "((((",
    "bytes": lambda: b"x",
    "path": lambda: pathlib.Path("nowhere"),
}
CONTAINERS = {
    "[]": list,
    "()": tuple,
    "{}": dict,
    "set": lambda: {1, 2},
    "set of names": lambda: {"x", "k"},
    "itself": Cloud,
    "deep": lambda: functools.reduce(lambda inner, _: [inner], range(5000), 1.0),
    "many": lambda: [0.5] * 100_000,
    "many names": lambda: [f"n{n}" for n in range(2000)],
    "tiny": lambda: np.linspace(0.0, 1e-310, 21),
    "subnormal": lambda: [1e-310, 2e-310, 3e-310],
    "huge": lambda: [1e200, 2e200, 3e200],
    "far": lambda: [0.0, 1e9],
    "close": lambda: [0.0, 1e-300],
    "late": lambda: 1e15 + np.arange(21.0),
    "infinite": lambda: [0.0, float("inf")],
    "not a number": lambda: [float("nan")] * 21,
    "complexes": lambda: [1j, 2.0, 3.0],
    "big integers": lambda: [10**400, 2],
    "integers": lambda: [1, 2],
    "lists": lambda: [["x", "y"], ["k"]],
    "whole numbers": lambda: np.array([1, 2, 3], dtype=np.uint8),
    "float16s": lambda: np.linspace(0, 2, 21).astype(np.float16),
    "negative strides": lambda: np.linspace(2, 0, 21)[::-1],
    "broadcast": lambda: np.broadcast_to(np.float64(1.0), 21),
    "bytes array": lambda: np.array([b"a", b"b"]),
    "object numbers": lambda: np.array([1.0, 2, fractions.Fraction(1, 2)], dtype=object),
    "object 0-d": lambda: np.array(None, dtype=object),
    "0-d text": lambda: np.array("x"),
    "empty matrix": lambda: np.zeros((0, 3)),
    "times deltas": lambda: np.arange(3).astype("timedelta64[s]"),
    "expressions": lambda: np.array([x, k]),
    "to expression": lambda: {"k": x, "x": k, "y": x + k, "z": k},
    "to derivative": lambda: {x: dd.der(x), dd.der(x): 1.0},
    "to 10**9": lambda: {"k": 10**9, "x": 10**9, "y": 10**9},
    "to tiny": lambda: {"k": 1e-310, "x": 1e-310, "y": 1e-310},
    "to huge": lambda: {"k": 1e300, "x": 1e300, "y": 1e300},
    "to zero": lambda: {"k": 0.0, "x": 0.0, "y": 0.0},
    "to parameter": lambda: {"k": dd.Parameter(0.5, lower=0.1)},
    "to self": lambda: {"x": "x", "y": "y", "k": "k"},
    "to spoilt": lambda: {"k": spoil("__repr__"), "x": spoil("__float__"), "y": spoil("__array__")},
    "spoilt keys": lambda: {spoil("__str__"): 1.0, spoil("__repr__"): 1.0},
    "two sets": lambda: [{"k": 1.0}, {"k": 2.0}],
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
    "series by date": lambda: pandas.Series([1.0, 2.0], index=pandas.to_datetime(["2024-01-01", "2024-01-02"])),
    "frame by date": lambda: pandas.DataFrame({"y": [1.0, 2.0]}, index=pandas.DatetimeIndex(["2024-01-01", "NaT"])),
    "frame of levels": lambda: pandas.DataFrame(
        {"y": [1.0, 2.0]}, index=pandas.MultiIndex.from_tuples([(0, "a"), (1, "b")])
    ),
    "frame of two": lambda: pandas.DataFrame([[0.0, 1.0], [1.0, 2.0]], columns=["y", "y"]),
    "frame of column levels": lambda: pandas.DataFrame(
        [[0.0, 1.0]], columns=pandas.MultiIndex.from_tuples([("y", 0), ("y", 1)])
    ),
    "frame without rows": lambda: pandas.DataFrame({"y": []}),
    "frame of nothing": pandas.DataFrame,
    "frame of categories": lambda: pandas.DataFrame({"y": pandas.Categorical(["a", "b"])}),
    "frame of missing": lambda: pandas.DataFrame({"y": pandas.array([1, None], dtype="Int64")}),
    "frame of intervals": lambda: pandas.DataFrame({"y": [1.0, 2.0]}, index=pandas.interval_range(0, 2)),
    "frame of periods": lambda: pandas.DataFrame({"y": [1.0, 2.0]}, index=pandas.period_range("2024", periods=2)),
    "frame of objects": lambda: pandas.DataFrame({"y": [spoil("__float__"), spoil("__repr__")]}),
    "frame of complexes": lambda: pandas.DataFrame({"y": [1j, 2.0]}),
    "frame backwards": lambda: pandas.DataFrame({"y": [1.0, 2.0]}, index=[1.0, 0.0]),
    "frame by text": lambda: pandas.DataFrame({"y": [1.0, 2.0]}, index=["a", "b"]),
    "xarray by date": lambda: xarray.Dataset(
        {"y": ("time", [1.0])}, coords={"time": [np.datetime64("2024-01-01", "ns")]}
    ),
    "xarray of two dimensions": lambda: xarray.Dataset({"y": (("time", "place"), np.zeros((2, 2)))}),
    "xarray without dimensions": lambda: xarray.Dataset({"y": 1.0, "time": 2.0}),
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
    "lanes": dd.Lanes,
    "one lane": lambda: dd.Lanes(step=1e-9),
    "pem": lambda: dd.SimulationPEM(realizations=10**9),
    "segments": lambda: dd.OutputError(segments=10**9),
    "hypercube": lambda: dd.LatinHypercube(10**9),
    "grid": lambda: dd.Grid({"k": 10**9}),
    "white": dd.WhiteNoise,
    "fast noise": lambda: dd.FilteredNoise.low_pass(std=1.0, time_constant=1e-300),
    "noise of formulas": lambda: dd.FilteredNoise([k], [1.0, k]),
    "noise on a grid": lambda: dd.FilteredNoise([1.0], [1.0, 1.0], grid=1e-12),
    "prior": lambda: dd.Normal(1.0, 0.1),
    "transfer": lambda: dd.TransferFunction([1.0], [1.0, 2.0, 3.0], delay=0.1),
    "splines": lambda: dd.SparseSplines(terms=10**9),
    "instruments": lambda: dd.RefinedIV(noise=True, delay="estimated"),
    "delayed": lambda: dd.delay(x, k),
    "held": lambda: dd.hold(x, 1e-9),
    "of time": lambda: np.sin(1e9 * dd.time),
    "data": lambda: dd.Dataset([0.0, 1.0, 2.0], {"u": [0.0, 1.0, 0.0]}, {"y": [0.0, 1.0, 0.5]}),
    "tiny data": lambda: dd.Dataset(np.linspace(0, 2, 21), {"u": np.full(21, 1e-310)}, {"y": 1e-310 * np.arange(21.0)}),
    "large data": lambda: dd.Dataset(np.linspace(0, 2, 21), {"u": np.zeros(21)}, {"y": 1e148 * np.arange(21.0)}),
    "constant data": lambda: dd.Dataset(np.linspace(0, 2, 21), {"u": np.zeros(21)}, {"y": np.zeros(21)}),
    "one sample": lambda: dd.Dataset([0.0], {}, {"y": [0.0]}),
    "missing samples": lambda: dd.Dataset(np.linspace(0, 2, 21), {"u": np.zeros(21)}, {"y": np.full(21, np.nan)}),
    "far data": lambda: dd.Dataset([0.0, 1.0, 1e12], {"u": [0.0, 1.0, 0.0]}, {"y": [0.0, 1.0, 0.5]}),
    "data without outputs": lambda: dd.Dataset([0.0, 1.0], {"u": [0.0, 1.0]}),
    "two data": lambda: [dd.Dataset([0.0, 1.0], {"u": [0.0, 1.0]}, {"y": [0.0, 1.0]})] * 2,
    "__repr__": lambda: spoil("__repr__"),
    "__str__": lambda: spoil("__str__"),
    "__float__": lambda: spoil("__float__"),
    "__array__": lambda: spoil("__array__"),
    "__len__": lambda: spoil("__len__"),
    "__bool__": lambda: spoil("__bool__"),
    "__eq__": lambda: spoil("__eq__"),
    "__hash__": lambda: spoil("__hash__"),
    "float without words": lambda: spoil("__repr__", float, 1.5),
}


class _Once:
    def __iter__(self):
        return self


def spoil_class():
    """An object that does not say of what class it is."""
    return type("Spoilt", (), {"__class__": property(fail)})()


def make_model():
    return dd.Model(
        name="m",
        equations={"rate": dd.der(x) == -k * x + u},
        unknowns=[x],
        inputs=[u],
        outputs={"y": x},
        parameters={k: 1.0},
        measurement_noise={"y": 0.1},
        initial={x: 1.0},
    )


OF_DAEDAL = {**OBJECTS, "model": make_model}


def derive(made):
    """The same noun, of a class of the user's."""
    derived = object.__new__(type("Derived", (type(made),), {}))
    derived.__dict__.update(vars(made))
    return derived


def _spoil_noun(name: str, attribute: str):
    return spoil_after(attribute, OF_DAEDAL[name]())


SPOILT = {
    "__iter__": lambda: spoil("__iter__"),
    "__next__": lambda: spoil("__next__", _Once),
    "__getitem__": lambda: spoil("__getitem__"),
    "__contains__": lambda: spoil("__contains__"),
    "__index__": lambda: spoil("__index__"),
    "__fspath__": lambda: spoil("__fspath__"),
    "__getattr__": lambda: spoil("__getattr__"),
    "__array_ufunc__": lambda: spoil("__array_ufunc__"),
    "__lt__": lambda: spoil("__lt__"),
    "__call__": lambda: spoil("__call__"),
    "__class__": lambda: spoil_class(),
    "list __iter__": lambda: spoil("__iter__", list, [1.0, 2.0]),
    "list __len__": lambda: spoil("__len__", list, [1.0, 2.0]),
    "list __getitem__": lambda: spoil("__getitem__", list, ["x"]),
    "list __bool__": lambda: spoil("__bool__", list, ["x"]),
    "list __eq__": lambda: spoil("__eq__", list, ["x"]),
    "tuple __iter__": lambda: spoil("__iter__", tuple, ("x",)),
    "dict __iter__": lambda: spoil("__iter__", dict, {"k": 1.0}),
    "dict __getitem__": lambda: spoil("__getitem__", dict, {"k": 1.0}),
    "dict items": lambda: spoil("items", dict, {"k": 1.0}),
    "dict keys": lambda: spoil("keys", dict, {"k": 1.0}),
    "dict __len__": lambda: spoil("__len__", dict, {"k": 1.0}),
    "dict __bool__": lambda: spoil("__bool__", dict, {"k": 1.0}),
    "dict __contains__": lambda: spoil("__contains__", dict, {"k": 1.0}),
    "text __str__": lambda: spoil("__str__", str, "x"),
    "text __hash__": lambda: spoil("__hash__", str, "x"),
    "text __eq__": lambda: spoil("__eq__", str, "x"),
    "text __len__": lambda: spoil("__len__", str, "x"),
    "text __iter__": lambda: spoil("__iter__", str, "x"),
    "text encode": lambda: spoil("encode", str, "x"),
    "int __index__": lambda: spoil("__index__", int, 3),
    "int __int__": lambda: spoil("__int__", int, 3),
    "int __float__": lambda: spoil("__float__", int, 3),
    "int __eq__": lambda: spoil("__eq__", int, 3),
    "int __le__": lambda: spoil("__le__", int, 3),
    "int __bool__": lambda: spoil("__bool__", int, 3),
    "float __float__": lambda: spoil("__float__", float, 1.5),
    "float __lt__": lambda: spoil("__lt__", float, 1.5),
    "float __gt__": lambda: spoil("__gt__", float, 1.5),
    "float __mul__": lambda: spoil("__mul__", float, 1.5),
    "float __hash__": lambda: spoil("__hash__", float, 1.5),
    "path __fspath__": lambda: spoil("__fspath__", type(pathlib.Path()), "fit.nc"),
    "array __array_finalize__": lambda: np.zeros(3).view(type("Spoilt", (np.ndarray,), {"__getitem__": fail})),
    "array __array_function__": lambda: np.zeros(3).view(type("Spoilt", (np.ndarray,), {"__array_function__": fail})),
    "frame columns": lambda: type("Spoilt", (pandas.DataFrame,), {"columns": property(fail)})(),
    "to __iter__": lambda: {"k": spoil("__iter__"), "x": spoil("__index__"), "y": spoil("__fspath__")},
    "list of __iter__": lambda: [spoil("__iter__"), spoil("__index__")],
    "keys __eq__": lambda: {spoil("__repr__", str, "k"): 1.0, spoil("__str__", str, "x"): 1.0},
    "model of a kind": lambda: derive(OF_DAEDAL["model"]()),
    **{f"{name} .{attribute}": functools.partial(_spoil_noun, name, attribute) for name, attribute in (
        ("model", "equations"), ("model", "parameters"), ("model", "name"), ("model", "outputs"), ("data", "times"),
        ("data", "outputs"), ("data", "inputs"), ("data", "t0"), ("signal", "times"), ("signal", "values"),
        ("parameter", "value"), ("parameter", "lower"), ("parameter", "prior"), ("noise", "numerator"),
        ("noise", "grid"), ("formula", "sx"), ("equation", "residual"), ("criterion", "segments"),
        ("criterion", "whiten"), ("solver", "rtol"), ("lanes", "method"), ("lanes", "step"), ("prior", "mean"),
        ("transfer", "numerator"), ("transfer", "delay"), ("port", "flow"), ("samples", "values"),
        ("hypercube", "count"), ("instruments", "noise"), ("splines", "terms"), ("pem", "realizations"),
    )},
}  # fmt: skip
ENDLESS = {
    "endless count": lambda: itertools.count(),
    "endless repeat": lambda: itertools.repeat("x"),
    "endless ones": lambda: itertools.repeat(1),
    "endless symbols": lambda: itertools.repeat(x),
    "endless maps": lambda: itertools.repeat({"k": 1.0}),
    "endless iterable": Endless,
    "long range": lambda: range(10**15),
    "a thousand starts": lambda: [{"k": 0.5 + n / 1000} for n in range(1000)],
    "a thousand points": lambda: dd.LatinHypercube(1000),
}
POOL = {**NUMBERS, **TEXTS, **CONTAINERS, **OBJECTS, **SPOILT, **ENDLESS}
