"""URLs found on pages of a real web: the log of its servers says which of them were asked for."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_service_engine import NORMAL, SETTINGS, page

from collecting_rig import Collecting
from gossamer.objects.enumerations import CrawlStatus, FilterStage, FilterType, URLType
from gossamer.objects.error_mask import ErrorBit
from gossamer.objects.normal import site_id_of
from gossamer.objects.site import Filter
from gossamer.service.engine import run_engine
from press import Press, press


@pytest.fixture
def paper() -> Iterator[Press]:
    with press() as served:
        yield served


@pytest.fixture
def other() -> Iterator[Press]:
    with press("127.0.0.2") as served:
        yield served


class Crawl(Collecting):
    """A workspace that is crawled, batch by batch."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        (directory / "archive").mkdir()
        super().__init__(directory)
        self.now = time.time()
        self._directory = directory

    def round(self) -> int:
        """Make one batch and crawl it; return how many URLs were in it."""
        _, items = self.catalog.make_batch(NORMAL, 100, time.time(), 60.0, 5)
        run_engine(self._directory, SETTINGS, once=True, install_signals=False)
        return len(items)

    def run(self) -> None:
        """Crawl until nothing is new."""
        for _ in range(20):
            if not self.round():
                return
        pytest.fail("the crawl does not end")


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Crawl]:
    made = Crawl(tmp_path / "w")
    yield made
    made.close()


def asked(paper: Press) -> list[str]:
    """Return what a server was asked for, but for robots.txt, in alphabetical order."""
    return sorted(request.path for request in paper.log if request.path != "/robots.txt")


def test_pages_lead_to_other_sites_by_the_type_of_their_urls(
    crawl: Crawl, paper: Press, other: Press
) -> None:
    page(paper, "/", other.url("/a"), other.url("/private"))
    page(other, "/", "/b")
    for path in ("/a", "/b", "/private"):
        page(other, path)
    inside = Filter(pattern=f"^{paper.root}/", type=FilterType.INCLUDE)
    outside = Filter(pattern="/private", type=FilterType.EXCLUDE)
    one = crawl.make_site(
        paper.url("/"), url_type=URLType.REGULAR_EXT, filters=[inside], request_delay=0
    )
    two = crawl.make_site(other.url("/"), filters=[outside], request_delay=0)
    crawl.run()
    assert asked(paper) == ["/"]
    assert asked(other) == ["/", "/a", "/b"]
    assert crawl.urls(one) == {paper.url("/")}
    assert crawl.urls(two) == {other.url("/"), other.url("/a"), other.url("/b")}


def test_a_site_that_a_page_brings_about_is_crawled(
    crawl: Crawl, paper: Press, other: Press
) -> None:
    page(paper, "/", other.url("/a"))
    page(other, "/", "/b")
    for path in ("/a", "/b"):
        page(other, path, paper.url("/back"))
    page(paper, "/back")
    crawl.make_site(paper.url("/"), url_type=URLType.NEW_SITE, request_delay=0)
    crawl.run()
    assert asked(other) == ["/", "/a", "/b"]
    made = crawl.set_of(site_id_of(other.url("/")))
    assert set(crawl.members(made).values()) == {CrawlStatus.CRAWLED}


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (0, ["/", "/named/1", "/named/2", "/text"]),
        (1, ["/", "/else", "/named/1", "/named/2", "/next", "/text"]),
    ],
)
def test_urls_are_collected_from_the_places_that_the_site_names(
    crawl: Crawl, paper: Press, mode: int, expected: list[str]
) -> None:
    body = (
        "<html><base href='/named/'><title>x</title><div id=list><a href='1'>1</a>"
        "<p><a href='2'>2</a></div><a href='/else'>else</a><i data-next='/text'></i>"
    )
    paper.routes["/"] = (200, {"Content-Type": "text/html"}, body.encode())
    for path in ("/named/1", "/named/2", "/else", "/text"):
        page(paper, path, "/next")
    page(paper, "/next")
    paths = ["//div[@id='list']//a", "//i/@data-next", "//["]
    sets = {"/nothing$": ["//a"], "/$": paths, "/named/|/text|/else": ["//nothing"]}
    crawl.make_site(
        paper.url("/"),
        properties={"COLLECT_URLS_XPATH_LIST": json.dumps({"sets": sets, "mode": mode})},
        request_delay=0,
    )
    crawl.run()
    assert asked(paper) == expected


