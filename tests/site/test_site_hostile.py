"""`gossamer site` against sites that mean harm or make no sense, and on names that it resolves."""

import json
import sys
from pathlib import Path

import pytest
from site_rig import Asked, Reply, Site, moved, page, paths, run_site, site_map

sys.path.insert(0, str(Path(__file__).parents[1] / "urlserver"))
from dns_server import DnsServer, address


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


@pytest.mark.req("S2.33", "S2.12", "S2.21")
def test_the_name_is_resolved_once_and_stays_in_the_request():
    """The address is used for all pages while Host is the name; its TTL of 0 does not count."""

    def answer(asked: Asked) -> str:
        number = int(asked.path[1:] or 0)
        return page(*(f"/{n}" for n in range(number, min(number + 3, 30))), title="t" * number)

    script = {"site.test": lambda question: question.reply([address("site.test", "127.0.0.1", 0)])
              if question.kind == 1 else question.reply()}  # fmt: skip
    with (
        DnsServer(script) as names,
        Site(lambda path: answer if path[1:].isdecimal() or path == "/" else None) as site,
    ):
        flags = ("--set", f'urlserver.dns_servers=["127.0.0.1:{names.port}"]')
        found = site_map(site.url("/", "site.test"), *flags)
    assert len(found["pages"]) > 20
    assert {each.headers["host"] for each in site.asked} == {f"site.test:{site.port}"}
    assert sum(names.asked.values()) <= 2  # A and AAAA
    assert found["summary"]["site"] == f"site.test:{site.port}"


def test_subdomains_belong_to_the_site_when_asked_for():
    hosts = ("site.test", "a.site.test", "other.test")

    def answer(asked: Asked) -> str:
        port = asked.headers["host"].partition(":")[2]
        return page(*(f"http://{host}:{port}/" for host in hosts), title=asked.headers["host"])

    def found_at(name):
        return lambda question: (
            question.reply([address(name, "127.0.0.1")]) if question.kind == 1 else question.reply()
        )

    with DnsServer({name: found_at(name) for name in hosts}) as names, Site({"/": answer}) as site:
        flags = ["--set", f'urlserver.dns_servers=["127.0.0.1:{names.port}"]']
        flags += ["--set", "url.allow_private=true"]
        alone = site_map(site.url("/", "site.test"), *flags)
        wide = site_map(site.url("/", "site.test"), *flags, "--subdomains")
    assert len(alone["pages"]) == 1
    assert [each["url"] for each in wide["pages"]] == [site.url("/", host) for host in hosts[:2]]


def test_what_only_a_sitemap_names_comes_last_and_without_a_parent():
    def sitemap(asked: Asked) -> Reply:
        places = "".join(f"<url><loc>{site.url(path)}</loc></url>" for path in ("/a", "/orphan"))
        text = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{places}</urlset>'
        return Reply(text.encode(), headers={"Content-Type": "application/xml"})

    answers = {
        "/robots.txt": lambda _: Reply(f"Sitemap: {site.url('/map.xml')}\n".encode(),
                                       headers={"Content-Type": "text/plain"}),
        "/map.xml": sitemap,
        "/": page("/a", "/b"),
        "/a": page("/"),
        "/b": page("/a"),
        "/orphan": page("/child"),
        "/child": page("/orphan"),
    }  # fmt: skip
    with Site(answers) as site:
        found = site_map(site.url())
        audit = run_site(site.url(), "--audit").stdout
    assert paths(found) == ["/", "/a", "/b", "/orphan", "/child"]
    assert found["by_url"][site.url("/orphan")]["parent"] is None
    assert found["by_url"][site.url("/child")]["parent"] == site.url("/orphan")
    assert "/orphan" in audit
