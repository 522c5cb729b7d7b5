"""Switches: where the equations of a model change their form, taken out before the index is reduced.

Every node of a formula that jumps or has a kink belongs to a switching function g, and to a mode m = ±1, the side of
g = 0 on which a trajectory is:

    sign(e)                     g = e           m
    e₁ < e₂, e₁ ≤ e₂            g = e₂ − e₁     (1 + m)/2; conditions are joined by products, branches selected
    abs(e)                      g = e           m e
    maximum, minimum(a, b)      g = a − b       (a + b ± m (a − b))/2
    copysign(a, b)              a and b         m_a a m_b
    hysteresis(e, low, high)    g = e − (low + high)/2 + m (high − low)/2, which contains its own mode

Equal functions (up to a factor) share one mode. With modes held the equations are smooth, so that modes are constants
for the reduction of the index; the solvers locate where g crosses zero and change them. A function of time, inputs and
numbers alone is `known`: its mode is an input, and its changes are jumps of that input.

Not every such node needs this. Where the equations and their slopes are continuous across g = 0 (|v| v), or the slopes
are infinite there (sign(p) sqrt(abs(p))), the node stays as it was typed; conditions on parameters alone do too, and
kinks of known functions where these are very many: nothing is integrated across them all the same (`Bend`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import casadi as ca

from daedal.analysis import Alias, Equations, make_namer, substitute_aliases
from daedal.errors import ModelError
from daedal.models import Model, evaluate_parameters
from daedal.symbolic import Delayed, Derivative, Expression, expand, find_operator, jet, list_symbols, stack_symbols
from daedal.systems.switching.borders import find_fragile, find_verdicts
from daedal.systems.switching.climb import Climb
from daedal.systems.switching.reader import Reader, count_known_kinks
from daedal.systems.switching.stages import join_stages
from daedal.systems.switching.switch import Known, Switch, Switching, Words
from daedal.systems.switching.table import LEAST, Table, find_ladders
from daedal.systems.switching.writer import Written, write_formulas


def take_out_switches(
    model: Model,
    equations: Equations,
    aliases: Mapping[str, Alias],
    observed: Mapping[str, ca.SX],
    jumps_only: bool,
) -> Switching:
    """The switches of a model whose aliases are eliminated; kinks are among them unless `jumps_only`."""
    name_jet = make_namer(aliases)

    def rename(sx: ca.SX) -> ca.SX:
        jets = {name: jet(name) for name in list_symbols(sx)}
        old = [name for name, (base, _) in jets.items() if base in equations.unknowns]
        return (
            ca.substitute(sx, stack_symbols(old), stack_symbols(name_jet(*jets[name]) for name in old)) if old else sx
        )

    inputs = frozenset(model.input_names)

    def read(typed: Expression) -> ca.SX:
        return substitute_aliases(expand(typed.sx, equations.constants), aliases)

    words = Words(model.name, equations.constants, inputs, rename, read)
    numbers = evaluate_parameters(model)
    _refuse_delayed_jumps(equations.residuals, words, numbers)
    _refuse_differentiated_jumps(model, words, numbers)
    return find_switches(equations.residuals, ca.vertcat(*observed.values()), words, numbers, jumps_only)


def _refuse_delayed_jumps(residuals: ca.SX, words: Words, values: Mapping[str, float]) -> None:
    """What is delayed must not jump: its jumps would have to be located once more, later."""
    for name in list_symbols(residuals):
        meaning = find_operator(name)
        if not isinstance(meaning, Delayed):
            continue
        inside = find_switches(meaning.operand.sx, ca.SX(0, 1), words, values)
        if inside.held or inside.known or any(switch.jumps for switch in inside.switches):
            raise ModelError(
                f"'{name}' of model '{words.model}' delays something that jumps.",
                "Delay what the condition compares: where(delay(x, tau) > 0, ...).",
            )


def _refuse_differentiated_jumps(model: Model, words: Words, values: Mapping[str, float]) -> None:
    """What jumps has no derivative."""
    for name, equation in model.equations.items():
        for leaf in list_symbols(ca.vertcat(equation.lhs.sx, equation.rhs.sx)):
            meaning = find_operator(leaf)
            if not isinstance(meaning, Derivative) or meaning.operand.is_symbol:
                continue
            inside = find_switches(expand(meaning.operand.sx, words.constants), ca.SX(0, 1), words, values)
            if inside.held or inside.known or any(switch.jumps for switch in inside.switches):
                raise ModelError(
                    f"Equation '{name}' of model '{model.name}' contains '{leaf}', the derivative of something that "
                    "jumps.",
                    "Differentiate something continuous.",
                )


def find_switches(
    residuals: ca.SX, observed: ca.SX, words: Words, values: Mapping[str, float], jumps_only: bool = False
) -> Switching:
    """Take the switches out of residuals; formulas that are observed share their modes, and keep what is their own.

    `jumps_only`: kinks stay as they are typed.
    """
    reader = Reader(residuals, observed, words)
    everything = write_formulas(reader, frozenset())
    blended = write_formulas(reader, frozenset(), frozenset(range(len(reader.functions))))
    climb = Climb.of(reader, find_ladders(everything.functions, reader.list_latched()))
    verdicts = find_verdicts(reader, *climb.apply(blended), values)
    wanted = ("jump",) if jumps_only else ("jump", "kink")
    idle = frozenset(
        number
        for number, function in enumerate(reader.functions)
        if not function.latched and verdicts[number] not in wanted
    )
    reader.fragile = find_fragile(reader, *climb.apply(everything), idle, values)
    written = write_formulas(reader, idle) if idle or reader.fragile else everything
    jumping = frozenset(number for number in written.functions if verdicts[number] == "jump")
    kinked = frozenset(written.functions).difference(jumping)
    parts = [ladder.choose(part) for ladder in climb.ladders for part in (jumping, kinked)]
    climb = Climb.of(reader, [part for part in parts if len(part.numbers) >= LEAST])
    inner: tuple[Known, ...] = ()
    if not (written.functions or written.held):  # formulas are written once more for what slides
        written, inner = join_stages(written)
    climb, collapsed = climb.apply(written)
    switches, members, tables = _list_switches(reader, climb, written, jumping)

    def blend(places: Sequence[int]) -> tuple[ca.SX, ca.SX]:
        chosen = frozenset(number for place in places for number in members[place])
        typed = write_formulas(reader, idle, chosen)
        further, blended = climb.apply(typed)
        if further.entries != climb.entries:  # which the tables do not have
            blended = climb.apply_modes(typed)
        return blended.residuals, blended.observed

    return Switching(
        residuals=collapsed.residuals,
        observed=collapsed.observed,
        switches=switches,
        tables=tables,
        known=tuple(written.known),
        inner=inner,
        held=collapsed.held,
        bent=jumps_only and any(verdicts[number] == "kink" for number in idle),
        bends=tuple(written.bends.values()),
        bent_rows=_find_bent_rows(reader, collapsed.residuals) if written.bends else (),
        blend=blend,
    )


def _find_bent_rows(reader: Reader, residuals: ca.SX) -> tuple[int, ...]:
    rows = ca.vertsplit(residuals)
    return tuple(number for number, row in enumerate(rows) if count_known_kinks(row, reader.words.inputs))


def _list_switches(
    reader: Reader, climb: Climb, written: Written, jumping: frozenset[int]
) -> tuple[tuple[Switch, ...], list[tuple[int, ...]], tuple[Table, ...]]:
    """The switches alone and then the two of each table, the numbers of the functions they are for, and the tables."""
    alone = {number: climb.write(g) for number, g in written.functions.items() if number not in climb.inside}
    switches = [
        Switch(
            reader.name_mode(number),
            reader.functions[number].text,
            function,
            number in jumping,
            reader.functions[number].latched,
        )
        for number, function in alone.items()
    ]
    members: list[tuple[int, ...]] = [(number,) for number in alone]
    tables = []
    for ladder, table in zip(climb.ladders, climb.tables, strict=True):
        tables.append(replace(table, places=(len(switches), len(switches) + 1)))
        ends, functions = (ladder.numbers[0], ladder.numbers[-1]), table.write_functions()
        for end, mode, function in zip(ends, table.modes, functions, strict=True):
            text = reader.functions[end].text
            switches.append(Switch(mode, text, climb.write(function), end in jumping, latched=False))
            members.append(ladder.numbers)
    return tuple(switches), members, tuple(tables)
