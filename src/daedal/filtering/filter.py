"""The Kalman filter over a timeline: exact matrices for each interval, compiled loops, gains that have settled.

A gain is taken as settled for the rest of a stretch of equal cycles only when that is certain. With P after a cycle, Φ
the closed loop of one cycle and D what one more cycle changes, m further cycles change P by

    X_m = Σ_{j < m} Φʲ D Φʲᵀ,     X_{2m} = X_m + Φᵐ X_m Φᵐᵀ,

and the gain at P + X_m, the end of the stretch, has to equal the gain at P, derivatives included. P itself goes on by
X_m: directions that no output shows may grow meanwhile.

A large model with few sources of noise begins by another way (`large`, below this floor), as far as it leads.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from daedal.errors import counted
from daedal.filtering.evolution import Evolution
from daedal.filtering.large import Measurements, Stretch, discretize, make_reset, run_low_rank_filter
from daedal.filtering.timeline import Timeline
from daedal.kernels import Events, Innovations, Keep, Matrices, Packed, State, Steady, pack, run_filter
from daedal.linear import Dual, LowRank, lift, stack, van_loan_slopes
from daedal.lti import compute_forced_response, evaluate_at_steps
from daedal.memory import check_memory

SETTLED, SLOPES_SETTLED = 1e-13, 1e-10  # relative change of a gain that rounding explains, and of its derivatives
FIRST_CYCLES = 16  # before the gain is looked at for the first time
WORTH = 32  # further cycles that make it worth looking
COPIES = 3  # of the covariances of all events: predicted, filtered, smoothed
LARGE, LONG, EARLY = 24, 8, 8  # states, cycles, and events before them, from which on covariances go in factors
PIECE = 4_000_000  # numbers that the inputs add to states and their derivatives, made at once
SHORT = 20  # cycles for each state, beyond which gains that have settled pay more than covariances in factors
FEW = 4  # states for each source of noise and each uncertain value at the start, with which that pays
BLOCK = 2_000_000  # entries of matrices and their derivatives made at once


@final
@dataclass(frozen=True, eq=False)
class Measured:
    """Of each event: the number measured, less what the inputs put there at once, and its variance; h of each row."""

    h: Dual
    y: Dual
    r: Dual


@final
@dataclass(frozen=True, eq=False)
class Filtered:
    """e (event, column) and s (event,) with slopes (direction, …); predicted states where kept."""

    e: Dual
    s: Dual
    x: np.ndarray
    P: np.ndarray
    g: np.ndarray
    A: np.ndarray  # of each transition, where everything is kept
    transition: np.ndarray


def filter_timeline(
    evolution: Evolution, line: Timeline, columns: Dual, spread: LowRank, measured: Measured, keep: Keep = Keep.NOTHING
) -> Filtered:
    """Run over all events from x (column, n) and the spread of x at the start."""
    _check_size(line, columns, keep)
    if keep < Keep.EVERYTHING and (swept := _sweep_first_stretch(evolution, line, columns, spread, measured)):
        return swept
    count = len(evolution.A.slopes)
    state = State(_pack(columns, count), _pack(spread.full, count))
    blocks = _cut_blocks(line, evolution, len(line.events.row))
    settle = keep < Keep.EVERYTHING and len(blocks) == 1
    innovations = Innovations.empty(line.events.row.size, state, keep)
    transitions, matrices = [], []
    for begin, end in blocks:
        run = _Run(evolution, line, measured, slice(begin, end), state, keep, innovations.part(slice(begin, end)))
        if settle:
            run.advance_and_settle()
        else:
            run.advance(0, end - begin)
        transitions.append(np.where(run.events.transition >= 0, run.events.transition + len(matrices), -1))
        matrices += list(run.A) if keep >= Keep.EVERYTHING else []
    return Filtered(
        e=_unpack(innovations.e, count),
        s=_unpack(innovations.s, count),
        x=innovations.x,
        P=innovations.P,
        g=innovations.g,
        A=np.array(matrices),
        transition=np.concatenate(transitions),
    )


def pass_columns(evolution: Evolution, line: Timeline, columns: Dual, measured: Measured) -> Dual:
    """What columns do to the measurements (event, column) if no sample corrects them; the first is driven by inputs."""
    n, count = len(evolution.A.value), len(evolution.A.slopes)
    still = LowRank(lift(np.zeros((n, 0)), count), lift(np.zeros((0, 0)), count))
    if n >= LARGE:
        silent = replace(evolution, noise=still)
        certain = Measured(measured.h, measured.y, lift(np.ones(line.events.row.size), count))
        return -filter_timeline(silent, line, columns, still, certain).e
    nothing = Steady(_pack(lift(np.zeros((1, n)), count), count), _pack(lift(np.ones(1), count), count))
    state = State(_pack(columns, count), _pack(still.full, count))
    innovations = Innovations.empty(line.events.row.size, state, Keep.NOTHING)
    for begin, end in _cut_blocks(line, evolution, line.events.row.size):
        part = slice(begin, end)
        run = _Run(evolution, line, measured, part, state, Keep.NOTHING, innovations.part(part))
        run.advance(0, end - begin, nothing, np.zeros(end - begin, dtype=np.int64))
    return -_unpack(innovations.e, count)


def _sweep_first_stretch(
    evolution: Evolution, line: Timeline, columns: Dual, spread: LowRank, measured: Measured
) -> Filtered | None:
    """With covariances in factors, where a large model begins with a long stretch of equal cycles."""
    n, events = len(evolution.A.value), line.events
    if n < LARGE or FEW * (evolution.noise.factor.value.shape[1] + spread.factor.value.shape[1]) > n:
        return None
    stretch = next((Stretch(*one) for one in line.cycles if one[2] >= LONG), None)
    if stretch is None or stretch.first > EARLY or stretch.end < events.row.size or stretch.cycles > SHORT * n:
        return None
    used = np.unique(events.transition[: stretch.end])
    used = used[used >= 0]
    if used.size > EARLY or not _has_equal_variances(measured.r, events.row, stretch):
        return None
    width = (line.degree + 1) * evolution.B.value.shape[1]
    steps = {
        number: discretize(evolution.A, evolution.B, evolution.noise, line.degree, float(line.steps[number]))
        if number < line.steps.size
        else make_reset(evolution.resets[number - line.steps.size], width)
        for number in used.tolist()
    }
    inputs = np.zeros((events.row.size, width))
    moving = np.flatnonzero((events.transition >= 0) & (events.transition < line.steps.size))
    inputs[moving] = line.inputs[line.break_of[moving] - 1].reshape(moving.size, width)
    seen = Measurements(events.transition, events.row, inputs, measured.h, measured.y, measured.r)
    swept = run_low_rank_filter(steps, seen, columns, spread, stretch)
    if swept is None:
        return None
    e, s, nothing = swept.e, swept.s, np.zeros((0, n))
    return Filtered(Dual(e[0], e[1:]), Dual(s[0], s[1:]), swept.x, nothing, nothing, nothing, events.transition)


def _has_equal_variances(r: Dual, row: np.ndarray, stretch: Stretch) -> bool:
    """Whether each event of a cycle has one variance, with one derivative each way, in all cycles."""
    both = np.concatenate([r.value[None], r.slopes])[:, stretch.first : stretch.end]
    variances = both.reshape(-1, stretch.cycles, stretch.size)
    measured = row[stretch.first : stretch.first + stretch.size] >= 0
    return bool(np.all(variances[:, :, measured] == variances[:, :1, measured]))


def _check_size(line: Timeline, columns: Dual, keep: Keep) -> None:
    """What each event leaves, its derivatives on the way and, where everything is kept, copies to smooth."""
    (count, n), directions = columns.value.shape, len(columns.slopes)
    kept = COPIES * (n * n + n * count) if keep >= Keep.EVERYTHING else n * count
    needed = 8.0 * line.events.row.size * (kept + 4 * (1 + directions) * (count + 1))
    operations = _count_operations(n, count) * (1 + 2 * directions) * line.events.row.size
    work = f"{line.events.row.size:.3g} events, up to {operations:.1g} operations,"
    subject = f"The filter of {counted(n, 'state')} over {work}"
    check_memory(needed, subject, "Give fewer samples, data.resample(step) say.")


def _count_operations(n: int, columns: int) -> float:
    """Of an event with matrices: A P Aᵀ + Q (whose half is written twice), A x, P h, and both corrections.

    A derivative of a product takes two of them.
    """
    return 3.0 * n**3 + (5.0 + 2.0 * columns) * n**2 + 4.0 * n * (1.0 + columns)


def _unpack(packed: Packed, count: int) -> Dual:
    return Dual(packed.value, np.moveaxis(packed.slope[..., :count], -1, 0))


def _pack(dual: Dual, count: int) -> Packed:
    return pack(dual.value, dual.slopes, count)


def _cut_blocks(line: Timeline, evolution: Evolution, events: int) -> list[tuple[int, int]]:
    """Stretches of events whose distinct intervals have matrices of a bearable size."""
    n, m = evolution.B.value.shape
    entries = (1 + len(evolution.A.slopes)) * (2 * n + (line.degree + 1) * m) ** 2
    most = max(BLOCK // entries, 1)
    if line.steps.size <= most:
        return [(0, events)]
    result, begin, seen = [], 0, set()
    for k, step in enumerate(line.events.transition.tolist()):
        if step not in seen and len(seen) == most:
            result.append((begin, k))
            begin, seen = k, set()
        seen.add(step)
    return [*result, (begin, events)]


class _Run:
    """One block of events with its matrices."""

    def __init__(
        self, evolution: Evolution, line: Timeline, measured: Measured, part: slice, state: State, keep: Keep,
        innovations: Innovations,
    ) -> None:  # fmt: skip
        self.count = len(evolution.A.slopes)
        self.state, self.keep, self.record = state, keep, innovations
        used, local = np.unique(line.events.transition[part], return_inverse=True)
        offset = int(used.size > 0 and used[0] < 0)  # those without a transition
        numbers = used[offset:]
        steps = line.steps[numbers[numbers < line.steps.size]]
        resets = [evolution.resets[k] for k in numbers[numbers >= line.steps.size] - line.steps.size]
        A, Q = _discretize(evolution, steps)
        self._A, self._Q = _append_resets(A, Q, resets)
        self.A = self._A.value
        transition = np.ascontiguousarray(local.ravel() - offset, dtype=np.int64)
        row = line.events.row[part]
        self.events = Events(transition, row, np.full(row.size, -1, dtype=np.int64))
        self.matrices = Matrices(_pack(self._A, self.count), _pack(self._Q, self.count), _pack(measured.h, self.count))
        self.h = measured.h
        self.forcing = _Forcing(evolution, line, part, transition, steps)
        self.y, self.r = (Dual(dual.value[part], dual.slopes[:, part]) for dual in (measured.y, measured.r))
        self.line = line

    def advance(self, begin: int, end: int, steady: Steady | None = None, slots: np.ndarray | None = None) -> None:
        """Some events, with gains computed or (by number) given; what they need is made piece by piece."""
        size = max(PIECE // max(len(self.state.P.value) * (1 + self.count), 1), 1)
        for first in range(begin, end, size):
            part = slice(first, min(first + size, end))
            numbers = self.events.steady[part] if slots is None else slots[first - begin : part.stop - begin]
            events = Events(self.events.transition[part], self.events.row[part], np.ascontiguousarray(numbers))
            y, r = (_pack(Dual(dual.value[part], dual.slopes[:, part]), self.count) for dual in (self.y, self.r))
            forcing, record = self.forcing.find(part), self.record.part(part)
            run_filter(events, self.matrices, forcing, y, r, self.state, steady, self.keep, record)

    def advance_and_settle(self) -> None:
        """All events; in stretches of equal cycles the gain is taken as it is once it no longer changes."""
        done = 0
        for first, size, cycles in self.line.cycles:
            if not self._is_alike(first, size, cycles):
                continue
            self.advance(done, first)
            left, next_look, done = cycles, FIRST_CYCLES, first
            while left:
                now = min(next_look, left)
                self.advance(done, done + now * size)
                done, left, next_look = done + now * size, left - now, 2 * next_look
                if left > WORTH and (settled := self._find_settled(done, size, left)) is not None:
                    self._advance_steadily(done, size, left, settled)
                    done, left = done + left * size, 0
        self.advance(done, self.events.row.size)

    def _is_alike(self, first: int, size: int, cycles: int) -> bool:
        """Whether a stretch is long enough and has one variance for each event of its cycle."""
        if cycles <= FIRST_CYCLES + WORTH:
            return False
        return _has_equal_variances(self.r, self.events.row, Stretch(first, size, cycles))

    def _find_settled(self, first: int, size: int, cycles: int) -> "_Settled | None":
        """The gains of the coming cycles, if they are the same at the end."""
        P = Dual(self.state.P.value, np.moveaxis(self.state.P.slope[..., : self.count], -1, 0))
        now = self._compute_cycle(first, size, P)
        step = now.after - P
        for row, s, spread in zip(self._list_rows(first, size), now.s, now.spread, strict=True):
            # Where the next cycle shows a change already, the sum of all need not be looked at.
            seen = np.abs(step.value @ self.h.value[row])
            if (seen > SETTLED * np.sqrt(spread[:, 0] * s.value.item())).any():
                return None
        change = _sum_changes(now.loop, step, cycles)
        if not np.isfinite(change.value).all():
            return None
        end = self._compute_cycle(first, size, P + change)
        for g, s, late_g, late_s, spread in zip(now.g, now.s, end.g, end.s, now.spread, strict=True):
            natural = np.sqrt(np.abs(spread) * s.value) + 1e-300
            moved = np.max(np.abs(late_g.value - g.value) / natural, initial=0.0)
            if max(moved, abs(late_s.value.item() / s.value.item() - 1.0)) > SETTLED:
                return None
            sizes = [np.abs(ratio).max(initial=0.0) for ratio in (g.slopes / natural, s.slopes / s.value)]
            changes = [
                np.abs(ratio).max(initial=0.0)
                for ratio in ((late_g.slopes - g.slopes) / natural, (late_s.slopes - s.slopes) / s.value)
            ]
            if max(changes) > SLOPES_SETTLED * max(sizes):
                return None
        return _Settled(now, change)

    def _list_rows(self, first: int, size: int) -> np.ndarray:
        """What is measured in a cycle, in order."""
        rows = self.events.row[first : first + size]
        return rows[rows >= 0]

    def _advance_steadily(self, first: int, size: int, cycles: int, settled: "_Settled") -> None:
        measured = self.events.row[first : first + size] >= 0
        slots = np.where(measured, np.cumsum(measured) - 1, 0)
        steady = Steady(
            _pack(_stack_slots(settled.cycle.g, self.h, self.count), self.count),
            _pack(_stack_slots(settled.cycle.s, None, self.count), self.count),
        )
        self.advance(first, first + cycles * size, steady, np.tile(slots, cycles))
        self.state.P.value[...] += settled.change.value
        self.state.P.slope[..., : self.count] += np.moveaxis(settled.change.slopes, 0, -1)

    def _compute_cycle(self, first: int, size: int, P: Dual) -> "_Cycle":
        """One cycle of P, with its gains and closed loop."""
        n = P.value.shape[0]
        loop = eye = lift(np.eye(n), self.count)
        gains, variances, spreads = [], [], []
        for k in range(first, first + size):
            number, row = self.events.transition[k], self.events.row[k]
            if number >= 0:
                A = self._A[number]
                P = (A @ P @ A.T).symmetric + self._Q[number]
                loop = A @ loop
            if row >= 0:
                h = self.h[[row]].T
                g = P @ h
                s = h.T @ g + Dual(self.r.value[k].reshape(1, 1), self.r.slopes[:, k].reshape(-1, 1, 1))
                ratio = Dual(1.0 / s.value, -s.slopes / s.value**2)
                gains.append(g)
                variances.append(s)
                spreads.append(np.diag(P.value).copy()[:, None])
                P = (P - g @ (ratio * g.T)).symmetric
                loop = (eye - g @ (ratio * h.T)) @ loop
        return _Cycle(tuple(gains), tuple(variances), tuple(spreads), loop, P)


@dataclass(frozen=True, eq=False)
class _Cycle:
    g: tuple[Dual, ...]
    s: tuple[Dual, ...]
    spread: tuple[np.ndarray, ...]
    loop: Dual
    after: Dual


@dataclass(frozen=True, eq=False)
class _Settled:
    cycle: _Cycle
    change: Dual


def _stack_slots(parts: Sequence[Dual], h: Dual | None, count: int) -> Dual:
    """Gains (slot, n), or variances (slot,)."""
    if h is None:
        return Dual(
            np.array([part.value.item() for part in parts]),
            np.array([part.slopes.ravel() for part in parts]).reshape(len(parts), count).T,
        )
    if not parts:
        return lift(np.zeros((0, h.value.shape[1])), count)
    return stack([part.T for part in parts])


def _sum_changes(loop: Dual, change: Dual, cycles: int) -> Dual:
    """X_m for m cycles, by doubling."""
    total, power = change, loop
    with np.errstate(over="ignore", invalid="ignore"):
        for bit in bin(cycles)[3:]:
            total = total + power @ total @ power.T
            power = power @ power
            if bit == "1":
                total = change + loop @ total @ loop.T
                power = power @ loop
    return total.symmetric


def _discretize(evolution: Evolution, steps: np.ndarray) -> tuple[Dual, Dual]:
    """A and Q (step, n, n) over intervals."""
    n, count = evolution.A.value.shape[0], len(evolution.A.slopes)
    if not steps.size or not n:
        empty = lift(np.zeros((steps.size, n, n)), count)
        return empty, empty

    def matrices(lengths: np.ndarray) -> tuple[np.ndarray, ...]:
        A, Q, dA, dQ = van_loan_slopes(
            evolution.A.value, evolution.Q.value, lengths, evolution.A.slopes, evolution.Q.slopes
        )
        return A, dA, Q, dQ

    A, dA, Q, dQ = evaluate_at_steps(matrices, steps, _find_speed(evolution))
    return Dual(A, dA), Dual(Q, dQ)


def _find_speed(evolution: Evolution) -> float:
    return float(np.abs(np.linalg.eigvals(evolution.A.value)).max(initial=0.0))


def _append_resets(A: Dual, Q: Dual, resets: Sequence[Dual]) -> tuple[Dual, Dual]:
    if not resets:
        return A, Q
    moves = [Dual(reset.value[None], reset.slopes[:, None]) for reset in resets]
    still = lift(np.zeros((len(resets), *A.value.shape[1:])), len(A.slopes))
    return stack([A, *moves]), stack([Q, still])


class _Forcing:
    """What the inputs add at the events of a block."""

    def __init__(
        self, evolution: Evolution, line: Timeline, part: slice, transition: np.ndarray, steps: np.ndarray
    ) -> None:
        self.line, self.breaks = line, line.break_of[part]
        self.transition, self.steps = transition, steps.size
        self.n, self.count = evolution.A.value.shape[0], len(evolution.A.slopes)
        self.effect = self.moved = None  # (step, inputs, n) and (step, inputs, n · lane): one product for an event
        if steps.size and self.n and (evolution.B.value.any() or evolution.B.slopes.any()):

            def responses(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                response = compute_forced_response(evolution.A, evolution.B, line.degree, lengths)
                return response.value, response.slopes

            gamma = Dual(*evaluate_at_steps(responses, steps, _find_speed(evolution)))
            packed = _pack(gamma, self.count)
            self.width = (line.degree + 1) * evolution.B.value.shape[1]
            self.effect = packed.value.swapaxes(2, 3).reshape(steps.size, self.width, self.n)
            self.moved = packed.slope.swapaxes(2, 3).reshape(steps.size, self.width, -1)

    def find(self, part: slice) -> Packed:
        """At some of the events, (event, n)."""
        transition = self.transition[part]
        forcing = pack(np.zeros((transition.size, self.n)), None, self.count)
        value, slope, lanes = forcing.value, forcing.slope, forcing.slope.shape[-1]
        moving = np.flatnonzero((transition >= 0) & (transition < self.steps))
        if self.effect is None or self.moved is None or not moving.size:
            return forcing
        inputs = self.line.inputs[self.breaks[part][moving] - 1].reshape(moving.size, self.width)
        numbers = transition[moving]
        if self.steps <= moving.size // 4:
            order = np.argsort(numbers, kind="stable")
            for places in np.split(order, np.cumsum(np.bincount(numbers, minlength=self.steps))[:-1]):
                if not places.size:
                    continue
                step, mine, u = numbers[places[0]], moving[places], inputs[places]
                value[mine] = u @ self.effect[step]
                slope[mine] = (u @ self.moved[step]).reshape(mine.size, self.n, lanes)
        else:
            value[moving] = np.einsum("ein,ei->en", self.effect[numbers], inputs)
            slope[moving] = np.einsum("eik,ei->ek", self.moved[numbers], inputs).reshape(moving.size, self.n, lanes)
        return forcing
