"""`gossamer site` and the sitemaps that a site has of itself: orphans, and where it looks."""

import pytest
from site_rig import Asked, Reply, Site, moved, page, paths, run_site, site_map

from gossamer.parse import sniff
from gossamer.site import closure


def sitemap_of(*names: str):
    """Return an answer: a sitemap of these paths."""

    def answer(asked: Asked) -> Reply:
        origin = f"http://{asked.headers['host']}"
        places = "".join(f"<url><loc>{origin}{name}</loc></url>" for name in names)
        text = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{places}</urlset>'
        return Reply(text.encode(), headers={"Content-Type": "application/xml"})

    return answer


def robots_with(path: str):
    """Return an answer: a robots.txt that names a sitemap."""
    return lambda asked: Reply(
        f"Sitemap: http://{asked.headers['host']}{path}\n".encode(),
        headers={"Content-Type": "text/plain"},
    )


PAGES = {
    "/": page("/a", "/b"),
    "/a": page("/"),
    "/b": page("/a"),
    "/orphan": page("/child"),
    "/child": page("/orphan"),
}


@pytest.mark.parametrize(
    "more",
    [
        {"/robots.txt": robots_with("/map.xml"), "/map.xml": sitemap_of("/a", "/orphan")},
        {
            "/robots.txt": Reply(b"Sitemap: http://[bad/\nSitemap: /map.xml\n"),
            "/map.xml": sitemap_of("/a", "/orphan"),
        },
        {"/sitemap.xml": sitemap_of("/a", "/orphan")},
        {"/sitemap.xml": moved("/maps/1.xml"), "/maps/1.xml": sitemap_of("/a", "/orphan")},
    ],
    ids=[
        "named in robots.txt",
        "named by its path",
        "where sites have it",
        "where that leads",
    ],
)
def test_what_only_a_sitemap_names_comes_last_and_without_a_parent(more):
    with Site(PAGES | more) as site:
        found = site_map(site.url())
        audit = run_site(site.url(), "--audit").stdout
    assert paths(found) == ["/", "/a", "/b", "/orphan", "/child"]
    assert found["by_url"][site.url("/orphan")]["parent"] is None
    assert found["by_url"][site.url("/child")]["parent"] == site.url("/orphan")
    assert found["summary"]["complete"]
    orphans = audit.partition("[orphan]")[2].partition("[")[0]
    assert site.url("/orphan") in orphans
    assert site.url("/a") not in orphans
    left_out = audit.partition("[not-in-sitemap]")[2].partition("[")[0]
    assert site.url("/b") in left_out


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_sitemap_may_be_as_long_as_the_protocol_allows(workers):
    """What stands behind the 10 MB that are read of a page is read, unless less is allowed."""

    def long(asked: Asked) -> Reply:
        short = sitemap_of("/a", "/orphan")(asked)
        filler = b"<!--" + b"x" * 11_000_000 + b"--><url>"
        return Reply(short.body.replace(b"<url>", filler, 1), headers=short.headers)

    more = {"/robots.txt": robots_with("/map.xml"), "/map.xml": long}
    limit = ("--set", "parse.max_sitemap_bytes=10500000")
    with Site(PAGES | more) as site:
        assert "/orphan" in paths(site_map(site.url(), "--workers", workers))
        assert "/orphan" not in paths(site_map(site.url(), "--workers", workers, *limit))


def test_sitemaps_without_end_end_and_a_note_says_so():
    asked = []

    def answer(path: str):
        if not path.endswith(".xml"):
            return PAGES.get(path)
        asked.append(path)
        stem = path.removesuffix(".xml")
        places = "".join(f"<sitemap><loc>{stem}{name}.xml</loc></sitemap>" for name in "abcdefghij")
        return Reply(f"<sitemapindex>{places}</sitemapindex>".encode())

    with Site(answer) as site:
        found = site_map(site.url(), "--set", "url.max_host_sitemaps=30")
    # Another one is that which sites have by custom.
    assert len(asked) == 31
    (note,) = found["summary"]["notes"]
    assert "not fetched because they look endless: 280 URLs" in note
    assert "sitemaps without end: more than 30 of 127.0.0.1" in note


def test_a_sitemap_is_looked_for_once_and_its_absence_is_no_error():
    with Site(PAGES) as site:
        found = site_map(site.url())
        audit = run_site(site.url(), "--audit", "--fail-on", "error")
    assert site.counts()["/sitemap.xml"] == 2  # once in each run
    assert paths(found) == ["/", "/a", "/b"]
    assert (found["summary"]["errors"], found["errors"]) == (0, [])
    assert audit.returncode == 0
    assert "sitemap" not in audit.stdout


