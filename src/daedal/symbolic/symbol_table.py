"""A symbol *is* its name: `symbol("x")` gives the same symbol wherever it is called.

This is what makes models comparable, picklable and readable from text.
"""

from threading import Lock

import casadi as ca

from daedal.errors import ExpressionError, check_whole_number, show
from daedal.symbolic.expression import NAME, Expression

RESERVED = frozenset({"time", "and", "or", "not", "inf", "nan"})

_symbols: dict[str, Expression] = {}
_lock = Lock()


def symbol(name: str) -> Expression:
    """The symbol of that name: a letter or word, with `.` and `[0]` allowed after it.

    Examples
    --------
    >>> symbol("shaft.c")
    shaft.c
    """
    if isinstance(name, Expression):
        raise ExpressionError(
            f"symbol takes a name, got the expression '{name}'.", 'Give the name in quotes: symbol("x").'
        )
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ExpressionError(
            f"A symbol's name must be a word such as 'x', 'motor.i' or 'T[0]', got {show(name)}.",
            "Use letters, digits and underscores, beginning with a letter.",
        )
    name = str.__str__(name)  # without what a subclass does
    if name in RESERVED:
        raise ExpressionError(
            f"The name '{name}' has a meaning of its own.", "Choose another name (time itself is dd.time)."
        )
    return intern_symbol(name)


def symbols(names: str, count: int | None = None) -> tuple[Expression, ...]:
    """Several symbols: `symbols("x y")`, or `symbols("T", 30)` for T[0] … T[29].

    Examples
    --------
    >>> symbols("x y"), symbols("T", 2)
    ((x, y), (T[0], T[1]))
    """
    if not isinstance(names, str):
        raise ExpressionError(f"symbols takes names in one text, got {show(names)}.", 'Write symbols("x y z").')
    if isinstance(count, str):
        raise ExpressionError("symbols takes all names in one text.", f'Write symbols("{names} {count}").')
    if count is not None:
        sentence = f"The count of symbols '{names}' must be a whole number"
        count = check_whole_number(
            count, ExpressionError, sentence, "Write 30; 100000 is the most.", least=0, most=100_000
        )
        return tuple(symbol(f"{names}[{i}]") for i in range(count))
    return tuple(symbol(name) for name in names.replace(",", " ").split())


def intern_symbol(name: str) -> Expression:
    """The one symbol with this text; derivatives and the like have texts such as `der(x)` and `delay(x, tau)`."""
    known = _symbols.get(name)
    if known is not None:
        return known
    with _lock:  # CasADi tells symbols apart by where they are: two of one name would be two symbols
        if name not in _symbols:
            _symbols[name] = Expression(ca.SX.sym(name))
        return _symbols[name]


time = intern_symbol("time")
