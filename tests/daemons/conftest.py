"""Fixtures of the daemons' tests; a file may have its own under the same name."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from spider_rig import StoreServer


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder that daemons may share."""
    return tmp_path / "w"


@pytest.fixture
def store() -> Iterator[StoreServer]:
    """A Store Server, for a Spider to deliver to."""
    with StoreServer() as store:
        yield store
