"""`gossamer site` and a server that goes away in the middle: waited for, and never called whole."""

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Self

import pytest
from site_rig import Asked, Reply, Site, page, run_site, site_map

from gossamer.catalog.catalog import Catalog
from gossamer.config.load import load_with_origins
from gossamer.site.ring import Ring, TimeLimit
from gossamer.site.settings import site_settings
from gossamer.site.survey import Survey
from held_ports import HeldPort

PAGES = 40
IMPATIENT = ("urlserver.retry_back_off_seconds=0.02", "crawl.patience_seconds=0.5")


def answers(path: str) -> Reply | None:
    """A start page that names all others; nobody is served twice over one connection."""
    number = path[1:]
    if path == "/":
        body = page(*(f"/{each}" for each in range(PAGES)), title="Start")
    elif number.isdigit():
        body = page(title=f"page {number}")
    else:
        return None
    return Reply(body.encode(), headers={"Connection": "close"})


class Fickle:
    """A site that goes away after some answers, and comes back when it is told to."""

    def __init__(self, port: int, answered: int) -> None:
        self._place = ("127.0.0.1", port)
        self._numbers = itertools.count(1)
        self._last = answered
        self._site = Site(self._answer, place=self._place)
        self._is_there = True

    def __enter__(self) -> Self:
        self._site.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._is_there:
            self._site.close()

    def url(self) -> str:
        return self._site.url()

    def come_back(self) -> None:
        """Answer everything from now on."""
        self._site = Site(answers, place=self._place)
        self._site.__enter__()
        self._is_there = True

    def _answer(self, path: str) -> Reply | None:
        if next(self._numbers) == self._last:
            self._is_there = False
            self._site.close()
        return answers(path)


@pytest.fixture
def fickle() -> Iterator[Fickle]:
    with HeldPort() as held, Fickle(held.port, answered=PAGES // 2) as site:
        yield site


@pytest.mark.req("S2.36")
def test_what_failed_while_the_server_was_away_is_fetched_when_it_is_back(fickle):
    """What ended untried, because others had failed before, is asked for after all (B13)."""
    overrides = {"urlserver": {"retry_back_off_seconds": 0.02}, "crawl": {"workers": 0}}
    settings = site_settings(load_with_origins(None, overrides), fingerprints=False, cores=1)
    survey = Survey(fickle.url(), settings)
    failures: list[int] = []

    def let_in(catalog: Catalog) -> int:
        if not failures:
            failures.append(catalog.counts().failed)
            fickle.come_back()
        return survey.let_in(catalog)

    with closing(Ring(settings, let_in, None)) as ring:
        summary = ring.crawl([fickle.url()], TimeLimit())
        with ring.reading() as catalog:
            found = survey.map_of(catalog, summary, all_links=False)
    assert failures[0] > 10  # without it nothing was tried
    assert (summary.exit_code, found.complete) == (0, True)
    assert [each.url for each in found.pages if each.error] == []
    assert len(found.pages) == 1 + PAGES


@pytest.mark.req("S2.36")
def test_a_server_that_stays_away_makes_no_whole_map_and_what_is_left_can_be_resumed(
    fickle, tmp_path
):
    flags = [word for setting in IMPATIENT for word in ("--set", setting)]
    kept = str(tmp_path / "kept")
    found = site_map(fickle.url(), "--keep", kept, *flags, code=5)
    assert found["summary"]["complete"] is False
    assert found["summary"]["stopped_by"] == "stalled"
    assert len(found["pages"]) == 1 + PAGES
    assert found["errors"]
    assert all(each["error"].startswith("net.refused") for each in found["errors"])
    fickle.come_back()
    again = site_map("--resume", kept)
    assert again["summary"]["complete"] is True
    assert (len(again["pages"]), again["errors"]) == (1 + PAGES, [])


def test_a_start_page_that_cannot_be_reached_is_told_at_once():
    """Nobody waits for a server that never was there."""
    with HeldPort() as held:
        flags = ("--ignore-robots", "--set", "urlserver.retry_back_off_seconds=0.02")
        result = run_site(f"http://127.0.0.1:{held.port}/", *flags, timeout=60)
    assert result.returncode == 5
    assert "check that a server runs there" in result.stderr


@pytest.mark.req("S1.16", "S2.36")
def test_a_server_that_asks_for_a_pause_gets_it_from_all_workers():
    """What they were given ahead of time is not sent any more."""
    asked: list[float] = []
    told: list[float] = []
    taking_turns = threading.Lock()

    def slow(asking: Asked) -> Reply:
        with taking_turns:
            asked.append(time.monotonic())
            is_enough = len(asked) == 12
        time.sleep(0.6)
        if is_enough:
            told.append(time.monotonic())
            return Reply(b"later", 503, {"Retry-After": "3"})
        return Reply(page(title=asking.path).encode())

    def answer(path: str):
        if path == "/":
            return page(*(f"/{number}" for number in range(24)))
        return slow if path[1:].isdigit() else None

    with Site(answer) as site:
        found = site_map(site.url(), "--concurrency", "4", "--workers", "2")
    assert [moment for moment in asked if told[0] + 0.4 < moment < told[0] + 2.9] == []
    assert len([each for each in found["pages"] if each["error"] is None]) == 25
    assert len(asked) == 25  # one of them twice
