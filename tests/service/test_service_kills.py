"""Kill -9 of the service while clients change sites and it crawls: nothing answered for is lost."""

import itertools
import os
import random
import signal
import time
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest
from killed_sites import DELAY_MS, Line, Sites
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
ASKED = 30


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
        FakeWeb(pages=8_000, hosts=HOSTS, seed=3, disallowed=1_000) as web,
        zmq.Context() as context,
    ):
        graph, truth = web.graph(), web.truth()
        sites = Sites(groups(graph), list(truth["disallowed"]), draw)
        doubts = 0
        took: dict[str, float] = {}
        for number in range(KILLS):
            service.start()
            line = Line(context, service.client)
            for _ in range(draw.randint(1, 5)):
                step = sites.next_step()
                begun = time.monotonic()
                line.send(step)
                assert line.heard()
                sites.done(step)
                took[step.operation] = time.monotonic() - begun
            doubtful = None
            if number % 4 == 3:
                time.sleep(draw.uniform(0.0, 0.5))
            else:
                doubtful = sites.next_step()
                line.send(doubtful)
                # While it is carried out, mostly, however fast that is here.
                time.sleep(draw.uniform(0.0, 1.2) * took.get(doubtful.operation, 0.01))
            service.kill(whole=number % 3 != 2)
            if doubtful is not None and line.heard(0.1):
                sites.done(doubtful)
                doubtful = None
            line.close()
            doubts += doubtful is not None
            desk = Desk(tmp_path / "d", storage)
            sites.check(desk, doubtful)
            desk.close()
        # None would mean that it was always killed beside the point.
        assert doubts > 0
        with service:
            all_is_crawled(service, sites, set(truth["disallowed"]), graph)
            assert service.terminate() == 0
        log = web.log()
        assert judge.disallowed_requests(log, truth) == []
        assert judge.pages_before_robots(log) == []
        # A busy machine may hold up a request on its way, so that the next one comes sooner.
        hasty = judge.gap_violations(log, DELAY_MS / 1_000, tolerance=0.05)
        assert [(each.seconds, each.first.target, each.second.target) for each in hasty] == []
        assert judge.max_concurrency(log) == 1
    desk = Desk(tmp_path / "d", storage)
    sites.check(desk, None)
    desk.close()


def all_is_crawled(service: Service, sites: Sites, forbidden: set[str], graph: Graph) -> None:
    """Wait until every URL of a site that lives was crawled, and look at what is kept of some."""
    wanted = [(site, url) for site in sites.known for url in site.urls if url not in forbidden]
    asked = [{"siteId": site.id, "url": url} for site, url in wanted]

    def is_crawled() -> bool:
        rows = service.tell("URL_STATUS", asked)
        assert len(rows) == len(asked)
        return all(row["status"] >= CrawlStatus.CRAWLED and row["crawled"] > 0 for row in rows)

    wait_for(is_crawled, "everything to be crawled", 120)
    writer = Writer(graph)
    pages = {graph.url(place): place for place in graph.places()}
    chosen = wanted[:: max(1, len(wanted) // ASKED)]
    requests = [
        {"siteId": site.id, "urlMd5": url_md5(url), "contentTypeMask": 3} for site, url in chosen
    ]
    for (site, url), content in zip(chosen, service.tell("URL_CONTENT", requests), strict=True):
        assert content["rawContents"], (url, site.past)
        for raw in content["rawContents"]:
            assert b64decode(raw["buffer"]) == writer.html(pages[url])
