"""What cannot be read is refused with file, line and what to do."""

import re
import sys
from pathlib import Path

import pytest
import rumoca

import daedal as dd


def refusal(text, model=None) -> str:
    with pytest.raises(dd.DaedalError) as refused:
        dd.read_modelica(text, model)
    assert refused.value.remedy.endswith((".", "?", ";")) or "reads:" in refused.value.remedy
    return str(refused.value)


def body(equations: str, declarations: str = "Real x;") -> str:
    return f"model A\n  {declarations}\nequation\n  {equations}\nend A;\n"


SYNTAX = {
    "a missing semicolon": (
        "model A\n  Real x;\nequation\n  der(x) = -x\nend A;",
        "line 5: 'end' stands where",
        "Write ';' at the end of line 4.",
    ),
    "a missing semicolon of a declaration": (
        "model A\n  Real x\nequation\n  x = 1;\nend A;",
        "line 2",
        "Write ';' at the end of line 2.",
    ),
    "a missing bracket": (body("x = (1 + 2;"), "line 4: ';' stands where ')' or ','", "reads: x = (1 + 2;"),
    "a missing operand": (body("x = 1 +;"), "line 4: ';' stands where a formula was expected", "reads: x = 1 +;"),
    "a missing then": (body("if x > 1\n    x = 2;\n  end if;"), "line 5: ", "Write 'then' at the end of line 4."),
    "a missing loop": (body("for i in 1:3\n    x = 2;\n  end for;"), "line 5: ", "Write 'loop' at the end of line 4."),
    "a strange character": (body("x = 3 @ 2;"), "line 4: '@' stands where an operator", "reads: x = 3 @ 2;"),
    "a missing end": ("model A\n  Real x;\nequation\n  x = 1;\n", "line 5: the text ends where", "before the end"),
    "another name at the end": (
        "model A\n  Real x;\nequation\n  x = 1;\nend B;",
        "line 5: End name 'B'",
        "Correct the line.",
    ),
    "a misspelt keyword": ("modl A\n  Real x;\nend A;", "line 1: 'modl' stands where 'model', 'package'", "modl A"),
    "an assignment": (body("x := 1;"), "line 4: 'x' stands where an operator", "reads: x := 1;"),
}


@pytest.mark.parametrize("case", SYNTAX)
def test_a_syntax_error_has_file_line_and_what_was_expected(case, tmp_path):
    text, found, remedy = SYNTAX[case]
    file = tmp_path / "bad.mo"
    file.write_text(text)
    message = refusal(file)
    assert message.startswith("bad.mo, line ")
    assert found in message
    assert remedy in message


UNSUPPORTED = {
    "when and reinit": (
        body("der(x) = -1;\n  when x < 0 then\n    reinit(x, 1);\n  end when;"),
        "when (line 5), reinit (line 6)",
    ),
    "algorithm": ("model A\n  Real x;\nalgorithm\n  x := 1;\nend A;", "an algorithm section (line 4)"),
    "initial algorithm": (
        "model A\n  Real x;\ninitial algorithm\n  x := 1;\nequation\n  der(x) = 1;\nend A;",
        "an algorithm section (line 3)",
    ),
    "discrete": (
        body("der(x) = 1;\n  when x > 1 then\n    n = 1;\n  end when;", "Real x; discrete Real n;"),
        "the discrete variable 'n' (line 2), when (line 5)",
    ),
    "pre": (body("der(x) = 1; y = pre(x);", "Real x; Real y;"), "pre (line 4)"),
    "initial()": (body("x = if initial() then 1 else 2;"), "line 4: the function 'initial' cannot be read"),
    "der of a formula": (body("der(2*x) = 1;"), "der takes one variable, got a formula (line 4)"),
    "an odd name": (body("'a b' = 1;", "Real 'a b';"), "line 2: the name 'a b' cannot be kept"),
    "a slice of components": (
        "model C Real T; equation T = 1; end C;\nmodel A\n  C c[3]; Real b[2];\nequation\n  b = c[2:3].T;\nend A;",
        "line 5: a slice of components",
    ),
    "if without else": (
        body("der(x) = 1;\n  if x > 1 then\n    y = 2;\n  end if;", "Real x; Real y;"),
        "an if-equation (line 5) must have equally many",
    ),
    "fixed=false": (
        "model A\n  parameter Real p(fixed = false);\n  Real x;\ninitial equation\n p = 2;\nequation\n x = p;\nend A;",
        "line 2: parameter 'p' is found from initial equations",
    ),
    "a relation at the start": (
        "model A\n  Real x; Real y;\ninitial equation\n  x + y = 2;\nequation\n  der(x) = 1; der(y) = 2;\nend A;",
        "line 4: an initial equation must give one variable",
    ),
    "a start given twice": (
        "model A\n  Real x(start = 1, fixed = true);\ninitial equation\n  x = 2;\nequation\n  der(x) = 1;\nend A;",
        "line 4: the start of 'x' is given twice",
    ),
    "a parameter without value": (body("x = p;", "parameter Real p; Real x;"), "line 2: parameter 'p' has no value"),
    "a bound that is no number": (
        body("x = p;", "parameter Real q = 1; parameter Real p(max = q) = 0; Real x;"),
        "line 2: max of parameter 'p' must be a number",
    ),
    "bounds the wrong way": (
        body("x = p;", "parameter Real p(min = 3, max = 1) = 2; Real x;"),
        "Parameter 'p': The lower bound",
    ),
    "a value outside its bounds": (
        body("x = p;", "parameter Real p(min = 3) = 2; Real x;"),
        "The value 2 of parameter 'p' lies outside",
    ),
}


