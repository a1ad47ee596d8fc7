"""Kill -9 of the service while clients change sites and it crawls: nothing answered for is lost."""

import fcntl
import itertools
import os
import random
import signal
import sqlite3
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from killed_sites import DELAY_MS, Line, Sites, Step
from operations_desk import Desk
from service_rig import wait_for
from test_service_whole import QUICK, Service

from gossamer.fakeweb import judge
from gossamer.fakeweb.graph import Graph, Kind, Place
from gossamer.fakeweb.pages import Writer
from gossamer.fakeweb.process import FakeWeb
from gossamer.objects.enumerations import CrawlStatus
from gossamer.objects.normal import url_md5
from gossamer.service.zeromq import zmq

KILLS = 34
"""Of each storage type: more than a hundred in all."""
HOSTS, GROUP = 20, 8
PORTION = 100
_HOLDS = {0: "raw/.door", 1: "raw/.door", 2: "db/pointers.db-turn"}
"""What whoever removes the contents of a site must have, by storage type."""


class Killed(Service):
    """A service that is killed again and again, in a process group of its own."""

    own_group = True

    def kill(self, *, whole: bool) -> None:
        """Kill the daemon, alone or with all its processes."""
        assert self.process is not None
        if whole:
            os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()
        self.process.wait()

    def signal(self, number: int) -> None:
        """Send the daemon a signal."""
        assert self.process is not None
        self.process.send_signal(number)


class Killer:
    """Kills a service while its client waits for an answer, and beside that."""

    def __init__(self, service: Killed, sites: Sites, storage: int, draw: random.Random) -> None:
        self._service = service
        self._sites = sites
        self._storage = storage
        self._draw = draw
        self._took: dict[str, float] = {}
        self.cut_short = 0
        """Operations that were never answered."""
        self.begun: list[Step] = []
        """Those of them that were killed for certain between their two steps."""

    def let_live(self, line: Line, steps: int) -> None:
        """Have operations carried out."""
        for _ in range(steps):
            step = self._sites.next_step()
            begun = time.monotonic()
            line.send(step)
            assert line.heard()
            self._sites.done(step)
            self._took[step.operation] = time.monotonic() - begun

    def kill_beside(self, _: Line, *, whole: bool) -> Step | None:
        """Kill it while it crawls, and nobody waits for anything."""
        time.sleep(self._draw.uniform(0.0, 0.5))
        self._service.kill(whole=whole)
        return None

    def kill_within(self, line: Line, *, whole: bool) -> Step:
        """Kill it in the middle of an operation: it is held, and let go if it has answered."""
        share = 1.0
        while True:
            step = self._sites.next_step()
            line.send(step)
            time.sleep(self._draw.uniform(0.0, share) * self._took.get(step.operation, 0.01))
            self._service.signal(signal.SIGSTOP)
            if not line.heard(0.1):
                break
            self._sites.done(step)
            self._service.signal(signal.SIGCONT)
            # That was too late.
            share /= 2
        self._service.kill(whole=whole)
        return step

    def kill_between(self, line: Line, *, whole: bool) -> Step:
        """Kill it when URLs are taken away, and their contents are not: those are held."""
        step = self._sites.next_removal()
        site = self._sites.known[step.number].id
        self._end_purges()
        with (self._service.data / _HOLDS[self._storage]).open("rb+") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            before = self._set_of(site)
            line.send(step)
            wait_for(lambda: self._set_of(site) != before, "the first step")
            self._service.kill(whole=whole)
        self.begun.append(step)
        return step

    def _end_purges(self) -> None:
        """Have it purge no more by itself: a purge would wait for what is held, others for it."""
        manager = "BatchTasksManager"
        told = self._service.administer("SET", [manager], {"PURGE_PERIOD": 0})
        assert told[manager]["PURGE_PERIOD"] == 0, told

        def runs() -> int:
            return self._service.administer("STAT", [manager])[manager]["periodic_runs"]

        # One may be under way, but none beside it: whatever ends next, that is over then.
        before = runs()
        wait_for(lambda: runs() > before, "the end of a run")

    def _set_of(self, site_id: str) -> tuple[int] | None:
        """Return the set of URLs that a site has now."""
        path = self._service.data / "catalog.db"
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            query = "SELECT set_id FROM service_site WHERE id = ?"
            found: tuple[int] | None = database.execute(query, (site_id,)).fetchone()
            return found

    def see(self, line: Line, step: Step | None) -> None:
        """Compare what is left with what was answered."""
        if step is not None and line.heard(0.1):
            self._sites.done(step)
            step = None
        self.cut_short += step is not None
        line.close()
        desk = Desk(self._service.folder, self._storage)
        self._sites.check(desk, step)
        desk.close()
        if step is not None and step.after is not None and step in self.begun:
            assert self._sites.known[step.number].urls == step.after.urls


