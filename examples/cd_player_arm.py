"""The arm of a CD player, which follows its track in a closed loop: the force that is seen knows what nobody measured.

A controller pushes the arm back whenever something unmeasured moves it, so the recorded force and the disturbance go
together. Output error, which takes all that the model does not explain for noise of the sensor, then finds another arm;
the likelihood, told that something unmeasured pushes, too, finds the right one. Neither sampling time nor units are
told, so time is counted in samples. The first half of the record is used to estimate, the second half to judge.

Data: B. De Moor (ed.), DaISy: Database for the Identification of Systems, ESAT/STADIUS, KU Leuven, Belgium.

Run as: python examples/cd_player_arm.py [path/to/daisy_cd_player_arm.csv], with columns u2 and y2; without it data are
simulated.
"""

import sys

import numpy as np
from scipy.linalg import expm, sqrtm

import daedal as dd
from daedal import der

x, v, force, push = dd.symbols("x v force push")
f, z, gain, strength, memory, noise = dd.symbols("f z gain strength memory noise")
arm = dd.Model(
    name="arm",
    equations={
        "speed": der(x) == v,
        "balance": der(v) == -(f**2) * x - 2 * z * f * v + f**2 * (gain * force + push),
    },
    unknowns=[x, v],
    inputs=[force],
    outputs={"error": x},
    parameters={
        f: dd.Parameter(1.5, lower=0.2, upper=3.0, unit="rad/sample"),
        z: dd.Parameter(0.1, lower=0.001, upper=2.0, scale="log"),
        gain: dd.Parameter(-1.0, lower=-20.0, upper=20.0),
        strength: dd.Parameter(0.1, lower=1e-4, upper=10.0, scale="log"),
        memory: dd.Parameter(5.0, lower=0.1, upper=500.0, scale="log", unit="samples"),
        noise: dd.Parameter(0.02, lower=1e-5, upper=1.0, scale="log"),
    },
    disturbances={push: dd.FilteredNoise(numerator=[strength * np.sqrt(2 * memory)], denominator=[memory, 1.0])},
    measurement_noise={"error": noise},
)


def stand_in():
    """The same arm in a loop, from sample to sample: its controller acts on what the sensor tells."""
    print("No file was given, so these data are simulated: mode at 0.4 rad per sample, damping 0.15, gain -0.5.")
    times, rng = np.arange(1024.0), np.random.default_rng(4)
    wanted = np.repeat(rng.choice([-0.6, 0.6], 64), 16)  # jumps from track to track
    # x, v, push and the held force over one sample, exactly; of the noise, the covariance (Van Loan 1978).
    A = np.zeros((4, 4))
    A[0, 1], A[1], A[2, 2] = 1.0, [-0.16, -0.12, 0.16, -0.08], -1 / 8
    noise = np.zeros((4, 4))
    noise[2, 2] = 2 * 0.2**2 / 8
    E = expm(np.block([[-A, noise], [np.zeros((4, 4)), A.T]]))
    Phi, root = E[4:, 4:].T, sqrtm(E[4:, 4:].T @ E[:4, 4:]).real
    state, force, error = np.zeros(4), np.zeros(1024), np.zeros(1024)
    for k in range(1024):
        error[k] = state[0] + 0.02 * rng.standard_normal()
        force[k] = state[3] = 0.5 * (error[k - 1] - wanted[k]) + 2.0 * (error[k - 1] - error[k - 2])  # one sample late
        state = Phi @ state + root @ rng.standard_normal(4)
    return dd.Dataset(times, inputs={"force": dd.Signal(times, force, intersample="zoh")}, outputs={"error": error})


columns = {"inputs": {"force": "u2"}, "outputs": {"error": "y2"}}
try:
    whole = dd.read_csv(sys.argv[1], step=1.0, intersample="zoh", **columns) if len(sys.argv) > 1 else stand_in()
except dd.DaedalError as refused:
    sys.exit(str(refused))
first, second = whole.detrend().split(0.5)

mechanics = ["f", "z", "gain"]
blind = dd.fit(arm, first, free=mechanics, criterion=dd.OutputError())
print(blind)
fit = dd.fit(arm, first, free=list(arm.parameters), rng=1)  # told nothing, it takes the likelihood
print(fit)
left = dd.resid(fit, second)
print(left)

judged = dd.compare(fit, second, horizon=[1, 10])
print(judged)
dd.plot(left).save("cd_player_arm.svg")
found, other = fit["f"], blind["f"]
print(
    f"In a closed loop the likelihood finds the mode at {found.value:.3f} ± {found.std_error:.3f} rad per sample, "
    f"output error at {other.value:.3f} ± {other.std_error:.3f}; unseen samples are predicted one step ahead to "
    f"{judged['error'].ahead.fit_percent:.1f} %."
)
