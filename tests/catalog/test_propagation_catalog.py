"""Batches of several hosts in their catalogs: each host has one, messages are function calls."""

import contextlib
import sqlite3
from pathlib import Path

import pytest
from catalog_rig import done
from msgspec.structs import replace
from service_desk import NOW, Desk

from gossamer.catalog.batch_facts import BatchOrder
from gossamer.catalog.migrate import shipped_migrations
from gossamer.catalog.propagation import SharedBatches
from gossamer.catalog.propagation_desk import Claims
from gossamer.catalog.propagation_holds import PROPAGATION, Shared, SharedState
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_urls import new_urls, recalculate, update_urls
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.objects.enumerations import CrawlerType, CrawlStatus, ItemStatus
from gossamer.objects.hosts import HostClaim, HostTask, HostVerdict
from gossamer.objects.normal import url_md5
from gossamer.objects.problems import ObjectError
from gossamer.objects.url import URL, FieldRecalculator, URLUpdate

ROOT = "http://a.example/"
PAGES = [f"{ROOT}{number}" for number in range(6)]
NAMES = ("a", "b", "c")
ORDER = BatchOrder(int(CrawlerType.NORMAL), 300.0)
STUCK = 3_600.0


class Host(Desk):
    """A catalog with both sides of propagation."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir()
        super().__init__(folder)
        self.name = name
        others = [other for other in NAMES if other != name]
        self.batches = SharedBatches(self.catalog, name, others)
        self.claims = Claims(self.catalog, STUCK)
        self.site_id = self.site(ROOT)
        self.crawled(self.site_id, ROOT)

    def make(self, size: int = 10, now: float = NOW) -> Shared:
        shared = self.batches.make(CrawlerType.NORMAL, size, now, 60.0, 2)
        assert shared is not None
        return shared

    def claim(self, shared: Shared, other: "Host", now: float = NOW) -> list[bool]:
        """Ask another host for all of a batch, and drop what it refuses."""
        items = [item for item in self.batches.items(shared) if not item.is_root]
        holder = shared.holder
        claim = HostClaim(host=holder.host, batch=holder.batch, items=[item.url for item in items])
        verdicts = other.claims.claim(claim, now)
        refused = [pair for pair in zip(items, verdicts, strict=True) if not pair[1].granted]
        self.batches.drop(shared, refused, now, seconds=STUCK)
        return [verdict.granted for verdict in verdicts]

    def fetch(self) -> list[str]:
        """Crawl all that batches want; return it."""
        due = self.catalog.due(100, 100, NOW)
        self.catalog.commit([done(each) for each in due], NOW)
        return sorted(each.url for each in due)

    def tell(self, other: "Host", now: float = NOW) -> int:
        """Tell another host all that it is owed."""
        count = 0
        while (news := self.batches.next_news(other.name)) is not None:
            other.claims.done(replace(news.done, sender=self.name), now)
            self.batches.told(news, now)
            count += 1
        return count

    def statuses(self) -> dict[str, tuple[int, int]]:
        rows = [self.url(self.site_id, page) for page in PAGES]
        return {row.url: (int(row.status), row.crawled) for row in rows if row is not None}

    def is_sound(self) -> bool:
        assert super().is_sound()
        before = self.status(self.site_id)
        recalculate(self.catalog, FieldRecalculator(site_id=self.site_id), NOW)
        return self.status(self.site_id) == before


@pytest.fixture
def hosts(tmp_path: Path):
    made = [Host(tmp_path / name, name) for name in NAMES]
    yield made
    for host in made:
        assert host.is_sound()
        host.close()


def every(status: tuple[int, int], pages=PAGES) -> dict[str, tuple[int, int]]:
    return dict.fromkeys(pages, status)


@pytest.mark.req("S3.17", "S3.18", "S3.20")
def test_urls_of_a_batch_are_selected_on_all_hosts_and_crawled_on_one(hosts):
    a, b, c = hosts
    a.add(a.site_id, *PAGES)
    b.add(b.site_id, *PAGES[:3])
    shared = a.make()
    assert a.fetch() == []  # Held: the engine does not have it.
    assert a.claim(shared, b) == a.claim(shared, c) == [True] * 6
    for host in hosts:
        assert host.statuses() == every((2, 0))
        assert host.is_sound()
    a.batches.keep(shared, NOW)
    assert a.batches.begin(shared, ORDER, NOW) == 6
    assert a.fetch() == PAGES
    assert a.batches.settle(NOW) == 1
    assert (a.tell(b), a.tell(c)) == (1, 1)
    assert a.statuses() == every((4, 1))
    assert b.statuses() == c.statuses() == every((4, 0))
    assert b.rows("SELECT * FROM url_hold") == a.rows("SELECT * FROM url_hold") == []
    assert c.url(c.site_id, PAGES[0]).batch_id == 0


@pytest.mark.req("S3.20")
def test_what_is_known_as_crawled_is_neither_crawled_nor_processed_again(hosts):
    a, b, _ = hosts
    a.add(a.site_id, *PAGES)
    shared = a.make()
    a.claim(shared, b)
    a.batches.begin(shared, ORDER, NOW)
    a.fetch()
    a.batches.settle(NOW)
    a.tell(b)
    assert b.batches.make(CrawlerType.NORMAL, 10, NOW, 60.0, 2) is None
    assert b.status(b.site_id).resources == a.status(a.site_id).resources - len(PAGES)


@pytest.mark.req("S3.18")
def test_what_another_host_has_leaves_the_batch(hosts):
    a, b, _ = hosts
    a.add(a.site_id, *PAGES)
    b.add(b.site_id, *PAGES)
    first, second = a.make(4), b.make()
    a.batches.keep(first, NOW)
    assert sorted(b.claim(second, a)) == [False] * 4 + [True] * 2
    assert len(b.batches.items(second)) == 2
    assert b.statuses() == every((2, 0))
    # What is left of b's batch yields no more once b has come to its own place; a has the rest.
    b.batches.keep(second, NOW)
    assert a.claim(first, b) == [True] * 4


def test_a_host_yields_until_it_has_come_to_its_own_place(hosts):
    a, b, _ = hosts
    for host in (a, b):
        host.add(host.site_id, *PAGES)
    first, second = a.make(), b.make()
    assert a.claim(first, b) == [True] * 6
    assert b.batches.items(second) == []
    third = b.batches.make(CrawlerType.NORMAL, 10, NOW, 60.0, 5)
    assert third is None


def test_what_was_crawled_here_is_refused_and_known_there_as_crawled(hosts):
    a, b, _ = hosts
    a.add(a.site_id, PAGES[0])
    b.add(b.site_id, PAGES[0])
    b.crawled(b.site_id, PAGES[0])
    shared = a.make()
    assert a.claim(shared, b) == [False]
    assert a.statuses() == every((4, 0), PAGES[:1])
    assert b.statuses() == every((4, 1), PAGES[:1])


def test_what_is_found_again_elsewhere_is_crawled_again_where_its_contents_are(hosts, tmp_path):
    a, b, _ = hosts
    late = NOW + 3_601.0
    for host in (a, b):
        host.rows("UPDATE service_site SET recrawl_period = 60")
        host.add(host.site_id, PAGES[0])
    b.crawled(b.site_id, PAGES[0], u_date="NOW()")
    shared = a.make(now=late)
    assert a.claim(shared, b, late) == [False]
    assert b.statuses() == every((1, 1), PAGES[:1])
    assert a.statuses() == every((4, 0), PAGES[:1])


def test_a_batch_that_was_not_propagated_has_its_urls_for_as_long_as_it_is_open(hosts):
    """Nobody will tell the other host of its end, so that it asks again."""
    a, b, _ = hosts
    a.add(a.site_id, PAGES[0])
    b.add(b.site_id, PAGES[0])
    b.catalog.make_batch(CrawlerType.REAL_TIME, 10, NOW, 60.0, 2)
    assert a.claim(a.make(), b) == [False]
    assert a.statuses() == every((1, 0), PAGES[:1])
    b.fetch()
    assert a.claim(a.make(), b) == [False]
    assert a.statuses() == every((4, 0), PAGES[:1])


def test_a_host_that_has_granted_what_turns_out_to_be_crawled_is_told_so(hosts):
    a, b, c = hosts
    a.add(a.site_id, PAGES[0])
    c.add(c.site_id, PAGES[0])
    c.crawled(c.site_id, PAGES[0])
    shared = a.make()
    a.claim(shared, b)
    (item,) = a.batches.items(shared)
    verdict = HostVerdict(granted=False, crawled=True)
    a.batches.drop(shared, [(item, verdict)], NOW, seconds=STUCK, granted_by=["b"])
    assert (a.tell(b), a.tell(c)) == (1, 0)
    assert b.statuses() == every((4, 0), PAGES[:1])


def test_a_refusal_that_comes_after_the_end_of_the_batch_leaves_the_url_new(hosts):
    a, b, _ = hosts
    b.add(b.site_id, PAGES[0])
    a.add(a.site_id, PAGES[0])
    first, second = a.make(), b.make()
    a.batches.keep(first, NOW)
    items = b.batches.items(second)
    claim = HostClaim(host="b", batch=second.holder.batch, items=[each.url for each in items])
    verdicts = a.claims.claim(claim, NOW)
    a.batches.expire(NOW + 61.0)
    a.tell(b)
    b.batches.drop(second, list(zip(items, verdicts, strict=True)), NOW, seconds=STUCK)
    assert b.statuses() == every((1, 0), PAGES[:1])


def test_given_up_items_are_new_on_all_hosts(hosts):
    a, b, _ = hosts
    a.add(a.site_id, *PAGES)
    shared = a.make()
    a.claim(shared, b)
    a.batches.begin(shared, ORDER, NOW)
    a.catalog.expire_batches(NOW + 301.0)
    assert a.batches.settle(NOW + 301.0) == 1
    a.tell(b)
    assert a.statuses() == b.statuses() == every((1, 0))


def test_what_other_hosts_have_crawled_does_not_count_for_the_limit_of_urls(hosts):
    a, b, _ = hosts
    a.add(a.site_id, *PAGES[:5])
    with b.database.doing("limit the site") as connection:
        connection.execute("UPDATE service_site SET max_urls = 2")
    shared = a.make()
    a.claim(shared, b)
    a.batches.begin(shared, ORDER, NOW)
    a.fetch()
    a.batches.settle(NOW)
    a.tell(b)
    # The root page, one more, and no third.
    b.add(b.site_id, PAGES[5])
    another = URL(url=f"{ROOT}another", site_id=b.site_id, parent_md5="ab" * 16)
    assert new_urls(b.catalog, [another], NOW) != [ItemStatus.INSERTED]


def test_news_may_be_told_twice_and_late(hosts):
    a, b, c = hosts
    a.add(a.site_id, *PAGES)
    shared = a.make()
    a.claim(shared, b)
    a.batches.begin(shared, ORDER, NOW)
    a.fetch()
    a.batches.settle(NOW)
    news = a.batches.next_news("c")
    # c was down when it was asked, and knows nothing of the pages.
    for _ in range(2):
        c.claims.done(news.done, NOW)
        assert c.statuses() == every((4, 0))
    # A claim that was long on its way holds nothing any more.
    urls = [URL(url=page, site_id=c.site_id, parent_md5="ab" * 16) for page in PAGES]
    late = HostClaim(host="a", batch=shared.holder.batch, items=urls)
    assert all(verdict.granted for verdict in c.claims.claim(late, NOW))
    assert c.statuses() == every((4, 0))


@pytest.mark.req("S3.19", "S3.46")
def test_a_batch_is_handed_over_with_what_its_urls_are(hosts):
    a, b, c = hosts
    a.add(a.site_id, *PAGES, depth=3, priority=7)
    shared = a.make()
    a.claim(shared, b)
    a.batches.keep(shared, NOW)
    a.batches.hand_over(shared, "c", NOW, 600.0)
    task = HostTask(
        host="a",
        batch=shared.holder.batch,
        items=[item.url for item in a.batches.items(shared)],
    )
    for _ in range(2):  # The second time it has it already.
        assert c.claims.take(task, ORDER, 1, NOW).accepted
    a.batches.acknowledged(shared, NOW)
    assert a.batches.unfinished(SharedState.HANDED) == []
    assert c.fetch() == PAGES
    assert a.fetch() == []
    entered = c.url(c.site_id, PAGES[0])
    assert (entered.depth, entered.priority) == (3, 7)
    c.batches.settle(NOW)
    c.tell(a)
    c.tell(b)
    assert c.statuses() == every((4, 1))
    assert a.statuses() == b.statuses() == every((4, 0))


def test_a_host_with_enough_batches_takes_no_more(hosts):
    a, _, c = hosts
    a.add(a.site_id, PAGES[0])
    c.add(c.site_id, PAGES[1])
    c.batches.begin(c.make(), ORDER, NOW)
    shared = a.make()
    task = HostTask(host="a", batch=shared.holder.batch, items=[a.batches.items(shared)[0].url])
    answer = c.claims.take(task, ORDER, 1, NOW)
    assert not answer.accepted
    assert "1 batches" in answer.reason


def test_what_a_host_took_over_and_never_crawled_is_given_back(hosts):
    a, b, _ = hosts
    a.add(a.site_id, *PAGES)
    shared = a.make()
    a.claim(shared, b)
    a.batches.keep(shared, NOW)
    a.batches.hand_over(shared, "c", NOW, 600.0)
    assert a.batches.expire(NOW + 599.0) == 0
    assert a.batches.expire(NOW + 600.0) == 1
    a.tell(b)
    assert a.statuses() == b.statuses() == every((1, 0))


def test_what_was_granted_to_a_host_that_never_speaks_again_is_free_in_the_end(hosts):
    a, b, _ = hosts
    a.add(a.site_id, *PAGES)
    a.claim(a.make(), b)
    b.batches.expire(NOW + STUCK - 1.0)
    assert b.statuses() == every((2, 0))
    b.batches.expire(NOW + STUCK)
    assert b.statuses() == every((1, 0))


def test_news_that_nobody_could_be_told_is_given_up(hosts):
    a, b, _ = hosts
    a.add(a.site_id, *PAGES)
    shared = a.make()
    a.claim(shared, b)
    a.batches.expire(NOW + 61.0)
    assert a.batches.count_news() == 2
    assert a.batches.forget_news(NOW + 61.0, NOW) == 0
    assert a.batches.forget_news(NOW + 62.0, NOW) == 2


def test_a_batch_that_was_interrupted_goes_on(hosts):
    a, b, _ = hosts
    a.add(a.site_id, *PAGES)
    shared = a.make()
    a.claim(shared, b)
    assert a.batches.unfinished(SharedState.HELD) == [shared]
    assert a.claim(shared, b) == [True] * 6


def test_root_urls_are_crawled_by_every_host(hosts):
    a, b, _ = hosts
    update = URLUpdate(site_id=a.site_id, url_md5=url_md5(ROOT), status=CrawlStatus.NEW)
    assert update_urls(a.catalog, [update], NOW) == [True]
    shared = a.make()
    (item,) = a.batches.items(shared)
    assert item.is_root
    claim = HostClaim(host="a", batch=1, items=[item.url])
    assert b.claims.claim(claim, NOW)[0].granted
    assert int(b.url(b.site_id, ROOT).status) == 4


def test_a_site_that_this_host_does_not_have_is_no_obstacle(hosts):
    _, b, _ = hosts
    url = URL(url=PAGES[0], site_id="ff" * 16, parent_md5="ab" * 16)
    (verdict,) = b.claims.claim(HostClaim(host="a", batch=1, items=[url]), NOW)
    assert verdict.granted
    assert b.statuses() == {}


def test_what_is_no_url_is_refused_as_a_whole(hosts):
    _, b, _ = hosts
    urls = [URL(url=PAGES[0], site_id=b.site_id), URL(url="javascript:1", site_id=b.site_id)]
    with pytest.raises(ObjectError, match="http or https"):
        b.claims.claim(HostClaim(host="a", batch=1, items=urls), NOW)
    assert b.statuses() == {}


def test_every_statement_is_used():
    room = Path(__file__).parents[2] / "src" / "gossamer" / "catalog"
    text = "".join(path.read_text() for path in room.glob("propagation*.py"))
    assert [name for name in PROPAGATION if f'PROPAGATION["{name}"]' not in text] == []


def test_an_older_workspace_gets_the_tables_and_keeps_its_urls(tmp_path: Path):
    path = tmp_path / "catalog.db"
    older = [step for step in shipped_migrations() if step.version < 6]
    SqliteCatalog.open(path, CatalogSettings(), migrations=older).close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO member (set_id, doc_id, status) VALUES (9, 9, 2)")
        connection.commit()
    with ServiceCatalog.open(path, CatalogSettings(), shared=True) as catalog:
        with catalog.database.doing("look") as connection:
            rows = connection.execute("SELECT doc_id, status FROM member").fetchall()
        assert rows == [(9, 2)]
        batches = SharedBatches(catalog, "a", ["b"])
        assert batches.make(CrawlerType.NORMAL, 5, NOW, 60.0, 2) is None
        assert batches.count_news() == 0
