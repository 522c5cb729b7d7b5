"""Friction that sticks, against closed forms and against scipy with its events; rotational and translational alike."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import daedal as dd
from batteries.slopes import check_against, predict
from daedal.library import rotational as rot
from daedal.library import translational as tra

TO_THE_WALL = [("wall.flange", "friction.flange_a"), ("friction.flange_b", "body.flange_a")]


def slide_to_rest(v0, Coulomb, prop, mass, times):
    """m v' = −F − d v from v0 until it stops at m/d ln(1 + d v0/F): speed, position, friction."""
    stop = mass / prop * np.log(1 + prop * v0 / Coulomb)
    t = np.minimum(times, stop)
    decay = np.exp(-prop / mass * t)
    v = (v0 + Coulomb / prop) * decay - Coulomb / prop
    s = (v0 + Coulomb / prop) * mass / prop * (1 - decay) - Coulomb / prop * t
    return np.array([v, s, np.where(times < stop, Coulomb + prop * v, 0.0)])


@pytest.mark.parametrize("turning", [True, False], ids=["rotational", "translational"])
def test_a_body_slides_to_rest_and_stays(turning):
    library, body = (rot, rot.Inertia(2.0)) if turning else (tra, tra.Mass(2.0))
    v, s, f, letter, mass = ("w", "phi", "tau", "tau", "J") if turning else ("v", "s", "f", "F", "m")
    times = np.linspace(0.0, 2.0, 21)
    model = dd.assemble(
        name="block",
        parts={"body": body, "friction": library.DryFriction(1.5, 0.3), "wall": library.Fixed()},
        connections=TO_THE_WALL,
        initial={f"body.{v}": 1.0, f"body.{s}": 0.0},
        outputs={"v": f"body.{v}", "s": f"body.{s}", "f": f"friction.{f}"},
    )
    free = [f"friction.{letter}_Coulomb", f"friction.{letter}_prop", f"body.{mass}"]
    prediction = predict(model, times, free)
    check_against(prediction, lambda *point: slide_to_rest(1.0, *point, times), [1.5, 0.3, 2.0])


def test_simulate_shows_the_same():
    times = np.linspace(0.0, 2.0, 21)
    model = dd.assemble(
        name="block",
        parts={"body": tra.Mass(2.0), "friction": tra.DryFriction(1.5, 0.3), "wall": tra.Fixed()},
        connections=TO_THE_WALL,
        initial={"body.v": -1.0, "body.s": 0.0},
    )
    trajectory = dd.simulate(model, times)
    v, s, f = slide_to_rest(1.0, 1.5, 0.3, 2.0, times)
    np.testing.assert_allclose(trajectory["body.v"], -v, atol=1e-6)
    np.testing.assert_allclose(trajectory["body.s"], -s, atol=1e-6)
    np.testing.assert_allclose(trajectory["friction.f"], -f, atol=1e-6)


def pull(friction, times):
    """A mass of 2 kg at rest, and a force that grows by 1 N/s."""
    model = dd.assemble(
        name="pull",
        parts={"body": tra.Mass(2.0), "friction": friction, "wall": tra.Fixed(), "force": tra.ForceSource()},
        connections=[("wall.flange", "friction.flange_a"), ("friction.flange_b", "body.flange_a", "force.flange")],
        inputs=["force.f"],
        initial={"body.v": 0.0, "body.s": 0.0},
        outputs={"v": "body.v", "s": "body.s", "f": "friction.f"},
    )
    return model, {"force.f": dd.Signal([0.0, 2.0], [0.0, 2.0])}


def test_it_breaks_away_at_the_static_force():
    """v = (t − F)²/(2 m) from t = F on; what holds it before is what pulls."""
    times = np.linspace(0.0, 1.0, 21)
    model, inputs = pull(tra.DryFriction(0.53), times)

    def truth(Coulomb, mass):
        late = np.maximum(times - Coulomb, 0.0)
        return np.array([late**2 / 2 / mass, late**3 / 6 / mass, np.minimum(times, Coulomb)])

    check_against(predict(model, times, ["friction.F_Coulomb", "body.m"], inputs=inputs), truth, [0.53, 2.0])


def integrate(rates, start, begin, times, events=None):
    """States at the times after `begin`, and the first instant of each event."""
    path = solve_ivp(
        rates, (begin, times[-1]), start, method="DOP853", rtol=1e-12, atol=1e-13, dense_output=True, events=events
    )
    return path.sol, path.t_events