@pytest.mark.parametrize("case", UNSUPPORTED)
def test_what_is_not_supported_is_named_with_its_line(case):
    text, expected = UNSUPPORTED[case]
    assert expected in refusal(text, "A")


def test_functions_are_refused_where_they_are_called():
    inside = "function f\n  input Real u;\n  output Real y;\n{}end f;\n"
    called = body("x = f(2*time);")
    assert "line 10: the function 'f'" in refusal(inside.format("algorithm\n  y := u;\n") + called, "A")
    external = inside.format('  external "C" y = g(u);\n') + called
    assert "line 9: the external function 'f' cannot be read" in refusal(external, "A")


MISSING = {
    "a class of a library": (
        "model A\n  Modelica.Blocks.Sources.Sine s;\nend A;",
        "class 'Modelica.Blocks.Sources.Sine' (line 2) is not in the file",
    ),
    "a base class": ("model A\n  extends Missing.Base;\nend A;", "class 'Missing.Base' (line 2)"),
    "an import": (
        "model A\n  import Modelica.Units.SI;\n  SI.Angle x;\nequation\n  x = 1;\nend A;",
        "class 'Modelica.Units.SI' (line 2)",
    ),
    "a variable": (body("x = y; // y", "Real x; /* y */"), "'y' (line 4) is used but not declared"),
    "a function": (body("x = foo(1);"), "function 'foo' (line 4) is not known"),
    "a modifier": (
        "model B parameter Real p = 1; Real x; equation x = p; end B;\nmodel A\n  B b(q = 3);\nend A;",
        "line 3: unknown modifier `q`",
    ),
    "an equation": (body("der(x) = 1;", "Real x; Real y;"), "Model 'A' of the text has 1 equation for 2 unknowns"),
    "an inner": ("model A\n  outer parameter Real g;\n  Real x;\nequation\n  x = g;\nend A;", "outer 'g'"),
    "an element": (body("x = {1, 2, 3};", "Real x[2];"), "line 4: array dimension mismatch"),
    "a type": (body("x = true;"), "line 4: type mismatch"),
}


@pytest.mark.parametrize("case", MISSING)
def test_what_is_missing_is_named_with_its_line(case):
    text, expected = MISSING[case]
    assert expected in refusal(text + "\n", "A")


