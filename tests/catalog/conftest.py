"""Fixtures of the catalog's tests."""

import pytest
from catalog_rig import NOW, SqliteBackend


@pytest.fixture(params=["sqlite", "sqlite-shared"])
def backend(request, tmp_path):
    """Every backend there is: the contract holds for each."""
    made = SqliteBackend(tmp_path, shared=request.param == "sqlite-shared")
    yield made
    made.close()


@pytest.fixture
def catalog(backend):
    """A catalog in which a run has begun."""
    opened = backend.open()
    opened.begin_run(NOW)
    return opened
