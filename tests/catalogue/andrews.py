"""Andrews' squeezing mechanism: seven bodies, three closed loops, index 3."""

import numpy as np

import daedal as dd
from daedal import der

from .chemistry import TEST_SET
from .problem import Problem, constants, table

ANGLES = "beta theta gamma phi delta omega epsilon"
SPEEDS = "v_beta v_theta v_gamma v_phi v_delta v_omega v_epsilon"
MULTIPLIERS = "lam1 lam2 lam3 lam4 lam5 lam6"
GEOMETRY = {"xa": -0.06934, "ya": -0.00227, "xb": -0.03635, "yb": 0.03273, "xc": 0.014, "yc": 0.072} | {
    "d": 0.028, "da": 0.0115, "e": 0.02, "ea": 0.01421, "rr": 0.007, "ra": 0.00092, "fa": 0.01421, "l0": 0.07785,
    "ss": 0.035, "sa": 0.01874, "sb": 0.01043, "sc": 0.018, "sd": 0.02, "ta": 0.02308, "tb": 0.00916,
    "u": 0.04, "ua": 0.01228, "ub": 0.00449, "zf": 0.02, "zt": 0.04,
}  # fmt: skip
LOADS = {"c0": 4530.0, "mom": 0.033} | {
    "m1": 0.04325, "m2": 0.00365, "m3": 0.02373, "m4": 0.00706, "m5": 0.07050, "m6": 0.00706, "m7": 0.05498,
    "i1": 2.194e-6, "i2": 4.410e-7, "i3": 5.255e-6, "i4": 5.667e-7, "i5": 1.169e-5, "i6": 5.667e-7, "i7": 1.912e-5,
}  # fmt: skip


def andrews() -> Problem:
    """Seven rigid bodies in the plane, driven by a motor: M(q) q'' = f(q, q') − Gᵀλ, g(q) = 0.

    Test Set, problem ANDREWS; Hairer & Wanner, Solving Ordinary Differential Equations II, section VII.7. The angles
    are the published values, good to ten digits. The published velocities are good to seven and the multipliers to six;
    those here are our own: accelerations and multipliers from one linear system, DOP853, ten digits.
    """
    return Problem(
        name="andrews",
        model=_model,
        end=0.03,
        reference=table(
            ANGLES,
            "0.1581077119629904e2 -0.1575637105984298e2 0.4082224013073101e-1 -0.5347301163226948 0.5244099658805304"
            " 0.5347301163226948 0.1048080741042263e1",
        )
        | table(
            SPEEDS,
            "1139.92030226 -1424.37929518 11.0329119108 19.2933741054 0.573569914842 -19.2933741054 0.323179149256",
        )
        | table(MULTIPLIERS, "199.175348104 -29.7553099750 23.0665436116 31.4527252758 22.6424947864 11.6173923526"),
        source=f"{TEST_SET}, ANDREWS (angles); DOP853 on the accelerations (velocities, multipliers)",
        index=3,
        degrees_of_freedom=2,
    )


def _model() -> dd.Model:
    angles, speeds, multipliers = (dd.symbols(names) for names in (ANGLES, SPEEDS, MULTIPLIERS))
    p, parameters = constants(**GEOMETRY, **LOADS)
    terms = zip(_inertia(p, angles, speeds), _force(p, angles, speeds), _reaction(p, angles, multipliers), strict=True)
    torques = [inertia == force - reaction for inertia, force, reaction in terms]
    beta, theta, gamma, phi, delta, omega, epsilon = angles
    v_theta = speeds[1]
    return dd.Model(
        name="andrews",
        equations={f"kinematics {q}": der(q) == v for q, v in zip(angles, speeds, strict=True)}
        | {f"torque {q}": torque for q, torque in zip(angles, torques, strict=True)}
        | _loops(p, angles),
        unknowns=[*angles, *speeds, *multipliers],
        parameters=parameters,
        initial={theta: 0.0, v_theta: 0.0},
        guess={
            beta: -0.0617138900142764496,
            gamma: 0.455279819163070380,
            phi: 0.222668390165885885,
            delta: 0.487364979543842550,
            omega: -0.222668390165885885,
            epsilon: 1.23054744454982119,
        },
    )


