"""The LLVM functions around tapes: a loop over lanes, and within it one over steps.

Rows of an array are `stride` doubles apart. Pointers do not alias, so that loads of parameters, and whatever depends on
them alone, leave the loop over steps; the state lives in registers as phi nodes.
"""

from collections.abc import Sequence

from daedal.kernels.emitter import Emitter, declarations
from daedal.kernels.lowering import functions, lower
from daedal.kernels.tape import Tape


def map_text(tape: Tape, width: int, fused: bool) -> str:
    """`daedal_map(inputs…, outputs…, stride, first, stop)`: a function over the lanes from first to stop."""
    e = Emitter(width, fused, contract=True)
    inputs = [[load(e, f"%in{i}", str(row)) for row in range(size)] for i, size in enumerate(tape.input_sizes)]
    outputs, called = lower(e, tape, inputs)
    for k, values in enumerate(outputs):
        for row, value in enumerate(values):
            store(e, f"%out{k}", str(row), value)
    pointers = [f"%in{i}" for i in range(len(inputs))] + [f"%out{k}" for k in range(len(outputs))]
    arguments = [f"ptr noalias {pointer}" for pointer in pointers] + ["i64 %stride", "i64 %first", "i64 %stop"]
    lines = [f"define void @daedal_map({', '.join(arguments)}) nounwind {{", *over_lanes(e.take(), "group", width)]
    return module(width, functions(called, width, fused), lines)


def scan_text(step: Tape, observe: Tape | None, width: int, fused: bool) -> str:
    """`daedal_scan(state, parameters, shared, each, begin, emit, out, steps, stride, first, stop)`, for some steps."""
    n_x, n_p, n_s, n_w = step.input_sizes
    e = Emitter(width, fused, contract=True)
    initial = [load(e, "%state", str(row)) for row in range(n_x)]
    parameters = [load(e, "%parameters", str(row)) for row in range(n_p)]
    before = e.take()
    shared = [broadcast(e, "%shared", n_s, row) for row in range(n_s)]
    each = _each(e, n_w)
    inputs = [[f"%x{k}" for k in range(n_x)], parameters, shared, each]
    (new,), called = lower(e, step, inputs)
    body = e.take()
    if observe is not None:
        (seen,), more = lower(e, observe, [new, *inputs[1:]])
        called += more
        for row, value in enumerate(seen):
            store(e, "%out", row_at(e, "%row", len(seen), row), value)
    record = e.take()
    for row, value in enumerate(new):
        store(e, "%state", str(row), value)
    phis = [f"  %x{k} = phi {e.doubles} [ {initial[k]}, %group ], [ {new[k]}, %next ]" for k in range(n_x)]
    steps = [*before, *over_steps([*phis, *body], record), *e.take()]
    return module(width, functions(called, width, fused), [_SCAN_HEADING, *over_lanes(steps, "leave", width)])


Sums = Sequence[tuple[int, Sequence[int]]]


