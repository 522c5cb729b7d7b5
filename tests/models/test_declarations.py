"""What a model refuses, in the user's own names."""

import numpy as np
import pytest

import daedal as dd
from daedal import delay, der, hold, hysteresis
from daedal.errors import DaedalError, ExpressionError, ModelError
from daedal.models import Model, Parameter

x, y, v, u, w, w2, k, m, q, tau = dd.symbols("x y v u w w2 k m q tau")
NOISE = dd.FilteredNoise([1.0], [1.0, 1.0])
PAIR = dd.StateSpaceNoise([[-1, 0], [0, -2]], [[1, 0], [0.5, 1]], [[1, 0], [0, 1]])


def declared(**changes):
    arguments = {
        "name": "tank",
        "equations": {"flow": der(x) == -k * x + u + w},
        "unknowns": [x],
        "inputs": [u],
        "outputs": {"level": x},
        "parameters": {k: 1.0},
        "disturbances": {w: NOISE},
        "initial": {x: 0.0},
    }
    return Model(**{**arguments, **changes})


def equation(value):
    return {"equations": {"flow": value}}


def two(noise):
    return {"outputs": {"level": x, "flow": 2 * x}, "measurement_noise": noise}


BAD = {
    # equations
    "unknown symbol": (
        equation(der(x) == -k * v),
        "'flow' contains 'v', which is not declared. Use one of 'x', 'u', 'w' and 'k'. Otherwise list it among",
    ),
    "misspelt symbol": (
        equation(der(x) == -dd.symbol("temperatur")) | {"parameters": {k: 1, dd.symbol("temperature"): 1.0}},
        "Equation 'flow' contains 'temperatur', which is not declared. Did you mean 'temperature'?",
    ),
    "symbol inside der": (equation(der(x * v) == 0), "Equation 'flow' contains 'v', which is not declared"),
    "without unknowns": (
        {"equations": {"flow": der(x) == -x, "law": k == u}},
        "Equation 'law', k == u, contains no unknown. Remove it, or list the symbol it determines",
    ),
    "unknowns that cancel": (equation(x - x == k), "Equation 'flow', 0 == k, contains no unknown"),
    "der of a parameter": (
        equation(der(x) == der(k)),
        r"Equation 'flow' contains der\(k\), but 'k' is a parameter, which does not change. Make it an unknown",
    ),
    "der of a formula of parameters": (
        equation(der(x) == der(k * m)) | {"parameters": {k: 1, m: 2}},
        r"contains der\(k\*m\), but 'k' and 'm' are parameters, which do not change",
    ),
    "second der of a parameter": (equation(der(x) == der(der(k))), r"contains der\(k\), but 'k' is a parameter"),
    "delay of a parameter": (equation(der(x) == delay(k, 1)), r"contains delay\(k, 1\), but 'k' is a parameter"),
    "delay by an unknown": (
        equation(der(x) == delay(x, x)),
        r"The amount of delay\(x, x\) in equation 'flow' contains the unknown 'x', but must be constant",
    ),
    "delay by an input": (equation(der(x) == delay(x, u)), "contains the input 'u', but must be constant"),
    "delay by time": (equation(der(x) == delay(x, dd.time)), "contains time, but must be constant"),
    "delay by a derivative": (equation(der(x) == delay(x, der(k))), r"contains der\(k\), but must be constant"),
    "delay undeclared": (equation(der(x) == delay(x, tau)), "contains 'tau', which is not declared"),
    "hold of a parameter": (
        equation(der(x) == hold(k, 1)),
        r"contains hold\(k, 1\), but 'k' is a parameter, which does not change. .* write it without hold",
    ),
    "hold every unknown": (
        equation(der(x) == hold(x, x)),
        r"The amount of hold\(x, x\) in equation 'flow' contains the unknown 'x', but must be constant",
    ),
    "hold with the delay of an input": (equation(der(x) == hold(x, k, u)), "contains the input 'u', but must be const"),
    "hold undeclared": (equation(der(x) == hold(x, tau)), "contains 'tau', which is not declared"),
    "hold of what is undeclared": (equation(der(x) == hold(v, 1)), "contains 'v', which is not declared"),
    "hysteresis of a parameter": (
        equation(der(x) == hysteresis(k, 0, 1)),
        r"contains hysteresis\(k, 0, 1\), but 'k' is a parameter, .* write it without hysteresis",
    ),
    "hysteresis undeclared": (equation(der(x) == hysteresis(x, 0, tau)), "contains 'tau', which is not declared"),
    "an expression": (equation(der(x) + x), "Equation 'flow' must be made with '==', got an expression"),
    "a bool": (equation(True), "Equation 'flow' must be made with '==', got True. Write lhs == rhs with symbols"),
    "a bool of numpy": (equation(np.bool_(False)), "Equation 'flow' must be made with '==', got np.False_"),
    "an array": (equation(np.array([x == 1])), "Equation 'flow' must be made with '==', got array"),
    "equation as text": (equation("der(x) == 1"), r"Equation 'flow' must be made with '==', got 'der\(x\) == 1'"),
    "list of equations": (
        {"equations": [der(x) == 1]},
        "The equations of model 'tank' must be a mapping, .* Give every equation a name",
    ),
    "equation named by a symbol": ({"equations": {x: der(x) == 1}}, "name of an equation must be a text, got x"),
    "equation without name": ({"equations": {"": der(x) == 1}}, "name of an equation must be a text, got ''"),
    # unknowns and inputs
    "same unknown twice": ({"unknowns": [x, x]}, "The unknowns list 'x' twice. List every symbol once"),
    "no unknowns": ({"unknowns": []}, "Model 'tank' has no unknowns. List the symbols its equations determine"),
    "unknown as text": ({"unknowns": ["x"]}, r"unknowns must be symbols, got the text 'x'. .* symbol\('x'\)"),
    "unknowns as one text": ({"unknowns": "x"}, "The unknowns must be a list of symbols, got 'x'"),
    "unknowns as one symbol": ({"unknowns": x}, "The unknowns must be a list of symbols, got x"),
    "unknown number": ({"unknowns": [2.0]}, "The unknowns must be plain symbols, got '2.0'"),
    "unknown formula": ({"unknowns": [2 * x]}, r"The unknowns must be plain symbols, got '2\*x'"),
    "unknown that is held": ({"unknowns": [hold(x, 1)]}, r"unknowns must be plain symbols, got 'hold\(x, 1\)'"),
    "unknown derivative": ({"unknowns": [x, der(x)]}, r"The unknowns must be plain symbols, got 'der\(x\)'"),
    "time as unknown": ({"unknowns": [dd.time]}, "The unknowns must be plain symbols, got 'time'"),
    "input twice": ({"inputs": [u, u]}, "The inputs list 'u' twice"),
    "input as text": ({"inputs": ["u"]}, "The inputs must be symbols, got the text 'u'"),
    # roles
    "input and unknown": ({"inputs": [u, x]}, "'x' is declared as both unknown and input. Keep one of the two"),
    "input and parameter": ({"inputs": [u, k]}, "'k' is declared as both input and parameter"),
    "input and disturbance": ({"inputs": [u, w]}, "'w' is declared as both input and disturbance"),
    "unknown and parameter": ({"parameters": {k: 1, x: 2}}, "'x' is declared as both unknown and parameter"),
    "disturbance twice": ({"disturbances": {w: NOISE, (w, w2): PAIR}}, "'w' is declared as disturbance twice"),
    # parameters
    "outside its bounds": (
        {"parameters": {k: Parameter(2.0, lower=3.0)}},
        "The value 2 of parameter 'k' lies outside its bounds 3 … inf. Move the value inside, or widen the bounds",
    ),
    "formula outside its bounds": (
        {"parameters": {k: Parameter(2 * m, upper=3), m: 2}},
        "The value 4 of parameter 'k' lies outside its bounds -inf … 3",
    ),
    "not positive on a log scale": (
        {"parameters": {k: Parameter(-2.0, scale="log")}},
        "The value -2 of parameter 'k' is not positive, as its log scale asks",
    ),
    "parameter NaN": ({"parameters": {k: np.nan}}, "The value of parameter 'k' must be finite, got nan"),
    "formula that divides by zero": (
        {"parameters": {k: 1 / m, m: 0.0}},
        "The value of parameter 'k', 1/m with m = 0, is not finite but inf. Give another value for 'm'",
    ),
    "formula that is not a number": (
        {"parameters": {k: m * np.log(q), m: 2, q: -1}},
        r"parameter 'k', m\*log\(q\) with m = 2, q = -1, is not finite but nan. Give other values for 'm' and 'q'",
    ),
    "parameter by itself": ({"parameters": {k: 2 * k}}, "The value of parameter 'k' is defined by itself"),
    "parameters by each other": (
        {"parameters": {k: 2 * m, m: q, q: k}},
        "The values of the parameters 'k', 'm' and 'q' are defined by each other. Give one of them a number",
    ),
    "parameter of undeclared": (
        {"parameters": {k: 2 * m}},
        "The value of parameter 'k' contains 'm', which is not declared",
    ),
    "parameter of an unknown": (
        {"parameters": {k: 2 * x}},
        "The value of parameter 'k' contains the unknown 'x', but must be constant. Use parameters and numbers only",
    ),
    "parameter of time": ({"parameters": {k: dd.time}}, "The value of parameter 'k' contains time, but must be const"),
    "parameter of a derivative": ({"parameters": {k: der(m), m: 1}}, r"parameter 'k' contains der\(m\), but must be"),
    "parameter given twice": ({"parameters": {k: 1, "k": 2}}, "Under parameters, 'k' is given twice"),
    "parameter with a bad name": ({"parameters": {k: 1, "b c": 2}}, "must be a plain symbol, got 'b c'"),
    "parameter derivative": ({"parameters": {k: 1, der(k): 2}}, r"must be a plain symbol, got 'der\(k\)'"),
    "time as parameter": ({"parameters": {k: 1, dd.time: 2}}, "must be a plain symbol, got 'time'"),
    "parameter key formula": ({"parameters": {2 * k: 1}}, r"A symbol or a name belongs where 2\*k stands"),
    "parameters in a list": ({"parameters": [k]}, r"The parameters of model 'tank' must be a mapping, got \[k\]"),
    # outputs
    "output with an input's name": ({"outputs": {"u": x}}, "Output 'u' has the name of the input 'u' but is 'x'"),
    "output with an unknown's name": ({"outputs": {"x": 2 * x}}, r"'x' has the name of the unknown 'x' but is '2\*x'"),
    "output called time": ({"outputs": {"time": x}}, "Output 'time' has the name of the independent variable"),
    "output called as a derivative": ({"outputs": {"der(x)": x}}, r"has the name of the derivative 'der\(x\)'"),
    "output undeclared": ({"outputs": {"level": v}}, "Output 'level' contains 'v', which is not declared"),
    "output named by a symbol": ({"outputs": {x: x}}, "The name of an output must be a text, got x"),
    "der of a parameter in an output": ({"outputs": {"level": der(k)}}, r"Output 'level' contains der\(k\)"),
    # disturbances
    "disturbance number": ({"disturbances": {w: 1.0}}, "Disturbance 'w' must be a noise declaration, got 1.0"),
    "disturbance of an unknown": (
        {"disturbances": {w: dd.FilteredNoise([x], [1, 1])}},
        "Disturbance 'w' contains the unknown 'x', but must be constant",
    ),
    "disturbance undeclared": ({"disturbances": {w: dd.WhiteNoise(q)}}, "Disturbance 'w' contains 'q', which is not"),
    "too few channels": (
        {"disturbances": {(w, w2): NOISE}},
        "The declaration of disturbance 'w' and 'w2' drives 1 symbol. Give a tuple with one symbol per component",
    ),
    "too many channels": ({"disturbances": {w: PAIR}}, "The declaration of disturbance 'w' drives 2 symbols"),
    "disturbance formula": ({"disturbances": {der(w): NOISE}}, r"must be a plain symbol, got 'der\(w\)'"),
    # measurement noise
    "noise of no output": (
        {"measurement_noise": {"levle": 1.0}},
        "Measurement noise is given for 'levle', which is not an output. Did you mean 'level'?",
    ),
    "noise zero": (
        {"measurement_noise": {"level": 0}},
        "noise of 'level' must be a positive standard deviation, got 0",
    ),
    "noise infinite": ({"measurement_noise": {"level": np.inf}}, "must be a positive standard deviation, got inf"),
    "noise of an unknown": ({"measurement_noise": {"level": x}}, "noise of 'level' contains the unknown 'x', but must"),
    "noise per sample negative": (
        {"measurement_noise": {"level": [0.1, -0.2]}},
        r"noise of 'level' must be positive standard deviations, one per sample, got \[0.1, -0.2\]",
    ),
    "noise per sample empty": ({"measurement_noise": {"level": []}}, "must be positive standard deviations"),
    "noise per sample text": ({"measurement_noise": {"level": ["a"]}}, "must be positive standard deviations"),
    "noise per sample symbol": ({"measurement_noise": {"level": [k, 1]}}, "must be positive standard deviations"),
    "noise ragged": ({"measurement_noise": {"level": [[1], [1, 2]]}}, "must be positive standard deviations"),
    "covariance of wrong size": (
        two({("level", "flow"): np.eye(3)}),
        "noise of 'level' and 'flow' must be a 2×2 covariance matrix, got array",
    ),
    "covariance number": (two({("level", "flow"): 1}), "must be a 2×2 covariance matrix, got 1"),
    "covariance not symmetric": (two({("level", "flow"): [[1, 2], [0, 9]]}), "must be symmetric and positive definite"),
    "covariance not symmetric, in tiny units": (
        two({("level", "flow"): [[1e-12, 5e-13], [0, 1e-12]]}),
        "must be symmetric and positive definite",
    ),
    "covariance indefinite": (two({("level", "flow"): [[1, 2], [2, 1]]}), "must be symmetric and positive definite"),
    "covariance NaN": (two({("level", "flow"): [[1, np.nan], [np.nan, 1]]}), "must be symmetric and positive definite"),
    "noise twice": (two({("level", "flow"): np.eye(2), "flow": 1}), "The measurement noise of 'flow' is given twice"),
    # values at the start
    "initial of an input": (
        {"initial": {u: 1}},
        "The initial value of 'u' cannot be given: 'u' is an input. Its values come with the data",
    ),
    "initial of a parameter": (
        {"initial": {k: 1}},
        "The initial value of 'k' cannot be given: 'k' is a parameter. Give its value among the parameters",
    ),
    "guess of a disturbance": ({"guess": {der(w): 1}}, r"value of 'der\(w\)' cannot be given: 'w' is a disturbance"),
    "initial in a list": ({"initial": [1]}, r"The initial values of model 'tank' must be a mapping, got \[1\]"),
    "initial of an undeclared derivative": ({"initial": {"der(v)": 1}}, r"initial value of 'der\(v\)' belongs to no"),
    "initial of a formula": ({"initial": {der(2 * x): 1}}, r"The initial value of 'der\(2\*x\)' belongs to no unknown"),
    "initial by an unknown": ({"initial": {x: x}}, "The initial value of 'x' contains the unknown 'x', but must be"),
    "initial by time": ({"initial": {x: dd.time}}, "The initial value of 'x' contains time, but must be constant"),
    "initial by a derivative": ({"initial": {x: der(k)}}, r"The initial value of 'x' contains der\(k\), but must be"),
    "initial NaN": ({"initial": {x: np.nan}}, "The initial value of 'x' must be finite, got nan"),
    "initial twice": ({"initial": {x: 1, "x": 2}}, "Under initial, 'x' is given twice"),
    "guess infinite": ({"guess": {x: np.inf}}, "The guess value of 'x' must be finite, got inf"),
    "history of a derivative": ({"history": {der(x): 1}}, r"The history value of 'der\(x\)' belongs to no unknown"),
    "history by an input": (
        {"history": {x: u}},
        "The history value of 'x' contains the input 'u'. Use parameters, time and numbers only",
    ),
    # defaults
    "default of an unknown": ({"defaults": {x: 1.0}}, "A default is given for 'x', which is no input but an unknown"),
    "default of nothing": (
        {"defaults": {"uu": 1.0}},
        "A default is given for 'uu', which is no input. Did you",
    ),
    "default by a parameter": (
        {"defaults": {u: k}},
        "The default of input 'u' must be a finite number, got k. Make",
    ),
    "default NaN": ({"defaults": {u: np.nan}}, "The default of input 'u' must be a finite number, got nan"),
    "defaults in a list": ({"defaults": [1]}, r"The defaults of model 'tank' must be a mapping, got \[1\]"),
    # name
    "no name": ({"name": ""}, "The name of a model must be a text, got ''"),
    "name number": ({"name": 3}, "The name of a model must be a text, got 3"),
}