def test_stribeck_friction_breaks_away_at_the_sum_of_both_parts():
    times = np.linspace(0.0, 1.0, 21)
    model, inputs = pull(tra.StribeckFriction(0.3, 0.1, 0.23, 0.05), times)

    def truth(Coulomb, prop, excess, width):
        begin = Coulomb + excess
        moving = times > begin

        def friction(v):
            return Coulomb + excess * np.exp(-v / width) + prop * v

        path, _ = integrate(lambda t, y: [(t - friction(y[0])) / 2.0, y[0]], [0.0, 0.0], begin, times)
        v, s = np.where(moving, path(np.maximum(times, begin)), 0.0)
        return np.array([v, s, np.where(moving, friction(v), times)])

    names = ["F_Coulomb", "F_prop", "F_Stribeck", "v_Stribeck"]
    prediction = predict(model, times, [f"friction.{name}" for name in names], inputs=inputs)
    check_against(prediction, truth, [0.3, 0.1, 0.23, 0.05])


BELT = 0.3  # m/s


def slip_on_a_belt(Coulomb, excess, times):
    """Unit mass, spring 1 N/m and damper 0.05 N.s/m, on a belt; it slips, sticks, slips and so on: position, speed."""

    def slip(t, y):
        r = BELT - y[1]
        return [y[1], -y[0] - 0.05 * y[1] + np.sign(r) * (Coulomb + excess * np.exp(-abs(r) / 0.2))]

    def reach(t, y):
        return BELT - y[1] if t > begin + 0.1 else 1.0

    reach.terminal = True
    begin, start, states = 0.0, [0.0, 0.0], np.empty((2, times.size))
    instants = []
    while begin < times[-1]:
        path, events = integrate(slip, start, begin, times, reach)
        stick = events[0][0] if events[0].size else np.inf
        position = path(stick)[0] if events[0].size else np.nan
        release = stick + (Coulomb + excess - 0.05 * BELT - position) / BELT
        slipping, sticking = (times >= begin) & (times < stick), (times >= stick) & (times < release)
        states[:, slipping] = path(times[slipping])
        states[:, sticking] = [position + BELT * (times[sticking] - stick), np.full(sticking.sum(), BELT)]
        instants += [stick, release]
        begin, start = release, [Coulomb + excess - 0.05 * BELT, BELT * (1 - 1e-15)]
    return states, instants


def test_stick_slip_on_a_belt():
    """The instants are those of a published table of this case; the belt is a speed source."""
    times = np.linspace(0.0, 15.0, 76)
    parts = {
        "body": tra.Mass(1.0),
        "spring": tra.SpringDamper(1.0, 0.05),
        "wall": tra.Fixed(),
        "belt": tra.SpeedSource(),
        "friction": tra.StribeckFriction(F_Coulomb=0.4, F_Stribeck=0.6, v_Stribeck=0.2),
    }
    model = dd.assemble(
        name="belt",
        parts=parts,
        connections=[
            ("wall.flange", "spring.flange_a"),
            ("spring.flange_b", "body.flange_a"),
            ("body.flange_b", "friction.flange_b"),
            ("belt.flange", "friction.flange_a"),
        ],
        parameters={"belt.v": BELT},
        initial={"body.s": 0.0, "body.v": 0.0},
        outputs={"s": "body.s", "v": "body.v"},
    )
    _, instants = slip_on_a_belt(0.4, 0.6, times)
    np.testing.assert_allclose(instants[:4], [0.4516672405, 3.5289223557, 7.9592012652, 12.1313758073], rtol=1e-9)
    prediction = predict(model, times, ["friction.F_Coulomb", "friction.F_Stribeck"])
    check_against(prediction, lambda *point: slip_on_a_belt(*point, times)[0], [0.4, 0.6])


def test_two_blocks_on_each_other_break_away_one_after_the_other():
    """The force t acts on the lower block of 1 kg: it leaves the ground at F1, and the upper one at F1 + 2 F2."""
    times = np.linspace(0.0, 1.2, 25)
    model = dd.assemble(
        name="stack",
        parts={
            "lower": tra.Mass(1.0),
            "upper": tra.Mass(1.0),
            "ground": tra.Fixed(),
            "below": tra.DryFriction(0.32),
            "between": tra.DryFriction(0.21),
            "force": tra.ForceSource(),
        },
        connections=[
            ("ground.flange", "below.flange_a"),
            ("below.flange_b", "lower.flange_a", "between.flange_a", "force.flange"),
            ("between.flange_b", "upper.flange_a"),
        ],
        inputs=["force.f"],
        initial={"lower.s": 0.0, "lower.v": 0.0, "upper.s": 0.0, "upper.v": 0.0},
        outputs={"lower": "lower.v", "upper": "upper.v"},
    )

    def truth(F1, F2):
        apart = F1 + 2 * F2
        together = np.maximum(np.minimum(times, apart) - F1, 0.0) ** 2 / 4
        late = np.maximum(times - apart, 0.0)
        return np.array([together + (apart - F1 - F2) * late + late**2 / 2, together + F2 * late])

    inputs = {"force.f": dd.Signal([0.0, 2.0], [0.0, 2.0])}
    prediction = predict(model, times, ["below.F_Coulomb", "between.F_Coulomb"], inputs=inputs)
    check_against(prediction, truth, [0.32, 0.21])