def recall_text(step: Tape, observe: Tape, weigh: Tape, sums: Sums, points: int, width: int, fused: bool) -> str:
    """`daedal_recall(state, parameters, shared, each, begin, back, out, scratch, steps, stride, first, stop)`.

    Every step writes its own row of `out` and reads earlier ones: `sums` lists columns of `back` and observed numbers,
    of each of which the sum over consecutive rows is taken, weighted by what `weigh` gives for that entry of the list.
    A loop over the numbers keeps the code short.
    """
    n_x, n_p, n_s, n_w, n_r = step.input_sizes
    (n_y,) = observe.output_sizes
    columns = 1 + max((column for column, _ in sums), default=-1)
    e = Emitter(width, fused, contract=True)
    initial = [load(e, "%state", str(row)) for row in range(n_x)]
    parameters = [load(e, "%parameters", str(row)) for row in range(n_p)]
    before = e.take()
    shared = [broadcast(e, "%shared", n_s, row) for row in range(n_s)]
    (weights,), called = lower(e, weigh, [shared])
    firsts = [_integer(e, "%back", row_at(e, "%step", columns, column)) for column in range(columns)]
    tables, offset = [], 0
    for number, (column, rows) in enumerate(sums):
        own = weights[number * points : (number + 1) * points]
        tables.append(_constants(f"rows{number}", rows))
        _sums(e, number, e.new(f"mul nsw i64 {firsts[column]}, {n_y}"), own, len(rows), n_y, offset)
        offset += len(rows)
    past = [_scratch(e, str(place)) for place in range(n_r)]
    inputs = [[f"%x{k}" for k in range(n_x)], parameters, shared, _each(e, n_w), past]
    (new,), more = lower(e, step, inputs)
    (seen,), most = lower(e, observe, [new, *inputs[1:]])
    for row, value in enumerate(seen):
        store(e, "%out", row_at(e, "%step", n_y, row), value)
    body = e.take()
    for row, value in enumerate(new):
        store(e, "%state", str(row), value)
    last = f"summed{len(sums) - 1}" if sums else "advance"
    phis = [f"  %x{k} = phi {e.doubles} [ {initial[k]}, %group ], [ {new[k]}, %{last} ]" for k in range(n_x)]
    loop = [
        "  br label %advance",
        "advance:",
        f"  %step = phi i64 [ 0, %group ], [ %step_next, %{last} ]",
        *phis,
        *body,
        "  %step_next = add nsw i64 %step, 1",
        "  %again = icmp slt i64 %step_next, %steps",
        "  br i1 %again, label %advance, label %leave",
        "leave:",
    ]
    lines = [*tables, _RECALL_HEADING, *over_lanes([*before, *loop, *e.take()], "leave", width)]
    return module(width, functions(called + more + most, width, fused), lines)


def _constants(name: str, numbers: Sequence[int]) -> str:
    listed = ", ".join(f"i64 {number}" for number in numbers)
    return f"@{name} = private unnamed_addr constant [{len(numbers)} x i64] [{listed}]"


def _sums(e: Emitter, number: int, begin: str, weights: Sequence[str], count: int, rows: int, offset: int) -> None:
    """A loop over the listed numbers, from the present block to a new one: Σ_k weights[k] · out[begin + k], kept."""
    source = f"%summed{number - 1}" if number else "%advance"
    head, end = f"sum{number}", f"summed{number}"
    e.lines += [f"  br label %{head}", f"{head}:"]
    e.lines += [f"  %place{number} = phi i64 [ 0, {source} ], [ %further{number}, %{head} ]"]
    row = _integer(e, f"@rows{number}", f"%place{number}")
    base = e.new(f"add nsw i64 {begin}, {row}")
    total = None
    for k, weight in enumerate(weights):
        value = load(e, "%out", e.new(f"add nsw i64 {base}, {k * rows}"))
        product = e.new(f"fmul contract {e.doubles} {weight}, {value}")
        total = product if total is None else e.new(f"fadd contract {e.doubles} {total}, {product}")
    target = _scratch_address(e, e.new(f"add nsw i64 %place{number}, {offset}"))
    e.lines += [
        f"  store {e.doubles} {total}, ptr {target}, align 8",
        f"  %further{number} = add nsw i64 %place{number}, 1",
        f"  %more{number} = icmp slt i64 %further{number}, {count}",
        f"  br i1 %more{number}, label %{head}, label %{end}",
        f"{end}:",
    ]


def _scratch_address(e: Emitter, place: str) -> str:
    return e.new(f"getelementptr inbounds {e.doubles}, ptr %scratch, i64 {place}")


def _scratch(e: Emitter, place: str) -> str:
    return e.new(f"load {e.doubles}, ptr {_scratch_address(e, place)}, align 8")


_RECALL_HEADING = (
    "define void @daedal_recall(ptr noalias %state, ptr noalias %parameters, ptr noalias %shared, ptr noalias %each, "
    "ptr noalias %begin, ptr noalias %back, ptr noalias %out, ptr noalias %scratch, "
    "i64 %steps, i64 %stride, i64 %first, i64 %stop) nounwind {"
)


