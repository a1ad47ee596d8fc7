"""Sites that are crawled through proxies, judged by the logs of proxies and of the web."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hosts_rig import held_ports
from request_rig import CrawledSite, page, settings_with

from gossamer.config.load import load
from gossamer.objects.enumerations import CrawlStatus, URLState
from gossamer.objects.error_mask import ErrorBit
from gossamer.service import ini
from gossamer.service.engine_settings import engine_settings_of
from press import Press, press
from tunnels import Tunnels

NO_PROXY = 1 << ErrorBit.NO_VALID_PROXY
BLOCKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 20\r\n\r\n<p>You are blocked.\n"
)


@pytest.fixture
def paper() -> Iterator[Press]:
    with press() as served:
        page(served, "/", "/a")
        page(served, "/a")
        yield served


def user_proxy(**fields: object) -> dict[str, str]:
    return {"USER_PROXY": json.dumps(fields)}


@contextmanager
def gone() -> Iterator[str]:
    """Give a proxy that nobody answers at, and nobody else can be at."""
    with held_ports(1) as (port,):
        yield f"127.0.0.1:{port}"


def has(mask: object, bit: ErrorBit) -> bool:
    assert isinstance(mask, int)
    return bool(mask >> bit & 1)


def test_one_proxy_is_used_for_robots_txt_and_for_all_urls(tmp_path: Path, paper: Press) -> None:
    target = paper.root.removeprefix("http://")
    with Tunnels() as proxy:
        host, _, port = proxy.name.partition(":")
        properties = {"HTTP_PROXY_HOST": host, "HTTP_PROXY_PORT": port}
        site = CrawledSite(
            tmp_path / "w", paper.url("/"), properties=properties, settings=settings_with(1)
        )
        assert site.crawl() == 1
        assert site.crawl() == 1
        assert set(proxy.targets) == {target}
    assert [each.path for each in paper.log].count("/robots.txt") >= 1
    assert paper.asked("/") == paper.asked("/a") == 1
    assert site.member(paper.url("/a"), "http_code") == 200
    assert b"The page /a." in site.files(paper.url("/a"))["bin"]
    site.close()


def test_robots_txt_is_asked_through_the_proxy_and_obeyed(tmp_path: Path, paper: Press) -> None:
    paper.routes["/robots.txt"] = (200, {}, b"User-agent: *\nDisallow: /a\n")
    with Tunnels() as proxy:
        properties = user_proxy(proxies={proxy.name: {}})
        site = CrawledSite(tmp_path / "w", paper.url("/"), properties=properties)
        site.crawl()
        site.crawl()
        # Nothing goes out beside the proxy: what the web has heard came out of its tunnels.
        assert len(proxy.heads) >= 1
        assert paper.asked("/robots.txt") + paper.asked("/") >= 2
    assert paper.asked("/a") == 0
    assert has(site.member(paper.url("/a"), "error_mask"), ErrorBit.ROBOTS)
    site.close()


def test_what_a_proxy_says_of_robots_txt_counts_for_its_requests_only(
    tmp_path: Path, paper: Press
) -> None:
    """A liar must not open a host to others that its robots.txt keeps out."""
    paper.routes["/robots.txt"] = (200, {}, b"User-agent: *\nDisallow: /a\n")
    body = b"User-agent: *\nAllow: /\n"
    lie = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s"
    with Tunnels(answer=lie % (len(body), body)) as proxy:
        properties = user_proxy(proxies={proxy.name: {}})
        site = CrawledSite(tmp_path / "w", paper.url("/"), properties=properties)
        site.rig.site(paper.url("/a"))
        site.crawl()
        assert proxy.heads
    assert site.member(paper.url("/"), "http_code") == 200
    assert paper.asked("/a") == 0
    mask = site.member(paper.url("/a"), "error_mask", site.set_id + 1)
    assert has(mask, ErrorBit.ROBOTS)
    site.close()


def test_the_least_used_of_the_highest_priority_is_used(tmp_path: Path, paper: Press) -> None:
    for number in range(6):
        page(paper, f"/{number}")
    urls = [paper.url(f"/{number}") for number in range(6)]
    with Tunnels() as one, Tunnels() as two, Tunnels() as low:
        proxies = {one.name: {}, two.name: {}, low.name: {"priority": 1}}
        site = CrawledSite(tmp_path / "w", *urls, properties=user_proxy(proxies=proxies))
        site.crawl()
        assert one.heads
        assert two.heads
        assert not low.heads
    assert sum(paper.asked(f"/{number}") for number in range(6)) == 6
    # Each was asked for robots.txt, as it is asked for everything else.
    assert paper.asked("/robots.txt") == 2
    site.close()


def test_a_proxy_is_for_its_domains_only(tmp_path: Path, paper: Press) -> None:
    with Tunnels() as mine, Tunnels() as other:
        proxies = {
            other.name: {"domains": [r"\.example$"], "priority": 99},
            mine.name: {"domains": [r"^127\."]},
        }
        properties = user_proxy(proxies=proxies)
        site = CrawledSite(tmp_path / "w", paper.url("/"), properties=properties)
        site.crawl()
        assert mine.heads
        assert not other.heads
    site.close()


def test_a_proxy_that_fails_is_blamed_and_another_one_is_tried(
    tmp_path: Path, paper: Press
) -> None:
    with gone() as dead, Tunnels() as alive:
        properties = user_proxy(source=1, tries_count=2)
        site = CrawledSite(tmp_path / "w", paper.url("/"), properties=properties)
        site.proxy(dead, priority=50)
        site.proxy(alive.name, priority=10)
        site.crawl()
        assert alive.heads
    assert paper.asked("/") == 1
    assert site.member(paper.url("/"), "error_mask") == 0
    assert site.member(paper.url("/"), "crawled") == 1
    assert (site.faults(dead), site.faults(alive.name)) == (1, 0)
    site.close()


@pytest.mark.parametrize("status", ["403 No", "407 Who are you"])
def test_a_proxy_that_refuses_is_blamed_and_its_host_is_not(
    tmp_path: Path, paper: Press, status: str
) -> None:
    with Tunnels(status=status) as proxy:
        properties = user_proxy(source=1, status_update_tries_limit=1)
        site = CrawledSite(tmp_path / "w", paper.url("/"), properties=properties)
        site.proxy(proxy.name)
        site.crawl()
        assert proxy.heads
    assert paper.log == []
    mask = site.member(paper.url("/"), "error_mask")
    assert has(mask, ErrorBit.NO_VALID_PROXY)
    assert has(mask, ErrorBit.CONNECTION_ERROR)
    assert site.member(paper.url("/"), "status") == CrawlStatus.NEW
    assert site.faults(proxy.name) == 1
    assert site.rig.query("SELECT max(failures_in_a_row), max(parked_until) FROM host") == [(0, 0)]
    site.close()


def test_a_proxy_with_too_many_faults_is_not_used(tmp_path: Path, paper: Press) -> None:
    with Tunnels() as proxy:
        properties = user_proxy(source=1, status_update_no_available_proxy=1)
        site = CrawledSite(tmp_path / "w", paper.url("/"), properties=properties)
        site.proxy(proxy.name, faults=3, faults_max=3)
        site.crawl()
        assert proxy.heads == []
        assert site.member(paper.url("/"), "status") == CrawlStatus.NEW
        assert site.member(paper.url("/"), "state") == URLState.ENABLED
        assert site.member(paper.url("/"), "error_mask") == NO_PROXY
        assert site.member(paper.url("/"), "crawled") == 0
        site.rig.query("UPDATE proxy SET faults = 2")
        site.crawl()
        assert proxy.heads
    assert site.member(paper.url("/"), "error_mask") == 0
    assert paper.asked("/") == 1
    site.close()


@pytest.mark.parametrize("source", [0, 1])
def test_without_any_proxy_nothing_is_asked_for(tmp_path: Path, paper: Press, source: int) -> None:
    """A site that wants a proxy is never crawled without one."""
    properties = user_proxy(source=source, status_update_empty_proxy_list=7)
    site = CrawledSite(tmp_path / "w", paper.url("/"), properties=properties)
    site.crawl()
    assert paper.log == []
    assert site.member(paper.url("/"), "status") == CrawlStatus.PROCESSED
    assert site.member(paper.url("/"), "state") == URLState.ERROR
    assert site.member(paper.url("/"), "error_mask") == NO_PROXY
    assert site.rig.field(site.set_id, "errors") == 1
    site.close()


def test_a_page_that_is_not_the_servers_rotates_the_proxy(tmp_path: Path, paper: Press) -> None:
    with Tunnels(answer=BLOCKED) as blocked, Tunnels() as good:
        properties = user_proxy(
            source=1, tries_count=3, raw_content_check={"patterns": ["are blocked"]}
        )
        site = CrawledSite(tmp_path / "w", paper.url("/"), properties=properties)
        site.proxy(blocked.name, priority=50)
        site.proxy(good.name)
        site.crawl()
        assert blocked.heads
        assert good.heads
    assert site.faults(blocked.name) == 1
    assert b"The page /." in site.files(paper.url("/"))["bin"]
    assert site.member(paper.url("/"), "error_mask") == 0
    assert len([name for name in site.files(paper.url("/")) if name == "bin"]) == 1
    site.close()


@pytest.mark.parametrize(("rotate", "faults"), [(1, 0), (0, 1), (0, 0)])
def test_what_follows_from_such_a_page_can_be_chosen(
    tmp_path: Path, paper: Press, rotate: int, faults: int
) -> None:
    check = {"patterns": ["are blocked"], "rotate": rotate, "faults": faults}
    with Tunnels(answer=BLOCKED) as blocked:
        properties = user_proxy(source=1, raw_content_check=check)
        site = CrawledSite(tmp_path / "w", paper.url("/"), properties=properties)
        site.proxy(blocked.name)
        site.crawl()
    assert paper.log == []
    assert site.faults(blocked.name) == faults
    mask = site.member(paper.url("/"), "error_mask")
    assert mask == (NO_PROXY if rotate else 0)
    assert bool(site.files(paper.url("/"))) is not bool(rotate)
    site.close()


def test_a_proxy_at_its_limit_is_not_available(tmp_path: Path, paper: Press) -> None:
    with Tunnels() as proxy:
        limits = {"*": {"max_freq": 0.001}}
        properties = user_proxy(
            proxies={proxy.name: {"limits": limits}}, status_update_no_available_proxy=1
        )
        site = CrawledSite(tmp_path / "w", paper.url("/"), paper.url("/a"), properties=properties)
        assert site.crawl() == 2
    assert paper.asked("/") + paper.asked("/a") == 1
    masks = [site.member(paper.url(path), "error_mask") for path in ("/", "/a")]
    assert sorted(masks) == [0, NO_PROXY]
    site.close()


def test_proxies_may_be_listed_in_a_file_of_the_service(tmp_path: Path, paper: Press) -> None:
    with Tunnels() as proxy:
        properties = user_proxy(file_path="proxies.json")
        site = CrawledSite(tmp_path / "w", paper.url("/"), properties=properties)
        (site.directory / "files").mkdir()
        (site.directory / "files" / "proxies.json").write_text(json.dumps({proxy.name: {}}))
        site.crawl()
        assert proxy.heads
    assert paper.asked("/") == 1
    site.close()


# ------------------------------------------------------------------- the address policy

ELSEWHERE = "127.0.0.3"


def strict(**spider: object):
    """Return settings in which the web of the test is public, and nothing else of this machine."""
    return load(
        None,
        {
            "url": {"allow_networks": ["127.0.0.1/32"]},
            "urlserver": {"host_per_second": 0.0},
            "crawl": {"workers": 0},
            "spider": spider,
        },
    )


@pytest.mark.parametrize("is_named", [False, True])
def test_a_private_proxy_is_used_only_if_the_administrator_names_it(
    tmp_path: Path, paper: Press, is_named: bool
) -> None:
    with Tunnels(ELSEWHERE) as proxy:
        settings = strict(proxies=[proxy.name] if is_named else [])
        properties = user_proxy(proxies={proxy.name: {}})
        site = CrawledSite(tmp_path / "w", paper.url("/"), properties=properties, settings=settings)
        site.crawl()
        assert bool(proxy.heads) is is_named
    assert paper.asked("/") == int(is_named)
    mask = site.member(paper.url("/"), "error_mask")
    assert has(mask, ErrorBit.NO_VALID_PROXY) is not is_named
    site.close()


def test_a_proxy_is_no_way_to_addresses_that_may_not_be_asked(tmp_path: Path) -> None:
    with press(ELSEWHERE) as hidden, Tunnels(ELSEWHERE) as proxy:
        page(hidden, "/")
        properties = user_proxy(source=1)
        settings = strict(proxies=[proxy.name])
        site = CrawledSite(
            tmp_path / "w", hidden.url("/"), properties=properties, settings=settings
        )
        site.proxy(proxy.name)
        site.crawl()
        assert proxy.heads == []
        assert hidden.log == []
    assert has(site.member(hidden.url("/"), "error_mask"), ErrorBit.WRONG_URL)
    # The proxy has nothing to do with it.
    assert site.faults(proxy.name) == 0
    site.close()


def test_requests_through_proxies_keep_the_delay_of_their_host(
    tmp_path: Path, paper: Press
) -> None:
    urls = [paper.url(f"/{number}") for number in range(4)]
    for number in range(4):
        page(paper, f"/{number}")
    with Tunnels() as one, Tunnels() as two:
        properties = user_proxy(proxies={one.name: {}, two.name: {}})
        site = CrawledSite(
            tmp_path / "w",
            *urls,
            properties=properties,
            settings=settings_with(),
            request_delay=200,
        )
        site.crawl()
    starts = sorted(each.at for each in paper.log)
    assert len(starts) == 6
    # The server notes a request after it was sent, and before the next may be: so one of four
    # gaps may seem as short as can be, but not two.
    assert starts[-1] - starts[1] > 0.59
    site.close()


def test_the_administrator_names_proxies_in_the_ini_file(tmp_path: Path) -> None:
    place = tmp_path / "some.ini"
    place.write_text("[Fetch]\nproxies = 10.0.0.5:3128, proxy.inside:8080\nproxy_by_name = 1\n")
    spider = engine_settings_of(ini.load(place)).spider
    assert spider.proxies == ("10.0.0.5:3128", "proxy.inside:8080")
    assert spider.proxy_by_name
    assert spider.proxy == ""


def test_what_a_site_gets_through_its_proxy_is_not_for_another(
    tmp_path: Path, paper: Press
) -> None:
    with Tunnels(answer=BLOCKED) as liar:
        properties = user_proxy(proxies={liar.name: {}})
        site = CrawledSite(tmp_path / "w", paper.url("/"), properties=properties)
        other = site.rig.site(paper.url("/"))
        lost = site.rig.site(paper.url("/"))
        site.rig.property(lost, "USER_PROXY", "{}")
        assert site.crawl() == 3
    assert b"blocked" in site.files(paper.url("/"))["bin"]
    assert paper.asked("/") == 1
    assert site.member(paper.url("/"), "error_mask", lost) == NO_PROXY
    site.set_id = other
    assert b"The page /." in site.files(paper.url("/"))["bin"]
    site.close()


def test_redirects_are_followed_through_proxies(tmp_path: Path, paper: Press) -> None:
    paper.routes["/old"] = (302, {"Location": "/a"}, b"")
    with Tunnels() as proxy:
        properties = user_proxy(proxies={proxy.name: {}})
        site = CrawledSite(tmp_path / "w", paper.url("/old"), properties=properties)
        site.crawl()
    assert (paper.asked("/old"), paper.asked("/a")) == (1, 1)
    assert site.member(paper.url("/old"), "error_mask") == 0
    assert b"The page /a." in site.files(paper.url("/old"))["bin"]
    site.close()
