"""Feeds of a site are found by what it names and where most are, and proved by reading them."""

import pytest
from msgspec.structs import replace

from gossamer.config.settings import Settings
from gossamer.errors import InputError
from gossamer.news.finding import MAX_URLS, Candidate, find_feeds
from gossamer.news.noticing import notice
from gossamer.parse.discovery import COMMON_PATHS
from press import Press, press

ATOM = "application/atom+xml"
RSS = "application/rss+xml"


def settings(*, allow_private: bool = True, **urlserver: object) -> Settings:
    """Settings for servers on this machine, which need no gaps, all in one process."""
    plain = Settings()
    pace = {"host_per_second": 0.0, "host_concurrent": 8, **urlserver}
    return replace(
        plain,
        crawl=replace(plain.crawl, workers=0),
        url=replace(plain.url, allow_private=allow_private),
        urlserver=replace(plain.urlserver, **pace),
    )


@pytest.fixture
def site():
    with press() as made:
        yield made


def html(site: Press, path: str, body: str) -> None:
    page = f"<!DOCTYPE html><title>A page</title>{body}".encode()
    site.routes[path] = (200, {"Content-Type": "text/html; charset=utf-8"}, page)


def declared(*paths: str, kind: str = RSS) -> str:
    return "".join(f'<link rel="alternate" type="{kind}" href="{path}">' for path in paths)


def anchors(*paths: str) -> str:
    return "".join(f'<a href="{path}">x</a>' for path in paths)


def feed(site: Press, path: str, *stories: str, title: str = "News") -> None:
    site.feed(path, [{"link": f"/{story}", "title": story} for story in stories], title=title)


def xml(site: Press, path: str, body: str, kind: str = "application/xml") -> None:
    site.routes[path] = (200, {"Content-Type": kind}, f'<?xml version="1.0"?>{body}'.encode())


def news_sitemap(*urls: str) -> str:
    entries = "".join(
        f"<url><loc>{url}</loc><news:news><news:publication><news:name>N</news:name>"
        "<news:language>en</news:language></news:publication>"
        "<news:publication_date>2026-01-01</news:publication_date>"
        "<news:title>T</news:title></news:news></url>"
        for url in urls
    )
    return (
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        f'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">{entries}</urlset>'
    )


def sitemap(*urls: str) -> str:
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'


def sitemap_index(*urls: str) -> str:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return (
        '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        f"{entries}</sitemapindex>"
    )


def found(site: Press, *paths: str, thorough: bool = False, **options: object) -> list[Candidate]:
    starts = [site.url(path) for path in paths or ("/",)]
    return find_feeds(starts, settings(**options), thorough=thorough)


def shown(site: Press, candidates: list[Candidate]) -> list[tuple[str, str]]:
    """Return paths, and how they were found."""
    return [(each.url.removeprefix(site.root), each.how) for each in candidates]


def test_a_feed_is_itself_and_nothing_else_is_asked_for(site):
    feed(site, "/any.thing", "a", "b", title="The Title")
    (candidate,) = found(site, "/any.thing")
    url = site.url("/any.thing")
    assert candidate == Candidate(url, url, "The Title", "rss2", "", "itself", 2)
    assert [request.path for request in site.log] == ["/robots.txt", "/any.thing"]


def test_declared_feeds_come_first_in_their_order_then_anchors_paths_and_sitemaps(site):
    html(site, "/", declared("/b", "/a") + anchors("/special/rss", "/about"))
    feed(site, "/a", "1")
    feed(site, "/b", "2")
    feed(site, "/special/rss", "3")
    feed(site, "/atom.xml", "4")
    xml(site, "/extra.xml", news_sitemap(site.url("/5")))
    site.routes["/robots.txt"] = (200, {}, f"Sitemap: {site.url('/extra.xml')}".encode())
    assert shown(site, found(site, thorough=True)) == [
        ("/b", "link"),
        ("/a", "link"),
        ("/special/rss", "link"),
        ("/atom.xml", "path"),
        ("/extra.xml", "sitemap"),
    ]
    assert site.asked("/about") == 0


def test_where_a_page_declares_its_feeds_nothing_is_guessed(site):
    html(site, "/blog/", declared("/b", "/broken") + anchors("/special/rss"))
    feed(site, "/b", "1")
    feed(site, "/special/rss", "2")
    for path in ("/feed", "/blog/rss.xml"):
        feed(site, path, "3")
    xml(site, "/extra.xml", news_sitemap(site.url("/4")))
    site.routes["/robots.txt"] = (200, {}, b"Sitemap: http://[bad\nSitemap: /extra.xml")
    assert shown(site, found(site, "/blog/")) == [
        ("/b", "link"),
        ("/special/rss", "link"),
        ("/extra.xml", "sitemap"),
    ]
    asked = sorted(request.path for request in site.log)
    named = ["/b", "/blog/", "/broken", "/extra.xml", "/robots.txt", "/special/rss"]
    assert asked == named


