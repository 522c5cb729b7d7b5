"""One profile for all properties: how long an example takes says nothing on a machine that others use."""

import signal

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture
def heard_interrupts():
    """Ctrl-C interrupts as it does in a terminal: shells let background jobs ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