def _inertia(p, angles, speeds):
    """M(q) q''."""
    _, theta, _, phi, _, omega, _ = angles
    a_beta, a_theta, a_gamma, a_phi, a_delta, a_omega, a_epsilon = map(der, speeds)
    e, f = p.e - p.ea, p.zf - p.fa
    m11 = p.m1 * p.ra**2 + p.m2 * (p.rr**2 - 2 * p.da * p.rr * np.cos(theta) + p.da**2) + p.i1 + p.i2
    m21 = p.m2 * (p.da**2 - p.da * p.rr * np.cos(theta)) + p.i2
    m22 = p.m2 * p.da**2 + p.i2
    m33 = p.m3 * (p.sa**2 + p.sb**2) + p.i3
    m44 = p.m4 * e**2 + p.i4
    m54 = p.m4 * (e**2 + p.zt * e * np.sin(phi)) + p.i4
    m55 = p.m4 * (p.zt**2 + 2 * p.zt * e * np.sin(phi) + e**2) + p.m5 * (p.ta**2 + p.tb**2) + p.i4 + p.i5
    m66 = p.m6 * f**2 + p.i6
    m76 = p.m6 * (f**2 - p.u * f * np.sin(omega)) + p.i6
    m77 = p.m6 * (f**2 - 2 * p.u * f * np.sin(omega) + p.u**2) + p.m7 * (p.ua**2 + p.ub**2) + p.i6 + p.i7
    return (
        m11 * a_beta + m21 * a_theta,
        m21 * a_beta + m22 * a_theta,
        m33 * a_gamma,
        m44 * a_phi + m54 * a_delta,
        m54 * a_phi + m55 * a_delta,
        m66 * a_omega + m76 * a_epsilon,
        m76 * a_omega + m77 * a_epsilon,
    )


def _force(p, angles, speeds):
    """f(q, q'): the motor, the spring between C and D, and the centrifugal terms."""
    _, theta, gamma, phi, _, omega, _ = angles
    v_beta, v_theta, _, v_phi, v_delta, v_omega, v_epsilon = speeds
    e, f = p.e - p.ea, p.zf - p.fa
    xd = p.sd * np.cos(gamma) + p.sc * np.sin(gamma) + p.xb
    yd = p.sd * np.sin(gamma) - p.sc * np.cos(gamma) + p.yb
    length = np.sqrt((xd - p.xc) ** 2 + (yd - p.yc) ** 2)
    pull = -p.c0 * (length - p.l0) / length
    fx, fy = pull * (xd - p.xc), pull * (yd - p.yc)
    return (
        p.mom - p.m2 * p.da * p.rr * v_theta * (v_theta + 2 * v_beta) * np.sin(theta),
        p.m2 * p.da * p.rr * v_beta**2 * np.sin(theta),
        fx * (p.sc * np.cos(gamma) - p.sd * np.sin(gamma)) + fy * (p.sd * np.cos(gamma) + p.sc * np.sin(gamma)),
        p.m4 * p.zt * e * v_delta**2 * np.cos(phi),
        -p.m4 * p.zt * e * v_phi * (v_phi + 2 * v_delta) * np.cos(phi),
        -p.m6 * p.u * f * v_epsilon**2 * np.cos(omega),
        p.m6 * p.u * f * v_omega * (v_omega + 2 * v_epsilon) * np.cos(omega),
    )


def _reaction(p, angles, multipliers):
    """Gᵀλ with G = ∂g/∂q."""
    beta, theta, gamma, phi, delta, omega, epsilon = angles
    lam1, lam2, lam3, lam4, lam5, lam6 = multipliers
    along, across = lam1 + lam3 + lam5, lam2 + lam4 + lam6
    rod_x, rod_y = p.d * np.sin(beta + theta), -p.d * np.cos(beta + theta)
    e_x, e_y = -p.e * np.cos(phi + delta), -p.e * np.sin(phi + delta)
    f_x, f_y = p.zf * np.sin(omega + epsilon), -p.zf * np.cos(omega + epsilon)
    return (
        (rod_x - p.rr * np.sin(beta)) * along + (rod_y + p.rr * np.cos(beta)) * across,
        rod_x * along + rod_y * across,
        -p.ss * np.cos(gamma) * lam1 - p.ss * np.sin(gamma) * lam2,
        e_x * lam3 + e_y * lam4,
        (e_x + p.zt * np.sin(delta)) * lam3 + (e_y - p.zt * np.cos(delta)) * lam4,
        f_x * lam5 + f_y * lam6,
        (f_x - p.u * np.cos(epsilon)) * lam5 + (f_y - p.u * np.sin(epsilon)) * lam6,
    )


def _loops(p, angles):
    """g(q) = 0: the three loops close in x and y."""
    beta, theta, gamma, phi, delta, omega, epsilon = angles
    x = p.rr * np.cos(beta) - p.d * np.cos(beta + theta)
    y = p.rr * np.sin(beta) - p.d * np.sin(beta + theta)
    return {
        "loop 1 x": x - p.ss * np.sin(gamma) == p.xb,
        "loop 1 y": y + p.ss * np.cos(gamma) == p.yb,
        "loop 2 x": x - p.e * np.sin(phi + delta) - p.zt * np.cos(delta) == p.xa,
        "loop 2 y": y + p.e * np.cos(phi + delta) - p.zt * np.sin(delta) == p.ya,
        "loop 3 x": x - p.zf * np.cos(omega + epsilon) - p.u * np.sin(epsilon) == p.xa,
        "loop 3 y": y - p.zf * np.sin(omega + epsilon) + p.u * np.cos(epsilon) == p.ya,
    }
