"""The Kalman filter over a timeline: exact matrices for each interval, compiled loops, gains that have settled.

A gain is taken as settled for the rest of a stretch of equal cycles only when that is certain. With P after a cycle, Φ
the closed loop of one cycle and D what one more cycle changes, m further cycles change P by

    X_m = Σ_{j < m} Φʲ D Φʲᵀ,     X_{2m} = X_m + Φᵐ X_m Φᵐᵀ,

and the gain at P + X_m, the end of the stretch, has to equal the gain at P, derivatives included. P itself goes on by
X_m: directions that no output shows may grow meanwhile.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.errors import EstimationError, counted
from daedal.filtering.evolution import Evolution
from daedal.filtering.timeline import Timeline
from daedal.kernels import Events, Innovations, Keep, Matrices, Packed, State, Steady, pack, run_filter
from daedal.linear import Dual, lift, stack, van_loan_slopes
from daedal.lti import compute_forced_response, evaluate_at_steps
from daedal.memory import check_memory

SETTLED, SLOPES_SETTLED = 1e-13, 1e-10  # relative change of a gain that rounding explains, and of its derivatives
FIRST_CYCLES = 16  # before the gain is looked at for the first time
WORTH = 32  # further cycles that make it worth looking
COPIES = 3  # of the covariances of all events: predicted, filtered, smoothed
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
    evolution: Evolution, line: Timeline, columns: Dual, covariance: Dual, measured: Measured, keep: Keep = Keep.NOTHING
) -> Filtered:
    """Run over all events from x (column, n) and P (n, n) at the start."""
    count = len(evolution.A.slopes)
    state = State(_pack(columns, count), _pack(covariance, count))
    blocks = _cut_blocks(line, evolution, len(line.events.row))
    settle = keep < Keep.EVERYTHING and len(blocks) == 1
    _check_size(line, state, keep)
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


def _check_size(line: Timeline, state: State, keep: Keep) -> None:
    """What each event leaves, with what the inputs add there and, where everything is kept, copies to smooth."""
    (columns, n), directions = state.x.value.shape, state.x.slope.shape[-1]
    kept = COPIES * (n * n + n * columns) if keep >= Keep.EVERYTHING else n * columns
    needed = 8.0 * line.events.row.size * (kept + (1 + directions) * (n + columns + 1))
    subject = f"The filter of {counted(n, 'state')} over {line.events.row.size:.3g} events"
    check_memory(needed, EstimationError, subject, "Give fewer samples, data.resample(step) say.")


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
        self.forcing = _find_forcing(evolution, line, part, transition, steps)
        self.r = Dual(measured.r.value[part], measured.r.slopes[:, part])
        y = Dual(measured.y.value[part], measured.y.slopes[:, part])
        self.y, self.variance = (_pack(dual, self.count) for dual in (y, self.r))
        self.line = line

    def advance(self, begin: int, end: int, steady: Steady | None = None, slots: np.ndarray | None = None) -> None:
        """Some events, with gains computed or (by number) given."""
        part = slice(begin, end)
        numbers = self.events.steady[part] if slots is None else slots
        events = Events(self.events.transition[part], self.events.row[part], np.ascontiguousarray(numbers))
        forcing, y, variance = (
            Packed(packed.value[part], packed.slope[part]) for packed in (self.forcing, self.y, self.variance)
        )
        run_filter(events, self.matrices, forcing, y, variance, self.state, steady, self.keep, self.record.part(part))

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
        variances = self.r.value[first : first + cycles * size].reshape(cycles, size)
        measured = self.events.row[first : first + size] >= 0
        return bool(np.all(variances[:, measured] == variances[0, measured]))

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


def _find_forcing(
    evolution: Evolution, line: Timeline, part: slice, transition: np.ndarray, steps: np.ndarray
) -> Packed:
    """What the inputs add at each event, (event, n)."""
    n, count = evolution.A.value.shape[0], len(evolution.A.slopes)
    moving = np.flatnonzero((transition >= 0) & (transition < steps.size))
    forcing = pack(np.zeros((transition.size, n)), None, count)
    value, slope, lanes = forcing.value, forcing.slope, forcing.slope.shape[-1]
    if moving.size and n and (evolution.B.value.any() or evolution.B.slopes.any()):

        def responses(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            response = compute_forced_response(evolution.A, evolution.B, line.degree, lengths)
            return response.value, response.slopes

        gamma = Dual(*evaluate_at_steps(responses, steps, _find_speed(evolution)))
        width = (line.degree + 1) * evolution.B.value.shape[1]
        # (step, inputs, n) and (step, inputs, n, lane): one product gives what an event needs, as it is packed.
        effect, moved = (
            gamma.value.swapaxes(2, 3).reshape(steps.size, width, n),
            np.zeros((steps.size, width, n, lanes)),
        )
        moved[..., :count] = np.moveaxis(gamma.slopes, 0, -1).swapaxes(2, 3).reshape(steps.size, width, n, count)
        moved = moved.reshape(steps.size, width, n * lanes)
        inputs = line.inputs[line.break_of[part][moving] - 1].reshape(moving.size, width)
        numbers = transition[moving]
        if steps.size <= moving.size // 4:
            order = np.argsort(numbers, kind="stable")
            for places in np.split(order, np.cumsum(np.bincount(numbers, minlength=steps.size))[:-1]):
                if not places.size:
                    continue
                step, mine, u = numbers[places[0]], moving[places], inputs[places]
                value[mine], slope[mine] = u @ effect[step], (u @ moved[step]).reshape(mine.size, n, lanes)
        else:
            value[moving] = np.einsum("ein,ei->en", effect[numbers], inputs)
            slope[moving] = np.einsum("eik,ei->ek", moved[numbers], inputs).reshape(moving.size, n, lanes)
    return forcing