@pytest.mark.parametrize("case", BAD)
def test_contradictions_are_refused_in_the_users_names(case):
    changes, message = BAD[case]
    with pytest.raises(ModelError, match=message):
        declared(**changes)


STRINGS = {
    "parameter": (
        {"parameters": {k: "m"}},
        r"The value of parameter 'k' must be an expression, got the text 'm'. Make",
    ),
    "number in quotes": ({"parameters": {k: "1.0"}}, "parameter 'k' .* got the text '1.0'. Leave the quotes out"),
    "output": ({"outputs": {"level": "x"}}, r"Output 'level' must be an expression, got the text 'x'. .*symbol\('x'\)"),
    "initial": ({"initial": {x: "k"}}, "The initial value of 'x' must be an expression, got the text 'k'"),
    "history": ({"history": {x: "k"}}, "The history value of 'x' must be an expression, got the text 'k'"),
    "accuracy": ({"measurement_noise": {"level": "k"}}, "noise of 'level' must be an expression, got the text 'k'"),
    "equation for a value": ({"initial": {x: x == 1}}, "initial value of 'x' must be an expression, got the equation"),
    "None": ({"parameters": {k: None}}, "The value of parameter 'k' must be an expression or a number, got None"),
}


@pytest.mark.parametrize("case", STRINGS)
def test_strings_where_symbols_belong_are_refused(case):
    changes, message = STRINGS[case]
    with pytest.raises(ExpressionError, match=message):
        declared(**changes)


