"""`gossamer site` on small sites: which pages are in the map, where, and as what."""

import pytest
from site_rig import Reply, Site, moved, page, paths, run_site, site_map


@pytest.mark.req("S2.1", "S2.2", "S2.3", "S2.17")
@pytest.mark.req("S2.22", "S2.23", "S2.24", "S2.28", "S2.30", "S2.31", "S2.42")
def test_one_argument_gives_the_tree_of_one_site():
    """Links that leave the site are ignored; each page is under the one that led to it first."""
    answers = {
        "/": page("/a", "b", "http://other.invalid/x", "mailto:me@x.invalid"),
        "/a": page("/b", "/c", "/"),
        "/b": page("/a", title="B"),
        "/c": page("/"),
    }
    with Site(answers) as site:
        result = run_site(site.url())
        found = site_map(site.url())
    assert result.returncode == 0
    assert "/c" in result.stdout
    assert "other.invalid" not in result.stdout
    assert paths(found) == ["/", "/a", "/b", "/c"]
    assert [each["parent"] for each in found["pages"]] == [
        None, site.url(), site.url(), site.url("/a"),
    ]  # fmt: skip
    assert [each["depth"] for each in found["pages"]] == [0, 1, 1, 2]
    assert found["by_url"][site.url("/a")]["links"] == [
        site.url("/b"), site.url("/c"), site.url(),
    ]  # fmt: skip


@pytest.mark.req("S2.5", "S2.18", "S2.43", "S2.38")
def test_each_page_is_fetched_once_and_fragments_do_not_count():
    answers = {
        "/": page("/a#one", "/a#two", "/A/../a", "/b?x=1#f", "#top"),
        "/a": page("/#x", "/b?x=1", "/a"),
        "/b?x=1": page("/a"),
    }
    with Site(answers) as site:
        found = site_map(site.url("/#start"))
    assert paths(found) == ["/", "/a", "/b?x=1"]
    counts = site.counts()
    assert {path: counts[path] for path in ("/", "/a", "/b?x=1")} == {"/": 1, "/a": 1, "/b?x=1": 1}


def test_a_level_of_many_pages_is_walked_in_its_order_and_grows_by_redirects():
    names = [f"/{number:03}" for number in range(250)]
    answers = {"/": page(*names)} | {name: page(text=name) for name in names}
    answers["/007"] = moved("/end")
    answers["/end"] = page("/below")
    answers["/below"] = page(text="below")
    with Site(answers) as site:
        found = site_map(site.url())
    assert paths(found) == ["/", *names, "/end", "/below"]
    assert [found["by_url"][site.url(path)]["depth"] for path in ("/249", "/end", "/below")] == [
        1, 1, 2,
    ]  # fmt: skip


@pytest.mark.req("S2.7", "S2.19", "S2.29", "S2.40")
def test_the_same_content_is_one_page_with_aliases_whose_links_are_not_followed():
    same = page("below", text="the same bytes everywhere")
    answers = {"/": page("/x/", "/y/", "/z/"), "/x/": same, "/y/": same, "/z/": same,
               "/x/below": page(text="only of the first")}  # fmt: skip
    with Site(answers) as site:
        found = site_map(site.url())
    assert paths(found) == ["/", "/x/", "/y/", "/z/", "/x/below"]
    first = found["by_url"][site.url("/x/")]
    assert first["aliases"] == [site.url("/y/"), site.url("/z/")]
    assert found["by_url"][site.url("/y/")]["alias_of"] == site.url("/x/")
    assert first["checksum"] == found["by_url"][site.url("/y/")]["checksum"]
    # Requests that timing made necessary are no part of the map; errors of aliases neither.
    assert found["summary"]["errors"] == 0
    assert found["summary"]["aliases"] == 2


