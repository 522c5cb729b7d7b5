"""The pendulum of Abdalmoaty et al. (2021) as a step function: index reduced, RK4, projected on its constraints."""

import casadi as ca


def accelerations(x, vx, y, vy, u, w, parameters):
    """(ax, ay) and the tension from the forces and the twice differentiated rod, a 3×3 linear system."""
    m, g, drag, _ = ca.vertsplit(parameters)
    matrix = ca.vertcat(ca.horzcat(m, 0, -x), ca.horzcat(0, m, -y), ca.horzcat(x, y, 0))
    right = ca.vertcat(-drag * ca.fabs(vx) * vx + u + w**2, -drag * ca.fabs(vy) * vy - m * g, -(vx**2) - vy**2)
    return ca.solve(matrix, right)


def derivative(z, u, w, parameters):
    x, vx, y, vy = ca.vertsplit(z)
    a = accelerations(x, vx, y, vy, u, w, parameters)
    return ca.vertcat(vx, a[0], vy, a[1])


def projected(z, parameters):
    """One Newton step along (x, y) back to the rod, and the velocity made tangential."""
    x, vx, y, vy = ca.vertsplit(z)
    length = parameters[3]
    scale = 1 - (x**2 + y**2 - length**2) / (2 * length**2)
    x, y = x * scale, y * scale
    radial = (x * vx + y * vy) / (x**2 + y**2)
    return ca.vertcat(x, vx - radial * x, y, vy - radial * y)


def pendulum(h=0.01):
    """(step, observe): shared = (u at the start, u at the end), lane = (w at the start, w at the end)."""
    z, p = ca.SX.sym("z", 4), ca.SX.sym("p", 4)
    u, w = ca.SX.sym("u", 2), ca.SX.sym("w", 2)
    forcing = [(u[0], w[0]), ((u[0] + u[1]) / 2, (w[0] + w[1]) / 2), (u[1], w[1])]
    k1 = derivative(z, *forcing[0], p)
    k2 = derivative(z + h / 2 * k1, *forcing[1], p)
    k3 = derivative(z + h / 2 * k2, *forcing[1], p)
    k4 = derivative(z + h * k3, *forcing[2], p)
    new = projected(z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), p)
    arguments = [z, p, u, w]
    return ca.Function("step", arguments, [new]), ca.Function("observe", arguments, [ca.atan2(z[0], -z[2])])
