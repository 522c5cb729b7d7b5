"""One profile for all properties: how long an example takes says nothing on a machine that others use."""

import signal

import pytest
from hypothesis import HealthCheck, settings

from daedal.kernels import compiler
from sizes import LARGE, choose

EXAMPLES = choose(30, 100)  # where a test does not say how many
settings.register_profile(
    "any machine", max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


LOAD = compiler.load


@pytest.fixture(autouse=True, scope="session")
def quick_code():
    """Long code is run for a moment here and is not optimised; in scripts, which are processes of their own, it is."""
    with pytest.MonkeyPatch.context() as patch:
        if not LARGE:
            patch.setattr(compiler, "load", lambda text, _quick=False: LOAD(text, quick=True))
        yield


@pytest.fixture
def optimised_code(monkeypatch):
    """As for users, whatever its length."""
    monkeypatch.setattr(compiler, "load", LOAD)


@pytest.fixture
def heard_interrupts():
    """Ctrl-C interrupts as it does in a terminal: shells let background jobs ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
