"""The variables of rumoca's flat form: what each is to a Model, its symbols, and its values."""

from collections.abc import Iterator, Mapping
from itertools import product
from math import inf, prod
from typing import Any

import numpy as np

from daedal.errors import DaedalError, ModelError
from daedal.modelica.array_functions import Value, fill, make_constant, unbox
from daedal.modelica.formula_reader import MOST_ELEMENTS, FormulaReader, Node, unpack
from daedal.modelica.source import Source
from daedal.models import Parameter
from daedal.symbolic import NAME, Expression, box, symbol


class Variables:
    """All variables of a flat model by role: number, parameter, input or unknown.

    Numbers are the constants, and the parameters that decide which equations there are: once these are written out,
    another value could not change them any more.
    """

    def __init__(self, source: Source, flat: Mapping[str, Any]) -> None:
        self.source = source
        self.declared: dict[str, Node] = flat["variables"]
        self.literals: dict[str, int] = flat["enum_literal_ordinals"]
        external = {name for name, function in dict(flat["functions"]).items() if function["external"]}
        self.formulas = FormulaReader(source, self.look_up, external)
        self.meanings: dict[str, Value | None] = {}
        self.used: set[str] = set()
        deciding = self._find_deciding(flat)
        driven = set(flat["top_level_input_components"])
        self.roles = {name: _find_role(name, variable, deciding, driven) for name, variable in self.declared.items()}
        for name, variable in self.declared.items():
            if self.roles[name] in ("number", "parameter") and not all(variable["fixed"] or ()):
                raise self.refuse(name, f"parameter '{name}' is found from initial equations", "Give it a value.")

    def _find_deciding(self, flat: Mapping[str, Any]) -> set[str]:
        """Parameters that decide which equations there are, with all that their values are made of."""
        waiting = [name for name, variable in self.declared.items() if variable["is_discrete_type"]]
        for selection in flat["parameter_branch_selections"]:
            waiting += [".".join(path) for path in selection["references"]]
        deciding: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name in self.declared and name not in deciding:
                deciding.add(name)
                waiting += _list_names(self.declared[name]["binding"])
        return deciding

    def refuse(self, name: str, what: str, remedy: str) -> ModelError:
        """The error about a variable, with the line of its declaration."""
        return ModelError(f"{self.source.locate(self.declared[name]['source_span'])}: {what}.", remedy)

    def look_up(self, name: str) -> Value | None:
        """What a name stands for in a formula; None when it is no variable."""
        if name in self.literals and name not in self.declared:
            return make_constant(self.literals[name])
        if name not in self.declared:
            return None
        self.used.add(name)
        if name not in self.meanings:
            self.meanings[name] = None  # as long as its own value is being found
            is_number = self.roles[name] == "number"
            self.meanings[name] = self._read_value(name) if is_number else self._shape(name, self._make_symbols(name))
        value = self.meanings[name]
        if value is None:
            raise self.refuse(name, f"the value of '{name}' is defined by itself", "Give it a number.")
        return value

    def _make_symbols(self, name: str) -> list[Expression]:
        return [symbol(element) for element in self.name_elements(name)]

    def name_elements(self, name: str) -> list[str]:
        """The names of a variable's scalars, row by row: x, or x[1], x[2]."""
        if not NAME.fullmatch(name):
            raise self.refuse(name, f"the name {name} cannot be kept", "Use letters, digits and underscores.")
        self._check_size(name)
        places = product(*(range(1, count + 1) for count in self.declared[name]["dims"]))
        return [f"{name}[{','.join(map(str, place))}]" if place else name for place in places]

    def _check_size(self, name: str) -> None:
        count = prod(self.declared[name]["dims"])
        if count > MOST_ELEMENTS:
            raise self.refuse(name, f"'{name}' has {count} elements, more than {MOST_ELEMENTS}", "Use smaller arrays.")

    def _shape(self, name: str, values: list[Any]) -> Value:
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return unbox(array.reshape(self.declared[name]["dims"]))

    def _spread(self, name: str, node: Node) -> list[Any]:
        """The values of a variable's scalars, from one formula for all or an array of them."""
        self._check_size(name)
        value, shape = box(self.formulas.read(node)), tuple(self.declared[name]["dims"])
        if value.shape not in ((), shape):
            raise self.refuse(name, f"'{name}' has shape {shape}, its value {value.shape}", "Give both one shape.")
        return list(box(fill(unbox(value), shape)).ravel())

    def _read_value(self, name: str) -> Value:
        """The value a parameter or constant is declared with, or else starts with."""
        variable = self.declared[name]
        node = variable["binding"] or (variable["start"] if _says_start(variable) else None)
        if node is None:
            raise self.refuse(name, f"parameter '{name}' has no value", f"Write {name.rsplit('.')[-1]} = 1.0.")
        return self._shape(name, self._spread(name, node))

    def list_symbols(self, role: str) -> list[Expression]:
        """The symbols of one role; "output" are the outputs of the model itself, not of its parts."""
        names = [
            name
            for name, variable in self.declared.items()
            if self.roles[name] == role
            or (role == "output" and "Output" in variable["causality"] and "." not in name and self._varies(name))
        ]
        return [element for name in names for element in self._make_symbols(name)]

    def _varies(self, name: str) -> bool:
        return self.roles[name] in ("unknown", "input")

    def read_bindings(self) -> Iterator[tuple[Expression, Any]]:
        """Unknowns that are declared with a formula: each is an equation."""
        for name, variable in self.declared.items():
            if self.roles[name] == "unknown" and variable["binding"] is not None:
                yield from zip(self._make_symbols(name), self._spread(name, variable["binding"]), strict=True)

    def read_starts(self) -> dict[str, dict[str, Any]]:
        """Initial values where `fixed`, else guesses."""
        starts: dict[str, dict[str, Any]] = {"initial": {}, "guess": {}}
        for name, variable in self.declared.items():
            says, fixed = _says_start(variable), variable["fixed"] or [False]
            if self.roles[name] != "unknown" or not (says or any(fixed)) or variable["is_discrete_type"]:
                continue
            names = self.name_elements(name)
            values = self._spread(name, variable["start"]) if says else [0.0] * len(names)
            held = fixed * len(names) if len(fixed) == 1 else fixed
            for element, value, is_held in zip(names, values, held, strict=True):
                if is_held or says:
                    starts["initial" if is_held else "guess"][element] = value
        return starts

    def read_parameters(self) -> dict[Expression, Parameter]:
        """All parameters with values, bounds and units; one without a value must not be used."""
        names = [name for name, role in self.roles.items() if role == "parameter"]
        # An outer parameter is listed without a value, and the formulas use the inner one.
        bound = {name: self._read_value(name) for name in names if self.declared[name]["binding"] is not None}
        bound |= {name: self._read_value(name) for name in names if name not in bound and self._needs_value(name)}
        parameters: dict[Expression, Parameter] = {}
        for name in names:
            if name in bound:
                lower, upper = (self._read_bound(name, side) for side in ("min", "max"))
                for row in zip(self.name_elements(name), box(bound[name]).ravel(), lower, upper, strict=True):
                    parameters[symbol(row[0])] = self._make_parameter(name, *row[1:])
        return parameters

    def read_units(self) -> dict[str, str]:
        """Of everything that varies."""
        return {
            element: unit
            for name, variable in self.declared.items()
            if self._varies(name) and (unit := variable["unit"])
            for element in self.name_elements(name)
        }

    def _needs_value(self, name: str) -> bool:
        return name in self.used or _says_start(self.declared[name])

    def _make_parameter(self, name: str, value: Any, lower: float, upper: float) -> Parameter:
        try:
            unit, told = (self.declared[name][word] or "" for word in ("unit", "description"))
            return Parameter(value, lower=lower, upper=upper, unit=unit, description=told)
        except DaedalError as error:
            raise ModelError(f"Parameter '{name}': {error.sentence}", error.remedy) from None

    def _read_bound(self, name: str, side: str) -> list[float]:
        """min or max of every element, which must be numbers."""
        node = self.declared[name][side]
        if node is None:
            return [-inf if side == "min" else inf] * len(self.name_elements(name))
        values = self._spread(name, node)
        if not all(value.sx.is_constant() for value in values):
            raise self.refuse(name, f"{side} of parameter '{name}' must be a number", "Leave it out, or give a number.")
        return [float(value) for value in values]


def _find_role(name: str, variable: Node, deciding: set[str], driven: set[str]) -> str:
    variability = variable["variability"]
    if "Constant" in variability or ("Parameter" in variability and name in deciding):
        return "number"
    if "Parameter" in variability:
        return "parameter"
    outside = name.split(".")[0].split("[")[0] in driven
    return "input" if outside and "Input" in variable["causality"] and variable["binding"] is None else "unknown"


def _list_names(node: Any) -> list[str]:
    """The names a formula refers to."""
    waiting, names = [node], []
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            names += [part["VarRef"]["name"]["name"]] if "VarRef" in part else []
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return names


def _says_start(variable: Node) -> bool:
    """Whether a start value was written; rumoca's own zeros have the place of the declaration."""
    if variable["start"] is None:
        return False
    content = unpack(variable["start"])[1]
    return content["span"]["start"] != variable["source_span"]["start"]