def test_a_declared_feed_that_has_moved_is_a_declared_feed(site):
    html(site, "/", declared("/old"))
    site.routes["/old"] = (302, {"Location": "/new"}, b"")
    feed(site, "/new", "1")
    feed(site, "/feed", "2")
    assert shown(site, found(site)) == [("/old", "link")]
    assert site.asked("/feed") == 0


@pytest.mark.parametrize("named", ["/missing", "/page", "/comments/feed"])
def test_where_nothing_that_is_declared_is_a_feed_of_stories_the_usual_paths_are_tried(site, named):
    html(site, "/", declared(named))
    html(site, "/page", "<p>No feed.")
    feed(site, "/comments/feed", "1")
    feed(site, "/feed", "2")
    assert ("/feed", "path") in shown(site, found(site))


def test_a_feed_that_is_only_linked_to_leaves_the_usual_paths_to_be_tried(site):
    """Somebody's own feed, or one of many: the one of the whole site may be elsewhere."""
    html(site, "/", anchors("/special/rss"))
    feed(site, "/special/rss", "1")
    feed(site, "/feed", "2")
    assert shown(site, found(site)) == [("/special/rss", "link"), ("/feed", "path")]


def test_what_is_named_but_is_no_feed_is_left_out(site):
    html(site, "/", declared("/page", "/missing", "/broken", "/empty") + anchors("/feed/help"))
    html(site, "/page", "<p>No feed.")
    html(site, "/feed/help", "<p>What a feed is.")
    site.routes["/broken"] = (200, {"Content-Type": RSS}, b"<rss><chan")
    site.routes["/empty"] = (200, {"Content-Type": RSS}, b"")
    site.routes["/feed"] = (500, {"Content-Type": RSS}, b"<rss version='2.0'><channel/></rss>")
    assert found(site, max_tries=1) == []


@pytest.mark.parametrize("path", [each for each in COMMON_PATHS if "sitemap" not in each])
def test_every_common_path_is_tried(site, path):
    html(site, "/", "<p>Nothing named here.")
    feed(site, path, "a")
    assert shown(site, found(site)) == [(path, "path")]


def test_paths_below_the_folder_of_the_start_page_are_tried_too(site):
    html(site, "/blog/today.html", "<p>Nothing named here.")
    feed(site, "/blog/rss.xml", "a")
    assert shown(site, found(site, "/blog/today.html")) == [("/blog/rss.xml", "path")]


def test_a_page_of_feeds_is_read_one_level_deep(site):
    html(site, "/", anchors("/rss/"))
    html(site, "/rss/", anchors("/rss/politics.xml", "/rss/more/"))
    html(site, "/rss/more/", anchors("/rss/hidden.xml"))
    feed(site, "/rss/politics.xml", "a")
    feed(site, "/rss/hidden.xml", "b")
    assert shown(site, found(site)) == [("/rss/politics.xml", "index")]
    assert site.asked("/rss/more/") == 1
    assert site.asked("/rss/hidden.xml") == 0


def test_news_sitemaps_are_feeds_and_others_are_not(site):
    html(site, "/", "")
    xml(site, "/sitemap.xml", sitemap_index(site.url("/pages.xml"), site.url("/news-1.xml")))
    xml(site, "/pages.xml", sitemap(site.url("/a")))
    xml(site, "/news-1.xml", news_sitemap(site.url("/b"), site.url("/c")))
    (candidate,) = found(site)
    assert (candidate.url, candidate.form) == (site.url("/news-1.xml"), "news_sitemap")
    assert (candidate.how, candidate.items) == ("sitemap", 2)
    assert site.asked("/a") == site.asked("/b") == 0


def test_a_sitemap_index_is_read_one_level_deep(site):
    html(site, "/", "")
    xml(site, "/sitemap.xml", sitemap_index(site.url("/index2.xml")))
    xml(site, "/index2.xml", sitemap_index(site.url("/deep-news.xml")))
    xml(site, "/deep-news.xml", news_sitemap(site.url("/a")))
    assert found(site) == []
    assert site.asked("/index2.xml") == 1
    assert site.asked("/deep-news.xml") == 0


