"""Run the blocks of a page, from the first to the last in one namespace; keep what each prints and draws.

A block is what stands between ```python and ```. Its last line, where that is an expression, is shown as in a notebook;
where it is `dd.plot(...)`, the picture is drawn by matplotlib and kept as SVG. Between ```console and ``` stand
commands, `$ daedal check tank.toml`, which are run one after the other.
"""

import ast
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Output:
    """What a block printed, and the picture that it ended in, as SVG; each may be empty."""

    text: str = ""
    picture: str = ""


def find_blocks(page: str) -> Iterator[tuple[str, int, str]]:
    """The language of each block, the line that it begins at, and its code."""
    for match in BLOCK.finditer(page):
        yield match[1], page.count("\n", 0, match.start(2)) + 1, match[2]


def run_page(page: str, name: str) -> list[Output]:
    """Run all blocks in the current folder; a failure names the page and its line."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    return [
        run_commands(code) if language == "console" else run_block(code, line, name, namespace)
        for language, line, code in find_blocks(page)
    ]


def run_commands(code: str) -> Output:
    """Run the lines that begin with $; a command may end with a doubt, 2, but not refuse."""
    printed = []
    for line in code.splitlines():
        if line.startswith("$ "):
            program, *arguments = shlex.split(line[2:])
            command = [sys.executable, "-m", "daedal", *arguments] if program == "daedal" else [program, *arguments]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode not in (0, 2):
                raise RuntimeError(f"{line} ended with {done.returncode}:\n{done.stderr}")
            printed.append(done.stdout)
    return Output("".join(printed))


def run_block(code: str, line: int, name: str, namespace: dict[str, Any]) -> Output:
    """Run one block, whose first line is `line` of the page `name`."""
    tree = ast.parse("\n" * (line - 1) + code, filename=name)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    picture = ""
    with redirect_stdout(printed):
        exec(compile(tree, name, "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(draw_still(last.value)), name, "eval"), namespace)
            if hasattr(value, "savefig"):
                picture = to_svg(value)
            elif value is not None:
                print(value)
    return Output(printed.getvalue(), picture)


def draw_still(expression: ast.expr) -> ast.expr:
    """`dd.plot(...)` is drawn by matplotlib: a page of the site holds small pictures, no programs."""
    if isinstance(expression, ast.Call) and ast.unparse(expression.func) == "dd.plot":
        expression.keywords.append(ast.keyword("backend", ast.Constant("matplotlib")))
        ast.fix_missing_locations(expression)
    return expression


def to_svg(figure: Any) -> str:
    """The same figure gives the same text."""
    import matplotlib as mpl

    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "daedal", "svg.fonttype": "path"}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    return text.getvalue()
