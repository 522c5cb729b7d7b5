"""Mechanisms with position constraints as they are written down: index 3."""

import math

import numpy as np

import daedal as dd
from daedal import der

from .chemistry import TEST_SET
from .problem import Problem, constants, table


def pendulum() -> Problem:
    """Point mass on a rod in Cartesian coordinates, released from the horizontal.

    Reference from θ'' = −(g/L) sin θ in 40-digit arithmetic.
    """

    def model() -> dd.Model:
        x, y, u, v, lam = dd.symbols("x y u v lam")
        p, parameters = constants(m=1.0, L=1.0, g=9.81)
        return dd.Model(
            name="pendulum",
            equations={
                "kinematics x": der(x) == u,
                "kinematics y": der(y) == v,
                "force x": p.m * der(u) == -lam * x,
                "force y": p.m * der(v) == -lam * y - p.m * p.g,
                "rod": x**2 + y**2 == p.L**2,
            },
            unknowns=[x, y, u, v, lam],
            parameters=parameters,
            initial={y: 0.0, v: 0.0},  # not x: at x = L the rod does not say how y follows from x
            guess={x: 1.0, u: 0.0, lam: 0.0},
        )

    rows = {
        1.0: "-0.986291751131875319 -0.165010853125541169 -0.296905515916315822 1.77464364111265563 4.8562694074846766",
        2.0: "0.793566195343321747 -0.608483930443791515 2.10243787443612579 2.74193539301050908 17.9076820729607843",
        5.0: "0.942305435043757335 -0.334754338414000581 -0.857904256885949073 -2.41492865437048862 9.8518201795240371",
        10.0: "0.27508746257611686 -0.961419205099125064 -4.17559810095172884 -1.19474905456047527 28.2945672060672506",
    }
    return Problem(
        name="pendulum",
        model=model,
        end=10.0,
        reference={t: table("x y u v lam", row) for t, row in rows.items()},
        source="angle equation integrated in 40-digit arithmetic",
        index=3,
        degrees_of_freedom=2,
    )


def over_the_top() -> Problem:
    """The undamped pendulum that starts at the bottom fast enough to swing over the top again and again.

    No choice of two of the four coordinates describes it all the way round. Its energy m v²/2 + m g y is conserved.
    """

    def model() -> dd.Model:
        x, y, vx, vy, lam = dd.symbols("x y vx vy lam")
        p, parameters = constants(m=1.0, L=1.0, g=9.81)
        return dd.Model(
            name="over the top",
            equations={
                "kinematics x": der(x) == vx,
                "kinematics y": der(y) == vy,
                "force x": p.m * der(vx) == -lam * x,
                "force y": p.m * der(vy) == -lam * y - p.m * p.g,
                "rod": x**2 + y**2 == p.L**2,
            },
            unknowns=[x, y, vx, vy, lam],
            outputs={"energy": p.m * (vx**2 + vy**2) / 2 + p.m * p.g * y},
            parameters=parameters,
            initial={x: 0.0, vx: 7.0},
            guess={y: -1.0, vy: 0.0},
        )

    energy = 7.0**2 / 2 - 9.81
    return Problem(
        name="over the top",
        model=model,
        end=100.0,
        reference={t: {"energy": energy} for t in (1.0, 10.0, 100.0)},
        source="conservation of energy",
        index=3,
        degrees_of_freedom=2,
    )


def car_axis() -> Problem:
    """Axis of a car on a bumpy road: two masses on springs, one constraint that moves with time.

    Test Set, problem CARAXIS. The left wheel stands on the ground at the origin, the right one on (xb, yb).
    """

    def model() -> dd.Model:
        xl, yl, xr, yr, vxl, vyl, vxr, vyr, lam1, lam2 = dd.symbols("xl yl xr yr vxl vyl vxr vyr lam1 lam2")
        p, parameters = constants(eps=0.01, M=10.0, L=1.0, L0=0.5, r=0.1, w=10.0, g=1.0)
        yb = p.r * np.sin(p.w * dd.time)
        xb = np.sqrt(p.L**2 - yb**2)
        left = np.sqrt(xl**2 + yl**2)
        right = np.sqrt((xr - xb) ** 2 + (yr - yb) ** 2)
        inertia = p.eps**2 * p.M / 2
        return dd.Model(
            name="car axis",
            equations={
                "kinematics xl": der(xl) == vxl,
                "kinematics yl": der(yl) == vyl,
                "kinematics xr": der(xr) == vxr,
                "kinematics yr": der(yr) == vyr,
                "left x": inertia * der(vxl) == (p.L0 - left) * xl / left + lam1 * xb + 2 * lam2 * (xl - xr),
                "left y": inertia * der(vyl)
                == (p.L0 - left) * yl / left + lam1 * yb + 2 * lam2 * (yl - yr) - inertia * p.g,
                "right x": inertia * der(vxr) == (p.L0 - right) * (xr - xb) / right - 2 * lam2 * (xl - xr),
                "right y": inertia * der(vyr)
                == (p.L0 - right) * (yr - yb) / right - 2 * lam2 * (yl - yr) - inertia * p.g,
                "perpendicular": xl * xb + yl * yb == 0,
                "axis length": (xl - xr) ** 2 + (yl - yr) ** 2 == p.L**2,
            },
            unknowns=[xl, yl, xr, yr, vxl, vyl, vxr, vyr, lam1, lam2],
            parameters=parameters,
            initial={yl: 0.5, yr: 0.5, vyl: 0.0, vyr: 0.0},
            guess={xl: 0.0, xr: 1.0, vxl: -0.5, vxr: -0.5, lam1: 0.0, lam2: 0.0},
        )

    return Problem(
        name="car axis",
        model=model,
        end=3.0,
        reference={
            "xl": 0.493455784275402809122e-1,
            "yl": 0.496989460230171153861,
            "xr": 0.104174252488542151681e1,
            "yr": 0.373911027265361256927,
            "vxl": -0.770583684040972357970e-1,
            "vyl": 0.744686658723778553466e-2,
            "vxr": 0.175568157537232222276e-1,
            "vyr": 0.770341043779251976443,
            "lam1": -0.473688659084893324729e-2,
            "lam2": -0.110468033125734368808e-2,
        },
        source=f"{TEST_SET}, CARAXIS",
        index=3,
        degrees_of_freedom=4,
    )