def test_two_sites_with_one_request_have_their_own_places(crawl: Crawl, paper: Press) -> None:
    page(paper, "/", "/a", "/b")
    page(paper, "/a")
    page(paper, "/b")
    sets = {"*": ["//a[1]"]}
    one = crawl.make_site(
        paper.url("/"), id="one", properties={"COLLECT_URLS_XPATH_LIST": json.dumps({"sets": sets})}
    )
    two = crawl.make_site(paper.url("/"), id="two")
    crawl.round()
    assert asked(paper) == ["/"]
    assert crawl.urls(one) == {paper.url("/"), paper.url("/a")}
    assert crawl.urls(two) == {paper.url("/"), paper.url("/a"), paper.url("/b")}


def test_pages_with_many_names_are_asked_for_once(crawl: Crawl, paper: Press) -> None:
    page(paper, "/", "/a?session=1", "/a?session=2", "/a?session=3")
    page(paper, "/a", "/?session=9")
    rules = {"replace": [{r"\?session=\d+": ""}]}
    crawl.make_site(
        paper.url("/"), properties={"URL_NORMALIZE": json.dumps(rules)}, request_delay=0
    )
    crawl.run()
    assert asked(paper) == ["/", "/a"]


def test_a_redirect_that_filters_stop_is_not_asked_for(crawl: Crawl, paper: Press) -> None:
    page(paper, "/", "/go", "/gone")
    paper.routes["/go"] = (302, {"Location": "/fine"}, b"")
    paper.routes["/gone"] = (302, {"Location": "/login"}, b"")
    page(paper, "/fine")
    page(paper, "/login")
    stage = FilterStage.REDIRECT_URL
    one = crawl.make_site(
        paper.url("/"),
        filters=[Filter(pattern="/login", type=FilterType.EXCLUDE, stage=stage)],
        request_delay=0,
    )
    crawl.run()
    assert asked(paper) == ["/", "/fine", "/go", "/gone"]
    assert crawl.bits(one, paper.url("/gone")) == [
        ErrorBit.BAD_REDIRECTION,
        ErrorBit.RAW_NOT_STORED,
    ]


def test_limits_and_first_fields_decide_what_is_asked_for(crawl: Crawl, paper: Press) -> None:
    page(paper, "/", *(f"/{number}" for number in range(6)))
    for number in range(6):
        page(paper, f"/{number}")
    properties = {
        "COLLECT_URLS_LIMITS": json.dumps({"*": {"max_items": 3, "offset": 1}}),
        "URL_LIMITS": json.dumps({"/2$": {"max_items": 0}}),
    }
    crawl.make_site(paper.url("/"), properties=properties, request_delay=0)
    crawl.run()
    assert asked(paper) == ["/", "/1", "/3"]


def test_urls_that_begin_disabled_are_not_asked_for(crawl: Crawl, paper: Press) -> None:
    page(paper, "/", "/a")
    page(paper, "/a")
    one = crawl.make_site(
        paper.url("/"), properties={"URLS_FIELDS_INIT": '{"state": 1}'}, request_delay=0
    )
    crawl.run()
    assert asked(paper) == ["/"]
    assert crawl.urls(one) == {paper.url("/"), paper.url("/a")}


def test_a_site_that_makes_room_never_has_more_than_its_limit(crawl: Crawl, paper: Press) -> None:
    page(paper, "/", "/0")
    for number in range(8):
        page(paper, f"/{number}", f"/{number + 1}")
    page(paper, "/8")
    properties = {
        "AUTO_REMOVE_RESOURCES": "1",
        "AUTO_REMOVE_WHERE": "Status IN (4, 7)",
        "AUTO_REMOVE_ORDER": "Depth ASC",
    }
    one = crawl.make_site(paper.url("/"), max_urls=4, properties=properties, request_delay=0)
    most = 0
    while crawl.round():
        most = max(most, len(crawl.urls(one)))
    assert most == 4
    # All of them were asked for in the end, which a limit alone would not have allowed.
    assert asked(paper) == ["/", *(f"/{number}" for number in range(9))]
    assert len(crawl.deleted(one)) == 6


def test_a_url_that_is_found_again_is_asked_for_again_if_the_site_says_so(
    crawl: Crawl, paper: Press
) -> None:
    page(paper, "/", "/a")
    page(paper, "/a", "/b")
    page(paper, "/b", "/a")
    crawl.make_site(
        paper.url("/"),
        properties={"RECRAWL_URL_AGE_EXPRESSION": "Crawled < 2 AND ParentMd5 <> ''"},
        request_delay=0,
    )
    crawl.run()
    assert asked(paper) == ["/", "/a", "/a", "/b", "/b"]
