"""A Model from the matrices of a linear system in descriptor form:

E ż = F z + G u + J w + f,   y = H z

Entries are numbers or expressions of parameters; E may be singular.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from daedal.disturbances import Noise, is_noise
from daedal.errors import ModelError, counted, is_list, nearest, show
from daedal.models.declarations import as_name, as_tuple
from daedal.models.model import Model
from daedal.symbolic import Equation, Expression, as_expression, der, list_symbols, symbol

Matrix = np.ndarray  # (row, column) of Expression


def build_from_matrices(
    *,
    name: str,
    E: Any,
    F: Any,
    G: Any,
    J: Any,
    H: Any,
    f: Any,
    variables: Any,
    inputs: Any,
    disturbances: Any,
    outputs: Any,
    equations: Any,
    parameters: Mapping[Any, Any],
    measurement_noise: Mapping[Any, Any],
    initial: Mapping[Any, Any],
    guess: Mapping[Any, Any],
) -> Model:
    """The Model with these matrices; what the arguments mean stands at `Model.from_descriptor`."""
    if not isinstance(parameters, Mapping):
        raise ModelError(f"The parameters must be a mapping, got {show(parameters)}.", "Write {k: 2.0}.")
    known = [as_name(key) for key in parameters]
    matrices = {key: _read_matrix(key, rows, known) for key, rows in zip("EFGJH", (E, F, G, J, H), strict=True)}
    constants = _read_matrix("f", None if f is None else _as_column(f), known)
    e = matrices["E"]
    if e is None or matrices["F"] is None:
        raise ModelError("A descriptor form needs both E and F.", "Give two square matrices of the same size.")
    if e.shape[0] != e.shape[1]:
        raise ModelError(
            f"The matrix E must be square, got {counted(e.shape[0], 'row')} and {counted(e.shape[1], 'column')}.",
            "Give as many equations as variables.",
        )
    n = len(e)
    noise = _name_noise(disturbances)
    z = _choose_symbols("variables", variables, "z", n, "column of E")
    u = _choose_symbols("inputs", inputs, "u", _count_columns(matrices["G"]), "column of G")
    w = [symbol(part) for key in noise for part in as_tuple(key)]
    y = _choose_names("outputs", outputs, "y", _count_rows(matrices["H"]), "row of H")
    rows = _choose_names("equations", equations, "row", n, "row of E")
    _check_shape("F", matrices["F"], (n, "row of E"), (n, "variable"))
    _check_shape("f", constants, (n, "row of E"), (1, "constant term"))
    for key, count, owner in (("G", len(u), "input"), ("J", len(w), "disturbance")):
        _check_named(key, matrices[key], count, owner)
        _check_shape(key, matrices[key], (n, "row of E"), (count, owner))
    _check_named("H", matrices["H"], len(y), "output")
    _check_shape("H", matrices["H"], (len(y), "output"), (n, "variable"))
    right = [_apply(matrices["F"], z), _apply(matrices["G"], u), _apply(matrices["J"], w), _apply(constants, [1.0])]
    left = _apply(e, [der(symbol) for symbol in z])
    return Model(
        name=name,
        equations={row: Equation(left[i], _add_up([part[i] for part in right if part])) for i, row in enumerate(rows)},
        unknowns=z,
        inputs=u,
        outputs=dict(zip(y, _apply(matrices["H"], z), strict=True)),
        parameters=parameters,
        disturbances=noise,
        measurement_noise=measurement_noise,
        initial=initial,
        guess=guess,
    )


def _read_matrix(key: str, rows: Any, parameters: Sequence[str]) -> Matrix | None:
    """The entries as expressions of parameters."""
    if rows is None:
        return None
    array = _as_objects(rows)
    if array.ndim != 2 or not array.size or any(isinstance(entry, (list, tuple)) for entry in array.flat):
        raise ModelError(
            f"The matrix {key} must be a list of rows of equal length, got {show(rows)}.",
            "Write [[1.0, 0.0], [0.0, 0.0]], or leave it out.",
        )
    entries = np.empty(array.shape, dtype=object)
    for (i, j), value in np.ndenumerate(array):
        place = f"[{i}, {j}]" if key != "f" else f"[{i}]"
        entries[i, j] = _read_entry(value, f"Entry {place} of {key}", parameters)
    return entries


def _read_entry(value: Any, what: str, parameters: Sequence[str]) -> Expression:
    expression = as_expression(value, what)
    if expression.sx.is_constant() and not np.isfinite(float(expression)):
        raise ModelError(f"{what} must be finite, got {float(expression)}.", "Give a number.")
    for leaf in list_symbols(expression.sx):
        if leaf not in parameters:
            raise ModelError(
                f"{what} contains '{leaf}', which is not among the parameters.",
                f"{nearest(leaf, parameters)} Entries are numbers or expressions of parameters.",
            )
    return expression


def _as_column(vector: Any) -> Any:
    """The constant term, a vector, as a matrix of one column."""
    array = _as_objects(vector)
    return array[:, None] if array.ndim == 1 else array


def _as_objects(rows: Any) -> np.ndarray:
    """What stands in a list of rows; no dimensions where there are none."""
    try:
        return np.array(rows, dtype=object) if is_list(rows) and not isinstance(rows, Mapping) else np.array(None)
    except Exception:  # whatever the method of a stranger raises
        return np.array(None)


def _count_columns(matrix: Matrix | None) -> int:
    return 0 if matrix is None else matrix.shape[1]


def _count_rows(matrix: Matrix | None) -> int:
    return 0 if matrix is None else len(matrix)


def _check_named(key: str, matrix: Matrix | None, count: int, owner: str) -> None:
    """Names without a matrix are a mistake, and so is noise that was not declared."""
    if matrix is None and count:
        raise ModelError(f"There is no matrix {key} for the {counted(count, owner)}.", f"Give {key} too.")
    if matrix is not None and not count:
        raise ModelError(
            f"The matrix {key} is given, but no {owner}s.",
            "Declare one noise per column of J: disturbances=[WhiteNoise(intensity=1.0)]."
            if owner == "disturbance"
            else f"Name the {owner}s, or leave the names out to number them.",
        )


def _check_shape(key: str, matrix: Matrix | None, rows: tuple[int, str], columns: tuple[int, str]) -> None:
    if matrix is None:
        return
    for got, (count, owner), axis in zip(matrix.shape, (rows, columns), ("row", "column"), strict=True):
        if got != count:
            raise ModelError(
                f"The matrix {key} must have {counted(count, axis)}, one per {owner}, got {got}.",
                f"Check the {axis}s of {key}.",
            )


def _choose_symbols(field: str, names: Any, letter: str, count: int, owner: str) -> list[Expression]:
    return [symbol(name) for name in _choose_names(field, names, letter, count, owner)]


def _choose_names(field: str, given: Any, letter: str, count: int, owner: str) -> list[str]:
    """The names given, or a letter with a number."""
    if given is None:
        return [f"{letter}[{i}]" for i in range(count)]
    if isinstance(given, (str, Expression, Mapping)) or not isinstance(given, Sequence):
        raise ModelError(
            f"The {field} must be a list of names, one per {owner}, got {show(given)}.", f"Write {field}=['{letter}']."
        )
    names = [as_name(name) for name in given]
    if field in ("variables", "equations") and len(names) != count:
        raise ModelError(
            f"The {field} must be {count} names, one per {owner}, got {len(names)}.", "Leave them out to number them."
        )
    return names


def _name_noise(noises: Any) -> dict[str | tuple[str, ...], Noise]:
    """Name → noise; a list of declarations is numbered w[0], w[1], …"""
    if noises is None:
        return {}
    if isinstance(noises, Mapping):
        return {as_name(key): noise for key, noise in noises.items()}
    if isinstance(noises, str) or not isinstance(noises, Sequence) or not all(map(is_noise, noises)):
        raise ModelError(
            f"The disturbances must be noise declarations in the order of the columns of J, got {show(noises)}.",
            "Write {'w': WhiteNoise(intensity=1.0)}, or a list of declarations.",
        )
    named: dict[str | tuple[str, ...], Noise] = {}
    first = 0
    for noise in noises:
        names = tuple(f"w[{first + k}]" for k in range(noise.channels))
        named[names if noise.channels > 1 else f"w[{first}]"] = noise
        first += noise.channels
    return named


def _apply(matrix: Matrix | None, terms: Sequence[Any]) -> list[Expression]:
    """Row by row the sum of entry · term."""
    if matrix is None:
        return []
    return [_add_up([entry * term for entry, term in zip(row, terms, strict=True)]) for row in matrix]


def _add_up(terms: Sequence[Any]) -> Expression:
    kept = [term for term in terms if not term.sx.is_zero()]
    total = as_expression(0.0, "A sum")
    for position, term in enumerate(kept):
        total = term if position == 0 else total + term
    return total