def test_every_refusal_has_a_sentence_and_a_remedy():
    for changes, _ in (*BAD.values(), *STRINGS.values()):
        with pytest.raises(DaedalError) as caught:
            declared(**changes)
        assert caught.value.sentence.endswith(".")
        assert caught.value.remedy[-1] in ".?"
        assert "casadi" not in str(caught.value).lower()


ACCEPTED = {
    "an output that is an unknown of the same name": {"outputs": {"x": x}},
    "an output of a disturbance, an input and time": {"outputs": {"all": w + u * dd.time}},
    "derivatives of inputs and formulas": equation(der(x) == der(u) + der(k * x) + der(dd.time * k)),
    "held unknowns, inputs and time": equation(
        der(x) == hold(x, 2 * k) + hold(u, k, k / 2) + hold(dd.time, 0.5) + hold(delay(x, k), 1) + delay(hold(x, k), 1)
    ),
    "thresholds that move": equation(der(x) == hysteresis(x, u - k, u + k) + hysteresis(k, x, x + 1)),
    "an output that is held": {"outputs": {"level": hold(x, 0.1) + np.round(x)}},
    "delays by parameters": equation(der(x) == delay(x, 2 * k) + delay(u, 0.5)),
    "parameters of parameters": {"parameters": {k: 2 * m, m: q + 1, q: 3}},
    "one symbol in a tuple": {"disturbances": {(w,): NOISE}},
    "two correlated disturbances": {"disturbances": {(w, w2): PAIR}},
    "coefficients of parameters": {"disturbances": {w: dd.FilteredNoise([k], [1, 2 * k])}},
    "accuracy of a parameter": {"measurement_noise": {"level": k}},
    "a derivative at the start": {"initial": {x: k, der(x): 2 * k}},
    "a derivative at the start, by name": {"initial": {"der(der( x ))": 1.0}},
    "history in time": {"history": {x: np.exp(-k * dd.time)}},
    "unknowns from a generator": {"unknowns": (s for s in [x])},
    "names with dots and brackets": {"parameters": {k: 1, dd.symbol("shaft.c[2]"): 2}},
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_is_meant_is_accepted(case):
    model = declared(**ACCEPTED[case])
    assert Model.from_text(model.to_text()) == model


def test_keys_are_brought_to_one_form():
    assert list(declared(disturbances={(w,): NOISE}).disturbances) == ["w"]
    assert list(declared(initial={"der( x )": 1}).initial) == ["der(x)"]
    assert declared(initial={"der( x )": 1}) == declared(initial={der(x): 1})
    assert declared(parameters={"k": 1}) == declared(parameters={k: 1.0})
