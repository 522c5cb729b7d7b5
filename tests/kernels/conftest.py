"""Compiled objects of the tests go to a folder of their own."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAEDAL_CACHE", str(tmp_path_factory.mktemp("objects")))
        yield
