"""`gossamer site` against sites that mean harm or make no sense."""

import json

import pytest
from site_rig import Reply, Site, moved, page, paths, run_site, site_map


def test_crawled_text_steers_neither_the_terminal_nor_the_json():
    hostile = "</script>\x1b]0;owned\x07\x1b[31m\u202e=cmd()"
    answers = {
        "/": page("/a'%22<script>", title=hostile),
        "/a'%22%3Cscript%3E": page(title="x" * 9_999),
    }
    with Site(answers) as site:
        tree = run_site(site.url()).stdout
        found = run_site(site.url(), "--format", "json", "--quiet").stdout
        table = run_site(site.url(), "--format", "csv", "--quiet").stdout
    assert "\x1b" not in tree + found + table
    assert "\u202e" not in tree + found + table
    assert len(json.loads(found)["pages"]) == 2
    assert ",=cmd" not in table


@pytest.mark.req("S2.5", "S2.32")
def test_endless_sites_end_and_the_map_says_so():
    def endless(path: str):
        if path == "/robots.txt":
            return None
        number = int(path[3:] or 0) if path.startswith("/n/") else 0
        return page(f"/n/{number + 1}", f"/n/{number + 2}", text=f"item {number}")

    with Site(endless) as site:
        found = site_map(site.url(), "--concurrency", "16", "--max-time", "60")
    assert len(found["pages"]) < 2_000
    assert any("look endless" in note for note in found["summary"]["notes"])


def test_pages_that_are_no_pages_are_listed_and_do_no_harm():
    answers = {
        "/": page("/zip", "/empty", "/broken", "/big", "javascript:x()", "http://[", "//"),
        "/zip": Reply(b"PK\x03\x04" * 100, headers={"Content-Type": "application/zip"}),
        "/empty": Reply(b""),
        "/broken": Reply(b"<a href='/x" + b"\x00\xff" * 1000),
        "/big": Reply(b"<p>" + b"x" * 20_000_000),
    }
    with Site(answers) as site:
        found = site_map(site.url())
    assert {"/", "/zip", "/empty", "/broken", "/big"} <= set(paths(found))
    assert found["by_url"][site.url("/zip")]["content_type"] == "application/zip"
    big = found["by_url"][site.url("/big")]
    assert (big["error"], big["checksum"]) == (None, "")


@pytest.mark.parametrize("headers", [{}, {"Location": ""}, {"Location": "  "}])
def test_a_redirect_that_leads_nowhere_is_an_error_and_no_page(headers):
    """Whoever follows the link to it gets nothing; pictures are no exception."""
    nowhere = Reply(b"<title>Moved</title>", 302, headers)
    answers = {"/": page("/nowhere") + "<img src=/picture>", "/nowhere": nowhere}
    with Site(answers | {"/picture": nowhere}) as site:
        found = site_map(site.url(), "--audit", "--check-assets")
        started = run_site(site.url("/nowhere"))
    error = "redir.none: 302 without Location"
    assert found["by_url"][site.url("/nowhere")]["error"] == error
    assert [each["url"] for each in found["errors"]] == [site.url("/nowhere")]
    assert (found["summary"]["pages"], found["summary"]["errors"]) == (1, 1)
    told = {each["rule"]: each["urls"] for each in found["audit"]["findings"]}
    assert told["broken-link"] == [site.url("/nowhere")]
    assert told["broken-asset"] == [site.url("/picture")]
    assert (started.returncode, error in started.stderr) == (5, True)


def test_a_page_that_was_not_read_to_its_end_is_named():
    """What it links to beyond that is missing; a large file of another kind lacks nothing."""
    film = Reply(b"x" * 6_000, headers={"Content-Type": "video/mp4"})
    long = "<p>" + "long " * 1_000 + "<a href=/beyond>beyond</a>"
    answers = {"/": page("/long", "/film"), "/long": long, "/film": film, "/beyond": page()}
    with Site(answers) as site:
        found = site_map(site.url(), "--set", "spider.max_doc_bytes=4000")
        whole = site_map(site.url())
    (note,) = found["summary"]["notes"]
    assert note.startswith(f"read up to 4.0 kB only: 1 page, such as {site.url('/long')}")
    assert site.url("/beyond") not in found["by_url"]
    assert site.url("/beyond") in whole["by_url"]
    assert whole["summary"]["notes"] == []


def test_redirects_and_assets_do_not_lead_into_the_private_network():
    answers = {
        "/": page("/out") + "<img src=http://127.0.0.9:{port}/secret.png>",
        "/out": moved("http://127.0.0.9/secret"),
    }
    with Site(answers) as site:
        answers["/"] = answers["/"].replace("{port}", str(site.port))
        found = site_map(site.url(), "--check-assets")
    assert {each.address for each in site.asked} == {"127.0.0.1"}
    assert found["by_url"][site.url("/out")]["error"] is None
