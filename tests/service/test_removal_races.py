"""What is crawled while something of the same name is removed keeps its contents.

Each test puts the crawl between the two steps of a removal: after the transaction that takes things
away from clients, and before the one that removes what they have left.
"""

import base64
import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from operations_desk import PARENT, ROOT, SITE, Desk

from gossamer.catalog import service_purge, service_removal
from gossamer.catalog.catalog import Verdict
from gossamer.messages import Fetch, Findings, Visit
from gossamer.objects.enumerations import ContentKind, CrawlerType, CrawlStatus, DelayedType
from gossamer.objects.site import SiteCleanup, SiteDelete
from gossamer.objects.url import URL, URLCleanup, URLDelete, URLPurge, URLPut
from gossamer.outcomes import Outcome, State

PAGE = "http://a.example/page"
OLD, NEW = b"before", b"after"
MADE = b'{"default": "made"}'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
EVERYTHING = URLPurge(site_limits=(0, -1))


@pytest.fixture(params=[0, 1, 2], ids=["key-value", "table", "warc"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    """A site of a root URL and a page, both with contents."""
    desk = Desk(tmp_path, request.param)
    desk.site()
    desk.add(SITE, PAGE)
    for url in (ROOT, PAGE):
        desk.put(SITE, url, OLD)
        desk.put(SITE, url, MADE, ContentKind.PROCESSOR)
    yield desk
    desk.close()


def crawl(desk: Desk) -> None:
    """Crawl and process what is new, as the engine does in another process."""
    other = Desk(desk.settings.folder, desk.storage)
    other.clock.advance(desk.clock.time() - other.clock.time() + 1)
    catalog, contents = other.operations._catalog, other.operations._contents
    now = other.clock.time()
    catalog.begin_run(now)
    assert catalog.make_batch(CrawlerType.NORMAL, 10, now, 60, 5)[0]
    batch = catalog.due(10, 10, now)
    assert batch
    for due in batch:
        assert due.manner is not None
        for site_id, md5 in due.manner.kept_as:
            contents.put_raw(site_id, md5, now, body=NEW, headers=None, request=None, url=due.url)
            contents.put_processed(site_id, md5, MADE, now)
    contents.sync()
    brought = [
        Findings(due.doc_id, 1, int(Outcome.OK), 200, now, 1, 1, content_type="text/html",
                 body_bytes=len(NEW))
        for due in batch
    ]  # fmt: skip
    catalog.commit([Verdict(each, State.DONE, 0.0) for each in brought], now)
    other.close()


def crawl_into_archive(desk: Desk, body: bytes) -> None:
    """Crawl what is new with content storage type 2: the catalog knows where a page is."""
    other = Desk(desk.settings.folder, desk.storage)
    desk.clock.advance(10)
    other.clock.advance(desk.clock.time() - other.clock.time())
    catalog, store = other.operations._catalog, other.operations._contents._store
    now = other.clock.time()
    catalog.begin_run(now)
    assert catalog.make_batch(CrawlerType.NORMAL, 10, now, 60, 5)[0]
    verdicts = []
    for due in catalog.due(10, 10, now):
        visit = Visit(due.doc_id, 1, "192.0.2.1", due.url)
        fetch = Fetch(visit, Outcome.OK, status=200, head=HEAD, raw=body, body=body, fetched_at=now)
        brought = Findings(
            due.doc_id,
            1,
            int(Outcome.OK),
            200,
            now,
            1,
            content_type="text/html",
            body_bytes=len(body),
            pointer=store.append(fetch).pointer,
        )
        verdicts.append(Verdict(brought, State.DONE, 0.0))
    store.sync()
    catalog.commit(verdicts, now)
    other.close()


@pytest.mark.parametrize("what", ["site", "url"])
def test_what_was_crawled_into_the_archive_is_not_seen_after_a_cleanup(
    tmp_path: Path, what: str
) -> None:
    desk = Desk(tmp_path, 2)
    desk.site()
    crawl_into_archive(desk, OLD)
    assert desk.raw(SITE, ROOT) == [OLD]
    if what == "site":
        desk.statuses("SITE_CLEANUP", [SiteCleanup(id=SITE)])
    else:
        request = URLCleanup(site_id=SITE, url=ROOT, status=CrawlStatus.NEW)
        desk.statuses("URL_CLEANUP", [request])
    assert desk.raw(SITE, ROOT) == []
    crawl_into_archive(desk, NEW)
    assert desk.raw(SITE, ROOT) == [NEW]
    assert desk.is_sound()
    desk.close()


def assert_kept(desk: Desk, url: str) -> None:
    """Whatever is purged later, a URL has what was crawled."""
    for _ in range(2):
        found = desk.url(SITE, url)
        assert found is not None
        assert found.status == CrawlStatus.CRAWLED
        assert desk.raw(SITE, url)[-1:] == [NEW]
        assert desk.processed(SITE, url)
        desk.statuses("URL_PURGE", [EVERYTHING])
    assert desk.is_sound()


def test_a_root_that_is_crawled_while_its_site_is_emptied_keeps_its_content(desk: Desk) -> None:
    catalog, contents, now = desk.operations._catalog, desk.operations._contents, desk.clock.time()
    (emptying,) = service_removal.empty_sites(catalog, [SiteCleanup(id=SITE)], now)
    crawl(desk)
    assert emptying is not None
    service_removal.empty_left(catalog, emptying, now, contents.clear_site)
    assert_kept(desk, ROOT)
    # By the purge, since what the page had could not go with all the rest.
    assert desk.raw(SITE, PAGE) == []
    assert not desk.processed(SITE, PAGE)


def test_a_root_that_is_crawled_while_a_killed_cleanup_is_purged_keeps_it(desk: Desk) -> None:
    catalog, contents, now = desk.operations._catalog, desk.operations._contents, desk.clock.time()
    service_removal.empty_sites(catalog, [SiteCleanup(id=SITE)], now)
    found = service_purge.purgeable(catalog.database, SITE, EVERYTHING, now)
    crawl(desk)
    assert sum(service_purge.purge(catalog, each, now, contents.delete) for each in found) == 2
    assert_kept(desk, ROOT)
    assert desk.raw(SITE, PAGE) == []


def test_a_url_that_is_crawled_while_it_is_cleaned_up_keeps_its_content(desk: Desk) -> None:
    catalog, contents, now = desk.operations._catalog, desk.operations._contents, desk.clock.time()
    request = URLCleanup(site_id=SITE, url=PAGE, status=CrawlStatus.NEW)
    (removal,) = service_removal.clean_urls(catalog, [request], now)
    crawl(desk)
    assert removal is not None
    service_removal.clean_left(catalog, [removal], now, contents.delete)
    assert_kept(desk, PAGE)


def test_a_url_that_comes_again_while_it_is_deleted_keeps_its_content(desk: Desk) -> None:
    catalog, contents, now = desk.operations._catalog, desk.operations._contents, desk.clock.time()
    (removal,) = service_removal.delete_urls(catalog, [URLDelete(site_id=SITE, url=PAGE)], now)
    desk.clock.advance(1)
    desk.add(SITE, PAGE)
    crawl(desk)
    assert removal is not None
    service_removal.delete_left(catalog, [removal], now, contents.delete)
    assert_kept(desk, PAGE)


def test_a_site_that_is_made_again_while_it_is_purged_keeps_its_contents(desk: Desk) -> None:
    catalog, contents, now = desk.operations._catalog, desk.operations._contents, desk.clock.time()
    request = SiteDelete(id=SITE, delayed_type=DelayedType.DELAYED)
    assert desk.statuses("SITE_DELETE", [request]) == [0]
    (left,) = service_removal.left_of_sites(catalog.database, 10)
    desk.clock.advance(1)
    desk.site()
    crawl(desk)
    service_removal.delete_left_of_site(catalog, left, now, contents.drop_site)
    assert_kept(desk, ROOT)


def deleted_later(desk: Desk) -> None:
    request = URLDelete(site_id=SITE, url=PAGE, delayed_type=DelayedType.DELAYED)
    desk.statuses("URL_DELETE", [request])


def cleaned_later(desk: Desk) -> None:
    request = URLCleanup(site_id=SITE, url=PAGE, delayed_type=DelayedType.DELAYED)
    desk.statuses("URL_CLEANUP", [request])


def handed(desk: Desk, body: bytes) -> None:
    """Hand the page over with its content."""
    put = URLPut(
        site_id=SITE,
        content_type=int(ContentKind.RAW),
        put_dict={"data": base64.b64encode(body).decode()},
    )
    desk.general("URL_NEW", [URL(url=PAGE, site_id=SITE, parent_md5=PARENT, url_put=put)])
    desk.clock.advance(1)


@pytest.mark.parametrize("remove", [deleted_later, cleaned_later])
def test_a_content_that_comes_with_its_url_outlives_the_purge_of_an_earlier_one(
    tmp_path: Path, remove: Callable[[Desk], None]
) -> None:
    """Though the URL was never crawled, neither before nor since."""
    desk = Desk(tmp_path)
    desk.site()
    handed(desk, OLD)
    remove(desk)
    handed(desk, NEW)
    desk.statuses("URL_PURGE", [EVERYTHING])
    assert desk.raw(SITE, PAGE)[-1:] == [NEW]
    assert desk.deleted(SITE) == {}
    desk.close()


class Purged:
    """Contents; as soon as one was put, before the catalog knows of it, another purges."""

    def __init__(self, desk: Desk) -> None:
        self._contents = desk.operations._contents
        self._other = Desk(desk.settings.folder, desk.storage)
        self._is_done = False

    def __getattr__(self, name: str):
        return getattr(self._contents, name)

    def sync(self) -> None:
        self._contents.sync()
        if not self._is_done:
            self._is_done = True
            assert self._other.statuses("URL_PURGE", [URLPurge(site_id=SITE)]) == [[SITE, 1]]
            self._other.close()


def put(desk: Desk, body: bytes) -> None:
    desk.put(SITE, PAGE, body)


@pytest.mark.parametrize(("remove", "bring"), [(deleted_later, handed), (cleaned_later, put)])
def test_a_content_that_is_put_while_an_earlier_one_is_purged_is_kept(
    desk: Desk, remove: Callable[[Desk], None], bring: Callable[[Desk, bytes], None]
) -> None:
    remove(desk)
    desk.clock.advance(1)
    purged = Purged(desk)
    desk.operations._contents = purged
    desk.operations._url_contents._contents = purged
    bring(desk, NEW)
    assert purged._is_done
    assert desk.raw(SITE, PAGE)[-1:] == [NEW]
    assert desk.is_sound()


def test_a_content_that_is_put_for_a_root_while_its_site_is_emptied_is_kept(desk: Desk) -> None:
    catalog, contents, now = desk.operations._catalog, desk.operations._contents, desk.clock.time()
    (emptying,) = service_removal.empty_sites(catalog, [SiteCleanup(id=SITE)], now)
    assert emptying is not None
    desk.clock.advance(1)

    class Emptied:
        """Contents; as soon as one was put the rest is removed."""

        def __getattr__(self, name: str):
            return getattr(contents, name)

        def sync(self) -> None:
            contents.sync()
            service_removal.empty_left(catalog, emptying, now, contents.clear_site)

    desk.operations._url_contents._contents = Emptied()
    desk.put(SITE, ROOT, NEW)
    assert desk.raw(SITE, ROOT)[-1:] == [NEW]


class Watched:
    """Contents; whoever removes some must have the catalog for himself."""

    def __init__(self, desk: Desk) -> None:
        self._contents = desk.operations._contents
        self._turn = Path(f"{desk.operations._catalog.database.path}-turn")
        self.removed: list[str] = []

    def __getattr__(self, name: str):
        if name not in ("delete", "clear_site", "drop_site"):
            return getattr(self._contents, name)

        def remove(*arguments: str) -> object:
            with self._turn.open("rb+") as file, pytest.raises(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.removed.append(name)
            return getattr(self._contents, name)(*arguments)

        return remove


def cleaned_page(desk: Desk) -> None:
    desk.statuses("URL_CLEANUP", [URLCleanup(site_id=SITE, url=PAGE)])


def deleted_page(desk: Desk) -> None:
    desk.statuses("URL_DELETE", [URLDelete(site_id=SITE, url=PAGE)])


def purged_page(desk: Desk) -> None:
    request = URLDelete(site_id=SITE, url=PAGE, delayed_type=DelayedType.DELAYED)
    desk.statuses("URL_DELETE", [request])
    desk.statuses("URL_PURGE", [EVERYTHING])


def emptied_site(desk: Desk) -> None:
    desk.statuses("SITE_CLEANUP", [SiteCleanup(id=SITE)])


def deleted_site(desk: Desk) -> None:
    desk.statuses("SITE_DELETE", [SiteDelete(id=SITE)])


@pytest.mark.parametrize(
    ("remove", "what"),
    [
        (cleaned_page, "delete"),
        (deleted_page, "delete"),
        (purged_page, "delete"),
        (emptied_site, "clear_site"),
        (deleted_site, "drop_site"),
    ],
)
def test_nothing_can_be_selected_while_contents_are_removed(
    desk: Desk, remove: Callable[[Desk], None], what: str
) -> None:
    watched = Watched(desk)
    desk.operations._contents = watched
    remove(desk)
    assert watched.removed == [what]
    assert desk.raw(SITE, PAGE) == []
