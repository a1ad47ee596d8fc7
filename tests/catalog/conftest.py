"""Fixtures of the catalog's tests."""

import pytest
from catalog_rig import NOW, SqliteBackend


@pytest.fixture(params=["sqlite"])
def backend(request, tmp_path):
    """Every backend there is: the contract holds for each."""
    backends = {"sqlite": SqliteBackend}
    made = backends[request.param](tmp_path)
    yield made
    made.close()


@pytest.fixture
def catalog(backend):
    """A catalog in which a run has begun."""
    opened = backend.open()
    opened.begin_run(NOW)
    return opened
