"""What a Modelica text says arrives in the Model: functions, arrays, loops, classes, values and bounds."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest

import daedal as dd
from daedal.models import evaluate_expressions, evaluate_parameters


def read(text: str, model: str | None = None) -> dd.Model:
    return dd.read_modelica(text + "\n", model)


def formula(text: str, declarations: str = "") -> dict[str, dd.Expression]:
    """The right sides of y = text, by the left sides."""
    model = read(f"model A {declarations} Real x(start = 1); equation der(x) = -x; y = {text}; end A;")
    return {str(equation.lhs): equation.rhs for equation in model.equations.values()}


SCALARS = {
    "sin(x) + cos(x) + tan(x)": math.sin(0.7) + math.cos(0.7) + math.tan(0.7),
    "asin(x) + acos(x) + atan(x)": math.asin(0.7) + math.acos(0.7) + math.atan(0.7),
    "atan2(x, -2)": math.atan2(0.7, -2),
    "sinh(x) + cosh(x) + tanh(x)": math.sinh(0.7) + math.cosh(0.7) + math.tanh(0.7),
    "exp(x) + log(x) + log10(x)": math.exp(0.7) + math.log(0.7) + math.log10(0.7),
    "sqrt(x) + abs(-x) + sign(-x)": math.sqrt(0.7) + 0.7 - 1,
    "floor(-x) + ceil(-x) + integer(-x)": -2.0,
    "mod(-x, 0.5)": 0.3,
    "rem(-x, 0.5)": -0.2,
    "div(-x, 0.5)": -1.0,
    "max(x, 1) + min(x, 1)": 1.7,
    "x^2 + 2^x - x^(-1)": 0.49 + 2**0.7 - 1 / 0.7,
    "-x^2": -0.49,
    "1/x/2": 0.5 / 0.7,
    "noEvent(if x > 0 then 1 else 2)": 1.0,
    "smooth(1, if x > 1 then 1 elseif x > 0.5 then 3 else 2)": 3.0,
    "homotopy(x, 5)": 0.7,
    "semiLinear(-x, 2, 3)": -2.1,
    "if x >= 1 or x <= 0 and not x < 3 then 1 else 2": 2.0,
    "if x > 0 and x <= 0.7 then 1 else 2": 1.0,
    "sum({x, 2, 3}) + product({x, 2})": 7.1,
    "max({x, 2, 1.5}) - min({x, 2})": 1.3,
    "{x, 2}*{3, x}": 3.5,
    "sum({i*x for i in 1:4})": 7.0,
    "1e-3*x + .5": 0.5007,
}


@pytest.mark.parametrize("text", SCALARS)
def test_scalar_formulas(text):
    value = evaluate_expressions({"y": formula(text, "Real y;")["y"]}, {"x": 0.7})["y"]
    assert value == pytest.approx(SCALARS[text], abs=1e-13)


MATRIX = np.array([[1.0, 2.0], [3.0, 4.0]])
ARRAYS = {
    "M*v": MATRIX @ [0.7, 2],
    "v*M": [0.7, 2] @ MATRIX,
    "transpose(M)*v + ones(2)": MATRIX.T @ [0.7, 2] + 1,
    "M*M + M^2 - identity(2)": 2 * MATRIX @ MATRIX - np.eye(2),
    "M .* M ./ {{2, 2}, {2, 2}} .+ 1": MATRIX**2 / 2 + 1,
    "v .^ 2 - fill(x, 2)": [0.49 - 0.7, 3.3],
    "[M, {5, 6}]": np.column_stack([MATRIX, [5, 6]]),
    "[M; {{x, 6}}]": np.vstack([MATRIX, [0.7, 6]]),
    "cross({1.0, x, 0.0}, {0.0, 1.0, 2.0})": np.cross([1, 0.7, 0], [0, 1, 2]),
    "skew({1, 2, x})": [[0, -0.7, 2], [0.7, 0, -1], [-2, 1, 0]],
    "outerProduct(v, {1, 2, 3})": np.outer([0.7, 2], [1, 2, 3]),
    "diagonal(v)": np.diag([0.7, 2]),
    "linspace(0, 1, 5)*x": np.linspace(0, 0.7, 5),
    "cat(1, v, {9})": [0.7, 2, 9],
    "M[:, 2] + v": [2.7, 6],
    "M[2, :]": [3, 4],
    "w[2:end] - w[1:2]": [1, 1],
    "w[{3, 1}]": [3, 1],
    "w[3:-1:1]": [3, 2, 1],
    "sin(v)": np.sin([0.7, 2]),
    "if x > 1 then v else {5, 6}": [5, 6],
    "-v": [-0.7, -2],
    "{size(M, 1), size(w, 1)}": [2, 3],
}


@pytest.mark.parametrize("text", ARRAYS)
def test_array_formulas(text):
    expected = np.asarray(ARRAYS[text])
    declared = "Real v[2] = {x, 2}; constant Real M[2, 2] = [1, 2; 3, 4]; constant Real w[3] = {1, 2, 3};"
    found = formula(text, f"{declared} Real y[{','.join(map(str, expected.shape))}];")
    names = [f"y[{','.join(str(k + 1) for k in place)}]" for place in np.ndindex(expected.shape)]
    values = evaluate_expressions({name: found[name] for name in names}, {"x": 0.7, "v[1]": 0.7, "v[2]": 2.0})
    assert [values[name] for name in names] == pytest.approx(expected.ravel(), abs=1e-13)


def test_delay_and_derivative():
    found = formula("delay(x, T) + delay(2*x, T, 3.0) + der(x)", "Real y; parameter Real T = 0.5;")
    assert str(found["y"]) == "delay(x, T) + delay(2*x, T) + der(x)"


@pytest.mark.parametrize("count", [2, 3, 4, 5, 40])
def test_every_turn_of_a_loop_is_written_out(count):
    """rumoca writes long loops as a template, with zeros in place of the equations."""
    model = read(f"""
        model Chain
          parameter Integer n = {count};
          parameter Real k[n] = {{0.1*i for i in 1:n}};
          Real x[n](each start = 1, each fixed = true);
          Real z[n, 2];
        initial equation
        equation
          x[1] = time;
          for i in 2:n loop
            der(x[i]) = k[i]*(x[i - 1] - x[i])*i;
          end for;
          for i in 1:n, j in 1:2 loop
            z[i, j] = x[i]*j;
          end for;
        end Chain;""")
    texts = {str(equation) for equation in model.equations.values()}
    assert len(model.equations) == len(model.unknowns) == 3 * count
    for i in range(2, count + 1):
        expected = dd.der(dd.symbol(f"x[{i}]")) == dd.symbol(f"k[{i}]") * (
            dd.symbol(f"x[{i - 1}]") - dd.symbol(f"x[{i}]")
        ) * float(i)
        assert str(expected) in texts
        assert f"z[{i},2] == 2*x[{i}]" in texts
    assert float(model.parameters[f"k[{count}]"].value) == pytest.approx(0.1 * count)


def test_loops_of_initial_equations_are_written_out():
    model = read("""
        model A
          Real x[6];
        initial equation
          x[1] = 4;
          for i in 2:6 loop
            der(x[i]) = 0;
          end for;
        equation
          der(x[1]) = -x[1];
          for i in 2:6 loop
            der(x[i]) = x[i - 1] - x[i];
          end for;
        end A;""")
    held = {name: float(value) for name, value in model.initial.items()}
    assert held == {"x[1]": 4.0, **{f"der(x[{i}])": 0.0 for i in range(2, 7)}}


def test_values_bounds_units_and_starts():
    model = read("""
        package P
          type Mass = Real(unit = "kg", min = 0);
          constant Real pi = 3.0;
          model A
            parameter Mass m(max = 10) = 2*k "grams";
            parameter Real k(start = 1.5);
            final parameter Real q = m*pi;
            parameter Real v[2](min = {0, 1}, each max = 9) = {q, 4};
            parameter Real unused;
            parameter String title = "text";
            Real x(start = q, fixed = true, unit = "m");
            Real y(start = -1);
            Real z;
            Real free(start = 7, fixed = false);
          equation
            der(x) = y*v[1];
            der(y) = -x*pi;
            z = x;
            free = v[2];
          end A;
        end P;""")
    assert model.name == "P.A"
    m = dd.Parameter(2 * dd.symbol("k"), lower=0.0, upper=10.0, unit="kg", description="grams")
    assert model.parameters["m"] == m
    assert model.parameters["v[2]"] == dd.Parameter(4.0, lower=1.0, upper=9.0)
    assert evaluate_parameters(model) == {"m": 3.0, "k": 1.5, "q": 9.0, "v[1]": 9.0, "v[2]": 4.0}
    assert {name: str(value) for name, value in model.initial.items()} == {"x": "q"}
    assert {name: float(value) for name, value in model.guess.items()} == {"y": -1.0, "free": 7.0}


def test_inputs_and_outputs_are_those_of_the_model():
    model = read(
        """
        connector RealInput = input Real;
        block Gain
          input Real u;
          output Real y;
          parameter Real k = 2;
        equation
          y = k*u;
        end Gain;
        model A
          RealInput u;
          input Real w[2];
          input Real given = 3;
          output Real y;
          output Real pair[2] = {u, w[2]};
          Gain gain(k = 4);
        equation
          connect(u, gain.u);
          y = gain.y + w[1] + given;
        end A;""",
        "A",
    )
    assert model.input_names == ("u", "w[1]", "w[2]")
    assert list(model.outputs) == ["y", "pair[1]", "pair[2]"]
    assert {"gain.u", "gain.y", "given"} <= set(model.unknown_names)


def test_modifications_reach_every_part():
    model = read(
        """
        model Leaf
          parameter Real k = 3;
          Real y(start = 1);
        equation
          der(y) = k;
        end Leaf;
        model Seven = Leaf(k = 7);
        model Pair
          Leaf a(k = 5);
          Leaf b;
        end Pair;
        model Changed
          extends Pair(a(k = 6, y(start = 2)));
        end Changed;
        model Holder
          replaceable Leaf part(k = 4);
        end Holder;
        model A
          parameter Real p = 31;
          Seven seven;
          Pair pair(b(k = 11));
          Changed changed;
          Leaf row[2](k = {21, 22}, y(each start = 8));
          Leaf each_[2](each k = p + 1);
          Holder holder(redeclare Seven part);
        end A;""",
        "A",
    )
    values = evaluate_parameters(model)
    assert values["seven.k"] == 7.0
    assert (values["pair.a.k"], values["pair.b.k"]) == (5.0, 11.0)
    assert (values["changed.a.k"], values["changed.b.k"]) == (6.0, 3.0)
    assert [values[f"row[{i}].k"] for i in (1, 2)] == [21.0, 22.0]
    assert [values[f"each_[{i}].k"] for i in (1, 2)] == [32.0, 32.0]
    assert float(model.guess["changed.a.y"]) == 2.0
    assert float(model.guess["row[2].y"]) == 8.0
    assert model.with_parameters({"p": 1.0}).parameters["each_[1].k"].value is not None


def test_flows_of_nested_parts_count_into_their_parts():
    model = read(
        """
        connector C Real v; flow Real i; end C;
        model R C p; C n; parameter Real R = 1; equation p.i = (p.v - n.v)/R; p.i + n.i = 0; end R;
        model Two C p; C n; R a; R b(R = 3); equation connect(p, a.p); connect(a.n, b.p); connect(b.n, n); end Two;
        model G C p; equation p.v = 0; end G;
        model V C p; C n; parameter Real V = 8; equation p.v - n.v = V; p.i + n.i = 0; end V;
        model A
          Two t; G g; V v; R idle;
          Real x(start = 0, fixed = true);
        equation
          connect(v.p, t.p); connect(v.n, g.p); connect(t.n, g.p); connect(idle.p, g.p);
          der(x) = t.p.i;
        end A;""",
        "A",
    )
    assert dd.simulate(model, [0.0, 1.0])["x"][-1] == pytest.approx(2.0, abs=1e-9)
    assert "no flow into idle.n.i" in model.equations


def test_what_decides_the_equations_is_a_number():
    model = read("""
        model A
          parameter Real L = 2;
          parameter Integer n = integer(L) + 1;
          parameter Boolean big = n > 2;
          type Mode = enumeration(off, on);
          parameter Mode mode = Mode.on;
          parameter Real k = 3;
          Real x[n];
          Real y;
        equation
          x = fill(k, n);
          if big and mode == Mode.on then
            y = L;
          else
            y^2 = x[1];
          end if;
        end A;""")
    assert list(model.parameters) == ["k"]
    assert str(model.equations["y = L"]) == "y == 2"
    assert len(model.unknowns) == 4


def test_inner_parameters_replace_outer_ones():
    model = read(
        "model B outer parameter Real g; Real x; equation x = g; end B;"
        "model A inner parameter Real g = 9.8; B b; end A;",
        "A",
    )
    assert list(model.parameters) == ["g"]
    assert str(model.equations["b: x = g"]) == "b.x == g"


def test_equations_are_called_by_their_text():
    model = read("""
        model A "größe"
          Real x "é"; Real y; Real z; Real m[2, 2];
        equation
          (x + y)  =  /* comment */ time;
          if x > 1 then
            y = 2;
          else
            y = 3; // two
          end if;
          z = x annotation(Icon(a = "z = y;"));
          m = [1, x; 2, y];
        end A;""")
    names = ["(x + y) = time", "line 6", "z = x", "m = [1, x; 2, y]", *(f"m = [1, x; 2, y] [{k}]" for k in (2, 3, 4))]
    assert list(model.equations) == names


def test_branches_may_hold_their_equations_in_any_order():
    model = read("""
        model A
          Real x(start = 1, fixed = true);
          Real y;
        equation
          if time < 1 then
            der(x) = -x;
            y = 2*x;
          else
            y = 3*x;
            der(x) = -2*x;
          end if;
        end A;""")
    assert str(model.equations["line 6"].lhs) == "der(x)"
    run = dd.simulate(model, np.linspace(0, 2, 9), solver=dd.Lanes(method="rk4", step=0.005))
    before = np.exp(-run.times[run.times < 1])
    after = np.exp(-1 - 2 * (run.times[run.times > 1] - 1))
    assert run["x"][run.times < 1] == pytest.approx(before, abs=1e-8)
    assert run["y"][run.times > 1] == pytest.approx(3 * after, rel=2e-3)  # the step that ends at the switch sees it


def test_a_long_sum_is_read():
    model = read(f"model A Real x; equation x = {'1 + ' * 3000} time; end A;")
    assert str(next(iter(model.equations.values())).rhs) == "3000 + time"


def test_neighbouring_files_are_not_mixed_in(tmp_path, monkeypatch):
    (tmp_path / "other.mo").write_text("model A Real y; equation y = 2; end A;")
    (tmp_path / "mine.mo").write_text("\ufeffmodel A Real x; equation x = 1; end A;", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert dd.read_modelica("mine.mo").unknown_names == ("x",)
    assert dd.read_modelica(tmp_path / "mine.mo") == dd.read_modelica("model A Real x; equation x = 1; end A;")


def test_a_library_is_found_where_modelicapath_leads(tmp_path):
    (tmp_path / "Lib").mkdir()
    parts = 'type Angle = Real(unit = "rad"); model B Angle x; equation der(x) = -x; end B;'
    library = f"package Lib {parts} end Lib;"
    (tmp_path / "Lib" / "package.mo").write_text(library)
    code = "import daedal as dd; print(dd.read_modelica('model A Lib.B b; parameter Lib.Angle c = 2; end A;'))"
    environment = {**os.environ, "MODELICAPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert "der(b.x) == -b.x" in done.stdout, done.stderr
    assert "c = 2.0 rad" in done.stdout


def test_a_model_that_was_read_is_ordinary(tmp_path):
    model = read("model A parameter Real k = 2; Real x(start = 1, fixed = true); equation der(x) = -k*x; end A;")
    assert dd.Model.from_text(model.to_text()) == model
    run = dd.simulate(model.with_parameters({"k": 1.0}), [0.0, 1.0])
    assert run["x"][-1] == pytest.approx(math.exp(-1), abs=1e-6)