def _integer(e: Emitter, pointer: str, place: str) -> str:
    """One integer of a table."""
    address = e.new(f"getelementptr inbounds i64, ptr {pointer}, i64 {place}")
    return e.new(f"load i64, ptr {address}")


def _each(e: Emitter, count: int) -> list[str]:
    """The rows of `%each` that belong to the present step; steps may share rows, so where they begin is a table."""
    if count == 0:
        return []
    begin = _integer(e, "%begin", "%step")
    return [load(e, "%each", e.new(f"add nsw i64 {begin}, {row}")) for row in range(count)]


_SCAN_HEADING = (
    "define void @daedal_scan(ptr noalias %state, ptr noalias %parameters, ptr noalias %shared, ptr noalias %each, "
    "ptr noalias %begin, ptr noalias %emit, ptr noalias %out, i64 %steps, i64 %stride, i64 %first, i64 %stop) "
    "nounwind {"
)


def module(width: int, definitions: str, lines: Sequence[str]) -> str:
    """The text of a module from its functions."""
    return "\n".join([declarations(width), definitions, *lines, ""])


def over_lanes(lines: Sequence[str], last: str, width: int) -> list[str]:
    """A function body that repeats `lines`, which end in the block `last`, for every group of lanes."""
    return [
        "entry:",
        "  %some = icmp slt i64 %first, %stop",
        "  br i1 %some, label %group, label %done",
        "group:",
        f"  %lane = phi i64 [ %first, %entry ], [ %lane_next, %{last} ]",
        *lines,
        f"  %lane_next = add nsw i64 %lane, {width}",
        "  %more = icmp slt i64 %lane_next, %stop",
        "  br i1 %more, label %group, label %done",
        "done:",
        "  ret void",
        "}",
    ]


def over_steps(body: Sequence[str], record: Sequence[str]) -> list[str]:
    """A loop from block `group` to block `leave`: `body` in every step, `record` where a row is asked for."""
    return [
        "  br label %advance",
        "advance:",
        "  %step = phi i64 [ 0, %group ], [ %step_next, %next ]",
        *body,
        "  %row_address = getelementptr inbounds i64, ptr %emit, i64 %step",
        "  %row = load i64, ptr %row_address",
        "  %wanted = icmp sge i64 %row, 0",
        "  br i1 %wanted, label %record, label %next",
        "record:",
        *record,
        "  br label %next",
        "next:",
        "  %step_next = add nsw i64 %step, 1",
        "  %again = icmp slt i64 %step_next, %steps",
        "  br i1 %again, label %advance, label %leave",
        "leave:",
    ]


def row_at(e: Emitter, index: str, rows: int, row: int) -> str:
    """The row number index·rows + row."""
    return e.new(f"add nsw i64 {e.new(f'mul nsw i64 {index}, {rows}')}, {row}")


def address(e: Emitter, pointer: str, row: str) -> str:
    """Where the present lanes of a row begin."""
    offset = e.new(f"add nsw i64 {e.new(f'mul nsw i64 %stride, {row}')}, %lane")
    return e.new(f"getelementptr inbounds double, ptr {pointer}, i64 {offset}")


def load(e: Emitter, pointer: str, row: str) -> str:
    return e.new(f"load {e.doubles}, ptr {address(e, pointer, row)}, align 8")


def store(e: Emitter, pointer: str, row: str, value: str) -> None:
    place = address(e, pointer, row)
    e.lines.append(f"  store {e.doubles} {value}, ptr {place}, align 8")


def broadcast(e: Emitter, pointer: str, rows: int, row: int) -> str:
    """One double of the present step, in all lanes."""
    place = e.new(f"getelementptr inbounds double, ptr {pointer}, i64 {row_at(e, '%step', rows, row)}")
    number = e.new(f"load double, ptr {place}")
    first = e.new(f"insertelement {e.doubles} poison, double {number}, i64 0")
    return e.new(f"shufflevector {e.doubles} {first}, {e.doubles} poison, <{e.width} x i32> zeroinitializer")