def test_an_endless_chain_of_sitemap_indexes_ends_also_from_a_start_url(site):
    for number in range(50):
        xml(site, f"/{number}.xml", sitemap_index(site.url(f"/{number + 1}.xml")))
    assert found(site, "/0.xml") == []
    assert site.asked("/2.xml") == 1
    assert site.asked("/3.xml") == 0


def test_a_sitemap_that_a_person_names_is_taken_as_a_feed(site):
    xml(site, "/sitemap.xml", sitemap(site.url("/a")))
    (candidate,) = found(site, "/sitemap.xml")
    assert (candidate.form, candidate.how) == ("sitemap", "itself")


def test_of_feeds_with_the_same_stories_the_one_they_name_themselves_is_kept(site):
    html(site, "/", declared("/feed?format=xml"))
    own = (
        f'<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title>'
        f'<link rel="self" href="{site.url("/atom.xml")}"/>'
        f'<entry><id>1</id><title>x</title><link href="{site.url("/1")}"/></entry></feed>'
    )
    for path in ("/feed?format=xml", "/rss", "/atom.xml"):
        xml(site, path, own, ATOM)
    assert shown(site, found(site, thorough=True)) == [("/atom.xml", "link")]


def test_of_feeds_with_the_same_stories_the_first_is_kept_if_none_names_itself(site):
    html(site, "/", declared("/b.rss", "/a.rss"))
    feed(site, "/a.rss", "1", "2")
    feed(site, "/b.rss", "1", "2")
    feed(site, "/feed", "2", "1")
    assert shown(site, found(site)) == [("/b.rss", "link")]


def test_empty_feeds_are_not_taken_for_each_other(site):
    html(site, "/", declared("/b", "/a"))
    feed(site, "/a")
    feed(site, "/b")
    assert shown(site, found(site)) == [("/b", "link"), ("/a", "link")]


def test_redirects_lead_to_one_feed_by_its_last_permanent_url(site):
    html(site, "/", declared("/old", "/older", "/short"))
    site.routes["/older"] = (301, {"Location": "/old"}, b"")
    site.routes["/old"] = (308, {"Location": "/now.xml"}, b"")
    feed(site, "/now.xml", "a")
    site.routes["/short"] = (301, {"Location": "/today"}, b"")
    site.routes["/today"] = (302, {"Location": "/edition-7.xml"}, b"")
    feed(site, "/edition-7.xml", "b")
    assert shown(site, found(site)) == [("/now.xml", "link"), ("/today", "link")]
    assert site.asked("/now.xml") == 1


def test_a_start_page_that_has_moved_is_looked_at_where_it_is(site):
    site.routes["/"] = (301, {"Location": "/home/"}, b"")
    html(site, "/home/", declared("f.xml"))
    feed(site, "/home/f.xml", "a")
    assert shown(site, found(site)) == [("/home/f.xml", "link")]


def test_a_meta_refresh_counts_as_a_redirect(site):
    html(site, "/", '<meta http-equiv="refresh" content="0; url=/home">')
    html(site, "/home", declared("/f.xml"))
    feed(site, "/f.xml", "a")
    assert shown(site, found(site)) == [("/f.xml", "link")]


def test_redirects_that_go_round_or_on_and_on_end(site):
    html(site, "/", declared("/a", "/0"))
    site.routes["/a"] = (301, {"Location": "/b"}, b"")
    site.routes["/b"] = (301, {"Location": "/a"}, b"")
    for number in range(50):
        site.routes[f"/{number}"] = (301, {"Location": f"/{number + 1}"}, b"")
    assert found(site) == []
    assert site.asked("/10") <= 1
    assert site.asked("/12") == 0


def test_a_start_page_that_is_not_there_does_not_hide_the_feed_of_the_site(site):
    feed(site, "/feed", "a")
    assert shown(site, found(site, "/gone")) == [("/feed", "path")]


def test_robots_rules_are_kept(site):
    site.routes["/robots.txt"] = (200, {}, b"User-agent: *\nDisallow: /private\nDisallow: /feed")
    html(site, "/", declared("/private/feed.xml", "/open.xml"))
    feed(site, "/private/feed.xml", "a")
    feed(site, "/open.xml", "b")
    feed(site, "/feed", "c")
    assert shown(site, found(site)) == [("/open.xml", "link")]
    assert site.asked("/private/feed.xml") == site.asked("/feed") == 0


def test_a_feed_on_another_host_is_found_if_the_address_policy_allows_it(site):
    with press("127.0.0.2") as other:
        html(site, "/", declared(other.url("/feed.xml")))
        feed(other, "/feed.xml", "a")
        (candidate,) = found(site)
        assert candidate.url == other.url("/feed.xml")
        before = len(other.log)
        assert found(site, allow_private=False) == []
        assert len(other.log) == before