@pytest.mark.parametrize("side", ["fast", "slow"])
def test_friction_inside_a_gear_train(side):
    """On either side of a gear of 2: a constant torque turns what moves backwards, or leaves it stuck."""
    times = np.linspace(0.0, 2.0, 21)
    where = {"fast": "fast.flange_a", "slow": "slow.flange_b"}[side]
    model = dd.assemble(
        name="train",
        parts={
            "push": rot.TorqueSource(),
            "fast": rot.Inertia(1.0),
            "gear": rot.IdealGear(2.0),
            "slow": rot.Inertia(2.1),
            "housing": rot.Fixed(),
            "friction": rot.DryFriction(0.5),
        },
        connections=[
            ("push.flange", "fast.flange_a"),
            ("fast.flange_b", "gear.flange_a"),
            ("gear.flange_b", "slow.flange_a"),
            ("housing.flange", "friction.flange_a"),
            ("friction.flange_b", where),
        ],
        parameters={"push.tau": 1.0},
        initial={"fast.phi": 0.0, "fast.w": -1.0},
        outputs={"w": "slow.w", "torque": "gear.flange_b.tau"},
    )

    def truth(Coulomb, J):
        seen = Coulomb if side == "fast" else Coulomb / 2
        before, after = ((1.0 + sign * seen) / (1.0 + J / 4) for sign in (1, -1))
        turn = 1.0 / before
        early = times < turn
        w = np.where(early, -1.0 + before * times, after * (times - turn)) / 2
        own = 0.0 if side == "fast" else Coulomb * np.where(early, -1, 1)
        return np.array([w, -J / 2 * np.where(early, before, after) - own])

    check_against(predict(model, times, ["friction.tau_Coulomb", "slow.J"]), truth, [0.5, 2.1])


def test_the_smooth_variant_comes_near():
    """A tenth of the width brings tanh about ten times nearer to what sticks."""
    times = np.linspace(0.0, 2.0, 21)
    truth = slide_to_rest(1.0, 1.5, 0.3, 2.0, times)[1]
    off = []
    for small in (1e-2, 1e-3):
        parts = {"body": tra.Mass(2.0), "friction": tra.Friction(1.5, 0.3, small), "wall": tra.Fixed()}
        model = dd.assemble(name="block", parts=parts, connections=TO_THE_WALL, initial={"body.v": 1.0, "body.s": 0.0})
        off.append(np.abs(dd.simulate(model, times)["body.s"] - truth).max())
    assert off[1] < off[0] / 5 < 1e-3


def test_a_fit_finds_the_friction_of_a_body_that_sticks_now_and_then():
    """Without noise the values come back; the force swings from side to side."""
    times = np.linspace(0.0, 10.0, 201)
    model = dd.assemble(
        name="slider",
        parts={
            "body": tra.Mass(1.0),
            "friction": tra.DryFriction(0.7, 0.2),
            "wall": tra.Fixed(),
            "force": tra.ForceSource(),
        },
        connections=[("wall.flange", "friction.flange_a"), ("friction.flange_b", "body.flange_a", "force.flange")],
        inputs=["force.f"],
        initial={"body.v": 0.0, "body.s": 0.0},
        outputs={"s": "body.s"},
    )
    force = dd.Signal(times, np.sin(2.0 * times))
    trajectory = dd.simulate(model, times, inputs={"force.f": force}, solver=dd.Lanes(tolerance=1e-9))
    assert 20 < np.sum(trajectory["body.v"] == 0.0) < 150
    data = dd.Dataset(times, outputs={"s": trajectory["s"]}, inputs={"force.f": force})
    free = {"friction.F_Coulomb": 0.5, "friction.F_prop": 0.4, "body.m": 1.3}
    estimate = dd.fit(model, data, free=free, criterion=dd.OutputError())
    np.testing.assert_allclose([estimate.values()[name] for name in free], [0.7, 0.2, 1.0], rtol=1e-5)
