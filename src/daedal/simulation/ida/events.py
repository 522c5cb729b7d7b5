"""What happens where a switch reaches its border: it changes side, begins to slide, or is released.

For every switch o = ±1 is the side and s = 1 while it slides (`daedal.systems.sliding`). A change at an instant:

    on the border, moving against its side (o dg/dt < 0)        o ← −o; where the other side drives it back, s ← 1
    sliding, with a control m beyond ±1                         o ← sign m, s ← 0
    off its border on the wrong side (an input or T jumped)     o ← −o, or s ← 0 and o ← sign g

Changes are made one at a time, and T is solved for after each, until no switch has to change. Where dg/dt = 0 on the
border, as after a release, the second derivative decides. While a switch slides, X is moved back onto g = 0 along the
effect of m, and then onto the constraints.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import casadi as ca
import numpy as np

from daedal.data import short
from daedal.errors import SimulationError, quoted
from daedal.simulation.ida import implicit
from daedal.simulation.ida.stepping import Stepper
from daedal.symbolic import BufferedFunction, list_symbols
from daedal.systems import SYSTEM_FUNCTIONS, Reduction, Sliding, Switching, describe_dead_point

MOST = 8  # changes of one switch at one instant
INSTANT = 1e-12  # of the whole time: what lies closer is one instant
NEAR = 10.0  # tolerances within which a switch is on its border
ROUNDING = 1e-13  # of its terms, and of the time: what is lost of a function
OFF = 1e4  # tolerances beyond which a sliding switch has lost its border
STILL = 1e-10  # of its terms: a rate as small as this is zero
AHEAD = 1e-6  # of the whole time: where the rate is looked at instead
POLISHED = 3  # Newton steps for an instant
CLOSE = 1e-3  # of the whole time: how far they may go
CROWD = 100  # changes of one switch within CROWDED of the whole time
CROWDED = 1e-8
TINY = 1e-300  # in place of zero, so that no function is zero for long
FLAT = 1e-6  # of its size in the whole time: the rate at which a function has passed its smallest value

Point = tuple[float, np.ndarray, np.ndarray]  # time, X, T


class Events:
    """Sides of all switches, which of them slide, and what is held: the discrete state of one trajectory.

    All of it lives in the `modes` of the stepper. The solver looks at the switches at least every half `horizon`.
    """

    def __init__(self, stepper: Stepper, switching: Switching, sliding: Sliding | None) -> None:
        self.stepper, self.switching, self.sliding, self.horizon = stepper, switching, sliding, 1.0
        self.able = sliding.places if sliding else ()
        count, held = len(switching.switches), len(switching.held)
        self.sides, self.held = stepper.modes[:count], stepper.modes[count : count + held]
        self.stuck, self.levels = np.split(stepper.modes[count + held :], [len(self.able)])
        self.tables = {place: number for number, table in enumerate(switching.tables) for place in table.places}
        self.rows = np.split(self.levels, np.cumsum([len(table.symbols) for table in switching.tables])[:-1])
        self.span = stepper.forcing.end - stepper.forcing.start or 1.0
        self.instant, self.changes = stepper.forcing.start, np.zeros(count, dtype=int)
        self.recent: list[deque[float]] = [deque(maxlen=CROWD) for _ in range(count)]
        motion = implicit.make_motion(stepper.system.reduction)
        self.motion, self.watched_motion = BufferedFunction(motion), BufferedFunction(motion)
        tracks = zip(stepper.system.reduction.exogenous, stepper.forcing.tracks, strict=True)
        inputs = {name for name, track in tracks if track}
        self.driven = [not inputs.isdisjoint(list_symbols(switch.function)) for switch in switching.switches]
        self.border_slopes = BufferedFunction(implicit.make_border_slopes(stepper.system.reduction))
        self.border_gradient = BufferedFunction(implicit.make_border_gradient(stepper.system.reduction))
        self.flat, self.margin, self.reach, self.sizes = np.zeros((4, count))
        self.watched: list[tuple[int, int]] = []
        self.undefined: Point | None = None
        self.released, self.late = np.zeros(count, dtype=bool), np.zeros(count, dtype=int)
        self.loose = _contain_loose_tops(stepper.system.reduction)
        self.top = np.zeros(len(stepper.system.reduction.tops))
        stepper.watch = self._make_watch() if count else None

    def settle(self, point: Point, located: int | None = None) -> Point:
        """Make the changes of one instant, beginning with that of a switch that was located on its border."""
        time = point[0]
        if time - self.instant > INSTANT * self.span:
            self.instant, self.changes[:] = time, 0
        point = self.project(point)
        self.released[:] = False
        if located is not None:
            self.late[located] = self.late[located] + 1 if self.margin[located] > 0.0 else 0
        trusted: set[int] = set()
        while (place := self._find_change(point, trusted) if located is None else located) is not None:
            self._count(place, time)
            self._change(place, point, located is not None)
            trusted |= {place, *self._climb(place, point)}
            located = None
            point = self.project(point)
        self._refuse_undetermined(point)
        self._prepare_watch(point)
        return point

    def project(self, point: Point, exogenous: np.ndarray | None = None) -> Point:
        """The point on its constraints, and on the borders on which it slides."""
        time, x, top = point
        w = self.stepper.fill(time) if exogenous is None else exogenous
        x, top = self.stepper.project(time, x, top, w)
        if not self.stuck.any():
            return time, x, top
        return time, *self.stepper.project(time, self._remove_drift((time, x, top), w), top, w)

    def polish(self, point: Point, located: int, low: float, high: float) -> Point:
        """The instant at which a located function is zero, by Newton's method along the trajectory.

        The solver found it within its own error, so that no step goes far, and every step makes the function smaller.
        """
        point = self.project(point)
        slopes = self.stepper.find_slopes(*point)
        value, rate = (part[located] for part in self.find_roots(point, slopes))
        for _ in range(POLISHED):
            time, x, top = point
            step = -value / rate if rate < 0.0 else 0.0
            if not 1e-15 * self.span < abs(step) <= CLOSE * self.span or not low <= time + step <= high:
                break
            moved = self.project((time + step, x + step * slopes[: x.size], top + step * slopes[x.size :]))
            slopes = self.stepper.find_slopes(*moved)
            smaller, rate = (part[located] for part in self.find_roots(moved, slopes))
            if not abs(smaller) < abs(value):
                break
            point, value = moved, smaller
        return point

    def find_roots(self, point: Point, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What becomes negative where a switch has to change, and its time derivative."""
        g, rates, _ = self._move(point, slopes)
        values, rates = self.sides * g, self.sides * rates
        for place, control in self._list_stuck():
            m = point[2][control]
            values[place], rates[place] = 1.0 - abs(m), -np.sign(m) * slopes[point[1].size :][control]
        return values, rates

    def find_border_ahead(self, point: Point) -> int | None:
        """The switch whose border comes next, where the solver cannot go on: its side may not be defined beyond."""
        values, rates = self.find_roots(point, self.stepper.find_slopes(*point))
        with np.errstate(all="ignore"):
            waits = np.where((rates < 0.0) & (values >= 0.0), -values / rates, np.inf)
        nearest = int(np.argmin(waits))
        return nearest if waits[nearest] <= AHEAD * self.span else None

    def has_passed(self, point: Point) -> bool:
        """Whether a switch that should have changed before is on the wrong side."""
        values, _ = self.find_roots(point, self.stepper.find_slopes(*point))
        return bool((values < -self.margin).any())

    def list_texts(self, places: Iterable[int]) -> list[str]:
        """How the user typed some switches."""
        return [self.switching.switches[place].text for place in places]

    def _list_stuck(self) -> list[tuple[int, int]]:
        """The switches that slide, and their controls among the tops, counted from the end."""
        return [(place, k - len(self.able)) for k, place in enumerate(self.able) if self.stuck[k]]

    def _make_watch(self) -> Callable:
        """The functions whose roots the solver looks for: r of `find_roots`, and dr/dt + r/horizon, which becomes
        negative before r does and positive after its smallest value.

        Without the second an r that is negative for less than a step would pass unseen. Disturbances keep the steps
        short, and have no slopes. Tops that are not in the error norm of the solver may be anything between its steps:
        where switches depend on them, T is solved for.
        """
        stepper, count = self.stepper, self.sides.size
        run, moved = self.watched_motion.run, self.watched_motion.result
        clock, x, top, parameters, w, *slopes = self.watched_motion.inputs
        both, states, known = stepper.forcing.path is None, x.size, x.size + top.size
        values_now, rates_now, sizes = np.zeros(known), np.zeros(known), stepper.sizes
        units = stepper.units[:known]
        parameters[:] = stepper.parameters

        def fill_roots(t, y, yp, roots):
            clock[0] = stepper.origin + t
            np.multiply(y[:known], units, values_now)
            np.multiply(yp[:known], units, rates_now)
            x[:], top[:] = values_now[:states], values_now[states:]
            slopes[0][:], slopes[1][:] = rates_now[:states], rates_now[states:]
            np.fmax(sizes, np.abs(values_now), out=sizes)
            w[stepper.places] = stepper.modes
            stepper.segment.write_values(t, w)
            if self.loose:
                _, self.top = stepper.project(clock[0], x, self.top, w)
                top[:] = self.top
                slopes[1][:] = stepper.find_slopes(clock[0], x, self.top)[states:]
            if both:
                stepper.segment.write_slopes(t, slopes[2])
            run()
            if self.undefined is None and np.isnan(moved[:count]).any():
                self.undefined = float(clock[0]), x.copy(), top.copy()
            values, rates = self.sides * moved[:count], self.sides * moved[count : 2 * count] - self.flat
            for place, control in self.watched:
                values[place] = 1.0 - abs(top[control])
                rates[place] = -np.sign(top[control]) * slopes[1][control] - FLAT / self.span
            values += self.margin
            values[values == 0.0] = TINY  # on its border a switch is where its side says
            values[np.isnan(values)] = 1.0  # it decides nothing there
            rates[np.isnan(rates)] = 0.0
            roots[:count] = values
            roots[count:] = rates + values / self.horizon if both else 1.0

        fill_roots.direction = [-1] * count + [1] * count  # pyright: ignore[reportFunctionMemberAccess]
        return fill_roots

    def _prepare_watch(self, point: Point) -> None:
        """What was released, or rests on its border as one that is coupled to a sliding one does, may tremble there.

        So may what changed within the tolerance of its border; it must not leave on the wrong side.
        """
        slopes = self.stepper.find_slopes(*point)
        g, rates, terms = self._move(point, slopes)
        border, still = self._find_border(point), STILL * terms
        resting = (np.abs(g) <= border) & (np.abs(rates) <= still)
        if resting.any():
            resting &= np.abs(self._look_ahead(point, slopes)) <= still
        self.undefined = point if np.isnan(g).any() else None
        self.refuse_undefined(point[0])
        self.watched, self.top = self._list_stuck(), point[2]
        trembling = resting | ((self.released | (self.sides * g < 0.0)) & (np.abs(g) <= border))
        self.margin = np.where(trembling, border, 0.0)
        gradient = np.abs(self.border_gradient.matrix(*point, self.stepper.parameters, self.stepper.fill(point[0])))
        self.reach = np.fmax(self.reach, np.abs(g) + gradient @ np.abs(np.r_[point[1], point[2]]))
        self.flat = FLAT * np.fmax(self.reach, border) / self.span

    def _find_change(self, point: Point, trusted: set[int]) -> int | None:
        slopes = self.stepper.find_slopes(*point)
        g, rates, terms = self._move(point, slopes)
        border = self._find_border(point)
        stuck = dict(self._list_stuck())
        for place, control in stuck.items():
            m, rate = point[2][control], slopes[point[1].size :][control]
            lost = self.driven[place] and abs(g[place]) > OFF * border[place]
            if lost or abs(m) > 1.0 + STILL or (abs(m) > 1.0 - STILL and m * rate > 0.0):
                return place
        for place, side in enumerate(self.sides):
            if place in stuck:
                continue
            if abs(g[place]) > border[place]:
                if side * g[place] < 0.0:
                    return place
                continue
            still = max(STILL, 1e2 * self.stepper.rtol if place in trusted else 0.0) * terms[place]
            rate = rates[place] if abs(rates[place]) > still else self._look_ahead(point, slopes)[place]
            if side * rate < -still:
                return place
        return None

    def _look_ahead(self, point: Point, slopes: np.ndarray) -> np.ndarray:
        """Rates a little later."""
        time, x, top = point
        step = AHEAD * self.span
        w = self.stepper.fill(time) + step * self.stepper.find_input_slopes(time)
        later = time + step, x + step * slopes[: x.size], top + step * slopes[x.size :]
        rates = self.stepper.system.matrix("derivative", *later, self.stepper.parameters, w).ravel()
        moved = rates, slopes[x.size :], self.stepper.find_input_slopes(time)
        return np.split(self.motion(*later, self.stepper.parameters, w, *moved), 3)[1].copy()

    def _change(self, place: int, point: Point, located: bool) -> None:
        time, x, top = point
        g = self.evaluate("switches", point)
        border = self._find_border(point)
        stuck = dict(self._list_stuck())
        if place in stuck:
            lost = self.driven[place] and abs(g[place]) > OFF * border[place]
            self.stuck[stuck[place]], self.released[place] = 0.0, True
            self.sides[place] = np.sign(g[place] if lost else top[stuck[place]])
            return
        self.sides[place] *= -1.0
        if place not in self.able or not (located or abs(g[place]) <= border[place]):
            return
        _, top = self.stepper.project(time, x, top, self.stepper.fill(time))
        moved = time, x, top
        _, rates, terms = self._move(moved, self.stepper.find_slopes(*moved))
        if self.sides[place] * rates[place] < -STILL * terms[place]:
            self.stuck[self.able.index(place)] = 1.0

    def _climb(self, place: int, point: Point) -> tuple[int, ...]:
        """The next level of a table where one of its switches has changed; that border is then the other switch's."""
        if place not in self.tables:
            return ()
        number = self.tables[place]
        table, numbers = self.switching.tables[number], self.rows[number]
        low, high = table.places
        stuck = dict(self._list_stuck())
        if low in stuck or high in stuck or self.sides[high] < 0.0 < self.sides[low]:
            return ()
        beyond = np.abs(self.evaluate("switches", point)) > self._find_border(point)
        level = numbers[0] + (self.sides[high] > 0.0) - (self.sides[low] < 0.0)
        if beyond[place]:  # what it compares has jumped, perhaps over many borders
            argument = self.evaluate("table_arguments", point)[number]
            level = table.find_level(float(argument))
        numbers[:] = table.describe(level)
        self.sides[low], self.sides[high] = 1.0, -1.0
        self.released[[low, high]] = self.released[[high, low]]
        return table.places

    def _count(self, place: int, time: float) -> None:
        self.changes[place] += 1
        recent = self.recent[place]
        crowded = len(recent) == CROWD and (time - recent[0] < CROWDED * self.span or self.late[place] > CROWD)
        recent.append(time)
        if crowded or self.changes[place] > MOST:
            raise SimulationError(
                f"'{self.switching.switches[place].text}' changes side more than {CROWD if crowded else MOST} times "
                f"{'just before' if crowded else 'at'} time {short(time)}.",
                "Switches that change ever faster have no trajectory beyond: give them a little hysteresis, or make "
                "one of them smooth.",
            )

    def refuse_undefined(self, until: float) -> None:
        """A function that was not a number while its side mattered; in a branch that is not taken it does not."""
        if self.undefined is None or self.undefined[0] > until:
            return
        point, self.undefined = self.undefined, None
        w = self.stepper.fill(point[0])
        for place in np.flatnonzero(np.isnan(self.evaluate("switches", point))):
            both = []
            for side in (1.0, -1.0):
                flipped = w.copy()
                flipped[self.stepper.places[place]] = side
                both.append(self.evaluate("top", point, flipped))
            if not np.array_equal(*both, equal_nan=True):
                raise SimulationError(
                    f"The simulation stopped before time {short(point[0])}, where what "
                    f"'{self.switching.switches[place].text}' compares is not a number.",
                    "Look there for roots and logarithms of what becomes negative, and for divisions by what becomes "
                    "zero; sqrt(maximum(x, 0)) is defined everywhere.",
                )

    def _refuse_undetermined(self, point: Point) -> None:
        """Sliding that the equations do not determine."""
        sliding = [place for place, _ in self._list_stuck()]
        rivals = self.sliding.rivals if self.sliding else frozenset()
        pairs = [pair for pair in rivals if set(pair) <= set(sliding)] if len(sliding) > 1 else []
        time = point[0]
        arguments: list[Any] = [*point, self.stepper.parameters, self.stepper.fill(time)]
        cause = describe_dead_point(self.stepper.system, arguments)
        texts = quoted(self.list_texts(pairs[0] if pairs else sliding))
        if pairs:
            raise SimulationError(
                f"{texts} slide at once at time {short(time)}, and their product is not determined there.",
                "Write the equations so that one does not multiply the other, or make one of them smooth.",
            )
        if cause and sliding:
            raise SimulationError(
                f"{texts} cannot slide at time {short(time)}: the equations do not say what holds them.",
                "Join what acts twice in one place into one.",
            )
        if cause:
            raise SimulationError(
                f"The simulation stopped at time {short(time)}, where {cause}.",
                "The model passes through a singular position; change the position, the parameters or the equations.",
            )

    def _remove_drift(self, point: Point, w: np.ndarray) -> np.ndarray:
        """X moved onto the borders along the effects of the controls, to first order."""
        g, border = self.evaluate("switches", point, w), self._find_border(point, w)
        stuck = [(place, control) for place, control in self._list_stuck() if abs(g[place]) <= OFF * border[place]]
        if not stuck:
            return point[1]
        places, controls = (list(part) for part in zip(*stuck, strict=True))
        effect, pushed = self._find_effect(point, w, controls)
        try:
            return point[1] - effect @ np.linalg.solve(pushed[places], g[places])
        except np.linalg.LinAlgError:
            return point[1]

    def _find_effect(self, point: Point, w: np.ndarray, controls: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """How controls act on X', and by that on the rates of all switching functions; zero where J is singular."""
        arguments = (*point, self.stepper.parameters, w)
        J, slopes = self.stepper.project.J.matrix(*arguments), self.border_slopes.matrix(*arguments)
        plain, count = len(J) - len(self.able), self.sides.size
        try:
            reaction = np.linalg.solve(J[:plain, :plain], -J[:plain, controls])
        except np.linalg.LinAlgError:
            reaction = np.zeros((plain, len(controls)))
        effect = slopes[count : count + plain].T @ reaction
        return effect, slopes[:count] @ effect

    def _find_border(self, point: Point, exogenous: np.ndarray | None = None) -> np.ndarray:
        """How small a function is on its border: as small as the errors of what it contains make it.

        X and T have those of the solver; time, inputs and parameters are only rounded, and so is the instant.
        """
        w = self.stepper.fill(point[0]) if exogenous is None else exogenous
        gradient = np.abs(self.border_gradient.matrix(*point, self.stepper.parameters, w))
        values = np.abs(np.r_[point[1], point[2]])
        own = gradient @ (self.stepper.rtol * values + self.stepper.atol * np.fmax(self.stepper.sizes, values))
        rounded = ROUNDING * self.evaluate("switch_sizes", point, w)
        return NEAR * own + rounded + self.sizes * (INSTANT * self.span + ROUNDING * abs(point[0]))

    def _move(self, point: Point, slopes: np.ndarray) -> list[np.ndarray]:
        """Switching functions, their rates, and the sizes of these so far."""
        time, x, top = point
        arguments = (time, x, top, self.stepper.parameters, self.stepper.fill(time))
        inputs = self.stepper.find_input_slopes(time)
        g, rates, sizes = np.split(self.motion(*arguments, slopes[: x.size], slopes[x.size :], inputs).copy(), 3)
        if controls := [control for _, control in self._list_stuck()]:  # which hold other rates at zero as well
            sizes = sizes + np.abs(self._find_effect(point, arguments[-1], controls)[1]).sum(axis=1)
        self.sizes = np.fmax(self.sizes, sizes)
        return [g, rates, self.sizes]

    def evaluate(self, name: str, point: Point, exogenous: np.ndarray | None = None) -> np.ndarray:
        """The value of a function of the system."""
        w = self.stepper.fill(point[0]) if exogenous is None else exogenous
        return self.stepper.system.matrix(name, *point, self.stepper.parameters, w).ravel()


def _contain_loose_tops(reduction: Reduction) -> bool:
    """Whether switching functions contain tops that the error norm of the solver leaves out."""
    functions = SYSTEM_FUNCTIONS["switches"](reduction)
    tops = [top for top, order in zip(ca.vertsplit(reduction.T), reduction.offsets.unknowns, strict=True) if order > 0]
    return bool(tops) and ca.depends_on(functions, ca.vertcat(*tops))
