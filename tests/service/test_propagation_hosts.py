"""Several hosts make batches together: real catalogs and rules, messages handed over directly."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.catalog.catalog import Verdict
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_counters import wrong_counters
from gossamer.catalog.service_sites import new_site
from gossamer.catalog.service_urls import new_urls, update_urls, url_status
from gossamer.config.catalog import CatalogSettings
from gossamer.errors import ServiceError
from gossamer.messages import Findings
from gossamer.objects.coding import decode, decode_answer, encode
from gossamer.objects.enumerations import CrawlerType, CrawlStatus, Operation
from gossamer.objects.hosts import HostClaim, HostDone, HostTask
from gossamer.objects.normal import identified_site, url_md5
from gossamer.objects.site import Site
from gossamer.objects.url import URL, URLStatus, URLUpdate
from gossamer.outcomes import Outcome, State
from gossamer.service.guard import Reading
from gossamer.service.peers import Heard, Ring, ring_of
from gossamer.service.propagation import Propagation
from gossamer.service.propagation_desk import HostDesk
from gossamer.service.settings import (
    CrawlingSettings,
    GuardSettings,
    PeerSettings,
    ServiceSettings,
)

NOW = 1_800_000_000.0
ROOT = "http://a.example/"
PARENT = "ab" * 16
PAGES = [f"{ROOT}{number}" for number in range(20)]
NAMES = ("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3")


class Wires:
    """Reaches the desks of other hosts, as long as those are up."""

    def __init__(self, town: "Town", ring: Ring) -> None:
        self._town = town
        self.ring = ring

    def ask(self, host: str, operation: Operation, payload: object) -> Heard:
        if host in self._town.down or self.ring.own in self._town.down:
            return Heard(error=f"{host} is down", is_down=True)
        self._town.before(host, operation)
        desk = self._town.hosts[host].desk
        try:
            asked = decode(operation, encode(payload))
            answer = desk.operations[operation](asked, self._town.now)
        except ServiceError as error:
            return Heard(error=str(error), is_refused=True)
        if host in self._town.silent:
            return Heard(error=f"{host} is silent")
        return Heard(decode_answer(operation, encode(answer)))


class Host:
    """One host, without its engine: what batches want is crawled when a test says so."""

    def __init__(self, town: "Town", folder: Path, name: str, size: int) -> None:
        self.settings = ServiceSettings(
            folder=folder,
            peers=PeerSettings(hosts=NAMES, own_host=name),
            crawling=CrawlingSettings(batch_size=size),
            guard=GuardSettings(max_cpu_percent=100, max_io_wait_percent=100, min_free_bytes=0),
        )
        self.catalog = ServiceCatalog.open(folder / f"{name}.db", CatalogSettings(), shared=True)
        self.town = town
        self.desk = HostDesk(self.catalog, self.settings, Reading)
        self.start()
        site = identified_site(Site(urls=[ROOT]))
        self.site_id = site.id
        new_site(self.catalog, site, NOW)

    def start(self) -> None:
        wires = Wires(self.town, ring_of(self.settings.peers))
        self.together = Propagation(self.settings, self.catalog, wires, Reading)

    def find(self, pages: list[str]) -> None:
        urls = [URL(url=page, site_id=self.site_id, parent_md5=PARENT) for page in pages]
        new_urls(self.catalog, urls, NOW)

    def crawl(self) -> Counter[str]:
        return Counter(self.together.crawl(self.town.now))

    def check(self) -> Counter[str]:
        self.catalog.expire_batches(self.town.now)
        return Counter(self.together.check(self.town.now))

    def fetch(self, most: int = 100) -> list[str]:
        due = self.catalog.due(most, most, self.town.now)
        self.catalog.commit([verdict_of(each.doc_id) for each in due], self.town.now)
        return [each.url for each in due if each.url != ROOT]

    def known(self) -> dict[str, tuple[int, int]]:
        asked = [URLStatus(url=page, site_id=self.site_id) for page in PAGES]
        found = url_status(self.catalog.database, asked)
        return {url.url: (int(url.status), url.crawled) for url in found}


def verdict_of(doc_id: int) -> Verdict:
    findings = Findings(
        doc_id=doc_id,
        trans_id=doc_id,
        outcome=int(Outcome.OK),
        status=200,
        fetched_at=NOW,
        milliseconds=7,
        content_type="text/html",
        body_bytes=1_000,
        wire_bytes=500,
        checksum=b"0" * 16,
    )
    return Verdict(findings, State.DONE)


def nothing(host: str, operation: Operation) -> None:
    """Happen to be quiet."""


class Town:
    """All hosts, and which of them can be reached."""

    def __init__(self, folder: Path, size: int = 4) -> None:
        self.now = NOW
        self.down: set[str] = set()
        self.silent: set[str] = set()
        self.before: Callable[[str, Operation], None] = nothing
        """What happens before a message arrives."""
        self.hosts: dict[str, Host] = {}
        for name in NAMES:
            self.hosts[name] = Host(self, folder, name, size)
        for host in self.hosts.values():
            # The root page first, so that batches are of pages only.
            host.crawl()
            assert host.fetch() == []
            host.crawl()

    def settle(self) -> list[str]:
        """Let all go on until nothing is new; return what was fetched."""
        fetched = []
        for _ in range(40):
            for host in self.hosts.values():
                host.crawl()
                fetched += host.fetch()
                host.check()
        return fetched


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    made = Town(tmp_path)
    yield made
    for host in made.hosts.values():
        assert wrong_counters(host.catalog.database) == []
        assert host.catalog.check() == []
        host.catalog.close()


def is_shared_well(town: Town, fetched: list[str]) -> bool:
    assert Counter(fetched) == dict.fromkeys(PAGES, 1)
    known = [host.known() for host in town.hosts.values()]
    for page in PAGES:
        assert sorted(each[page] for each in known) == [(4, 0), (4, 0), (4, 1)]
    return True


@pytest.mark.req("S3.18", "S3.20")
def test_pages_that_all_hosts_find_are_fetched_once(town: Town) -> None:
    for host in town.hosts.values():
        host.find(PAGES)
    assert is_shared_well(town, town.settle())


@pytest.mark.req("S3.18")
@pytest.mark.parametrize("seed", range(6))
def test_in_any_order_of_steps_and_with_hosts_that_come_and_go_nothing_is_fetched_twice(
    town: Town, seed: int
) -> None:
    chance = random.Random(seed)
    fetched: list[str] = []
    for _ in range(120):
        host = town.hosts[chance.choice(NAMES)]
        name = host.settings.peers.own_host
        match chance.randrange(7):
            case 0:
                host.find(chance.sample(PAGES, 5))
            case 1 | 2 if name not in town.down:
                host.crawl()
            case 3 | 4 if name not in town.down:
                fetched += host.fetch(chance.randrange(1, 4))
            case 5 if name not in town.down:
                host.check()
            case 6:
                # One at a time: two that cannot reach each other may well fetch the same.
                town.down = set() if town.down else {name}
                host.start()
    town.down = set()
    for host in town.hosts.values():
        host.find(PAGES)
    fetched += town.settle()
    assert is_shared_well(town, fetched)


@pytest.mark.req("S3.19")
def test_the_host_with_the_least_to_do_gets_the_batch(town: Town) -> None:
    first, second, third = town.hosts.values()
    first.find(PAGES[:12])
    assert first.crawl()["propagation_handed"] == 0
    # Now the first has an open batch, and the others have none.
    assert first.crawl()["propagation_handed"] == 1
    assert first.crawl()["propagation_handed"] == 1
    fetched = [host.fetch() for host in (first, second, third)]
    assert [len(each) for each in fetched] == [4, 4, 4]
    for host in (first, second, third):
        host.check()
    for host, own in zip((first, second, third), fetched, strict=True):
        for page, (status, crawled) in host.known().items():
            assert (status, crawled) == (4, int(page in own))


def test_a_batch_that_another_host_does_not_take_is_crawled_here(town: Town) -> None:
    first, second, third = town.hosts.values()
    first.find(PAGES[:8])
    first.crawl()

    def becomes_full(host: str, operation: Operation) -> None:
        """It was free when the URLs were claimed, and is not when it is to crawl them."""
        town.before = nothing
        if operation is Operation.HOST_TASK:
            for number in (0, 1):
                # URLs of clients, which no other host is asked for.
                url = f"http://b.example/{host[-1]}{number}"
                new_urls(town.hosts[host].catalog, [URL(url=url)], NOW)
                town.hosts[host].crawl()
        town.before = becomes_full

    town.before = becomes_full
    assert first.crawl()["propagation_handed"] == 0
    assert sorted(first.fetch()) == sorted(PAGES[:8])
    assert not set(PAGES) & {*second.fetch(), *third.fetch()}


def test_a_host_that_took_a_batch_and_could_not_say_so_is_asked_again(town: Town) -> None:
    first, second, third = town.hosts.values()
    first.find(PAGES[:8])
    first.crawl()
    own = first.catalog.open_batches(CrawlerType.NORMAL)

    def is_silent(host: str, operation: Operation) -> None:
        town.silent = {host} if operation is Operation.HOST_TASK else set()

    town.before = is_silent
    assert first.crawl()["propagation_handed"] == 0
    town.before = nothing
    town.silent = set()
    # The second time it has trouble of its own; that does not mean that it does not have it.
    desks = second.desk, third.desk
    stranger = PeerSettings(hosts=(*NAMES, "127.0.0.1:9"), own_host=NAMES[1])
    second.desk = third.desk = HostDesk(second.catalog, replace(second.settings, peers=stranger))
    first.crawl()
    second.desk, third.desk = desks
    assert first.catalog.open_batches(CrawlerType.NORMAL) == own == 1
    assert first.crawl()["propagation_handed"] == 1
    assert first.crawl()["propagation_handed"] == 0
    fetched = [*first.fetch(), *second.fetch(), *third.fetch()]
    assert sorted(fetched) == sorted(PAGES[:8])


def test_a_host_that_is_down_is_passed_over_and_told_when_it_is_back(town: Town) -> None:
    first, second, third = town.hosts.values()
    town.down = {NAMES[2]}
    first.find(PAGES[:4])
    assert first.crawl()["propagation_passed_over"] == 1
    (complaint,) = first.together.take_complaints()
    assert f"{NAMES[2]} is down; passed over" in complaint
    fetched = first.fetch()
    assert first.check()["propagation_news_queue"] == 1
    assert first.together.take_complaints() == []
    assert second.known() == dict.fromkeys(fetched, (4, 0))
    town.down = set()
    assert first.check()["propagation_news_queue"] == 0
    assert third.known() == second.known()
    assert "is back" in first.together.take_complaints()[0]


def test_what_is_owed_for_too_long_is_given_up(town: Town) -> None:
    first, *_ = town.hosts.values()
    town.down = {NAMES[2]}
    first.find(PAGES[:4])
    first.crawl()
    first.fetch()
    first.check()
    town.now += first.settings.returning.stuck_seconds + 1
    counters = first.check()
    assert (counters["propagation_news_lost"], counters["propagation_news_queue"]) == (1, 0)


def test_hosts_with_different_lists_do_not_crawl_together(town: Town) -> None:
    first, second, _ = town.hosts.values()
    other = PeerSettings(hosts=(*NAMES, "127.0.0.1:9"), own_host=NAMES[1])
    alone = second.desk
    second.desk = HostDesk(second.catalog, replace(second.settings, peers=other))
    first.find(PAGES[:4])
    assert first.crawl()["batches_crawl_fault"] == 1
    (complaint,) = first.together.take_complaints()
    assert "all hosts need the same list" in complaint
    assert first.fetch() == []
    second.desk = alone
    first.crawl()
    assert sorted(first.fetch()) == PAGES[:4]


def test_strangers_are_refused(town: Town) -> None:
    desk = town.hosts[NAMES[0]].desk
    digest = ring_of(town.hosts[NAMES[0]].settings.peers).digest
    stranger = "127.0.0.1:9"
    for operation, asked in (
        (Operation.HOST_CLAIM, HostClaim(hosts=digest, host=stranger)),
        (Operation.HOST_CLAIM, HostClaim(hosts=digest, host=NAMES[0])),
        (Operation.HOST_TASK, HostTask(hosts=digest, host=stranger)),
        (Operation.HOST_DONE, HostDone(hosts=digest, sender=stranger, host=NAMES[1])),
        (Operation.HOST_DONE, HostDone(hosts=digest, sender=NAMES[1], host=stranger)),
        (Operation.HOST_CLAIM, HostClaim(hosts="", host=NAMES[1])),
    ):
        with pytest.raises(ServiceError, match="Peers"):
            desk.operations[operation](asked, NOW)


def test_a_page_that_is_to_be_crawled_again_is_crawled_where_it_was(town: Town) -> None:
    first, second, third = town.hosts.values()
    second.find(PAGES[:4])
    second.crawl()
    assert second.fetch()
    second.check()
    for host in town.hosts.values():
        updates = [
            URLUpdate(site_id=host.site_id, url_md5=url_md5(page), status=CrawlStatus.NEW)
            for page in PAGES[:4]
        ]
        assert update_urls(host.catalog, updates, NOW) == [True] * 4
    assert sorted(town.settle()) == PAGES[:4]
    assert second.known() == dict.fromkeys(PAGES[:4], (4, 2))
    assert first.known() == third.known() == dict.fromkeys(PAGES[:4], (4, 0))
