"""Formulas of rumoca's flat form as expressions: scalars are `Expression`, arrays are numpy arrays of them.

A formula is a tree of nodes {kind: content}; every content has a `span`, the place it was written at.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from operator import add, ge, gt, le, lt, ne, sub, truediv
from typing import Any, NoReturn

import numpy as np

from daedal.errors import ModelError
from daedal.modelica.array_functions import (
    FUNCTIONS,
    Value,
    concatenate,
    fill,
    make_constant,
    make_identity,
    multiply,
    raise_to,
    stack,
    unbox,
    vectorize,
)
from daedal.modelica.source import Source, Span
from daedal.symbolic import Expression, box, time, where

Node = Mapping[str, Any]

# `==` between expressions makes an equation, so that equality is the negation of `!=`.
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": add,
    "AddElem": add,
    "Sub": sub,
    "SubElem": sub,
    "Mul": multiply,
    "MulElem": lambda a, b: a * b,
    "Div": truediv,
    "DivElem": truediv,
    "Exp": raise_to,
    "ExpElem": lambda a, b: a**b,
    "Lt": lt,
    "Le": le,
    "Gt": gt,
    "Ge": ge,
    "Neq": ne,
    "Eq": lambda a, b: ~(a != b),
    "And": lambda a, b: a & b,
    "Or": lambda a, b: a | b,
}
SIGNS: dict[str, Callable[[Any], Any]] = {
    "Minus": lambda a: -a,
    "DotMinus": lambda a: -a,
    "Plus": lambda a: a,
    "DotPlus": lambda a: a,
    "Not": vectorize(lambda a: ~a),
}
MOST_ELEMENTS = 1_000_000  # of one array
IN_WORDS = {
    "FieldAccess": "a slice of components",
    "Index": "an index into a formula",
    "Tuple": "several results of a function",
}


def unpack(node: Node) -> tuple[str, Any]:
    """Kind and content of a node."""
    return next(iter(node.items()))


def split_sides(node: Node) -> tuple[Node | None, Node | None]:
    """Left and right side of a residual; a residual that is no difference has none."""
    kind, content = unpack(node)
    return (content["lhs"], content["rhs"]) if kind == "Binary" and content["op"] == "Sub" else (None, None)


def find_extent(node: Any) -> Span | None:
    """The place of a whole formula: from its first to its last part, declarations of its names left out."""
    waiting, spans = [node], []
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            spans += [part["span"]] if part.get("span") else []
            waiting += [value for key, value in part.items() if key not in ("span", "name")]
        elif isinstance(part, list):
            waiting += part
    if not spans:
        return None
    return {
        "source": spans[0]["source"],
        "start": min(span["start"] for span in spans),
        "end": max(span["end"] for span in spans),
    }


def is_true(value: Value) -> bool | None:
    """Whether a condition holds; None when that is known only later."""
    scalar = unbox(value)
    return bool(float(scalar)) if isinstance(scalar, Expression) and scalar.sx.is_constant() else None


@dataclass(frozen=True)
class FormulaReader:
    """Reads formulas, given what each name stands for."""

    source: Source
    look_up: Callable[[str], Value | None]
    external: Collection[str] = ()
    indices: Mapping[str, float] = field(default_factory=dict)

    def with_indices(self, indices: Mapping[str, float]) -> "FormulaReader":
        """The same inside a loop, where some names are numbers."""
        return replace(self, indices={**self.indices, **indices})

    def refuse(self, node: Any, what: str, remedy: str) -> NoReturn:
        """The error for something that cannot be read, with its line."""
        raise ModelError(f"{self.source.locate(find_extent(node))}: {what}.", remedy)

    def read(self, node: Node) -> Value:
        """The scalar or array that a formula stands for."""
        kind, content = unpack(node)
        read = getattr(self, f"_read_{kind}", None)
        if read is None:
            what = IN_WORDS.get(kind, f"the construct '{kind}'")
            self.refuse(node, f"{what} cannot be read", "Write its elements out.")
        return read(content)

    def read_number(self, node: Node, what: str) -> float:
        """A number that must be known when the file is read."""
        value = unbox(self.read(node))
        if not isinstance(value, Expression) or not value.sx.is_constant():
            self.refuse(node, f"{what} must be a number, got {value}", "Use numbers, constants and Integer parameters.")
        return float(value)

    def _read_Literal(self, content: Node) -> Value:
        value = next(iter(content["value"].values())) if isinstance(content["value"], Mapping) else content["value"]
        if not isinstance(value, (int, float)):
            self.refuse(content, f"the text {value!r} stands where a number belongs", "Write a number.")
        return make_constant(float(value))

    def _read_VarRef(self, content: Node) -> Value:
        name = content["name"]["name"]
        if name in self.indices:
            return make_constant(self.indices[name])
        value = time if name == "time" else self.look_up(name)
        if value is None:
            self.refuse(content, f"'{name}' cannot be read", "Refer to variables, parameters and constants by name.")
        return self._take_element(content, name, value) if content["subscripts"] else value

    def _take_element(self, content: Node, name: str, value: Value) -> Value:
        """An element or a part of an array; dimensions that are indexed by a scalar vanish."""
        array, axis = box(value), 0
        for subscript in content["subscripts"]:
            kind, inner = unpack(subscript)
            if kind == "Colon":
                axis += 1
                continue
            chosen = make_constant(inner["value"]) if kind == "Index" else self.read(inner["expr"])
            if any(not index.sx.is_constant() for index in box(chosen).ravel()):
                self.refuse(content, f"an index of '{name}' changes with time", "Use numbers and Integer parameters.")
            places = np.asarray(box(chosen), dtype=float).astype(int)
            if np.any((places < 1) | (places > array.shape[axis])):
                self.refuse(
                    content,
                    f"'{name}' has no element {places.ravel().tolist()} in dimension {axis + 1}, only 1 to "
                    f"{array.shape[axis]}",
                    "Correct the index, or declare a larger array.",
                )
            array = box(np.take(array, places - 1, axis=axis))
            axis += places.ndim
        return unbox(array)

    def _read_Binary(self, content: Node) -> Value:
        chain = [content]  # a long sum is a deep tree on the left, deeper than Python may recurse
        while (left := unpack(chain[-1]["lhs"]))[0] == "Binary":
            chain.append(left[1])
        value = self.read(chain[-1]["lhs"])
        for part in reversed(chain):
            if part["op"] not in OPERATORS:
                self.refuse(part, f"the operator '{part['op']}' cannot be read", "Write it in another way.")
            value = unbox(OPERATORS[part["op"]](value, self.read(part["rhs"])))
        return value

    def _read_Unary(self, content: Node) -> Value:
        if content["op"] not in SIGNS:
            self.refuse(content, f"the operator '{content['op']}' cannot be read", "Write it in another way.")
        return unbox(SIGNS[content["op"]](self.read(content["rhs"])))

    def _read_If(self, content: Node) -> Value:
        return self._choose(list(content["branches"]), content["else_branch"])

    def _choose(self, branches: Sequence[Sequence[Node]], otherwise: Node) -> Value:
        """The first branch whose condition holds; those that can never hold are left out."""
        if not branches:
            return self.read(otherwise)
        condition = self.read(branches[0][0])
        holds = is_true(condition)
        if holds is None:
            return unbox(where(condition, self.read(branches[0][1]), self._choose(branches[1:], otherwise)))
        return self.read(branches[0][1]) if holds else self._choose(branches[1:], otherwise)

    def _read_Array(self, content: Node) -> Value:
        values = [self.read(element) for element in content["elements"]]
        if content["kind"] == "Array":
            return stack(values)
        return concatenate(values, axis=0 if content["kind"] == "Vertical" else 1)

    def _read_ArrayComprehension(self, content: Node) -> Value:
        loops = content["indices"]
        if len(loops) > 1 or content["filter"]:
            self.refuse(content, "a formula with several loops cannot be read", "Write one loop inside the other.")
        name, values = loops[0]["name"], box(self.read(loops[0]["range"]))
        return stack(self.with_indices({name: float(value)}).read(content["expr"]) for value in values)

    def _read_Range(self, content: Node) -> Value:
        first, last = (self.read_number(content[side], "The end of a range") for side in ("start", "end"))
        step = self.read_number(content["step"], "The step of a range") if content["step"] else 1.0
        if not step:
            self.refuse(content, "the step of a range is zero", "Give another step.")
        count = int(np.floor((last - first) / step + 1e-9)) + 1
        self._check_size(content, max(count, 0))
        return stack(make_constant(first + k * step) for k in range(max(count, 0)))

    def _read_FunctionCall(self, content: Node) -> NoReturn:
        name = content["name"]["name"]
        kind = "external function" if name in self.external else "function"
        self.refuse(content, f"the {kind} '{name}' cannot be read", "Write its formula in place of the call.")

    def _read_BuiltinCall(self, content: Node) -> Value:
        name, inputs = content["function"], content["args"]
        if name in FUNCTIONS:
            return unbox(FUNCTIONS[name](*map(self.read, inputs)))
        make = getattr(self, f"_make_{name}", None)
        if make is None:
            self.refuse(content, f"the function '{name.lower()}' cannot be read", "Write the model without events.")
        return make(*inputs)

    def _make_Fill(self, value: Node, *counts: Node) -> Value:
        return fill(self.read(value), self._read_counts(counts))

    def _make_Zeros(self, *counts: Node) -> Value:
        return fill(make_constant(0.0), self._read_counts(counts))

    def _make_Ones(self, *counts: Node) -> Value:
        return fill(make_constant(1.0), self._read_counts(counts))

    def _make_Identity(self, count: Node) -> Value:
        return make_identity(self._read_counts([count, count])[0])

    def _make_Linspace(self, begin: Node, end: Node, points: Node) -> Value:
        first, last = self.read(begin), self.read(end)
        (count,) = self._read_counts([points])
        return stack(first + (last - first) * (k / max(count - 1, 1)) for k in range(count))

    def _make_Cat(self, dimension: Node, *parts: Node) -> Value:
        (number,) = self._read_counts([dimension])
        return np.concatenate([box(self.read(part)) for part in parts], axis=number - 1)

    def _make_Size(self, array: Node, *dimension: Node) -> Value:
        shape = box(self.read(array)).shape
        sizes = [make_constant(count) for count in shape]
        return sizes[self._read_counts(dimension)[0] - 1] if dimension else stack(sizes)

    def _read_counts(self, nodes: Sequence[Node]) -> list[int]:
        counts = [int(self.read_number(node, "A size")) for node in nodes]
        for node, count in zip(nodes, counts, strict=True):
            if count < 0:
                self.refuse(node, f"a size is {count}", "Give a number that is not negative.")
        if nodes:
            self._check_size(nodes[0], prod(counts))
        return counts

    def _check_size(self, node: Node, count: int) -> None:
        if count > MOST_ELEMENTS:
            self.refuse(node, f"an array has {count} elements, more than {MOST_ELEMENTS}", "Use smaller arrays.")