def groups(graph: Graph) -> Iterator[list[str]]:
    """Yield pages of one host, group by group, each page once."""
    by_host = [
        [graph.url(Place(Kind.PAGE, number)) for number in range(host, graph.options.pages, HOSTS)]
        for host in range(HOSTS)
    ]
    for start in itertools.count(0, GROUP):
        for urls in by_host:
            assert len(urls) >= start + GROUP, "the web is too small"
            yield urls[start : start + GROUP]


@pytest.mark.slow
@pytest.mark.parametrize("storage", [0, 1, 2], ids=["key-value", "table", "warc"])
def test_killed_at_any_moment_it_keeps_what_it_answered_and_the_rest_whole(
    tmp_path: Path, storage: int
) -> None:
    """Sites are made, filled, emptied, deleted and purged by a client while others are crawled."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    draw = random.Random(seed)
    service = Killed(
        tmp_path / "d",
        Storage={"content_storage_type": str(storage)},
        Crawling={**QUICK["Crawling"], "batch_kill_seconds": "5"},
    )
    with (
        FakeWeb(
            pages=8_000, hosts=HOSTS, seed=3, disallowed=1_000, log_path=tmp_path / "web.log"
        ) as web,
        zmq.Context() as context,
    ):
        graph, truth = web.graph(), web.truth()
        sites = Sites(groups(graph), list(truth["disallowed"]), draw)
        killer = Killer(service, sites, storage, draw)
        ways = [killer.kill_within, killer.kill_between, killer.kill_within, killer.kill_beside]
        for number in range(KILLS):
            with service, closing(Line(context, service.client)) as line:
                killer.let_live(line, draw.randint(1, 5))
                killer.see(line, ways[number % 4](line, whole=number % 3 != 2))
        # Fewer would mean that it was killed beside the point.
        assert len(killer.begun) == KILLS // 4 + 1
        assert killer.cut_short > KILLS // 2
        with service:
            all_is_crawled(service, sites, set(truth["disallowed"]), graph)
            assert service.terminate() == 0
        log = web.log()
        assert judge.disallowed_requests(log, truth) == []
        assert judge.pages_before_robots(log) == []
        # By when they reached the web, not by when it came to look at them: so a busy machine is no
        # excuse, and the usual tolerance does.
        hasty = judge.gap_violations(log, DELAY_MS / 1_000)
        assert [(each.seconds, each.first.target, each.second.target) for each in hasty] == []
        assert judge.max_concurrency(log) == 1
    desk = Desk(tmp_path / "d", storage)
    sites.check(desk, None)
    desk.close()


def all_is_crawled(service: Service, sites: Sites, forbidden: set[str], graph: Graph) -> None:
    """Wait until every URL of a site that lives was crawled, and look at what is kept of them."""
    wanted = [(site, url) for site in sites.known for url in site.urls if url not in forbidden]
    asked = [{"siteId": site.id, "url": url} for site, url in wanted]

    def is_crawled() -> bool:
        rows = service.tell("URL_STATUS", asked)
        assert len(rows) == len(asked)
        return all(row["status"] >= CrawlStatus.CRAWLED and row["crawled"] > 0 for row in rows)

    wait_for(is_crawled, "everything to be crawled")
    writer = Writer(graph)
    pages = {graph.url(place): place for place in graph.places()}
    for start in range(0, len(wanted), PORTION):
        chosen = wanted[start : start + PORTION]
        requests = [
            {"siteId": site.id, "urlMd5": url_md5(url), "contentTypeMask": 3}
            for site, url in chosen
        ]
        for (site, url), content in zip(chosen, service.tell("URL_CONTENT", requests), strict=True):
            assert content["rawContents"], (url, site.past)
            for raw in content["rawContents"]:
                assert b64decode(raw["buffer"]) == writer.html(pages[url])
