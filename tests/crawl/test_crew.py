"""Worker processes that do not live long."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.config.settings import Settings
from gossamer.crawl.crew import ProcessCrew
from gossamer.crawl.launch import Launched
from gossamer.crawl.link import Assignment
from gossamer.errors import ProtocolError


def test_workers_that_end_without_a_report_are_not_replaced_without_an_end(monkeypatch):
    """Else what they were fetching would be fetched again and again."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    readable: dict[int, Callable[[], None]] = {}
    crew = ProcessCrew(
        2,
        Assignment("w0", "", "", "", Settings(), (), b""),
        readable.__setitem__,
        readable.pop,
        launch=lambda: Launched("short_lived"),
    )
    try:
        with pytest.raises(ProtocolError, match="20 worker processes in a row"):
            watch_them_die(crew, readable, 30)
    finally:
        crew.kill()
    assert readable == {}


def watch_them_die(crew: ProcessCrew, readable: dict[int, Callable[[], None]], most: int) -> None:
    deaths = 0
    while deaths < most:
        for note in list(readable.values()):
            note()
        list(crew.messages())
        deaths += len(crew.died())
        time.sleep(0.01)