@pytest.mark.parametrize(
    ("more", "flags"),
    [
        ({"/robots.txt": robots_with("/none.xml"), "/sitemap.xml": sitemap_of("/orphan")}, ()),
        ({"/sitemap.xml": sitemap_of("/orphan")}, ("--set", "crawl.sitemaps=false")),
        ({"/sitemap.xml": sitemap_of("/orphan")}, ("--max-pages", "2")),
        ({"/robots.txt": "User-agent: *\nDisallow: /sitemap.xml\n"}, ()),
    ],
    ids=["another is named", "set aside", "enough pages without", "forbidden"],
)
def test_it_is_not_looked_for_where_it_is_not_wanted(more, flags):
    with Site(PAGES | more) as site:
        found = site_map(site.url(), *flags)
    assert "/orphan" not in paths(found)
    assert site.counts()["/sitemap.xml"] == 0
    assert found["summary"]["errors"] == 0


def test_a_sitemap_that_a_page_links_to_is_a_sitemap_all_the_same():
    """It is a page of the map, and what it names is not linked because of that."""
    answers = PAGES | {"/": page("/a", "/b", "/sitemap.xml")}
    with Site(answers | {"/sitemap.xml": sitemap_of("/a", "/orphan")}) as site:
        found = site_map(site.url())
        audit = run_site(site.url(), "--audit").stdout
    assert paths(found) == ["/", "/a", "/b", "/sitemap.xml", "/orphan", "/child"]
    assert site.counts()["/sitemap.xml"] == 2
    assert found["by_url"][site.url("/orphan")]["parent"] is None
    assert site.url("/orphan") in audit.partition("[orphan]")[2].partition("[")[0]


def test_a_sitemap_that_is_gone_and_linked_is_a_broken_link():
    with Site(PAGES | {"/": page("/a", "/sitemap.xml")}) as site:
        found = site_map(site.url())
    assert [each["url"] for each in found["errors"]] == [site.url("/sitemap.xml")]


def test_a_site_that_answers_everything_with_a_page_has_no_sitemap():
    def anything(path: str):
        return None if path == "/robots.txt" else PAGES.get(path, page("/a", text="not here"))

    with Site(anything) as site:
        found = site_map(site.url())
    assert paths(found) == ["/", "/a", "/b"]


def test_links_of_a_page_in_the_place_of_a_sitemap_make_no_orphans():
    """As where an application answers every path with the same frame."""

    def anything(path: str):
        return None if path == "/robots.txt" else PAGES.get(path, page("/help", "/a"))

    with Site(anything) as site:
        found = site_map(site.url(), "--audit")
    assert paths(found) == ["/", "/a", "/b"]
    told = {each["rule"] for each in found["audit"]["findings"]}
    assert told.isdisjoint({"orphan", "not-in-sitemap", "sitemap-unsuitable"})


def test_the_sitemap_of_a_site_that_has_moved_is_that_of_its_new_host():
    def answer(asked: Asked):
        if asked.address == "127.0.0.1":
            return moved(site.url(asked.path, "127.0.0.2"))
        return PAGES.get(asked.path, Reply(b"", 404))

    known = {"/": answer, "/a": answer, "/b": answer, "/orphan": answer, "/child": answer}
    with Site(known | {"/sitemap.xml": sitemap_of("/orphan")}) as site:
        found = site_map(site.url())
    assert [each.address for each in site.asked if each.path == "/sitemap.xml"] == ["127.0.0.2"]
    assert "/orphan" in paths(found)


@pytest.mark.parametrize("pattern", [("--exclude", "/list"), ("--include", "/article")])
def test_a_page_is_no_orphan_because_the_page_that_links_to_it_was_kept_out(pattern):
    answers = {
        "/": page("/list"),
        "/list": page("/article"),
        "/article": page(title="article"),
        "/sitemap.xml": sitemap_of("/article"),
    }
    with Site(answers) as site:
        found = site_map(site.url(), "--audit", *pattern)
    assert paths(found) == ["/", "/article"]
    assert "orphan" not in {each["rule"] for each in found["audit"]["findings"]}


@pytest.mark.parametrize("name", ["/sitemap.xml", "/maps/1.xml"])
def test_a_sitemap_that_robots_txt_names_and_that_is_gone_is_told(name):
    """Without it nobody knows of orphans."""
    with Site(PAGES | {"/robots.txt": robots_with(name)}) as site:
        named = site_map(site.url())
    with Site(PAGES) as site_without:
        without = site_map(site_without.url())
    (note,) = named["summary"]["notes"]
    assert f"such as {site.url(name)} (HTTP 404 Not Found)" in note
    assert named["errors"] == []
    assert without["summary"]["notes"] == []


def test_what_a_page_is_the_walk_knows_without_the_parser():
    assert closure._HTML == (sniff.HTML, sniff.XHTML)
    assert closure._XHTML == sniff.XHTML
