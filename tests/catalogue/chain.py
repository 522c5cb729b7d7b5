"""A chain of pendulums of any length: 5n equations of index 3."""

import math

import daedal as dd
from daedal import der

from .problem import Problem, constants, numbered


def chain(n: int = 200) -> Problem:
    """n point masses hanging from each other by rods of length L, released at rest from a straight line at 45°.

    tension[i] is the force in rod i. There is a reference for n = 5 and n = 10: the Lagrangian equations in the n
    angles by DOP853; the Cartesian accelerations with the tensions eliminated agree to 1e-12.
    """

    def model() -> dd.Model:
        x, y, vx, vy, tension = (dd.symbols(name, n) for name in ("x", "y", "vx", "vy", "tension"))
        p, parameters = constants(m=1.0, L=1.0, g=9.81)
        dx = [x[i] - (x[i - 1] if i else 0.0) for i in range(n)]
        dy = [y[i] - (y[i - 1] if i else 0.0) for i in range(n)]
        pull_x = [tension[i] * dx[i] / p.L for i in range(n)] + [0.0]
        pull_y = [tension[i] * dy[i] / p.L for i in range(n)] + [0.0]
        equations = {}
        for i in range(n):
            equations[f"kinematics x {i}"] = der(x[i]) == vx[i]
            equations[f"kinematics y {i}"] = der(y[i]) == vy[i]
            equations[f"force x {i}"] = p.m * der(vx[i]) == pull_x[i + 1] - pull_x[i]
            equations[f"force y {i}"] = p.m * der(vy[i]) == pull_y[i + 1] - pull_y[i] - p.m * p.g
            equations[f"rod {i}"] = dx[i] ** 2 + dy[i] ** 2 == p.L**2
        step = math.sqrt(0.5)
        return dd.Model(
            name=f"chain of {n}",
            equations=equations,
            unknowns=[*x, *y, *vx, *vy, *tension],
            parameters=parameters,
            initial={x[i]: (i + 1) * step for i in range(n)} | dict.fromkeys(vx, 0.0),
            guess={y[i]: -(i + 1) * step for i in range(n)} | dict.fromkeys(vy, 0.0),
        )

    return Problem(
        name=f"chain of {n}",
        model=model,
        end=3.0,
        reference=REFERENCES.get(n, {}),
        source="Lagrangian equations in the angles, DOP853 at relative tolerance 2.3e-14",
        index=3,
        degrees_of_freedom=2 * n,
    )


REFERENCES = {
    5: numbered(
        x="0.01486433182428 0.02600862127471 -0.05916227598890 -0.1853965253252 -0.2658150142455",
        y="-0.9998895197168 -1.999827420195 -2.996193777646 -3.988194238479 -4.984955426849",
        vx="0.9919602796507 2.140773080141 3.814882441479 4.737653721114 6.543230527812",
        vy="0.01474645594587 0.02754995340995 -0.1155554368477 -0.2329801199934 -0.3786536876628",
        tension="70.75109568047 59.95839178141 48.06951049825 33.66469931641 18.45515684909",
    ),
    10: numbered(
        x="-0.5243606498664 -1.089212698680 -1.731472294512 -2.455627757388 -3.245294092287"
        " -4.053948804488 -4.850177118850 -5.630509155629 -6.391516304274 -7.120267709965",
        y="-0.8514962764873 -1.676688474070 -2.443175663501 -3.132812427012 -3.746348961807"
        " -4.334632529855 -4.939628787205 -5.564994210278 -6.213737703280 -6.898516053334",
        vx="-0.02701231022729 0.06655017452831 0.02346742409146 -0.05817032118717 0.1141713461641"
        " 0.4900484000859 0.8848523958311 1.174833192424 1.369699809919 1.536172226312",
        vy="0.01663447385068 -0.04740995284299 -0.01130979322594 0.07441420286646 -0.1474021113867"
        " -0.6640827861000 -1.183679587264 -1.545518117639 -1.774105981018 -1.951268427006",
        tension="73.85259474011 65.57485240281 57.64236682350 50.33360327333 43.59412372053"
        " 37.04798682844 30.12189920332 22.78560071840 15.25135636996 7.646309967176",
    ),
}
