"""An assembly of a few parts, simulated by the reference solver."""

import daedal as dd

TIGHT = dd.IDA(rtol=1e-10, atol=1e-12)


def run(parts, connections, times, *, inputs=None, **declared):
    """The trajectory of the parts; `inputs` are path → Signal or number."""
    inputs = inputs or {}
    model = dd.assemble(name="bench", parts=parts, connections=connections, inputs=list(inputs), **declared)
    return dd.simulate(model, times, inputs=inputs, solver=TIGHT)