@pytest.mark.req("S2.5", "S2.32")
def test_relative_links_of_a_page_that_answers_everywhere_end():
    def everywhere(path: str):
        return page("sub/", text="always me") if path != "/robots.txt" else None

    with Site(everywhere) as site:
        found = site_map(site.url())
    assert paths(found) == ["/", "/sub/"]
    assert found["summary"]["complete"]


def test_what_a_copy_and_an_honest_page_link_to_is_in_the_map():
    """A URL that was met on a copy first is let in when another page leads to it."""
    same = page("deep.html", text="same")
    answers = {
        "/": page("/one/", "/two/", "/slow"),
        "/one/": same,
        "/two/": same,
        "/slow": page("/two/deep.html"),
        "/one/deep.html": page(text="1"),
        "/two/deep.html": page("/last"),
        "/last": page(text="2"),
    }
    with Site(answers) as site:
        found = site_map(site.url(), "--workers", "1")
    assert sorted(paths(found)) == sorted(answers)
    assert found["by_url"][site.url("/two/deep.html")]["parent"] == site.url("/slow")


@pytest.mark.req("S2.9")
def test_the_order_is_the_same_however_the_answers_come():
    import random
    import time

    def answer(path: str):
        if path == "/robots.txt":
            return None
        name = path.strip("/")
        number = int(name[1:]) if name else 0
        links = [f"/p{(number * factor + factor) % 60}" for factor in (2, 3, 5, 7)]

        def slowly(asked):
            time.sleep(random.random() * 0.01)
            return page(*links, text=f"number {number % 50}")

        return slowly

    with Site(answer) as site:
        maps = [site_map(site.url(), "--concurrency", str(many)) for many in (1, 8, 16)]
    orders = [
        [(p["url"], p["parent"], p["depth"], p["alias_of"]) for p in m["pages"]] for m in maps
    ]
    assert orders[0] == orders[1] == orders[2]
    assert len(orders[0]) > 50


@pytest.mark.req("S2.7")
def test_redirects_are_aliases_of_where_they_lead():
    answers = {
        "/": page("/old", "/far"),
        "/old": moved("/older"),
        "/older": moved("/new", 302),
        "/new": page(text="new"),
        "/far": moved("http://other.invalid/"),
    }
    with Site(answers) as site:
        found = site_map(site.url())
    by_url = found["by_url"]
    assert by_url[site.url("/old")]["alias_of"] == site.url("/new")
    assert by_url[site.url("/older")]["alias_of"] == site.url("/new")
    assert by_url[site.url("/new")]["aliases"] == [site.url("/old"), site.url("/older")]
    assert by_url[site.url("/far")]["status"] == 301
    assert by_url[site.url("/far")]["error"] is None
    assert (found["summary"]["pages"], found["summary"]["aliases"]) == (2, 3)


def test_a_redirect_loop_is_an_error_and_ends():
    answers = {"/": page("/a"), "/a": moved("/b"), "/b": moved("/a")}
    with Site(answers) as site:
        found = site_map(site.url())
    assert found["summary"]["complete"]
    assert any("redir" in (each["error"] or "") for each in found["errors"])


@pytest.mark.req("S2.1")
def test_a_start_page_that_moves_to_another_host_takes_the_site_along():
    """Like a bare host that leads to www: both are one site from then on."""

    def answer(path: str):
        def reply(asked):
            if asked.address == "127.0.0.1" and path != "/robots.txt":
                return moved(site.url(path, "127.0.0.2"))
            known = {"/": page("/a", site.url("/b")), "/a": page("/"), "/b": page(text="b")}
            return known.get(path, Reply(b"", 404))

        return reply

    with Site(answer) as site:
        found = site_map(site.url())
    www = [site.url(path, "127.0.0.2") for path in ("/", "/a", "/b")]
    assert [each["url"] for each in found["pages"]] == [
        site.url(), www[0], www[1], site.url("/b"), www[2],
    ]  # fmt: skip
    assert found["by_url"][site.url()]["alias_of"] == www[0]


