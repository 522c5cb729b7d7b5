"""Directives of the reference that are made from the code itself: the library of parts, commands, errors."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.util.docutils import SphinxDirective
from typer import Context
from typer.main import get_command

import daedal
from daedal import errors
from daedal.cli.application import application
from daedal.library import blocks, electrical, fluid, rotational, thermal, translational

LIBRARY = (electrical, rotational, translational, thermal, fluid, blocks)


def find_parts(module: ModuleType) -> dict[str, Any]:
    """Functions of the module that return a Model, by name."""
    functions = inspect.getmembers(module, inspect.isfunction)
    return {
        name: part
        for name, part in functions
        if not name.startswith("_") and part.__module__ == module.__name__ and name[0].isupper()
    }


class Library(SphinxDirective):
    """All parts with their parameters."""

    def run(self) -> list[nodes.Node]:
        lines: list[str] = []
        for module in LIBRARY:
            short = module.__name__.rpartition(".")[2]
            lines += [f".. rubric:: daedal.library.{short}", ""]
            for part in find_parts(module).values():
                lines += [f".. autofunction:: {module.__name__}.{part.__name__}", ""]
        return self.parse_text_to_nodes("```{eval-rst}\n" + "\n".join(lines) + "\n```")


class Commands(SphinxDirective):
    """The help of every command."""

    def run(self) -> list[nodes.Node]:
        program = get_command(application)
        with Context(program, info_name="daedal") as context:
            names = program.list_commands(context)
            helps = [(f"daedal {name}", program.get_command(context, name)) for name in names]
        shown: list[nodes.Node] = []
        for name, command in helps:
            with Context(command, info_name=name, terminal_width=80) as context:
                text = command.get_help(context)
            section = nodes.section(ids=[nodes.make_id(name)])
            section += nodes.title("", name)
            section += nodes.literal_block(text, text, language="text")
            shown.append(section)
        return shown


class Errors(Directive):
    """The classes of errors with what each is about."""

    def run(self) -> list[nodes.Node]:
        listed = nodes.definition_list()
        for name, kind in inspect.getmembers(errors, inspect.isclass):
            if issubclass(kind, errors.DaedalError) and kind is not errors.DaedalError:
                about = textwrap.dedent(kind.__doc__ or "")
                listed += nodes.definition_list_item(
                    "",
                    nodes.term("", "", nodes.literal(name, name)),
                    nodes.definition("", nodes.paragraph("", about)),
                )
        return [listed]


class Sentences(Directive):
    """Every sentence of every refusal with its remedy, by classes of errors."""

    def run(self) -> list[nodes.Node]:
        shown: list[nodes.Node] = []
        for kind, pairs in list_sentences().items():
            section = nodes.section(ids=[nodes.make_id(kind)])
            section += nodes.title("", kind)
            listed = nodes.definition_list()
            for sentence, remedy in pairs:
                advice = remedy if remedy.strip("… ") else "(The remedy depends on what was given.)"
                term, paragraph = nodes.term("", sentence), nodes.paragraph("", advice)
                term["support_smartquotes"] = paragraph["support_smartquotes"] = False  # remedies hold code
                listed += nodes.definition_list_item("", term, nodes.definition("", paragraph))
            section += listed
            shown.append(section)
        return shown


def list_sentences() -> dict[str, list[tuple[str, str]]]:
    """Class → sentence and remedy, in the order of the alphabet; … stands for what is filled in."""
    kinds = [name for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.DaedalError)]
    found: dict[str, set[tuple[str, str]]] = {name: set() for name in kinds}
    for path in Path(daedal.__file__).parent.rglob("*.py"):
        for name, sentence, remedy in _find_refusals(ast.parse(path.read_text(encoding="utf-8"))):
            if name in found:
                found[name].add((sentence, remedy))
    return {name: sorted(pairs, key=_find_first_letters) for name, pairs in found.items() if pairs}


def _find_first_letters(pair: tuple[str, str]) -> tuple[str, tuple[str, str]]:
    """Where a sentence stands in the alphabet, whatever name it begins with."""
    return pair[0].lstrip("'…,: ").casefold(), pair


def _find_refusals(tree: ast.AST) -> Iterator[tuple[str, str, str]]:
    """Calls of a class with a sentence that stands there, and a remedy, which may be made elsewhere."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 2:
            sentence, remedy = map(_read_text, node.args)
            if sentence.strip("… ."):
                yield node.func.id, sentence, remedy


def _read_text(node: ast.expr) -> str:
    """A text as it is typed, with … for what is filled in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_read_text, node.values))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _read_text(node.left) + _read_text(node.right)
    return "…"
