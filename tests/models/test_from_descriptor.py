"""`Model.from_descriptor`: matrices in, the same matrices out."""

import numpy as np
import pytest

import daedal as dd
from daedal.errors import DaedalError, ModelError

k, m = dd.symbols("k m")


def random_matrices(generator, n=4, inputs=2, noises=2, outputs=3):
    """Matrices without structure, E of rank n − 2."""
    E = generator.normal(size=(n, n - 2)) @ generator.normal(size=(n - 2, n))
    shapes = {"F": (n, n), "G": (n, inputs), "J": (n, noises), "H": (outputs, n), "f": (n,)}
    return {"E": E} | {key: generator.normal(size=shape) for key, shape in shapes.items()}


def test_matrices_come_back():
    matrices = random_matrices(np.random.default_rng(1))
    model = dd.Model.from_descriptor(name="m", disturbances=[dd.WhiteNoise(1.0), dd.WhiteNoise(2.0)], **matrices)
    again = dd.descriptor(model)
    for key, matrix in matrices.items():
        np.testing.assert_array_equal(getattr(again, key), matrix)
    assert again.variables == ("z[0]", "z[1]", "z[2]", "z[3]")
    assert again.equations == ("row[0]", "row[1]", "row[2]", "row[3]")
    assert (again.inputs, again.disturbances) == (("u[0]", "u[1]"), ("w[0]", "w[1]"))
    assert again.outputs == ("y[0]", "y[1]", "y[2]")


def test_names_parameters_and_everything_else_arrive():
    model = dd.Model.from_descriptor(
        name="mass",
        E=[[1.0, 0.0], [0.0, m]],
        F=[[0.0, 1.0], [-k, 0.0]],
        G=[[0.0], [1.0]],
        J=[[0.0], [1.0]],
        H=np.array([[1.0, 0.0]]),
        variables=["x", dd.symbol("v")],
        inputs=["force"],
        disturbances={"wind": dd.WhiteNoise(intensity=k)},
        outputs=["position"],
        equations=["kinematics", "balance"],
        parameters={m: 2.0, k: dd.Parameter(8.0, lower=0.0)},
        measurement_noise={"position": 0.1},
        initial={"x": 1.0},
        guess={"v": 0.5},
    )
    assert str(model.equations["balance"]) == "m*der(v) == force - k*x + wind"
    assert (model.unknown_names, model.input_names) == (("x", "v"), ("force",))
    assert model.measurement_noise == {"position": 0.1}
    assert (float(model.initial["x"]), float(model.guess["v"])) == (1.0, 0.5)
    np.testing.assert_array_equal(dd.descriptor(model, {"k": 3.0}).F, [[0.0, 1.0], [-3.0, 0.0]])
    assert dd.Model.from_text(model.to_text()) == model


def test_correlated_noise_takes_several_columns():
    noise = dd.StateSpaceNoise(A=[[-1.0]], B=[[1.0]], C=[[1.0], [2.0]])
    model = dd.Model.from_descriptor(
        name="m", E=[[1.0]], F=[[-1.0]], J=[[1.0, 2.0, 3.0]], disturbances=[dd.WhiteNoise(), noise]
    )
    assert list(model.disturbances) == ["w[0]", ("w[1]", "w[2]")]
    np.testing.assert_array_equal(dd.descriptor(model).J, [[1.0, 2.0, 3.0]])


def test_a_row_of_zeros_in_h_stays():
    model = dd.Model.from_descriptor(name="m", E=[[1.0]], F=[[-1.0]], H=[[0.0], [1.0]])
    np.testing.assert_array_equal(dd.descriptor(model).H, [[0.0], [1.0]])


GOOD = {"name": "m", "E": np.eye(2), "F": -np.eye(2)}
WRONG = {
    "not square": ({"E": np.ones((2, 3))}, "The matrix E must be square, got 2 rows and 3 columns."),
    "rows of F": ({"F": np.ones((3, 2))}, "The matrix F must have 2 rows, one per row of E, got 3."),
    "columns of F": ({"F": np.ones((2, 3))}, "The matrix F must have 2 columns, one per variable, got 3."),
    "rows of G": ({"G": np.ones((1, 1))}, "The matrix G must have 2 rows, one per row of E, got 1."),
    "columns of G": ({"G": np.ones((2, 1)), "inputs": ["a", "b"]}, "G must have 2 columns, one per input, got 1."),
    "columns of J": ({"J": np.ones((2, 2)), "disturbances": [dd.WhiteNoise()]}, "J must have 1 column, one per dist"),
    "columns of H": ({"H": np.ones((1, 3))}, "The matrix H must have 2 columns, one per variable, got 3."),
    "rows of H": ({"H": np.ones((2, 2)), "outputs": ["y"]}, "The matrix H must have 1 row, one per output, got 2."),
    "length of f": ({"f": [1.0]}, "The matrix f must have 2 rows, one per row of E, got 1."),
    "names": ({"variables": ["x"]}, "The variables must be 2 names, one per column of E, got 1."),
    "one text": ({"variables": "xy"}, "The variables must be a list of names"),
    "inputs without G": ({"inputs": ["u"]}, "There is no matrix G for the 1 input. Give G too."),
    "noise without J": ({"disturbances": [dd.WhiteNoise()]}, "There is no matrix J for the 1 disturbance."),
    "J without noise": ({"J": np.ones((2, 1))}, "The matrix J is given, but no disturbances. Declare one noise"),
    "no noise": ({"J": np.ones((2, 1)), "disturbances": [1.0]}, "must be noise declarations in the order"),
    "ragged": ({"F": [[1.0, 2.0], [3.0]]}, "The matrix F must be a list of rows of equal length"),
    "vector": ({"F": [1.0, 2.0]}, "The matrix F must be a list of rows of equal length"),
    "not finite": ({"F": [[np.nan, 1.0], [0.0, 1.0]]}, "Entry [0, 0] of F must be finite, got nan."),
    "unknown symbol": ({"F": [[1.0, 0.0], [0.0, k]]}, "Entry [1, 1] of F contains 'k', which is not among the par"),
    "text": ({"F": [["a", 0.0], [0.0, 1.0]]}, "Entry [0, 0] of F must be an expression"),
    "no E": ({"E": None}, "A descriptor form needs both E and F."),
    "empty row": ({"E": [[1.0, 0.0], [0.0, 0.0]], "F": [[1.0, 0.0], [0.0, 0.0]]}, "contains no unknown"),
    "empty list": ({"E": [], "F": []}, "The matrix E must be a list of rows"),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_input(case):
    changes, sentence = WRONG[case]
    with pytest.raises(DaedalError) as error:
        dd.Model.from_descriptor(**{**GOOD, **changes})
    assert sentence in str(error.value)


def test_two_variables_of_one_name():
    with pytest.raises(ModelError, match="list 'x' twice"):
        dd.Model.from_descriptor(**GOOD, variables=["x", "x"])
