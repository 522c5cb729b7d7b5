"""What cannot be read, in sentences with file and line.

rumoca names what it refuses, mostly without a line, which is looked up in the text here. Three things it passes over
without a word, and these are refused before: modifications by path, `part(inner.k = 2)`; modifications of a class that
is redeclared, `redeclare model M = Other(k = 2)`; and connections of unlike connectors.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from daedal.errors import ModelError, counted, quoted
from daedal.modelica.source import Source, Span

LIBRARY = "Libraries are not part of a file: put the classes that are needed into it."
OPERAND = {"der", "end", "false", "if", "initial", "not", "pure", "true", "string", "unsignedinteger"} | set("(.{+-[")
OPERATOR = {"and", "or", "*", "/", "+", "-", "lt", "ltequ", "gt", "gtequ", "equequ", "ltgt", "circumflex"}
RARE = {"annotation", "constrainedby", "string", "colonequ", ":", "."}

# Pattern of rumoca's message → sentence with the captured name and its lines, and remedy; the first that fits counts.
MEANINGS = (
    (r"unresolved import: '([^']+)'", "class '{0}'{1} is not in the file", LIBRARY),
    (r"unresolved type reference: '([^']+)'", "class '{0}'{1} is not in the file", LIBRARY),
    (r"base class not found: `([^`]+)`", "class '{0}'{1} is not in the file", LIBRARY),
    (r"unresolved function call: '([^']+)'", "function '{0}'{1} is not known", "Use Modelica's built-in functions."),
    (
        r"unresolved component reference: '([^']+)'",
        "'{0}'{1} is used but not declared",
        "Declare it, or correct the name; libraries are not part of a file.",
    ),
    (r"requires inner declarations: ([\w.]+)", "outer '{0}'{1} has no inner declaration", "Declare it as inner."),
)
CONSTRUCTS = {
    "when": r"^\s*when\b",
    "reinit": r"\breinit\s*\(",
    "an algorithm section": r"^\s*(?:initial\s+)?algorithm\b",
    "an external function": r"\bexternal\b",
    "pre": r"\bpre\s*\(",
    "sample": r"\bsample\s*\(",
    "an inner or outer variable": r"\bouter\s+(?!parameter|constant)\w",
}


def explain_syntax_error(source: Source, message: str) -> ModelError:
    """The first of the errors rumoca prints as pictures of the text."""
    first = re.split(r"\n\nEP\d+\n", message)[0]
    place = re.search(r":(\d+):(\d+)\]", first)
    line, column = (int(place[1]), int(place[2])) if place else (1, 1)
    unexpected = re.search(r"unexpected (`[^`]*`|end of input)", first)
    if unexpected is None:
        cause = re.search(r"× (?:parse error: )?(.*?)(?: \(line \d+\))?\n", first)
        return ModelError(f"{source.opening}, line {line}: {cause[1] if cause else first}.", "Correct the line.")
    help_text = re.search(r"help: expected (?:one of: )?(.*?)\s*\Z", first, re.DOTALL)
    expected = set(re.split(r",\s+", help_text[1])) if help_text else set()
    happens = "the text ends" if unexpected[1] == "end of input" else f"{unexpected[1].replace('`', chr(39))} stands"
    lines = source.text.splitlines()
    wanted = _put_in_words({" ".join(token.split()) for token in expected})
    sentence = f"{source.opening}, line {line}: {happens} where {wanted} was expected."
    if happens == "the text ends" or line > len(lines):
        return ModelError(sentence, "Write what is missing before the end.")
    missing = _guess_missing(lines, line, column, expected)
    return ModelError(sentence, missing or f"The line reads: {lines[line - 1].strip()}")


def _put_in_words(expected: set[str]) -> str:
    """What may stand at a place, with all operands and all operators as one thing each."""
    words = []
    if "package" in expected and "equation" not in expected:
        return "'model', 'package' or another class"
    if "unsignedinteger" in expected:
        words, expected = ["a formula"], expected - OPERAND
    if "circumflex" in expected:
        expected = {token for token in expected - OPERATOR - RARE if not re.match("dot|circum", token)} - set(":,})]=")
        words = [*words, "an operator"]
    tokens = sorted(expected - RARE, key=lambda token: (token != ";", token[0].isalpha(), token))
    words += [token if token == "end of input" else f"'{token}'" for token in tokens[: max(1, 8 - len(words))]]
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words) or "something else"


def _guess_missing(lines: list[str], line: int, column: int, expected: set[str]) -> str:
    """What is likely forgotten at the end of a line: a semicolon, or the word that opens a block."""
    text = lines[line - 1]
    begins = not text[: column - 1].strip()
    if begins:
        before = [k for k in range(line - 1) if lines[k].strip()]
        if not before:
            return ""
        line, text = before[-1] + 1, lines[before[-1]]
    elif re.search(r"\W", text[column - 1 :].strip()):
        return ""
    if re.search(r"(?:;|\b(?:equation|algorithm|public|protected|then|else|loop))\s*$", text):
        return ""
    opened = re.match(r"\s*(if|elseif|when|for)\b", text)
    word = {"for": "loop"}.get(opened[1], "then") if opened else ";"
    return f"Write '{word}' at the end of line {line}." if word in expected else ""


def explain_compile_error(source: Source, model: str, message: str) -> ModelError:
    """What rumoca could not translate."""
    for pattern, sentence, remedy in MEANINGS:
        named = re.search(pattern, message)
        if named:
            lines = source.find_lines(rf"(?<![\w.]){re.escape(named[1])}(?!\w)")
            return ModelError(f"{source.opening}: {sentence.format(named[1], _write_lines(lines))}.", remedy)
    counts = re.search(r"unbalanced model: (\d+) equations, (\d+) unknowns", message)
    if counts:
        equations, unknowns = counted(int(counts[1]), "equation"), counted(int(counts[2]), "unknown")
        remedy = "Add or remove an equation; every input of a part must be connected or given."
        uses = _write_uses(source)
        return ModelError(f"Model '{model}' of {source.name} has {equations} for {unknowns}{uses}.", remedy)
    if "derivative expression" in message:
        lines = source.find_lines(r"\bder\s*\((?!\s*[\w.\[\], ]+\))")
        return ModelError(
            f"{source.opening}: der takes one variable, got a formula{_write_lines(lines)}.",
            "Give the formula a variable of its own, and differentiate that.",
        )
    if "mismatched equation counts" in message:
        lines = source.find_lines(r"(?:^|;|\bequation|\bloop|\bthen|\belse)\s*if\b")
        return ModelError(
            f"{source.opening}: the branches of an if-equation{_write_lines(lines)} must have equally many equations.",
            "Add what is missing, and an else.",
        )
    place = re.search(r"failed in \w+: (.*?) \[input\.mo:(\d+):\d+\]", message, re.DOTALL)
    if place:
        return ModelError(f"{source.opening}, line {place[2]}: {_shorten_reason(place[1])}.", "Correct the line.")
    reason = _shorten_reason(re.sub(r"^.*?(?:could not be compiled|failed in \w+): ", "", message, flags=re.DOTALL))
    return ModelError(
        f"Model '{model}' of {source.name} cannot be translated{_write_uses(source)}: {reason}.",
        "Write that in another way.",
    )


def _shorten_reason(reason: str) -> str:
    return " ".join(reason.split("\nRelated failures")[0].split()).rstrip(".")


def _write_lines(lines: Iterable[int]) -> str:
    """Where in the text: (line 4), (lines 4, 7)."""
    listed = [str(line) for line in lines]
    return f" (line{'s' * (len(listed) > 1)} {', '.join(listed)})" if listed else ""


def _write_uses(source: Source) -> str:
    """Constructs of the text that rumoca or daedal cannot take, which are then the likely cause."""
    places = {what: source.find_lines(pattern) for what, pattern in CONSTRUCTS.items()}
    named = [f"{what}{_write_lines(lines)}" for what, lines in places.items() if lines]
    return f"; the text uses {', '.join(named)}" if named else ""


def check_text(source: Source) -> None:
    """Refuse modifications that rumoca would leave out."""
    dotted = source.find_lines(r"[(,]\s*(?:final\s+|each\s+)*\w+(?:\s*\.\s*\w+)+\s*(?:=(?!=)|\(\s*\w+\s*=(?!=))")
    if dotted:
        raise ModelError(
            f"{source.opening}: a modification by path{_write_lines(dotted)} cannot be read.",
            "Write part(inner(k = 2)) in place of part(inner.k = 2).",
        )
    kinds = "model|block|class|record|package|connector|type|function"
    redeclared = source.find_lines(rf"\bredeclare\s+(?:final\s+|replaceable\s+)*(?:{kinds})\s+\w+\s*=\s*[\w.]+\s*\(")
    if redeclared:
        raise ModelError(
            f"{source.opening}: a redeclared class with modifications{_write_lines(redeclared)} cannot be read.",
            "Declare a class with these modifications first, model Stiff = Spring(c = 2), and redeclare that one.",
        )


def check_events(source: Source, flat: Mapping[str, Any]) -> None:
    """Refuse what changes a model at instants, and what is a program rather than equations."""
    notes: list[tuple[int, str]] = []

    def note(what: str, span: Span) -> None:
        notes.append((source.find_line(span) if source.holds(span) else 0, what))

    for chain in flat["when_chains"]:
        note("when", chain["span"])
        for branch in [chain["first"], *chain["else_when"]]:
            for equation in branch["equations"]:
                if "Reinit" in equation:
                    note("reinit", equation["Reinit"]["span"])
    for algorithm in [*flat["algorithms"], *flat["initial_algorithms"]]:
        note("an algorithm section", algorithm["span"])
    for variable in flat["variables"].values():
        if "Discrete" in variable["variability"]:
            note(f"the discrete variable '{variable['name']}'", variable["source_span"])
    if notes:
        listed = [f"{what}{_write_lines([line] if line else [])}" for line, what in sorted(set(notes))]
        raise ModelError(
            f"{source.opening} uses what a model of equations cannot hold: {', '.join(listed)}.",
            "Write it with equations; switching formulas with if.",
        )


def check_connections(source: Source, flat: Mapping[str, Any]) -> None:
    """Refuse connections between connectors of different variables."""
    under: dict[str, set[tuple[str, bool]]] = defaultdict(set)
    for name, variable in flat["variables"].items():
        parts = re.sub(r"\[[^\]]*\]", "", name).split(".")
        for k in range(1, len(parts) + 1):
            under[".".join(parts[:k])].add((".".join(parts[k:]), bool(variable["flow"])))
    code = source.code
    while "[" in code and (shorter := re.sub(r"\[[^\[\]]*\]", "", code)) != code:
        code = shorter
    for connection in re.finditer(r"\bconnect\s*\(\s*([\w.]+)\s*,\s*([\w.]+)\s*\)", code):
        first, second = connection[1], connection[2]
        for path in [path for path in under if path == first or path.endswith("." + first)]:
            other = path[: len(path) - len(first)] + second
            if other in under and under[path] != under[other]:
                raise ModelError(
                    f"{source.opening}{_write_lines(source.find_lines(rf'connect[^;]*{re.escape(second)}'))}: "
                    f"'{path}' and '{other}' are connected, but "
                    f"{_describe_connector(path, under)}, and {_describe_connector(other, under)}.",
                    "Connect connectors of one kind.",
                )


def _describe_connector(path: str, under: Mapping[str, set[tuple[str, bool]]]) -> str:
    names = [f"flow {name}" if flow else name for name, flow in sorted(under[path]) if name]
    return f"'{path}' has {quoted(names)}" if names else f"'{path}' is one signal"