def test_what_rumoca_would_lose_is_refused():
    leaf = "model Leaf parameter Real k = 3; Real y; equation y = k; end Leaf;\nmodel Pair Leaf a; end Pair;\n"
    assert "a modification by path (line 4)" in refusal(leaf + "model A\n  Pair p(a.k = 5);\nend A;", "A")
    assert "a modification by path (line 4)" in refusal(leaf + "model A\n  Pair p(final a.y(start = 5));\nend A;", "A")
    holder = (
        leaf
        + "model H replaceable model M = Leaf; M m; end H;\nmodel A\n  H h(redeclare model M = Leaf(k = 5));\nend A;"
    )
    assert "a redeclared class with modifications (line 5)" in refusal(holder, "A")


def test_unlike_connectors_are_refused():
    text = """connector E Real v; flow Real i; end E;
connector R Real phi; flow Real tau; end R;
connector Wrong Real v; Real i; end Wrong;
model X E a; equation a.v = 1; end X;
model Y R a; equation a.phi = 1; end Y;
model A
  X x; Y y;
equation
  connect(x.a, y.a);
end A;
model Inside
  A part[2];
end Inside;
"""
    message = refusal(text, "A")
    assert "(line 9): 'x.a' and 'y.a' are connected" in message
    assert "'flow i' and 'v'" in message
    assert "'part.x.a' and 'part.y.a'" in refusal(text, "Inside")


def test_the_model_must_be_in_the_file():
    models = (f"model {name} Real x; equation x = 1; end {name};" for name in ("Motor", "Drive"))
    text = f"package P {' '.join(models)} end P;"
    assert "has no model 'P.Drve', but 'P.Drive' and 'P.Motor'. Did you mean 'P.Drive'?" in refusal(text, "P.Drve")
    assert "Choose one of 'P.Drive' and 'P.Motor'" in refusal(text, "Xyz")
    assert "holds 2 models: 'P.Drive' and 'P.Motor'. Write model='P.Drive'." in refusal(text)
    assert "has no model 'B', but 'A'" in refusal(body("x = 1;"), "B")
    assert "has no model 'B', but 'A'" in refusal(body("x = y;"), "B")
    assert "holds no model" in refusal("connector C\n  Real x; flow Real i;\nend C;")
    many = "\n".join(f"model M{k} Real x; equation x = 1; end M{k};" for k in range(30))
    assert "Did you mean 'M29'?" in refusal(many, "M_29")
    assert dd.read_modelica(many, "M29").name == "M29"


@pytest.mark.parametrize("given", [None, 3, b"model A end A;", "", ["a.mo"]])
def test_only_files_and_texts_are_read(given):
    assert "is read from a file or a text" in refusal(given)


def test_files_that_cannot_be_read(tmp_path):
    assert "There is no file" in refusal(tmp_path / "none.mo")
    assert "There is no file 'my model.mo'" in refusal("my model.mo")
    assert f"The file '{tmp_path}' is a folder. Name a file in it." in refusal(tmp_path)
    (tmp_path / "latin.mo").write_bytes('model A "é" end A;'.encode("latin-1"))
    assert "is not UTF-8 text" in refusal(tmp_path / "latin.mo")
    (tmp_path / "empty.mo").write_text("")
    assert "empty.mo holds no model" in refusal(Path(tmp_path / "empty.mo"))
    assert "must be a text, got 3" in refusal(body("x = 1;"), 3)


def test_without_rumoca_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "rumoca", None)
    message = refusal(body("x = 1;"))
    assert message == "Reading Modelica needs rumoca, which is not installed. Run: pip install 'daedal[modelica]'."


def test_a_panic_of_rumoca_is_an_error_like_others(monkeypatch):
    class PanicException(BaseException):
        """As rumoca raises it: no Exception."""

    def panic(text):
        raise PanicException("index out of bounds")

    monkeypatch.setattr(sys, "frozen", True, raising=False)  # no Python to start: rumoca runs in this process
    monkeypatch.setattr(rumoca, "validate_source", panic)
    assert "cannot be translated: index out of bounds" in refusal(body("x = 1;"))


def test_nothing_is_executed(tmp_path):
    mark = tmp_path / "mark"
    text = body(f"x = 1; // __import__('pathlib').Path('{mark}').touch()\n  annotation(Icon = \"$(touch {mark})\");")
    dd.read_modelica(text)
    assert not mark.exists()
    assert re.match(r"model 'A'", str(dd.read_modelica(text)))