def test_a_host_that_is_waited_for_in_vain_does_not_hide_what_others_have_told(site):
    with press("127.0.0.2") as stuck:
        stuck.routes["/robots.txt"] = (503, {}, b"")
        html(site, "/", declared(stuck.url("/feed.xml")) + anchors("/rss/"))
        html(site, "/rss/", anchors("/rss/a.xml"))
        feed(site, "/rss/a.xml", "a")
        feed(stuck, "/feed.xml", "b")
        assert shown(site, found(site)) == [("/rss/a.xml", "index")]
        assert stuck.asked("/feed.xml") == 0


def test_several_start_urls_are_answered_in_their_order_each_with_its_own(site):
    with press("127.0.0.2") as other:
        html(site, "/", declared("/a.xml"))
        feed(site, "/a.xml", "a")
        feed(other, "/b.xml", "b")
        starts = [other.url("/b.xml"), site.url("/"), site.url("/a.xml"), other.url("/none/")]
        candidates = find_feeds(starts, settings())
        assert [(each.start, each.url) for each in candidates] == [
            (starts[0], other.url("/b.xml")),
            (starts[1], site.url("/a.xml")),
            (starts[2], site.url("/a.xml")),
        ]
        assert site.asked("/a.xml") == 1


def test_long_urls_are_not_suspected(site):
    fits = "/feed/" + "x" * (256 - len(site.root) - 6)
    html(site, "/", declared(fits, fits + "x"))
    feed(site, fits, "a")
    feed(site, fits + "x", "b")
    assert shown(site, found(site)) == [(fits, "link")]
    assert site.asked(fits + "x") == 0


def test_no_more_than_a_thousand_urls_are_looked_at(site):
    html(site, "/", anchors(*(f"/feeds/{number}" for number in range(150))))
    for number in range(150):
        html(site, f"/feeds/{number}", anchors(*(f"/rss/{number}/{each}" for each in range(150))))
    assert found(site) == []
    asked = {request.path for request in site.log}
    assert len(asked) == MAX_URLS + 1


def test_a_site_that_links_to_everything_is_asked_for_what_may_be_a_feed_only(site):
    html(site, "/", anchors(*(f"/story/{number}" for number in range(2_000))) + declared("/f"))
    feed(site, "/f", "a")
    found(site)
    assert not [request.path for request in site.log if request.path.startswith("/story")]


def test_every_page_is_a_page_to_a_hostile_site_and_the_search_still_ends(site):
    page = f"<!DOCTYPE html>{anchors(*(f'/feed/{each}' for each in range(60)))}".encode()
    answer = (200, {"Content-Type": "text/html"}, page)

    class Anything(dict):
        def get(self, path, default=None):
            return (404, {}, b"") if path == "/robots.txt" else answer

    site.routes = Anything()
    assert found(site) == []
    assert len(site.log) < 150


def test_worker_processes_find_the_same(site):
    html(site, "/", declared("/a.xml"))
    feed(site, "/a.xml", "a")
    plain = settings()
    several = replace(plain, crawl=replace(plain.crawl, workers=-1))
    assert find_feeds([site.url("/")], several) == found(site)


def test_progress_is_told(site):
    feed(site, "/feed", "a")
    heard = []
    find_feeds([site.url("/feed")], settings(), on_progress=heard.append)
    assert heard


def test_a_start_url_that_is_none_is_refused():
    with pytest.raises(InputError):
        find_feeds(["ftp://example.org/"], settings())


def test_a_server_that_is_not_there_has_no_feeds():
    with press() as gone:
        url = gone.url("/")
    troubles: dict[str, str] = {}
    heard = troubles.__setitem__
    assert find_feeds([url], settings(max_tries=1), on_trouble=heard) == []
    assert troubles[url].startswith("net.refused")


@pytest.mark.parametrize("body", [b"", b"\x00" * 100, b"<rss", b"{", b"<!DOCTYPE html><a href='"])
def test_no_body_breaks_the_handler(body):
    from gossamer.handlers.visited import VisitedPage
    from gossamer.messages import Document, Fetch, Page, Visit
    from gossamer.outcomes import Outcome

    fetch = Fetch(Visit(1, 1, "127.0.0.1", "http://a.example/"), Outcome.OK, body=body)
    page = VisitedPage(Document(fetch, None), Page(content_type="text/html"))
    assert all(not each.form for each in notice(page))