@pytest.mark.req("S2.4", "S2.14", "S2.27", "S2.39")
def test_assets_are_listed_by_kind_wherever_they_are_and_never_fetched():
    answers = {
        "/": "<link rel=stylesheet href=/s.css><script src=//cdn.invalid/j.js></script>"
        "<img src=i.png srcset='big.png 2x'><video src=/v.mp4 poster=/p.jpg></video>"
        "<audio src=/a.mp3></audio><iframe src=/frame></iframe><object data=/o.bin></object>"
        "<style>@font-face{src:url(f.woff2)}</style>",
        "/frame": page(text="inside"),
    }
    with Site(answers) as site:
        found = site_map(site.url())
    start = found["by_url"][site.url()]
    assert start["assets"] == {
        "img": [site.url("/i.png"), site.url("/big.png"), site.url("/p.jpg")],
        "css": [site.url("/s.css")],
        "js": ["http://cdn.invalid/j.js"],
        "video": [site.url("/v.mp4")],
        "audio": [site.url("/a.mp3")],
        "font": [site.url("/f.woff2")],
        "iframe": [site.url("/frame")],
        "other": [site.url("/o.bin")],
    }
    assert set(site.counts()) == {"/robots.txt", "/", "/frame", "/sitemap.xml"}


def test_a_canonical_link_is_alias_information():
    canonical = "<link rel=canonical href=/a>"
    answers = {
        "/": page("/a", "/a?sort=1"),
        "/a": canonical + page("/"),
        "/a?sort=1": canonical + page("/more", text="sorted"),
        "/more": page(),
    }
    with Site(answers) as site:
        found = site_map(site.url())
    assert found["by_url"][site.url("/a?sort=1")]["alias_of"] == site.url("/a")
    assert found["by_url"][site.url("/a")]["alias_of"] is None
    assert "/more" in paths(found)


def test_equal_pages_that_refresh_to_a_relative_url_lead_each_to_its_own():
    refresh = "<meta http-equiv=refresh content='0;url=new'>"
    answers = {"/": page("/x/", "/y/"), "/x/": refresh, "/y/": refresh}
    answers |= {"/x/new": page(title="x"), "/y/new": page(title="y")}
    with Site(answers) as site:
        found = site_map(site.url())
    assert found["by_url"][site.url("/x/")]["alias_of"] == site.url("/x/new")
    assert found["by_url"][site.url("/y/")]["alias_of"] == site.url("/y/new")


@pytest.mark.req("S2.7")
def test_of_equal_pages_the_one_they_name_as_canonical_is_the_page():
    """Also if another was met first: by a link with a mark for statistics, or as the start page."""
    same = "<link rel=canonical href=/>" + page("/", "/b?from=home", "/b")
    other = "<link rel=canonical href=/b>" + page()
    answers = {"/index.html": same, "/": same, "/b?from=home": other, "/b": other}
    with Site(answers) as site:
        found = site_map(site.url("/index.html"))
    assert found["summary"]["pages"] == found["summary"]["aliases"] == 2
    assert found["by_url"][site.url("/index.html")]["alias_of"] == site.url("/")
    assert found["by_url"][site.url("/b?from=home")]["alias_of"] == site.url("/b")
    assert found["by_url"][site.url("/b")]["aliases"] == [site.url("/b?from=home")]


def test_robots_txt_is_honoured_unless_it_is_set_aside_loudly():
    answers = {
        "/robots.txt": Reply(
            b"User-agent: *\nDisallow: /private\n", headers={"Content-Type": "text/plain"}
        ),
        "/": page("/private/x", "/open"),
        "/open": page(),
        "/private/x": page("/private/y"),
        "/private/y": page(),
    }
    with Site(answers) as site:
        polite = site_map(site.url())
        loud = run_site(site.url(), "--ignore-robots")
    assert paths(polite) == ["/", "/open"]
    assert "/private/y" in loud.stdout
    assert "robots.txt was set aside" in loud.stderr
    assert "robots.txt was set aside" in loud.stdout
