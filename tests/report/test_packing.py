"""Numbers of figures as pages carry them: no coarser than a screen, on linear and on logarithmic axes."""

import json
import re
from base64 import b64decode

import numpy as np

import daedal as dd
from daedal.report.page.figures import embed


def unpack(value, pool):
    """As page.js does."""
    if isinstance(value, list):
        return np.array([np.nan if one is None else one for one in value], dtype=float)
    if "listed" in value:
        return unpack(json.loads(pool[value["listed"]]), pool)
    if "levels" in value:
        levels = np.frombuffer(b64decode(pool[value["levels"]]), dtype="<u2").astype(float)
        return np.where(levels == 65535, np.nan, value["low"] + value["step"] * levels)
    return np.linspace(value["first"], value["last"], value["count"])


def read_traces(html):
    content = json.loads(re.search(r"<script[^>]*>(.*?)</script>", str(html), flags=re.DOTALL)[1])
    return [
        {side: unpack(trace[side], content["pool"]) for side in ("x", "y")} | {"name": trace.get("name", "")}
        for trace in content["data"]
    ]


def test_a_bode_diagram_over_six_decades_keeps_its_low_end():
    system = dd.TransferFunction([1e3], [1.0, 1001.0, 1e3])
    drawn = [one for one in dd.plot(system, "bode").data if one.x is not None and len(one.x) > 100]
    traces = [one for one in read_traces(embed(system, picture="bode")) if one["x"].size > 100]
    assert len(traces) == len(drawn) > 0
    for packed, whole in zip(traces, drawn, strict=True):
        np.testing.assert_allclose(packed["x"], np.asarray(whole.x, dtype=float), rtol=1e-5)


def test_linear_axes_are_a_millionth_of_their_range_apart():
    times = np.linspace(0.0, 1.0, 20)
    data = dd.Dataset(times, outputs={"y": 1e6 + np.sin(times)})
    packed = next(one for one in read_traces(embed(data)) if one["y"].size == 20)
    np.testing.assert_allclose(packed["y"], 1e6 + np.sin(times), atol=1e-5, rtol=0.0)


def test_long_signals_far_from_zero_keep_their_place():
    random = np.random.default_rng(0)
    times = 1.7e9 + np.sort(random.uniform(0.0, 60.0, 200))  # seconds since 1970
    pressure = 101325.0 + 1e-3 * random.standard_normal(200)
    packed = next(one for one in read_traces(embed(dd.Dataset(times, outputs={"y": pressure}))) if one["y"].size == 200)
    np.testing.assert_allclose(packed["x"], times, atol=1e-3, rtol=0.0)
    np.testing.assert_allclose(packed["y"], pressure, atol=1e-7, rtol=0.0)