def motor_with_gear() -> Problem:
    """A direct-current motor drives a disc through an ideal gear; both bodies keep their own angle.

    The gear ties the angles, so its torque is found only after two differentiations. Reference: the reduced linear
    system in (i, w2, phi2) with inertia ratio²·J1 + J2, by matrix exponential in 40-digit arithmetic.
    """

    def model() -> dd.Model:
        i, phi1, phi2, w1, w2, torque1, torque2 = dd.symbols("i phi1 phi2 w1 w2 torque1 torque2")
        p, parameters = constants(V=12.0, R=1.2, L=0.002, k=0.05, J1=0.001, J2=0.05, ratio=5.0, d=0.02)
        return dd.Model(
            name="motor with gear",
            equations={
                "winding": p.L * der(i) + p.R * i + p.k * w1 == p.V,
                "rotor angle": der(phi1) == w1,
                "disc angle": der(phi2) == w2,
                "rotor": p.J1 * der(w1) == p.k * i - torque1,
                "disc": p.J2 * der(w2) == torque2 - p.d * w2,
                "gear": phi1 == p.ratio * phi2,
                "gear torque": torque2 == p.ratio * torque1,
            },
            unknowns=[i, phi1, phi2, w1, w2, torque1, torque2],
            parameters=parameters,
            initial={i: 0.0, phi2: 0.0, w2: 0.0},
            guess={phi1: 0.0, w1: 0.0, torque1: 0.0, torque2: 0.0},
        )

    return Problem(
        name="motor with gear",
        model=model,
        end=0.5,
        reference={
            "i": 7.2549372369022097,
            "phi1": 17.768867212411004,
            "phi2": 3.5537734424822008,
            "w1": 66.053951589268807,
            "w2": 13.210790317853761,
            "torque1": 0.25944562832054534,
            "torque2": 1.2972281416027267,
        },
        source="matrix exponential of the reduced system in 40-digit arithmetic",
        index=3,
        degrees_of_freedom=3,
    )


def slider_crank() -> Problem:
    """Crank, connecting rod and sprung slider under gravity: a closed kinematic loop, turning through its dead points.

    The crank is a physical pendulum with angle phi; the rod has its own centre (x, y) and angle theta; the slider moves
    along s. The pins carry the forces (ax, ay) from crank to rod and (bx, by) from slider to rod. Reference: the single
    equation in phi that the kinetic energy gives when all else follows from phi, by a Runge–Kutta method of order 8.
    """

    def model() -> dd.Model:
        positions = phi, x, y, theta, s = dd.symbols("phi x y theta s")
        speeds = w_phi, vx, vy, w_theta, vs = dd.symbols("w_phi vx vy w_theta vs")
        forces = ax, ay, bx, by = dd.symbols("ax ay bx by")
        p, parameters = constants(
            m1=1.0, m2=2.0, m3=1.5, l1=0.3, l2=0.8, J1=0.03, J2=0.11, k=40.0, rest=0.8, c=0.5, g=9.81
        )
        half = p.l2 / 2
        kinematics = {f"kinematics {q}": der(q) == v for q, v in zip(positions, speeds, strict=True)}
        return dd.Model(
            name="slider crank",
            equations=kinematics
            | {
                "crank": p.J1 * der(w_phi)
                == p.l1 * (ax * np.sin(phi) - ay * np.cos(phi)) - p.m1 * p.g * p.l1 / 2 * np.cos(phi),
                "rod x": p.m2 * der(vx) == ax + bx,
                "rod y": p.m2 * der(vy) == ay + by - p.m2 * p.g,
                "rod turn": p.J2 * der(w_theta) == half * ((ax - bx) * np.sin(theta) + (by - ay) * np.cos(theta)),
                "slider": p.m3 * der(vs) == -bx - p.k * (s - p.rest) - p.c * vs,
                "crank pin x": x - half * np.cos(theta) == p.l1 * np.cos(phi),
                "crank pin y": y - half * np.sin(theta) == p.l1 * np.sin(phi),
                "slider pin x": x + half * np.cos(theta) == s,
                "slider pin y": y + half * np.sin(theta) == 0,
            },
            unknowns=[*positions, *speeds, *forces],
            parameters=parameters,
            initial={phi: math.pi / 4, w_phi: 10.0},
            guess={x: 0.6, y: 0.1, theta: -0.3, s: 1.0},
        )

    return Problem(
        name="slider crank",
        model=model,
        end=2.0,
        reference={
            "phi": 23.687708849607,
            "x": 0.4089167569893,
            "y": -0.1488153199100,
            "theta": 0.3812039862717,
            "s": 0.7802037087666,
            "w_phi": 9.702261062840,
            "vx": 2.960856769844,
            "vy": 0.1825470969552,
            "w_theta": -0.4916604154317,
            "vs": 3.034023371854,
            "ax": -2.588487427816,
            "ay": 29.20928262527,
            "bx": -3.917795030048,
            "by": 17.78399448067,
        },
        source="one equation in the crank angle, DOP853 at relative tolerance 2.3e-14",
        index=3,
        degrees_of_freedom=2,
    )
