"""Fixtures of the tests of news."""

import os

import pytest
from extract_rig import RIG, Newsroom


@pytest.fixture
def newsroom(monkeypatch, tmp_path):
    """Stories with stored pages; processes that extract find the extractors of the rig."""
    monkeypatch.setenv("PYTHONPATH", str(RIG), prepend=os.pathsep)
    monkeypatch.setenv("EXTRACT_RIG", str(tmp_path))
    with Newsroom(tmp_path / "press") as newsroom:
        yield newsroom
