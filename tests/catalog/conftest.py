"""Fixtures of the catalog's tests."""

import pytest
from catalog_rig import NOW, InMemoryBackend, SqliteBackend
from newsroom import Newsroom


@pytest.fixture(params=["sqlite", "sqlite-shared", "in-memory"])
def backend(request, tmp_path):
    """Every backend there is: the contract holds for each.

    But for what `database` marks: readers beside the writer, and changes that are undone.
    """
    if request.param == "in-memory":
        if request.node.get_closest_marker("database"):
            pytest.skip("a catalog without a file has no readers of its own and undoes nothing")
        made = InMemoryBackend()
    else:
        made = SqliteBackend(tmp_path, shared=request.param == "sqlite-shared")
    yield made
    made.close()


@pytest.fixture
def catalog(backend):
    """A catalog in which a run has begun."""
    opened = backend.open()
    opened.begin_run(NOW)
    return opened


@pytest.fixture
def newsroom(tmp_path):
    """Makes a catalog of news with these settings; in the end its accounting must be right."""
    opened = []

    def make(**news):
        opened.append(Newsroom(tmp_path, **({"throttle_seconds": 0.0} | news)))
        return opened[-1]

    yield make
    for room in opened:
        room.close()
