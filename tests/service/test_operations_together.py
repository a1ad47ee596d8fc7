"""Several at once, and contents that refuse: nobody gets what is another's, nothing stays half."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace
from operations_desk import ROOT, SITE, Desk

from gossamer.errors import DiskFullError
from gossamer.objects.content import URLFetch
from gossamer.objects.enumerations import ContentKind, CrawlStatus, FetchAlgorithm, SiteState
from gossamer.objects.selection import Criterions
from gossamer.objects.site import Site, SiteCleanup, SiteDelete
from gossamer.objects.url import URLCleanup, URLDelete, URLPurge, URLUpdate

PAGE = "http://a.example/page"
FETCH = URLFetch(
    urls_criterions=Criterions(where="Status = 1 AND ParentMd5 <> ''", limit=7),
    max_urls=7,
    url_update=URLUpdate(status=CrawlStatus.SELECTED_CRAWLING),
)


@pytest.mark.parametrize("algorithm", list(FetchAlgorithm))
def test_no_url_is_fetched_by_two(tmp_path, algorithm):
    desk = Desk(tmp_path)
    request = replace(FETCH, algorithm=algorithm)
    pages = {}
    for name in "abc":
        site = desk.site(f"http://{name}.example/")
        pages[site] = [f"http://{name}.example/{n}" for n in range(40)]
        desk.add(site, *pages[site])

    def fetch_all(_: int) -> list[tuple[str, str]]:
        own = Desk(tmp_path)
        found = []
        while urls := own.do("URL_FETCH", [request]):
            found += [(url.site_id, url.url) for url in urls]
        own.close()
        return found

    with ThreadPoolExecutor(4) as threads:
        everything = [pair for found in threads.map(fetch_all, range(4)) for pair in found]
    assert sorted(everything) == sorted((site, url) for site, urls in pages.items() for url in urls)
    assert desk.is_sound()
    desk.close()


def test_only_one_of_several_makes_a_site(tmp_path):
    def make(_: int) -> int:
        own = Desk(tmp_path)
        code = own.general("SITE_NEW", Site(urls=[ROOT])).error_code
        own.close()
        return code

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(make, range(4))) == [0, 2020, 2020, 2020]
    desk = Desk(tmp_path)
    assert desk.urls(SITE) == [ROOT]
    assert desk.is_sound()
    desk.close()


class Stubborn:
    """Contents that refuse to remove anything, as a disk may; all else goes through."""

    def __init__(self, contents) -> None:
        self._contents = contents

    def __getattr__(self, name: str):
        if name in ("delete", "clear_site", "drop_site"):
            return self._refuse
        return getattr(self._contents, name)

    def _refuse(self, *_: object) -> None:
        raise DiskFullError("no space left on the disk; free some and go on")


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("URL_DELETE", URLDelete(site_id=SITE, url=PAGE)),
        ("URL_CLEANUP", URLCleanup(site_id=SITE, url=PAGE)),
        ("SITE_CLEANUP", SiteCleanup(id=SITE)),
        ("SITE_DELETE", SiteDelete(id=SITE)),
    ],
)
def test_what_cannot_be_removed_now_is_gone_for_clients_and_removed_by_the_purge(
    tmp_path, operation, request_
):
    desk = Desk(tmp_path)
    desk.site(ROOT)
    desk.add(SITE, PAGE)
    for url in (ROOT, PAGE):
        desk.put(SITE, url, b"x")
    desk.put(SITE, PAGE, b"{}", ContentKind.PROCESSOR)
    contents = desk.operations._contents
    desk.operations._contents = Stubborn(contents)
    answer = desk.general(operation, [request_])
    assert answer.error_code == 2021
    assert "no space left" in answer.error_message
    assert desk.raw(SITE, PAGE)
    assert desk.is_sound()
    if operation == "URL_CLEANUP":
        assert desk.url(SITE, PAGE).status is CrawlStatus.NEW
    elif operation == "SITE_DELETE":
        assert desk.status().state is SiteState.DELETE_TASK
    else:
        assert desk.urls(SITE) == [ROOT]
    everything = URLPurge(site_limits=(0, -1))
    assert desk.general("URL_PURGE", [everything]).error_code == 2021
    assert desk.raw(SITE, PAGE)
    desk.operations._contents = contents
    desk.statuses("URL_PURGE", [everything])
    assert desk.raw(SITE, PAGE) == []
    assert not desk.processed(SITE, PAGE)
    assert bool(desk.raw(SITE, ROOT)) == (operation in ("URL_DELETE", "URL_CLEANUP"))
    assert desk.deleted(SITE) == {}
    assert desk.is_sound()
    desk.close()
